//! The one thread that writes: it judges, numbers, logs, publishes and answers, in that order.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex, RwLock};
use tokio::sync::oneshot;

use super::log::Log;
use super::state::State;
use super::{Change, CommitError, Event, Expect, Happening, Key, Stored, Write};

/// Bytes of objects in one batch: large enough for one sync to serve all who wait, small enough that the
/// next batch does not wait long.
const BATCH_BYTES: usize = 4 << 20;

type Outcome = Result<Arc<Stored>, CommitError>;

/// A write that waits for its answer.
pub(super) struct Job {
    pub(super) write: Write,
    pub(super) answer: oneshot::Sender<Outcome>,
}

/// Writes on their way to the committer.
#[derive(Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    filled: Condvar,
}

#[derive(Default)]
struct Waiting {
    jobs: Vec<Job>,
    closed: bool,
}

impl Queue {
    /// Takes a write in, or gives it back when the store is closed.
    pub(super) fn push(&self, job: Job) -> Result<(), Job> {
        let mut waiting = self.waiting.lock();
        if waiting.closed {
            return Err(job);
        }
        waiting.jobs.push(job);
        self.filled.notify_one();
        Ok(())
    }

    /// Lets the committer finish what is queued and end.
    pub(super) fn close(&self) {
        self.waiting.lock().closed = true;
        self.filled.notify_one();
    }

    /// All that waits; `None` when closed and empty.
    fn take(&self) -> Option<Vec<Job>> {
        let mut waiting = self.waiting.lock();
        while waiting.jobs.is_empty() {
            if waiting.closed {
                return None;
            }
            self.filled.wait(&mut waiting);
        }
        Some(std::mem::take(&mut waiting.jobs))
    }
}

/// Runs until the queue is closed.
pub(super) fn run(queue: &Queue, state: &RwLock<State>, mut log: Option<Log>) {
    let _last = Last(queue);
    while let Some(jobs) = queue.take() {
        let mut jobs = jobs.into_iter().peekable();
        while jobs.peek().is_some() {
            let mut batch = Batch::after(state.read().revision());
            while batch.bytes < BATCH_BYTES {
                let Some(job) = jobs.next() else { break };
                batch.judge(job, &state.read());
            }
            batch.finish(state, log.as_mut());
        }
        if let Some(log) = &mut log {
            log.tidy(state);
        }
    }
}

/// Leaves nobody waiting for a committer that is gone, even if it panicked.
struct Last<'a>(&'a Queue);

impl Drop for Last<'_> {
    fn drop(&mut self) {
        let mut waiting = self.0.waiting.lock();
        waiting.closed = true;
        waiting.jobs.clear();
    }
}

/// Writes that become durable and visible together.
struct Batch {
    revision: u64,
    bytes: usize,
    events: Vec<Arc<Event>>,
    /// What the batch has made of each key so far.
    overlay: HashMap<Key, Option<Arc<Stored>>>,
    answers: Vec<(oneshot::Sender<Outcome>, Outcome)>,
}

impl Batch {
    fn after(revision: u64) -> Self {
        Self { revision, bytes: 0, events: Vec::new(), overlay: HashMap::new(), answers: Vec::new() }
    }

    fn judge(&mut self, job: Job, state: &State) {
        let Job { write, answer } = job;
        let outcome = self.accept(write, state);
        self.answers.push((answer, outcome));
    }

    fn accept(&mut self, write: Write, state: &State) -> Outcome {
        let Write { key, expect, change } = write;
        let now = self.overlay.get(&key).map_or_else(|| state.get(&key).cloned(), Clone::clone);
        match (&expect, &now, &change) {
            (Expect::Absent, Some(_), _) => return Err(CommitError::Exists),
            (Expect::Revision(_), None, _) | (Expect::Absent, None, Change::Delete(_)) => {
                return Err(CommitError::Missing);
            }
            (Expect::Revision(seen), Some(now), _) if *seen != now.revision => {
                return Err(CommitError::Changed { now: now.revision });
            }
            (Expect::Absent | Expect::Revision(_), _, _) => {}
        }
        self.revision += 1;
        let (happening, draft) = match (change, &now) {
            (Change::Put(draft), None) => (Happening::Added, draft),
            (Change::Put(draft), Some(_)) => (Happening::Modified, draft),
            (Change::Delete(draft), _) => (Happening::Deleted, draft),
        };
        self.bytes += draft.size();
        let object = Arc::new(Stored::new(key.clone(), self.revision, draft.at(self.revision)));
        self.overlay.insert(key, (happening != Happening::Deleted).then(|| object.clone()));
        self.events.push(Arc::new(Event::new(happening, object.clone(), now)));
        Ok(object)
    }

    /// Logs, publishes, wakes and answers. If the log fails, nothing becomes visible, and those refused
    /// because of a write in this batch must not be told so: that write never happened.
    fn finish(mut self, state: &RwLock<State>, log: Option<&mut Log>) {
        let logged = log.map_or(Ok(()), |log| log.append(&self.events));
        match logged {
            Ok(()) => publish(state, self.events),
            Err(why) => {
                for (_, outcome) in &mut self.answers {
                    *outcome = Err(CommitError::Stopped(why.clone()));
                }
            }
        }
        for (answer, outcome) in self.answers {
            // Whoever asked may have gone; the write stands.
            let _ = answer.send(outcome);
        }
    }
}

fn publish(state: &RwLock<State>, events: Vec<Arc<Event>>) {
    let mut touched = events.iter().map(|event| event.object.key.storage.clone()).collect::<Vec<_>>();
    touched.sort();
    touched.dedup();
    let mut visible = state.write();
    for event in events {
        visible.publish(event);
    }
    drop(visible);
    let visible = state.read();
    for storage in touched {
        visible.wake(&storage);
    }
}
