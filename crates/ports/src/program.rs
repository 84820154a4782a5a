//! A program that is run to its end, within bounds of time and output, with no environment but what it is given.

use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;

/// How much of what a program complains of is kept.
const COMPLAINT_BYTES: u64 = 64 << 10;

/// How a program ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Whether it says that all went well.
    pub(crate) good: bool,
    /// What it printed.
    pub(crate) output: Vec<u8>,
    /// What it complained of.
    pub(crate) complaint: String,
}

/// Why there is no end.
#[derive(Debug)]
pub(crate) enum Stopped {
    /// It took too long.
    Late,
    /// It printed too much.
    Verbose,
    /// It could not be run.
    Io(std::io::Error),
}

/// Ends the whole group of a program, also when nobody waits for it any more.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            // A group that is gone needs no end.
            let _ = killpg(leader, Signal::SIGKILL);
        }
    }
}

/// Runs a program to its end.
pub(crate) async fn run(command: &mut Command, time: Duration, most_bytes: u64) -> Result<Ended, Stopped> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.process_group(0).kill_on_drop(true).spawn().map_err(Stopped::Io)?;
    let leader = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
    let mut group = Group(leader);
    let (output, complaint) = (child.stdout.take(), child.stderr.take());
    let whole = async {
        let (output, complaint) = tokio::join!(read(output, most_bytes), read(complaint, COMPLAINT_BYTES));
        let output = output.map_err(Stopped::Io)?;
        if output.len() as u64 > most_bytes {
            return Err(Stopped::Verbose);
        }
        let status = child.wait().await.map_err(Stopped::Io)?;
        let complaint = String::from_utf8_lossy(&complaint.map_err(Stopped::Io)?).trim().to_owned();
        Ok(Ended { good: status.success(), output, complaint })
    };
    let ended = tokio::time::timeout(time, whole).await.map_err(|_| Stopped::Late)?;
    if ended.is_ok() {
        group.0 = None;
    }
    ended
}

/// Reads a little more than is allowed at most, so that too much is noticed.
async fn read(from: Option<impl AsyncRead + Unpin>, most_bytes: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        from.take(most_bytes + 1).read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}
