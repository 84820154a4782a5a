//! How long all calls together may take that somebody waits for.

use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;

/// A look and a step have 30 s, and then nobody learns why they took so long: what is asked for one ends before.
const TOGETHER: Duration = Duration::from_secs(27);

tokio::task_local! {
    static END: Instant;
}

/// Does something that calls AWS any number of times, and lets no call last longer than all of them may.
pub async fn in_time<T>(work: impl Future<Output = T>) -> T {
    // On the heap: what calls AWS a dozen times is large, and the scope would hold it once more.
    END.scope(Instant::now() + TOGETHER, Box::pin(work)).await
}

/// How long the next call may take, if somebody waits.
pub(super) fn rest() -> Option<Duration> {
    END.try_with(|end| end.saturating_duration_since(Instant::now())).ok()
}
