//! What goes on in the background: copies, restores and backups.

use std::future::Future;

use jiff::Timestamp;

use super::super::{Error, Key, Number};
use super::{Inner, Live};

/// How far something is that goes on in the background. When it is done there is nothing to say of it.
#[derive(Clone, Debug)]
pub(super) enum Work {
    Running { since: Timestamp },
    Failed { story: String, at: Timestamp },
}

impl Work {
    pub(super) fn is_running(&self) -> bool {
        matches!(self, Self::Running { .. })
    }
}

impl Live {
    /// Begins work on an instance, unless some is going on there.
    pub(super) fn work(
        &self,
        cluster: &Key,
        number: Number,
        work: impl Future<Output = Result<(), Error>> + Send + 'static,
    ) {
        let place = (cluster.uid.clone(), number);
        {
            let mut works = self.inner.works.lock();
            if works.get(&place).is_some_and(Work::is_running) {
                return;
            }
            works.insert(place.clone(), Work::Running { since: Timestamp::now() });
        }
        let (inner, name) = (self.inner.clone(), cluster.name.clone());
        tokio::spawn(async move {
            let outcome = work.await;
            match outcome {
                Ok(()) => inner.works.lock().remove(&place),
                Err(error) => {
                    let story = story(&error);
                    tracing::warn!(cluster = %name, instance = number, story, "an instance could not be made");
                    inner.works.lock().insert(place, Work::Failed { story, at: Timestamp::now() })
                }
            };
            inner.tell(name);
        });
    }
}

impl Inner {
    /// Refuses to touch an instance that is being made.
    pub(super) fn idle(&self, uid: &str, number: Number) -> Result<(), Error> {
        let busy = self.works.lock().get(&(uid.to_owned(), number)).is_some_and(Work::is_running);
        if busy { Err(Error::Unfit(format!("instance {number} is being made"))) } else { Ok(()) }
    }

    /// Forgets that an instance could not be made.
    pub(super) fn forget_work(&self, uid: &str, number: Number) {
        let mut works = self.works.lock();
        let place = (uid.to_owned(), number);
        if works.get(&place).is_some_and(|work| !work.is_running()) {
            works.remove(&place);
        }
    }
}

/// An error with all its causes.
pub(super) fn story(error: &Error) -> String {
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(source) = cause {
        words = format!("{words}: {source}");
        cause = source.source();
    }
    words
}
