//! Waits for something that takes its time, and tells how far it is.

use std::time::{Duration, Instant};

use clap::Args;

use crate::apps::deploy::span;
use crate::apps::progress::Progress;

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(200);
/// What a command ends with that was interrupted, as shells have it.
pub(crate) const INTERRUPTED: u8 = 130;

/// Whether, and how long.
#[derive(Args, Clone)]
pub(crate) struct Patience {
    /// Wait until it is done; this is the default
    #[arg(long, overrides_with = "no_wait")]
    wait: bool,
    /// Do not wait
    #[arg(long, overrides_with = "wait")]
    no_wait: bool,
    /// How long to wait
    #[arg(long, default_value = "10m", value_name = "TIME", value_parser = span)]
    pub timeout: Duration,
}

impl Patience {
    /// Whether there is to be any waiting.
    pub(crate) fn waits(&self) -> bool {
        self.wait || !self.no_wait
    }
}

/// What is seen at one look.
#[derive(Debug, PartialEq)]
pub(crate) enum Seen<T> {
    /// It is on its way; in words.
    Waiting(String),
    /// It is done.
    Done(T),
    /// It will not be; why.
    Failed(String),
}

/// How the waiting ended.
#[derive(Debug, PartialEq)]
pub(crate) enum End<T> {
    Done(T),
    Failed(String),
    Interrupted,
}

/// Looks until it is done, fails, takes too long, or somebody has had enough.
pub(crate) async fn until<T>(
    timeout: Duration,
    mut look: impl AsyncFnMut() -> anyhow::Result<Seen<T>>,
) -> anyhow::Result<End<T>> {
    let mut progress = Progress::new();
    let begun = Instant::now();
    let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c());
    let end = loop {
        let words = match look().await {
            Ok(Seen::Done(done)) => break Ok(End::Done(done)),
            Ok(Seen::Failed(why)) => break Ok(End::Failed(why)),
            Ok(Seen::Waiting(words)) => words,
            Err(error) => break Err(error),
        };
        if begun.elapsed() > timeout {
            let late =
                format!("not done after {} s: {words}; the platform goes on with it", timeout.as_secs());
            break Ok(End::Failed(late));
        }
        progress.tell(&words);
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            _ = &mut interrupt => break Ok(End::Interrupted),
        }
    };
    progress.clear();
    end
}
