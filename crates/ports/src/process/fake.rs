//! Process groups that are only remembered, for tests of those who start them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::broadcast;

use super::{Cause, End, Error, Id, Launch, Processes, State};

/// Names of changes that wait for a slow listener.
const CHANGES: usize = 1024;

type Hook = dyn Fn(&str) -> Result<(), Error> + Send + Sync;

/// Process groups in memory. A run goes on until a test ends it, or until it is stopped, which it obeys at once.
#[derive(Clone)]
pub struct Fake {
    inner: Arc<Inner>,
}

struct Inner {
    runs: Mutex<Runs>,
    changes: broadcast::Sender<Id>,
    hook: Mutex<Option<Arc<Hook>>>,
}

#[derive(Default)]
struct Runs {
    states: BTreeMap<Id, State>,
    launches: Vec<Launch>,
    stops: Vec<(Id, Duration)>,
    stubborn: bool,
}

impl Default for Fake {
    fn default() -> Self {
        let changes = broadcast::Sender::new(CHANGES);
        Self { inner: Arc::new(Inner { runs: Mutex::default(), changes, hook: Mutex::default() }) }
    }
}

impl fmt::Debug for Fake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fake").field("runs", &self.inner.runs.lock().states).finish_non_exhaustive()
    }
}

impl Fake {
    /// Calls `hook` with the name of each call before it takes effect; what it refuses does not happen.
    pub fn before_each(&self, hook: impl Fn(&str) -> Result<(), Error> + Send + Sync + 'static) {
        *self.inner.hook.lock() = Some(Arc::new(hook));
    }

    /// Makes runs ignore being stopped from now on, until a test ends them.
    pub fn ignore_stops(&self) {
        self.inner.runs.lock().stubborn = true;
    }

    /// Ends a run. One that is unknown or has ended is left as it is.
    pub fn end(&self, id: &Id, cause: Cause, last_line: Option<&str>) {
        let mut runs = self.inner.runs.lock();
        let Some(State::Running { since, .. }) = runs.states.get(id) else { return };
        let end = End { since: *since, at: Timestamp::now(), cause, last_line: last_line.map(str::to_owned) };
        runs.states.insert(id.clone(), State::Ended(end));
        self.told(id);
    }

    /// Everything that was started, in order, also what was forgotten since.
    pub fn launches(&self) -> Vec<Launch> {
        self.inner.runs.lock().launches.clone()
    }

    /// Every call of `stop`, in order.
    pub fn stops(&self) -> Vec<(Id, Duration)> {
        self.inner.runs.lock().stops.clone()
    }

    fn asked(&self, call: &str) -> Result<(), Error> {
        let hook = self.inner.hook.lock().clone();
        hook.map_or(Ok(()), |hook| hook(call))
    }

    fn told(&self, id: &Id) {
        // Nobody listening is no failure.
        let _ = self.inner.changes.send(id.clone());
    }
}

impl Processes for Fake {
    async fn start(&self, launch: Launch) -> Result<(), Error> {
        self.asked("start")?;
        let mut runs = self.inner.runs.lock();
        if runs.states.contains_key(&launch.id) {
            return Ok(());
        }
        let id = launch.id.clone();
        let now = Timestamp::now();
        let state = if launch.command.is_empty() {
            let cause = Cause::NotStarted("no program is named".into());
            State::Ended(End { since: now, at: now, cause, last_line: None })
        } else {
            // Far above every number of a real process, so that a mistaken signal hits nobody.
            let pid = 1_000_000_000 + u32::try_from(runs.launches.len()).unwrap_or_default();
            State::Running { pid, since: now }
        };
        runs.states.insert(id.clone(), state);
        runs.launches.push(launch);
        self.told(&id);
        Ok(())
    }

    async fn stop(&self, id: &Id, grace: Duration) -> Result<(), Error> {
        self.asked("stop")?;
        let stubborn = {
            let mut runs = self.inner.runs.lock();
            runs.stops.push((id.clone(), grace));
            runs.stubborn
        };
        if !stubborn {
            self.end(id, Cause::Signaled(15), None);
        }
        Ok(())
    }

    async fn look(&self, id: &Id) -> Result<Option<State>, Error> {
        self.asked("look")?;
        Ok(self.inner.runs.lock().states.get(id).cloned())
    }

    async fn list(&self) -> Result<Vec<Id>, Error> {
        self.asked("list")?;
        Ok(self.inner.runs.lock().states.keys().cloned().collect())
    }

    async fn forget(&self, id: &Id) -> Result<(), Error> {
        self.asked("forget")?;
        let mut runs = self.inner.runs.lock();
        if matches!(runs.states.get(id), Some(State::Ended(_))) {
            runs.states.remove(id);
        }
        Ok(())
    }

    fn changes(&self) -> broadcast::Receiver<Id> {
        self.inner.changes.subscribe()
    }
}
