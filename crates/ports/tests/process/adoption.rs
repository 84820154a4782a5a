//! Platforms that go and come back.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;
use ports::process::{Cause, Id, Processes as _, State};
use shim::Record;
use shim::process::Process;

use crate::room::{self, Room, ended, printed_processes, until};

const TREE: &str = "setsid sh -c 'echo pid $$; exec sleep 1000' & echo pid $$; sleep 1000";

pub async fn a_platform_that_goes_leaves_its_runs_to_the_next() {
    let Room { live, dir } = Room::new().await;
    live.start(room::launch(dir.path(), "a", &["sleep", "1000"])).await.expect("it starts");
    let id = Id::new("a");
    let before = live.look(&id).await.expect("a look");
    drop(live);
    let live = room::open(dir.path()).await;
    assert_eq!(live.list().await.expect("a list"), std::slice::from_ref(&id));
    assert_eq!(live.look(&id).await.expect("a look"), before);
    live.start(room::launch(dir.path(), "a", &["false"])).await.expect("it is known");
    assert_eq!(live.look(&id).await.expect("a look"), before, "it was not started again");
    live.stop(&id, Duration::from_secs(10)).await.expect("it is asked");
    assert_eq!(ended(&live, &id).await.cause, Cause::Signaled(15));
}

/// The part of a platform that starts one run and is then killed.
pub fn platform(dir: &str) -> ExitCode {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let live = room::open(Path::new(dir)).await;
        let launch = room::launch(Path::new(dir), "a", &["/bin/sh", "-c", TREE]);
        live.start(launch).await.expect("it starts");
        println!("started");
        std::future::pending::<()>().await;
    });
    ExitCode::SUCCESS
}

pub async fn a_platform_that_is_killed_leaves_its_runs_to_the_next() {
    let Room { live, dir } = Room::new().await;
    drop(live);
    let mut platform = Command::new(std::env::current_exe().expect("this program"))
        .args(["platform", dir.path().to_str().expect("plain")])
        .stdout(Stdio::piped())
        .spawn()
        .expect("a platform");
    let mut line = String::new();
    BufReader::new(platform.stdout.take().expect("its output")).read_line(&mut line).expect("it speaks");
    assert_eq!(line, "started\n");
    platform.kill().expect("it runs");
    platform.wait().expect("it is ours");

    let room = Room { live: room::open(dir.path()).await, dir };
    let id = Id::new("a");
    let state = room.live.look(&id).await.expect("a look");
    assert!(matches!(state, Some(State::Running { .. })), "{state:?}");
    until("both have told", || room.log(&id).matches("pid ").count() == 2).await;
    let tree = printed_processes(&room.log(&id));
    assert!(tree.len() == 2 && tree.iter().all(Process::is_alive), "{tree:?}");
    room.live.stop(&id, Duration::from_secs(10)).await.expect("it is asked");
    assert_eq!(ended(&room.live, &id).await.cause, Cause::Signaled(15));
    assert!(!tree.iter().any(Process::is_alive), "nothing is left");
}

pub async fn an_end_that_nobody_saw_is_known_afterwards() {
    let Room { live, dir } = Room::new().await;
    let launch =
        room::launch(dir.path(), "a", &["/bin/sh", "-c", "while [ ! -e go ]; do sleep 0.02; done; exit 4"]);
    live.start(launch).await.expect("it starts");
    drop(live);
    let path = dir.path().join("runs/a.run");
    fs::write(dir.path().join("go"), "").expect("a file");
    until("the end is written", || Record::read(&path).is_ok_and(|record| record.end.is_some())).await;
    let live = room::open(dir.path()).await;
    assert_eq!(ended(&live, &Id::new("a")).await.cause, Cause::Exited(4));
}

pub async fn a_run_whose_shim_is_killed_is_ended_and_lost() {
    let room = Room::new().await;
    let id = room.shell("a", TREE).await;
    until("both have told", || room.log(&id).matches("pid ").count() == 2).await;
    let tree = printed_processes(&room.log(&id));
    shim::tree::signal(room.record(&id).shim, Signal::SIGKILL);
    assert_eq!(ended(&room.live, &id).await.cause, Cause::Lost);
    let program = room.record(&id).program.expect("it was started");
    assert!(!program.is_alive());
    // Who left the session can only be found where there are control groups.
    if !room.record(&id).cgroups.is_empty() {
        assert!(!tree.iter().any(Process::is_alive), "nothing is left");
    }
    tree.iter().for_each(|process| shim::tree::signal(*process, Signal::SIGKILL));
}

pub async fn remains_of_a_dead_shim_are_ended_at_the_next_start() {
    let Room { live, dir } = Room::new().await;
    live.start(room::launch(dir.path(), "a", &["/bin/sh", "-c", "sleep 1000 & sleep 1000"]))
        .await
        .expect("it starts");
    drop(live);
    let record = Record::read(&dir.path().join("runs/a.run")).expect("a record");
    shim::tree::signal(record.shim, Signal::SIGKILL);
    until("the shim is gone", || !record.shim.is_alive()).await;
    let program = record.program.expect("it was started");
    assert!(program.is_alive(), "it outlives its shim");
    let live = room::open(dir.path()).await;
    assert_eq!(ended(&live, &Id::new("a")).await.cause, Cause::Lost);
    assert!(!program.is_alive());
}

pub async fn a_stranger_with_the_same_number_is_left_alone() {
    let Room { live, dir } = Room::new().await;
    drop(live);
    let mut stranger = Command::new("sleep").arg("1000").spawn().expect("a process");
    let found = Process::find(stranger.id()).expect("it runs");
    let earlier = Process { start: found.start - 1, ..found };
    let boot = shim::process::boot().expect("a boot");
    let table = [
        ("same-number", boot.as_str(), earlier),
        ("same-number-and-time-of-another-boot", "another boot", found),
    ];
    for (id, boot, process) in table {
        let record = Record {
            boot: boot.to_owned(),
            shim: process,
            program: Some(process),
            since_ms: 0,
            cgroups: Vec::new(),
            end: None,
        };
        record.create(&dir.path().join(format!("runs/{id}.run"))).expect("a record");
    }
    let live = room::open(dir.path()).await;
    for (id, ..) in table {
        assert_eq!(ended(&live, &Id::new(id)).await.cause, Cause::Lost, "{id}");
        live.stop(&Id::new(id), Duration::ZERO).await.expect("stopping what has ended is nothing");
    }
    assert!(found.is_alive(), "the stranger was hit");
    stranger.kill().expect("it runs");
    stranger.wait().expect("it is ours");
}

pub async fn two_platforms_start_a_run_once() {
    let room = Room::new().await;
    let other = room::open(room.dir.path()).await;
    let launch = room.launch("a", &["/bin/sh", "-c", "echo once; exec sleep 1000"]);
    let (one, two) = tokio::join!(room.live.start(launch.clone()), other.start(launch));
    one.expect("it starts");
    two.expect("it is started");
    let id = Id::new("a");
    assert_eq!(room.live.look(&id).await.expect("a look"), other.look(&id).await.expect("a look"));
    room.printed(&id, "once").await;
    other.stop(&id, Duration::from_secs(10)).await.expect("it is asked");
    assert_eq!(ended(&room.live, &id).await.cause, Cause::Signaled(15));
    assert_eq!(ended(&other, &id).await.cause, Cause::Signaled(15));
    assert_eq!(room.log(&id), "once\n");
}
