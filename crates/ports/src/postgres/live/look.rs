//! What can be seen of a cluster: on disk, of its processes, and what its servers answer.

use std::collections::BTreeMap;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use api::secret::Sealed;
use tokio::task::JoinSet;
use tokio_postgres::SimpleQueryRow;

use super::super::{Certificate, Error, Facts, Instance, Key, Lsn, Number, Run, Seen, There};
use super::places::standby_signal;
use super::program::told;
use super::run::major;
use super::sql::{ANSWER, Silence, rows, said};
use super::work::Work;
use super::{Inner, conf, files};
use crate::process::{Cause, End, State};

/// How long the size of a cluster is remembered.
const SIZE: Duration = Duration::from_secs(30);
/// How much of a server's log is read for its last words.
const WORDS: u64 = 4096;
/// How many of them are told.
const LINES: usize = 4;
/// Everything that is asked of a server, in one question.
const QUESTION: &str = "\
SELECT pg_is_in_recovery() AS in_recovery,
  CASE WHEN pg_is_in_recovery()
    THEN greatest(coalesce((SELECT received_tli FROM pg_stat_wal_receiver), 0),
      (pg_control_checkpoint()).timeline_id, (pg_control_recovery()).min_recovery_end_timeline)
    ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int END AS timeline,
  CASE WHEN pg_is_in_recovery()
    THEN greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn(), '0/0'::pg_lsn) - '0/0'::pg_lsn
    ELSE pg_current_wal_lsn() - '0/0'::pg_lsn END AS lsn,
  EXISTS (SELECT FROM pg_stat_wal_receiver WHERE status = 'streaming') AS streaming,
  current_setting('terrace.settings', true) AS mark,
  EXISTS (SELECT FROM pg_settings WHERE pending_restart) AS pending,
  current_setting('synchronous_standby_names') AS waits_for,
  (SELECT string_agg(application_name || '=' || (flush_lsn - '0/0'::pg_lsn)::text, ',')
    FROM pg_stat_replication WHERE state = 'streaming' AND flush_lsn IS NOT NULL) AS serves,
  current_setting('archive_command') AS archive_command,
  current_setting('primary_conninfo') AS primary_conninfo";

impl Inner {
    /// Everything that is known of a cluster.
    pub(super) async fn see(self: Arc<Self>, cluster: &Key) -> Result<Seen, Error> {
        let uid = &cluster.uid;
        let Some(record) = self.record(uid) else { return Ok(Seen::default()) };
        let mut looks = JoinSet::new();
        for number in record.instances.keys().copied() {
            let (this, uid) = (self.clone(), uid.clone());
            looks.spawn(async move { (number, this.see_one(&uid, number).await) });
        }
        let mut instances = BTreeMap::new();
        while let Some(look) = looks.join_next().await {
            let (number, seen) =
                look.map_err(|error| Error::Unfit(format!("a look was interrupted: {error}")))?;
            if let Some(seen) = seen? {
                instances.insert(number, seen);
            }
        }
        let (tls, bytes) = (self.places.tls(uid), self.bytes(uid).await?);
        Ok(Seen {
            instances,
            synchronous: record.synchronous,
            granted: record.granted,
            superuser: record.superuser,
            roles: record.roles,
            certificate: files::blocking(move || certificate(&tls)).await?,
            bytes,
            free: free(&self.places.root),
            highest: record.highest,
        })
    }

    pub(super) async fn see_one(&self, uid: &str, number: Number) -> Result<Option<Instance>, Error> {
        let work = self.works.lock().get(&(uid.to_owned(), number)).cloned();
        match work {
            Some(Work::Running { since }) => return Ok(Some(Instance::Coming { since })),
            Some(Work::Failed { story, at }) => return Ok(Some(Instance::Broken { story, at })),
            None => {}
        }
        let data = self.places.data(uid, number);
        if !data.exists() {
            return Ok(None);
        }
        let Some(record) = self.record(uid) else { return Ok(None) };
        let kept = record.kept(number);
        let fenced = self.places.fence(uid, number).exists();
        let settings = files::read(&self.places.settings(uid, number))?;
        let (run, follows) = self.see_run(uid, number, kept.port).await?;
        Ok(Some(Instance::There(There {
            major: major(&data)?,
            standby: fenced || standby_signal(&data).exists(),
            fenced,
            follows: follows.unwrap_or(kept.follows),
            settings: settings.as_deref().and_then(conf::mark_in),
            run,
        })))
    }

