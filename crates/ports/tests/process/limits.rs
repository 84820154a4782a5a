//! Programs that want more than they may have.

use std::fs;
use std::path::Path;
use std::time::Duration;

use ports::process::{Cause, Id, Limits, Processes as _};

use crate::room::{Room, carrying, ended, is_root, until};

const MIB: u64 = 1024 * 1024;

async fn cause_of(room: &Room, script: &str, limits: Limits) -> Cause {
    let mut launch = room.launch("limited", &["/bin/sh", "-c", script]);
    launch.limits = limits;
    let id = room.start(launch).await;
    let cause = ended(&room.live, &id).await.cause;
    until("the shim is gone", || !room.record(&id).shim.is_alive()).await;
    for cgroup in room.record(&id).cgroups {
        assert!(!cgroup.exists(), "{} is left", cgroup.display());
    }
    cause
}

pub async fn memory_is_bounded_for_the_whole_tree() {
    let limits = || Limits { memory_bytes: Some(96 * MIB), ..Limits::default() };
    // `tail` keeps a line until it ends, and this one does not.
    let table = [
        ("a child", "tail /dev/zero; echo survived"),
        ("the program itself", "exec tail /dev/zero"),
        ("a grandchild that nobody waits for", "(setsid tail /dev/zero &) ; sleep 1000"),
    ];
    for (who, script) in table {
        let room = Room::new().await;
        assert_eq!(cause_of(&room, script, limits()).await, Cause::OutOfMemory, "{who}");
    }
    let room = Room::new().await;
    assert_eq!(
        cause_of(&room, "echo small", limits()).await,
        Cause::Exited(0),
        "what stays below is left alone"
    );
}

pub async fn a_fork_bomb_is_contained() {
    let room = Room::new().await;
    let marker = format!("marker-{}-bomb", std::process::id());
    let script = format!("bomb() {{ bomb | bomb & }}; bomb; sleep 1000 # {marker}");
    let limits = Limits { processes: Some(64), ..Limits::default() };
    let cause = cause_of(&room, &script, limits.clone()).await;
    // Without control groups the kernel may refuse the program's own next process before anybody has counted; the
    // program then says so, and ends by itself.
    let log = room.log(&Id::new("limited"));
    let refused = !is_root() && cause == Cause::Exited(2) && log.contains("Cannot fork");
    assert!(refused || cause == Cause::TooManyProcesses, "{cause:?}: {log}");
    assert_eq!(carrying(&marker), 0, "nothing is left");
    let room = Room::new().await;
    let modest = "for n in 1 2 3 4 5 6 7 8; do sleep 0.01 & done; wait";
    assert_eq!(cause_of(&room, modest, limits).await, Cause::Exited(0), "what stays below is left alone");
}

pub async fn time_is_bounded() {
    let room = Room::new().await;
    let limits = Limits { lifetime: Some(Duration::from_millis(300)), ..Limits::default() };
    assert_eq!(cause_of(&room, "trap '' TERM; sleep 1000", limits).await, Cause::TimedOut);
}

pub async fn an_endless_line_fills_neither_memory_nor_disk() {
    let room = Room::new().await;
    let mut launch = room.launch("endless", &["/bin/sh", "-c", "echo first; exec tr '\\0' x < /dev/zero"]);
    launch.limits = Limits { log_bytes: Some(MIB), ..Limits::default() };
    let id = room.start(launch).await;
    let shim = room.record(&id).shim.pid;
    let number = |file: &str, key: &str| {
        let text = fs::read_to_string(format!("/proc/{shim}/{file}")).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
        line.split_ascii_whitespace().next().and_then(|word| word.parse::<u64>().ok()).unwrap_or_default()
    };
    let log = room.dir.path().join("endless.log");
    let size = |path: &Path| fs::metadata(path).map(|file| file.len()).unwrap_or_default();
    until("the shim has read much more than it may keep", || {
        assert!(size(&log) <= MIB, "the log has {} bytes", size(&log));
        number("io", "rchar:") > 256 * MIB
    })
    .await;
    let peak_kib = number("status", "VmHWM:");
    assert!(peak_kib > 0 && peak_kib < 48 * 1024, "the shim took {peak_kib} KiB");
    room.live.stop(&id, Duration::from_secs(5)).await.expect("it is asked");
    let end = ended(&room.live, &id).await;
    assert_eq!(end.last_line.map(|line| line.len()), Some(300));
    let kept = size(&log);
    assert!((MIB / 2..=MIB).contains(&kept), "{kept} bytes are kept");
    assert!(!room.dir.path().join("endless.log.next").exists());
}
