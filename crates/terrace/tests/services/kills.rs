//! The platform is killed while services are being made.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::platform::Platform;
use crate::service::{connect, create, directories, ready};

/// How often the platform is killed.
const KILLS: u64 = 20;

/// Moments between nothing done and all done, different in each run, told when something fails.
fn moments(seed: u64) -> Vec<Duration> {
    let mut state = seed | 1;
    let mut draw = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..KILLS).map(|_| Duration::from_millis(draw() % 1_500)).collect()
}

#[test]
fn a_platform_killed_while_it_provisions_makes_each_service_once() {
    let seed = u64::from(std::process::id()) ^ 0x5DEE_CE66;
    let mut platform = Platform::start(&[]);
    let mut names = Vec::new();
    for (round, moment) in moments(seed).into_iter().enumerate() {
        // A new service every other time: some are hit once, some twice.
        if round % 2 == 0 {
            names.push(format!("db-{round}"));
            create(&platform, names.last().expect("just put there"), "micro");
        }
        std::thread::park_timeout(moment);
        platform.kill();
        platform.rise();
    }
    for name in &names {
        ready(&platform, name);
        assert_eq!(directories(&platform, name).len(), 1, "{name}, seed {seed}");
        connect(&platform, name).ask("create table t (n int)").expect("it takes writes");
    }
    let place = platform.path().join("shared/databases/clusters");
    let made: BTreeSet<_> =
        std::fs::read_dir(&place).expect("it is there").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(made.len(), names.len(), "one directory for each, seed {seed}: {made:?}");
    let servers = platform
        .left_running()
        .iter()
        .filter(|line| line.contains("/postgres -D") || line.contains("/postgres "))
        .count();
    assert!(servers >= names.len(), "each has its server");
    platform.stop("-TERM");
}
