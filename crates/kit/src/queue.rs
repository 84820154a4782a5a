//! Which object is next: each at most once at a time, in the order in which they are due.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::address::Name;
use crate::fault::Retry;
use crate::time::Dice;

/// The first pause after a failure; it doubles with each further one. Short, as most faults pass in a moment.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// The longest pause between two tries, and the pause where a person has to act first.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// How often in a row somebody else may be faster before we pause, too.
const AT_ONCE: u32 = 5;

/// What became of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing is due until something wakes it.
    Settled,
    /// It is due again after this long.
    After(Duration),
    /// It failed.
    Failed(Retry),
    /// It is no longer there.
    Gone,
}

/// Objects that are due, now or later.
pub(crate) struct Queue {
    inner: Mutex<Inner>,
    earlier: Notify,
    dice: Dice,
}

#[derive(Default)]
struct Inner {
    due: BTreeMap<(Instant, u64), Name>,
    entries: HashMap<Name, Entry>,
    counter: u64,
}

#[derive(Default)]
struct Entry {
    due: Option<(Instant, u64)>,
    running: bool,
    failures: u32,
}

impl Queue {
    pub(crate) fn new(dice: Dice) -> Self {
        Self { inner: Mutex::default(), earlier: Notify::new(), dice }
    }

    /// Makes an object due now. One that is being worked on comes again when that is done.
    pub(crate) fn wake(&self, name: Name) {
        self.inner.lock().schedule(name, Instant::now());
        self.earlier.notify_one();
    }

    /// How many objects are due and wait.
    pub(crate) fn depth(&self) -> usize {
        let now = Instant::now();
        self.inner.lock().due.range(..=(now, u64::MAX)).count()
    }

    /// The next object, as soon as one is due. It is nobody else's until [`Queue::done`].
    pub(crate) async fn take(&self) -> Name {
        loop {
            let wait = {
                let mut inner = self.inner.lock();
                match inner.first(Instant::now()) {
                    Ok(name) => return name,
                    Err(wait) => wait,
                }
            };
            match wait {
                None => self.earlier.notified().await,
                Some(at) => {
                    tokio::select! {
                        () = self.earlier.notified() => {}
                        () = tokio::time::sleep_until(at) => {}
                    }
                }
            }
        }
    }

    /// Gives an object back.
    pub(crate) fn done(&self, name: &Name, verdict: Verdict) {
        let roll = self.dice.roll();
        let mut inner = self.inner.lock();
        let Some(entry) = inner.entries.get_mut(name) else { return };
        entry.running = false;
        let woken = entry.due.take();
        let pause = match verdict {
            Verdict::Settled | Verdict::Gone => None,
            Verdict::After(delay) => Some(delay),
            Verdict::Failed(retry) => Some(pause(retry, entry.failures, roll)),
        };
        entry.failures = match verdict {
            Verdict::Failed(_) => entry.failures.saturating_add(1),
            Verdict::Settled | Verdict::After(_) | Verdict::Gone => 0,
        };
        if verdict == Verdict::Gone && woken.is_none() {
            inner.entries.remove(name);
            return;
        }
        let later = pause.map(|pause| Instant::now() + pause);
        let due = [woken.map(|(at, _)| at), later].into_iter().flatten().min();
        if let Some(at) = due {
            inner.schedule(name.clone(), at);
            self.earlier.notify_one();
        }
    }
}

impl Inner {
    /// Makes an object due at a time, unless it is due before.
    fn schedule(&mut self, name: Name, at: Instant) {
        self.counter += 1;
        let place = (at, self.counter);
        let entry = self.entries.entry(name.clone()).or_default();
        if entry.due.is_some_and(|(due, _)| due <= at) {
            return;
        }
        let old = entry.due.replace(place);
        // One that is being worked on is not in line: it is put there when it is given back.
        if !entry.running {
            if let Some(old) = old {
                self.due.remove(&old);
            }
            self.due.insert(place, name);
        }
    }

    /// The first object that is due, or when the first will be.
    fn first(&mut self, now: Instant) -> Result<Name, Option<Instant>> {
        let Some((&(at, _), _)) = self.due.first_key_value() else { return Err(None) };
        if at > now {
            return Err(Some(at));
        }
        let Some((_, name)) = self.due.pop_first() else { return Err(None) };
        let entry = self.entries.entry(name.clone()).or_default();
        entry.due = None;
        entry.running = true;
        Ok(name)
    }
}

/// How long to pause after a failure. Between half and all of it, by the dice, so that a crowd spreads out.
fn pause(retry: Retry, failures: u32, roll: u64) -> Duration {
    let doubled = |failures: u32| FIRST_PAUSE.saturating_mul(1 << failures.min(16)).min(LONGEST_PAUSE);
    let whole = match retry {
        Retry::Now if failures < AT_ONCE => return Duration::ZERO,
        Retry::Now => doubled(failures - AT_ONCE),
        Retry::Backoff => doubled(failures),
        Retry::Within(longest) => doubled(failures).min(longest),
        // One that is to wait for nothing would spin: it counts as the first failure at least.
        Retry::After(wait) => wait.clamp(doubled(0), LONGEST_PAUSE),
        Retry::Slowly => LONGEST_PAUSE,
    };
    whole / 2 + whole.mul_f64(0.5 * (roll as f64 / u64::MAX as f64))
}

#[cfg(test)]
mod tests;
