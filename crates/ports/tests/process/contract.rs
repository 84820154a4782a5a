//! What holds for every implementation.

use std::io;
use std::path::Path;
use std::time::Duration;

use ports::process::{Cause, Error, Fake, Id, Processes, State};

use crate::room::{self, Room, ended};

const GRACE: Duration = Duration::from_secs(10);

pub async fn the_fake_keeps_the_contract() {
    let dir = tempfile::tempdir().expect("a directory");
    keeps_the_contract(&Fake::default(), dir.path()).await;
}

pub async fn real_processes_keep_the_contract() {
    let room = Room::new().await;
    keeps_the_contract(&room.live, room.dir.path()).await;
}

async fn keeps_the_contract(processes: &impl Processes, dir: &Path) {
    let id = Id::new("contract");
    let launch = room::launch(dir, "contract", &["/bin/sh", "-c", "echo started; exec sleep 1000"]);
    let mut changes = processes.changes();
    assert_eq!(processes.look(&id).await.expect("a look"), None);
    processes.stop(&id, GRACE).await.expect("stopping what is not there is nothing");
    processes.forget(&id).await.expect("forgetting what is not there is nothing");

    processes.start(launch.clone()).await.expect("it starts");
    assert_eq!(changes.recv().await.expect("a start is told"), id);
    let running = processes.look(&id).await.expect("a look");
    assert!(matches!(running, Some(State::Running { .. })), "{running:?}");
    processes.start(launch).await.expect("a second start is nothing");
    assert_eq!(processes.look(&id).await.expect("a look"), running, "the first start stands");
    assert_eq!(processes.list().await.expect("a list"), std::slice::from_ref(&id));
    processes.forget(&id).await.expect("what runs is left alone");
    assert_eq!(processes.look(&id).await.expect("a look"), running);

    processes.stop(&id, GRACE).await.expect("it is asked to end");
    let end = ended(processes, &id).await;
    assert_eq!(end.cause, Cause::Signaled(15));
    assert!(end.since <= end.at, "{end:?}");
    assert_eq!(changes.recv().await.expect("an end is told"), id);
    processes.stop(&id, GRACE).await.expect("stopping what has ended is nothing");
    processes.forget(&id).await.expect("it is forgotten");
    assert_eq!(processes.look(&id).await.expect("a look"), None);
    assert_eq!(processes.list().await.expect("a list"), []);

    let nothing = room::launch(dir, "nothing", &[]);
    let id = nothing.id.clone();
    processes.start(nothing).await.expect("the start is known to have failed");
    assert_eq!(ended(processes, &id).await.cause, Cause::NotStarted("no program is named".into()));
}

pub async fn the_fake_can_be_made_to_fail() {
    let fake = Fake::default();
    let refuse = |call: &str| match call {
        "start" => Err(Error::Shim(io::Error::other("no"))),
        _ => Ok(()),
    };
    fake.before_each(refuse);
    let launch = room::launch(Path::new("/"), "a", &["true"]);
    assert!(fake.start(launch.clone()).await.is_err());
    assert!(fake.launches().is_empty(), "what is refused does not happen");
    fake.before_each(|_| Ok(()));
    fake.start(launch).await.expect("it starts");
    fake.ignore_stops();
    let id = Id::new("a");
    fake.stop(&id, GRACE).await.expect("it is asked");
    assert!(matches!(fake.look(&id).await, Ok(Some(State::Running { .. }))));
    assert_eq!(fake.stops(), [(id.clone(), GRACE)]);
    fake.end(&id, Cause::Exited(1), Some("oh no"));
    assert_eq!(ended(&fake, &id).await.last_line.as_deref(), Some("oh no"));
}