    /// The process of an instance and, if it answers, whom it follows.
    async fn see_run(
        &self,
        uid: &str,
        number: Number,
        port: u16,
    ) -> Result<(Run, Option<Option<u16>>), Error> {
        match self.state(uid, number).await? {
            None => Ok((Run::Stopped, None)),
            Some(State::Ended(end)) => {
                let log = self.places.log(uid, number);
                let failures = self.life(uid, number).failures();
                Ok((Run::Ended { at: end.at, story: last_words(&end, &log), failures }, None))
            }
            Some(State::Running { since, .. }) => match self.question(uid, number).await {
                Ok(row) => {
                    self.answered(uid, number);
                    let conninfo = row.get("primary_conninfo").unwrap_or_default();
                    let facts = facts(&row, port);
                    let follows = facts.in_recovery.then(|| conf::port_of(conninfo));
                    Ok((Run::Up(facts), follows))
                }
                Err(silence) => {
                    // A server that was adopted may have answered until a moment ago: nobody knows.
                    let since = self.life(uid, number).answered.unwrap_or(self.opened).max(since);
                    let story = match silence {
                        Silence::Says(words) => Some(words),
                        Silence::Mute => None,
                    };
                    Ok((Run::Starting { since, port, story }, None))
                }
            },
        }
    }

    async fn question(&self, uid: &str, number: Number) -> Result<SimpleQueryRow, Silence> {
        let client = self.line(uid, number).await?;
        let answer = tokio::time::timeout(ANSWER, client.simple_query(QUESTION)).await;
        let silence = match answer {
            Ok(Ok(messages)) => match rows(messages).into_iter().next() {
                Some(row) => return Ok(row),
                None => Silence::Mute,
            },
            Ok(Err(error)) if error.as_db_error().is_some() => Silence::Says(said(&error)),
            Ok(Err(_)) | Err(_) => Silence::Mute,
        };
        self.hang_up(uid, number);
        Err(silence)
    }

    /// What the largest instance holds, as of a moment ago.
    async fn bytes(&self, uid: &str) -> Result<u64, Error> {
        let known = self.sizes.lock().get(uid).copied();
        if let Some((_, bytes)) = known.filter(|(at, _)| at.elapsed() < SIZE) {
            return Ok(bytes);
        }
        let numbers: Vec<Number> =
            self.record(uid).map(|record| record.instances.into_keys().collect()).unwrap_or_default();
        let (places, of) = (self.places.clone(), uid.to_owned());
        let bytes = files::blocking(move || {
            let sizes = numbers.into_iter().map(|number| files::size(&places.data(&of, number)));
            sizes.collect::<Result<Vec<u64>, Error>>().map(|sizes| sizes.into_iter().max().unwrap_or(0))
        })
        .await?;
        self.sizes.lock().insert(uid.to_owned(), (Instant::now(), bytes));
        Ok(bytes)
    }
}

fn facts(row: &SimpleQueryRow, port: u16) -> Facts {
    let truth = |name: &str| row.get(name) == Some("t");
    let in_recovery = truth("in_recovery");
    let serves = row.get("serves").unwrap_or_default().split(',').filter_map(|pair| {
        let (number, lsn) = pair.split_once('=')?;
        Some((number.parse().ok()?, Lsn(lsn.parse().ok()?)))
    });
    let waits_for = row.get("waits_for").filter(|_| !in_recovery).unwrap_or_default();
    Facts {
        port,
        in_recovery,
        timeline: row.get("timeline").and_then(|text| text.parse().ok()).unwrap_or_default(),
        lsn: Lsn(row.get("lsn").and_then(|text| text.parse().ok()).unwrap_or_default()),
        streaming: truth("streaming"),
        settings: row.get("mark").filter(|mark| !mark.is_empty()).map(str::to_owned),
        restart_needed: truth("pending"),
        waits_for: conf::named_standbys(waits_for),
        serves: serves.collect(),
        archives: row.get("archive_command").is_some_and(conf::archives),
    }
}

/// How a run ended, and what it said last.
pub(super) fn last_words(end: &End, log: &Path) -> String {
    let how = told(&end.cause);
    if let Cause::Signaled(_) | Cause::NotStarted(_) | Cause::Lost = end.cause {
        return how;
    }
    let text = tail(log).unwrap_or_default();
    let loud =
        |line: &&str| ["FATAL:", "PANIC:", "could not", "invalid"].iter().any(|word| line.contains(word));
    let lines: Vec<&str> = text.lines().rev().filter(loud).take(LINES).collect();
    let words: Vec<&str> = lines.into_iter().rev().collect();
    match (words.is_empty(), &end.last_line) {
        (false, _) => format!("{how}: {}", words.join("; ")),
        (true, Some(line)) => format!("{how}: {line}"),
        (true, None) => how,
    }
}

fn tail(log: &Path) -> std::io::Result<String> {
    let mut file = std::fs::File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(WORDS)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn certificate(tls: &Path) -> Result<Option<Certificate>, Error> {
    let read = |name: &str| files::read(&tls.join(name));
    let parts = (read("server.crt")?, read("server.key")?, read("root.crt")?);
    let (Some(chain_pem), Some(key_pem), Some(root_pem)) = parts else { return Ok(None) };
    Ok(Some(Certificate { chain_pem, key_pem: Sealed::new(key_pem), root_pem }))
}

/// What is left on the disk for whoever is not root.
fn free(root: &std::path::Path) -> Option<u64> {
    let disk = nix::sys::statvfs::statvfs(root).ok()?;
    Some(disk.blocks_available() * disk.fragment_size())
}
