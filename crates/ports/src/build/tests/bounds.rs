//! Builds that do not end, and a platform that does.

use std::time::Duration;

use super::super::contract::over;
use super::super::{Builds as _, Limits, Order, Progress, Stage};
use super::bench::{Bench, SLOW_PACKAGE};

/// Waits until the program of a build has printed something.
async fn started(bench: &Bench, order: &Order) {
    let mut changes = bench.live.changes();
    let wait = async {
        loop {
            let progress = bench.live.look(&order.id).await.expect("it can be looked at");
            match progress {
                Some(Progress::Running { stage: Stage::Building, .. })
                    if bench.log(order).lines().any(|line| line == "started") =>
                {
                    return;
                }
                Some(Progress::Running { .. }) => tokio::task::yield_now().await,
                other => panic!("{other:?}"),
            }
            let _ = changes.try_recv();
        }
    };
    tokio::time::timeout(Duration::from_secs(60), wait).await.expect("it starts in time");
}

#[tokio::test]
async fn a_build_that_takes_too_long_fails_and_says_so() {
    let bench = Bench::open().await;
    let limits = Limits { time: Duration::from_secs(2), ..Limits::default() };
    let order = Order { limits, ..bench.upload("slow", &[SLOW_PACKAGE]) };
    bench.live.start(order.clone()).await.expect("it starts");
    let Progress::Failed { stage, message } = over(&bench.live, &order.id).await else {
        panic!("it was built")
    };
    assert_eq!(stage, Stage::Building);
    assert!(message.contains("did not end in time; a build may take 2 seconds"), "{message}");
    bench.is_clean();
}

#[tokio::test]
async fn a_build_has_the_bounds_of_its_order_and_none_of_the_platforms_secrets() {
    let bench = Bench::open().await;
    let package = r#"{"scripts":{"build":"env","start":"true"}}"#;
    let env = [("GREETING".to_owned(), "$(touch x) `y`".to_owned())].into();
    let order = Order { env, ..bench.upload("bounded", &[("package.json", package)]) };
    bench.live.start(order.clone()).await.expect("it starts");
    assert!(matches!(over(&bench.live, &order.id).await, Progress::Done { .. }));
    let launched = bench.processes.launched();
    let launch = launched.first().expect("it ran");
    assert_eq!(launch.limits.memory_bytes, Some(2 << 30));
    assert_eq!(launch.limits.processes, Some(512));
    assert!(launch.limits.lifetime.is_some_and(|life| life <= Duration::from_secs(600)));
    let log = bench.log(&order);
    assert!(log.contains("GREETING=$(touch x) `y`"), "{log}");
    assert!(!log.contains("CARGO_MANIFEST_DIR="), "the platform's environment is its own");
}

#[tokio::test]
async fn a_large_or_crowded_image_is_refused() {
    let bench = Bench::open().await;
    let package = r#"{"scripts":{"build":"head -c 3000000 /dev/zero > big","start":"true"}}"#;
    let limits = Limits { image_bytes: 1 << 20, ..Limits::default() };
    let order = Order { limits, ..bench.upload("large", &[("package.json", package)]) };
    bench.live.start(order.clone()).await.expect("it starts");
    let Progress::Failed { stage, message } = over(&bench.live, &order.id).await else {
        panic!("it was built")
    };
    assert_eq!(stage, Stage::Packing);
    assert!(message.ends_with("bytes; at most 1048576 are allowed"), "{message}");
    bench.is_clean();
}

#[tokio::test]
async fn a_build_under_way_when_the_platform_was_killed_begins_again() {
    let bench = Bench::open().await;
    let order = bench.upload("slow", &[SLOW_PACKAGE]);
    let quick = bench.upload("quick", &[("index.html", "x")]);
    bench.live.start(quick.clone()).await.expect("it starts");
    let before = over(&bench.live, &quick.id).await;
    bench.live.start(order.clone()).await.expect("it starts");
    started(&bench, &order).await;
    let bench = bench.reopen().await;
    assert_eq!(bench.live.look(&quick.id).await.expect("it can be looked at"), Some(before));
    started(&bench, &order).await;
    assert_eq!(bench.processes.launched().len(), 2, "once in each life");
    bench.live.cancel(&order.id).await.expect("it can be cancelled");
    over(&bench.live, &order.id).await;
    bench.is_clean();
}

#[tokio::test]
async fn a_platform_that_ends_takes_its_builds_with_it_and_finds_them_again() {
    let bench = Bench::open().await;
    let order = bench.upload("slow", &[SLOW_PACKAGE]);
    bench.live.start(order.clone()).await.expect("it starts");
    started(&bench, &order).await;
    bench.live.close().await;
    bench.is_clean();
    let bench = bench.reopen().await;
    started(&bench, &order).await;
    bench.live.forget(&order.id).await.expect("it can be forgotten");
    assert_eq!(bench.live.look(&order.id).await.expect("it can be looked at"), None);
    bench.live.close().await;
    bench.is_clean();
    assert!(bench.processes.is_idle(), "nothing of it runs on");
}
