//! Git itself, as a child that sees nothing of this machine and ends with whoever asked.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use super::Error;

/// What git may see of this process's own environment: where programs are, and how the world is reached.
const KEPT: [&str; 12] = [
    "PATH",
    "TMPDIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "GIT_SSL_CAINFO",
    "CURL_CA_BUNDLE",
    "HTTPS_PROXY",
    "https_proxy",
    "http_proxy",
    "NO_PROXY",
    "no_proxy",
    "ALL_PROXY",
];
/// Settings of every call: nothing that lies in a repository is ever run.
const SETTINGS: [&str; 6] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "protocol.ext.allow=never",
    "protocol.file.allow=never",
    "http.followRedirects=false",
    "gc.autoDetach=false",
];
/// As much as git may print: a repository of a project is text.
const OUTPUT_MAX: u64 = 256 << 20;
/// As much of git's complaints as is kept.
const STORY_MAX: u64 = 16 << 10;

/// A call of git.
pub(super) struct Call<'a> {
    /// Name of the host, for messages.
    pub(super) host: &'a str,
    /// What is tried, for messages: `fetch team/shop`.
    pub(super) what: &'a str,
    /// The bare repository that it works on.
    pub(super) directory: Option<&'a Path>,
    /// Environment beyond the usual.
    pub(super) environment: Vec<(String, String)>,
    /// How long it may take.
    pub(super) limit: Duration,
}

/// What git said.
pub(super) struct Told {
    /// What it printed.
    pub(super) output: Vec<u8>,
    /// What it complained of.
    pub(super) story: String,
    /// Whether it succeeded.
    pub(super) good: bool,
}

impl Call<'_> {
    /// Runs git to its end, and tells what it said.
    pub(super) async fn told(&self, arguments: &[&str], input: &[u8]) -> Result<Told, Error> {
        let mut command = command(self.directory);
        command.args(arguments).envs(self.environment.iter().map(|(name, value)| (name, value)));
        let mut running = Running::begin(command).map_err(|error| self.failed(&error.to_string()))?;
        let talk = async {
            let (stdin, stdout, stderr) = running.pipes();
            let write = async {
                if let Some(mut stdin) = stdin {
                    // Git that ends early reads no more; its own words say why.
                    let _ = stdin.write_all(input).await;
                }
            };
            let ((), output, story) =
                tokio::join!(write, whole(stdout, OUTPUT_MAX), whole(stderr, STORY_MAX));
            let good = running.end().await?.success();
            std::io::Result::Ok(Told {
                output: output?,
                story: String::from_utf8_lossy(&story?).into_owned(),
                good,
            })
        };
        match tokio::time::timeout(self.limit, talk).await {
            Ok(Ok(told)) => Ok(told),
            Ok(Err(error)) => Err(self.failed(&error.to_string())),
            Err(_) => Err(Error::Timeout {
                host: self.host.to_owned(),
                what: format!("git, to {}", self.what),
                limit: self.limit,
            }),
        }
    }

    /// Runs git, and tells what it printed if it succeeded.
    pub(super) async fn printed(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, Error> {
        let told = self.told(arguments, input).await?;
        if told.good { Ok(told.output) } else { Err(self.failed(&told.story)) }
    }

    /// Git failed, and these were its last words.
    pub(super) fn failed(&self, story: &str) -> Error {
        Error::Git {
            host: self.host.to_owned(),
            what: self.what.to_owned(),
            story: self.without_secrets(&last_words(story)),
        }
    }

    /// A story without anything that was given through the environment.
    fn without_secrets(&self, story: &str) -> String {
        let values = self.environment.iter().map(|(_, value)| value.as_str());
        let words = values.flat_map(|value| value.split([' ', '\n'])).filter(|word| word.len() > 5);
        words.fold(story.to_owned(), |story, word| story.replace(word, "…"))
    }
}

/// The last lines of a story, in one.
pub(super) fn last_words(story: &str) -> String {
    let lines: Vec<&str> = story.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(3)..].join("; ");
    let plain = last.chars().filter(|letter| !letter.is_control());
    let short: String = plain.take(500).collect();
    if short.is_empty() { "it said nothing".to_owned() } else { short }
}

