//! What everybody who builds has to hold, whoever it is.

use std::time::Duration;

use super::{Builds, Error, Login, Order, Progress};

/// How long a test waits for what has to come.
const PATIENCE: Duration = Duration::from_secs(60);

/// Three orders and a push: one that ends well, one that fails, one that does not end by itself.
pub(super) struct Case<'a> {
    pub(super) good: Order,
    pub(super) bad: Order,
    pub(super) slow: Order,
    /// Lets the first two end, where they do not by themselves.
    pub(super) push: &'a (dyn Fn() + Sync),
}

/// Runs the suite.
pub(super) async fn holds<B: Builds>(builds: &B, case: Case<'_>) {
    let Case { good, bad, slow, push } = case;
    assert_eq!(builds.look(&good.id).await.expect("it can be looked at"), None, "nothing was ordered");
    builds.cancel("nobody").await.expect("nothing to cancel is fine");
    builds.forget("nobody").await.expect("nothing to forget is fine");

    let mut changes = builds.changes();
    for order in [&good, &bad, &slow] {
        builds.start(order.clone()).await.expect("it starts");
        assert!(builds.look(&order.id).await.expect("it can be looked at").is_some(), "it is known at once");
    }
    let told = tokio::time::timeout(PATIENCE, changes.recv()).await.expect("in time").expect("it is told");
    assert_eq!(told, good.id);
    push();

    let image = match over(builds, &good.id).await {
        Progress::Done { image, .. } => image,
        other => panic!("it ended with {other:?}"),
    };
    let digest = image.strip_prefix(&format!("{}@sha256:", good.tag)).expect("the tag, then the digest");
    assert!(digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()), "{image}");
    builds.start(good.clone()).await.expect("a second time is fine");
    let again = builds.look(&good.id).await.expect("it can be looked at");
    assert!(matches!(again, Some(Progress::Done { .. })), "a known build does not begin again: {again:?}");

    match over(builds, &bad.id).await {
        Progress::Failed { message, .. } => assert!(!message.is_empty()),
        other => panic!("it ended with {other:?}"),
    }

    builds.cancel(&slow.id).await.expect("it can be cancelled");
    let cancelled = over(builds, &slow.id).await;
    assert!(
        matches!(&cancelled, Progress::Failed { message, .. } if message == super::CANCELLED),
        "{cancelled:?}"
    );
    builds.cancel(&good.id).await.expect("too late is fine");
    assert!(matches!(over(builds, &good.id).await, Progress::Done { .. }), "what is over stays as it is");

    builds.forget(&good.id).await.expect("it can be forgotten");
    assert_eq!(builds.look(&good.id).await.expect("it can be looked at"), None);
}

/// A private repository tells what `main` points to only to who has its login.
pub(super) async fn asks_who_comes<B: Builds>(
    builds: &B,
    url: &str,
    head: &str,
    (good, wrong): (&Login, &Login),
) {
    for login in [None, Some(wrong)] {
        let refused = builds.head(url, "main", None, login).await;
        assert!(matches!(refused, Err(Error::Remote { .. })), "{refused:?}");
    }
    let told = builds.head(url, "main", None, Some(good)).await.expect("it answers");
    assert_eq!(told.as_deref(), Some(head));
}

/// Waits until a build is over.
pub(super) async fn over<B: Builds>(builds: &B, id: &str) -> Progress {
    let mut changes = builds.changes();
    let wait = async {
        loop {
            if let Some(progress) = builds.look(id).await.expect("it can be looked at")
                && progress.is_over()
            {
                return progress;
            }
            let _ = changes.recv().await;
        }
    };
    match tokio::time::timeout(Duration::from_secs(300), wait).await {
        Ok(progress) => progress,
        Err(_) => panic!("{id} did not end: {:?}", builds.look(id).await),
    }
}
