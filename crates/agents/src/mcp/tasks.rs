//! Work that outlasts its call, for clients that declare tasks: each task belongs to the token that began it.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rmcp::ErrorData;
use rmcp::model::{DetailedTask, InputResponses, Task};
use rmcp::task_manager::{TaskContext, TaskFuture, TaskManager, TaskOptions};

use crate::identity::Caller;

/// How long a task may run, and how long its result is kept after that: as long as a build may take.
const TTL: Duration = Duration::from_secs(30 * 60);
/// How often a client should look.
const POLL: Duration = Duration::from_secs(2);
/// Tasks that a token may have under way. Beyond that a call answers at once, as it does to clients without tasks.
pub(super) const MOST: usize = 16;

/// All tasks.
#[derive(Default)]
pub(crate) struct Tasks {
    running: TaskManager,
    owners: Mutex<HashMap<String, Owner>>,
}

struct Owner {
    fingerprint: String,
    /// When nobody can ask for the task any more.
    until: Instant,
}

impl Tasks {
    /// Begins a task; `None` if the caller has too many already.
    pub(super) fn begin(
        &self,
        caller: &Caller,
        work: impl FnOnce(TaskContext) -> TaskFuture,
    ) -> Option<Task> {
        let mut owners = self.owners.lock();
        let now = Instant::now();
        owners.retain(|_, owner| owner.until > now);
        let under_way = |(id, owner): &(&String, &Owner)| {
            owner.fingerprint == caller.fingerprint
                && self.running.get_task(id).is_ok_and(|task| !task.status().is_terminal())
        };
        if owners.iter().filter(under_way).count() >= MOST {
            return None;
        }
        let options = TaskOptions::new().with_ttl_ms(millis(TTL)).with_poll_interval_ms(millis(POLL));
        let task = self.running.spawn(options, work);
        let owner = Owner { fingerprint: caller.fingerprint.clone(), until: now + 2 * TTL };
        owners.insert(task.task_id.clone(), owner);
        Some(task)
    }

    /// How far a task is.
    pub(super) fn look(&self, caller: &Caller, id: &str) -> Result<DetailedTask, ErrorData> {
        self.owned(caller, id)?;
        self.running.get_task(id).map_err(|_| missing(id))
    }

    /// Hands a task what it asked a person for.
    pub(super) fn answer(&self, caller: &Caller, id: &str, answers: InputResponses) -> Result<(), ErrorData> {
        self.owned(caller, id)?;
        self.running.update_task(id, answers).map_err(|_| missing(id))
    }

    /// Asks a task to end.
    pub(super) fn cancel(&self, caller: &Caller, id: &str) -> Result<(), ErrorData> {
        self.owned(caller, id)?;
        self.running.cancel_task(id).map_err(|_| missing(id))
    }

    /// Another caller's task and one that there is not are told in the same words.
    fn owned(&self, caller: &Caller, id: &str) -> Result<(), ErrorData> {
        let owners = self.owners.lock();
        let own = owners.get(id).is_some_and(|owner| owner.fingerprint == caller.fingerprint);
        if own { Ok(()) } else { Err(missing(id)) }
    }
}

fn missing(id: &str) -> ErrorData {
    let id: String = id.chars().take(64).collect();
    ErrorData::invalid_params(format!("there is no task {id:?} of this token"), None)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
