//! `terrace audit`: what was asked for, and whether the trail of it is what was written.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::Path;
use std::process::ExitCode;

use agents::audit::{Head, Link, Outcome, Verified, head_beside, verify};
use anyhow::{Context, bail};
use clap::Args;
use jiff::Timestamp;

use crate::apps::table::{clipped, table};
use crate::paint::Paint;
use crate::{apps, place, say};

#[derive(Args)]
pub(crate) struct Options {
    /// Check that no record was changed, removed or moved
    #[arg(long, conflicts_with_all = ["tool", "token", "session", "since", "tail"])]
    verify: bool,
    /// A hash that --head has printed before: the trail must still hold that record
    #[arg(long, value_name = "HASH", requires = "verify")]
    expect: Option<String>,
    /// Print how many records there are and the hash of the last
    #[arg(long, conflicts_with_all = ["verify", "tool", "token", "session", "since", "tail"])]
    head: bool,
    /// Only this tool, or this method and path
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Only the token of this name or fingerprint
    #[arg(long, value_name = "NAME")]
    token: Option<String>,
    /// Only this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Only what came after a time, as RFC 3339 or how long ago: 1h, 30m
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<Timestamp>,
    /// Only the last of them
    #[arg(long, value_name = "N")]
    tail: Option<usize>,
    /// Print for programs
    #[arg(long, short, value_name = "FORMAT", value_parser = ["json"])]
    output: Option<String>,
}

pub(crate) fn run(data_dir: &Path, options: &Options) -> anyhow::Result<ExitCode> {
    let path = place::audit(data_dir);
    let json = options.output.is_some();
    if options.verify || options.head {
        return check(&path, options);
    }
    let file = File::open(&path).map_err(|error| missing(&path, error))?;
    let mut records = VecDeque::new();
    let most = options.tail.unwrap_or(usize::MAX);
    for (number, line) in BufReader::new(file).split(b'\n').enumerate() {
        let line = line.with_context(|| format!("cannot read {}", path.display()))?;
        let Ok(link) = serde_json::from_slice::<Link>(&line) else {
            say::note(&format!("line {} is not a record; `terrace audit --verify` tells more", number + 1));
            continue;
        };
        if options.takes(&link) {
            records.push_back(link);
        }
        while records.len() > most {
            records.pop_front();
        }
    }
    let records = Vec::from(records);
    match json {
        true => say::line(&serde_json::to_string_pretty(&records)?)?,
        false if records.is_empty() => say::note("no such records"),
        false => say::text(&shown(&records, Paint::stdout()))?,
    }
    Ok(ExitCode::SUCCESS)
}

impl Options {
    fn takes(&self, link: &Link) -> bool {
        let record = &link.record;
        let is = |wanted: &Option<String>, given: &[&str]| {
            wanted.as_deref().is_none_or(|wanted| given.contains(&wanted))
        };
        is(&self.tool, &[&record.action])
            && is(&self.token, &[&record.name, &record.token])
            && is(&self.session, &[&record.subject])
            && self.since.is_none_or(|since| record.time >= since)
    }
}

/// Verifies, and tells the outcome or the head.
fn check(path: &Path, options: &Options) -> anyhow::Result<ExitCode> {
    let json = options.output.is_some();
    match verified(path, options.expect.as_deref()) {
        Ok(verified) => {
            let Verified { count, hash, expected, torn } = verified;
            let told = serde_json::json!({ "records": count, "head": hash, "unbroken": true });
            match (json, options.head) {
                (true, _) => say::line(&told.to_string())?,
                (false, true) => say::line(&format!("{count} {hash}"))?,
                (false, false) => say::line(&format!("{count} records, unbroken, head {hash}"))?,
            }
            if let Some(number) = expected {
                say::note(&format!("the expected hash is that of record {number}"));
            }
            if torn {
                say::note(
                    "a record is being written, or was when the platform was killed; it counts when it is whole",
                );
            }
            Ok(ExitCode::SUCCESS)
        }
        Err(error) if json => {
            say::line(
                &serde_json::json!({ "unbroken": false, "finding": format!("{error:#}") }).to_string(),
            )?;
            Ok(ExitCode::FAILURE)
        }
        Err(error) => Err(error.context("the audit trail is not what was written")),
    }
}

/// Looks at the whole trail. Its head is read first: while the platform runs, the trail only grows.
fn verified(path: &Path, expect: Option<&str>) -> anyhow::Result<Verified> {
    let head_path = head_beside(path);
    let head = Head::read(&head_path)?;
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound && head.is_some() => {
            bail!("line 1 is missing: there is no {}, but its head is there", path.display())
        }
        opened => opened.map_err(|error| missing(path, error))?,
    };
    let Some(head) = head else {
        bail!(
            "its head is missing: there is no {}, so nobody can tell whether records are missing, too",
            head_path.display()
        )
    };
    verify(BufReader::new(file), &head, expect).map_err(anyhow::Error::from)
}

fn missing(path: &Path, error: std::io::Error) -> anyhow::Error {
    let told = match error.kind() {
        ErrorKind::NotFound => format!("there is no trail at {}; `terrace up` begins one", path.display()),
        _ => format!("cannot read {}", path.display()),
    };
    anyhow::Error::new(error).context(told)
}