/// Git without any settings but ours.
pub(super) fn command(directory: Option<&Path>) -> Command {
    let mut command = Command::new("git");
    command.env_clear();
    for name in KEPT {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    let fixed = [
        ("HOME", "/nonexistent"),
        ("LC_ALL", "C"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_ALLOW_PROTOCOL", "https:http"),
    ];
    command.envs(fixed);
    for setting in SETTINGS {
        command.arg("-c").arg(setting);
    }
    if let Some(directory) = directory {
        command.arg("--git-dir").arg(directory);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Not where this process is: git would take the settings of a repository there.
    command.current_dir("/").process_group(0).kill_on_drop(true);
    command
}

/// A child with all that it started, which end when this is let go.
pub(super) struct Running {
    child: Child,
    group: Option<Pid>,
}

type Pipes = (
    Option<tokio::process::ChildStdin>,
    Option<tokio::process::ChildStdout>,
    Option<tokio::process::ChildStderr>,
);

impl Running {
    /// Starts a command that is the head of a group of its own.
    pub(super) fn begin(mut command: Command) -> std::io::Result<Self> {
        let child = command.spawn()?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
        Ok(Self { child, group })
    }

    /// The three pipes, once.
    pub(super) fn pipes(&mut self) -> Pipes {
        (self.child.stdin.take(), self.child.stdout.take(), self.child.stderr.take())
    }

    /// Waits for the end.
    pub(super) async fn end(&mut self) -> std::io::Result<std::process::ExitStatus> {
        let ended = self.child.wait().await?;
        // From here on the number may be another's.
        self.group = None;
        Ok(ended)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            // Who ended meanwhile needs no signal.
            let _ = killpg(group, Signal::SIGKILL);
        }
    }
}

/// All that comes out of a pipe; more than `max` is a failure.
async fn whole(pipe: Option<impl AsyncRead + Unpin>, max: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        (&mut pipe).take(max).read_to_end(&mut bytes).await?;
        if bytes.len() as u64 == max
            && tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await? > 0
            && max == OUTPUT_MAX
        {
            return Err(std::io::Error::other("git printed too much"));
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(environment: &[(&str, &str)], limit: Duration) -> Call<'static> {
        let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Call { host: "h", what: "try", directory: None, environment: environment.collect(), limit }
    }

    #[tokio::test]
    async fn git_sees_no_settings_of_this_machine() {
        let call = call(&[], Duration::from_secs(20));
        let told = call.printed(&["config", "--list", "--show-scope"], b"").await.expect("git runs");
        let told = String::from_utf8(told).expect("plain text");
        assert!(told.lines().all(|line| line.starts_with("command")), "{told}");
    }

    #[tokio::test]
    async fn git_that_hangs_is_ended_with_all_that_it_started() {
        let limit = Duration::from_millis(300);
        let call = call(&[], limit);
        let told = call.told(&["-c", "alias.x=!sleep 4711.5 & sleep 4711.5", "x"], b"").await;
        assert_eq!(told.err(), Some(Error::Timeout { host: "h".into(), what: "git, to try".into(), limit }));
        // The signal is on its way; the kernel takes a moment.
        let there = || {
            let all = std::fs::read_dir("/proc").expect("a list of processes").flatten();
            all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
                .any(|line| line.starts_with(b"sleep\x004711.5"))
        };
        let end = std::time::Instant::now() + Duration::from_secs(10);
        while there() {
            assert!(std::time::Instant::now() < end, "something was left running");
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn what_was_given_in_secret_is_in_no_story() {
        let call =
            call(&[("GIT_CONFIG_VALUE_0", "Authorization: Basic aHVudGVyMg==")], Duration::from_secs(9));
        let Error::Git { story, .. } = call.failed("fatal: x Basic aHVudGVyMg== y") else {
            panic!("git failed")
        };
        assert!(!story.contains("aHVudGVyMg"), "{story}");
        assert_eq!(last_words("a\n\nb\nc\x1b[1m\nd\n"), "b; c[1m; d");
    }
}
