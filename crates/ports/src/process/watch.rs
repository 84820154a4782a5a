//! Who watches the shims: those this process started, those it adopted, and those that died on duty.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use nix::sys::signal::Signal;
use shim::process::Process;
use shim::{Record, now_ms};
use tokio::process::Child;
use tokio::sync::broadcast::error::RecvError;

use super::live::{Live, at};
use super::{Cause, End, Error, Id, Processes as _, State};

/// How often adopted shims are looked at. They are nobody's children, so nobody is told when they end.
const LOOK: Duration = Duration::from_millis(100);
/// What looking may cost: with many adopted shims the looks become rarer, so that they stay near a hundredth of a
/// core.
const LOOK_EACH: Duration = Duration::from_millis(1);
/// How long the remains of a run without a shim may take to end.
const REMAINS: Duration = Duration::from_secs(10);
/// How long, beyond the grace, shims may take to clear away before they are killed themselves.
const CLEARING: Duration = Duration::from_secs(5);

/// A shim that an earlier life of the platform started.
#[derive(Clone, Debug)]
pub(super) struct Adopted {
    pub(super) id: Id,
    pub(super) shim: Process,
}

/// How much the numbers of a record still say about what runs now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trace {
    /// The shim was seen alive a moment ago.
    Fresh,
    /// Nobody knows for how long the shim has been gone.
    Old,
    /// The machine was started again since: nothing of the run can be left.
    None,
}

impl Trace {
    pub(super) fn of(same_boot: bool) -> Self {
        if same_boot { Self::Old } else { Self::None }
    }
}

/// Watches a shim that this process started. `shim` is the one that has the order: another, if an earlier life of the
/// platform had started one that nobody knew of.
pub(super) fn child(live: &Live, id: Id, shim: Process, mut child: Child) {
    let ours = child.id() == Some(shim.pid);
    if !ours {
        adopt(live, vec![Adopted { id: id.clone(), shim }]);
    }
    let weak = Arc::downgrade(&live.inner);
    tokio::spawn(async move {
        if let Err(error) = child.wait().await {
            tracing::warn!(%id, %error, "cannot wait for a shim");
        }
        if let Some(live) = weak.upgrade().filter(|_| ours) {
            gone(&Live { inner: live }, &id).await;
        }
    });
}

/// Watches shims that are nobody's children.
pub(super) fn adopt(live: &Live, mut shims: Vec<Adopted>) {
    let weak = Arc::downgrade(&live.inner);
    tokio::spawn(async move {
        while !shims.is_empty() {
            let count = u32::try_from(shims.len()).unwrap_or(u32::MAX);
            tokio::time::sleep(LOOK.max(LOOK_EACH.saturating_mul(count))).await;
            let Some(inner) = weak.upgrade() else { return };
            let (alive, ended): (Vec<_>, Vec<_>) =
                shims.into_iter().partition(|adopted| adopted.shim.is_alive());
            let live = Live { inner };
            for adopted in ended {
                gone(&live, &adopted.id).await;
            }
            alive.iter().for_each(|adopted| catch_up(&live, &adopted.id));
            shims = alive;
        }
    });
}

/// Reads again what was still being started when it was adopted.
fn catch_up(live: &Live, id: &Id) {
    if live.known(id).is_some_and(|record| record.program.is_none())
        && let Ok(record) = Record::read(&live.record(id))
    {
        live.learn(id, record);
    }
}

async fn gone(live: &Live, id: &Id) {
    if let Err(error) = shim_gone(live, id, Trace::Fresh).await {
        tracing::warn!(%id, %error, "cannot tell how a run ended");
    }
}

/// Finds out how a run ended whose shim is no more. Where the shim could not write it down, what is left of the run is
/// brought to an end, and it counts as lost.
pub(super) async fn shim_gone(live: &Live, id: &Id, trace: Trace) -> Result<(), Error> {
    let path = live.record(id);
    let Some(known) = live.known(id) else { return Ok(()) };
    let mut record = Record::read(&path).unwrap_or(known);
    let lost = record.end.is_none();
    let left = record.clone();
    let cleared = tokio::task::spawn_blocking(move || {
        let ended = match trace {
            Trace::Fresh | Trace::Old if lost => {
                shim::tree::end_orphans(&left, trace == Trace::Fresh, Instant::now() + REMAINS)
            }
            Trace::Fresh | Trace::Old | Trace::None => true,
        };
        shim::tree::clear(&left);
        ended
    });
    if !cleared.await.unwrap_or(false) {
        tracing::warn!(%id, "something of a lost run does not end");
    }
    if lost {
        record.end = Some(shim::End { at_ms: now_ms(), cause: shim::Cause::Lost, last_line: None });
        record.replace(&path).map_err(|source| at(&path, source))?;
    }
    live.learn(id, record);
    Ok(())
}

/// Ends every run, and waits until they have.
pub(super) async fn stop_all(live: &Live, grace: Duration) -> Result<(), Error> {
    let mut changes = live.changes();
    let ended = async {
        let mut asked = BTreeSet::new();
        while live.unsettled() {
            for (id, _) in running(live) {
                if asked.insert(id.clone()) {
                    live.stop(&id, grace).await?;
                }
            }
            if let Err(RecvError::Closed) = changes.recv().await {
                break;
            }
        }
        Ok::<_, Error>(())
    };
    if let Ok(ended) = tokio::time::timeout(grace + CLEARING, ended).await {
        return ended;
    }
    for (id, record) in running(live) {
        shim::tree::signal(record.shim, Signal::SIGKILL);
        shim_gone(live, &id, Trace::Fresh).await?;
    }
    Ok(())
}

fn running(live: &Live) -> Vec<(Id, Record)> {
    let ids: Vec<Id> = live.inner.runs.lock().keys().cloned().collect();
    let known = ids.into_iter().filter_map(|id| live.known(&id).map(|record| (id, record)));
    known.filter(|(_, record)| record.end.is_none()).collect()
}

/// What a record says, in the words of the port.
pub(super) fn state(record: &Record) -> Result<State, Error> {
    let since = moment(record.since_ms)?;
    let Some(end) = &record.end else {
        let pid = record.program.map_or(record.shim.pid, |program| program.pid);
        return Ok(State::Running { pid, since });
    };
    let cause = match &end.cause {
        shim::Cause::Exited(code) => Cause::Exited(*code),
        shim::Cause::Signaled(signal) => Cause::Signaled(*signal),
        shim::Cause::OutOfMemory => Cause::OutOfMemory,
        shim::Cause::TimedOut => Cause::TimedOut,
        shim::Cause::TooManyProcesses => Cause::TooManyProcesses,
        shim::Cause::NotStarted(message) => Cause::NotStarted(message.clone()),
        shim::Cause::Lost => Cause::Lost,
    };
    Ok(State::Ended(End { since, at: moment(end.at_ms)?, cause, last_line: end.last_line.clone() }))
}

fn moment(milliseconds: i64) -> Result<Timestamp, Error> {
    Timestamp::from_millisecond(milliseconds).map_err(|error| Error::Shim(io::Error::other(error)))
}