/// The table for people, a colour for each record that was not simply done.
fn shown(records: &[Link], paint: Paint) -> String {
    let rows: Vec<Vec<String>> = records.iter().map(row).collect();
    let text = table(&["TIME", "TOKEN", "AGENT", "ACTION", "SUBJECT", "OUTCOME", "REASON"], &rows);
    let mut lines = text.lines();
    let mut painted = lines.next().unwrap_or_default().to_owned() + "\n";
    for (line, link) in lines.zip(records) {
        painted.push_str(&match link.record.outcome {
            Outcome::Done => line.to_owned(),
            Outcome::Asked => paint.bold(line),
            Outcome::Refused => paint.yellow(line),
            Outcome::Failed => paint.red(line),
        });
        painted.push('\n');
    }
    painted
}

fn row(link: &Link) -> Vec<String> {
    let record = &link.record;
    let or_dash = |text: &str| if text.is_empty() { "-".to_owned() } else { clipped(text) };
    let token = if record.name.is_empty() { &record.token } else { &record.name };
    let outcome = match record.outcome {
        Outcome::Done => "done",
        Outcome::Asked => "asked",
        Outcome::Refused => "refused",
        Outcome::Failed => "failed",
    };
    vec![
        format!("{:.0}", record.time),
        or_dash(token),
        or_dash(&record.agent),
        or_dash(&record.action),
        or_dash(&record.subject),
        outcome.into(),
        record.reason.as_deref().map(clipped).unwrap_or_default(),
    ]
}

/// A moment: itself, or how long ago it was.
fn moment(text: &str) -> Result<Timestamp, String> {
    if let Ok(time) = text.parse() {
        return Ok(time);
    }
    let ago = apps::deploy::span(text)
        .map_err(|_| format!("{text:?} is neither a time like 2026-01-31T12:00:00Z nor one like 1h"))?;
    Timestamp::now().checked_sub(ago).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use agents::audit::{Record, Trail};
    use clap::Parser;
    use tempfile::TempDir;

    use super::*;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        options: Options,
    }

    fn options(words: &str) -> Options {
        let words = std::iter::once("audit").chain(words.split_whitespace());
        Words::try_parse_from(words).unwrap_or_else(|error| panic!("{error}")).options
    }

    fn record(name: &str, action: &str, outcome: Outcome) -> Record {
        Record {
            time: "2026-01-31T12:00:00.5Z".parse().expect("a time"),
            token: "0123456789abcdef".into(),
            name: name.into(),
            agent: "inspector 1.0".into(),
            action: action.into(),
            subject: "k3x9".into(),
            arguments: String::new(),
            plan: None,
            outcome,
            reason: (outcome == Outcome::Refused).then(|| "Denied".into()),
        }
    }

    async fn written() -> TempDir {
        let dir = TempDir::new().expect("a directory");
        let trail = Trail::open(&place::audit(dir.path())).expect("opens");
        for action in ["register", "deploy_app", "delete_app"] {
            trail.write(record("builder", action, Outcome::Done)).await.expect("is written");
        }
        dir
    }

    #[tokio::test]
    async fn a_trail_is_verified_and_what_is_missing_is_named() {
        let dir = written().await;
        let (log, head) = (place::audit(dir.path()), head_beside(&place::audit(dir.path())));
        let good = verified(&log, None).expect("as it was written");
        assert_eq!(good.count, 3);
        assert_eq!(verified(&log, Some(&good.hash)).expect("as it was written").expected, Some(3));
        let text = std::fs::read_to_string(&log).expect("a trail");
        let shorter: String = text.split_inclusive('\n').take(2).collect();
        let finds = |want: &str| {
            let told = format!("{:#}", verified(&log, None).expect_err("it is found"));
            assert!(told.starts_with(want), "{told}");
        };
        std::fs::write(&log, shorter).expect("written");
        finds("line 3 is missing");
        std::fs::write(&log, text.replace("deploy_app", "list_apps ")).expect("written");
        finds("line 3 does not follow");
        std::fs::remove_file(&log).expect("gone");
        finds("line 1 is missing");
        std::fs::write(&log, &text).expect("written");
        std::fs::remove_file(&head).expect("gone");
        finds("its head is missing");
        std::fs::remove_file(&log).expect("gone");
        finds("there is no trail");
    }

    #[test]
    fn records_are_chosen_by_what_is_asked_for() {
        let link = Link {
            number: 1,
            previous: String::new(),
            record: record("builder", "deploy_app", Outcome::Done),
        };
        let table = [
            ("", true),
            ("--tool deploy_app --token builder --session k3x9", true),
            ("--token 0123456789abcdef", true),
            ("--tool deploy", false),
            ("--token other", false),
            ("--session other", false),
            ("--since 2026-01-31T12:00:00Z", true),
            ("--since 2026-01-31T12:00:01Z", false),
            ("--since 1h", false),
        ];
        for (words, want) in table {
            assert_eq!(options(words).takes(&link), want, "{words}");
        }
        assert!(Words::try_parse_from(["audit", "--since", "yesterday"]).is_err());
        assert!(Words::try_parse_from(["audit", "--expect", "abc"]).is_err());
    }

    #[test]
    fn a_table_tells_who_asked_for_what_and_what_came_of_it() {
        let links = [Outcome::Done, Outcome::Refused].map(|outcome| Link {
            number: 1,
            previous: String::new(),
            record: record("builder", "deploy_app", outcome),
        });
        assert_eq!(
            shown(&links, Paint::fixed(false)),
            "TIME                   TOKEN     AGENT           ACTION       SUBJECT   OUTCOME   REASON\n\
             2026-01-31T12:00:00Z   builder   inspector 1.0   deploy_app   k3x9      done\n\
             2026-01-31T12:00:00Z   builder   inspector 1.0   deploy_app   k3x9      refused   Denied\n"
        );
        let coloured = shown(&links, Paint::fixed(true));
        assert_eq!(coloured.matches('\u{1b}').count(), 2, "one row has a colour: {coloured}");
    }
}
