//! How runs end.

use std::fs;
use std::time::{Duration, Instant};

use ports::process::{Cause, Processes as _};
use shim::process::Process;

use crate::room::{Room, carrying, ended, printed_processes, until};

const LONG: Duration = Duration::from_secs(3600);

pub async fn what_it_prints_is_in_the_log_and_its_code_in_the_end() {
    let room = Room::new().await;
    let id = room.shell("a", "echo hello; printf '\\033[31moops\\033[0m\\n' >&2; exit 3").await;
    let end = ended(&room.live, &id).await;
    assert_eq!(end.cause, Cause::Exited(3));
    assert_eq!(end.last_line.as_deref(), Some("oops"), "without colours");
    assert_eq!(room.log(&id), "hello\n\u{1b}[31moops\u{1b}[0m\n");
    let again = room.shell("b", "echo more").await;
    assert_eq!(ended(&room.live, &again).await.cause, Cause::Exited(0));
}

pub async fn a_signal_that_ends_it_is_told() {
    let room = Room::new().await;
    let id = room.shell("a", "kill -SEGV $$").await;
    assert_eq!(ended(&room.live, &id).await.cause, Cause::Signaled(11));
}

pub async fn what_cannot_start_says_what_and_why() {
    let room = Room::new().await;
    let plain = room.dir.path().join("plain");
    fs::write(&plain, "no program").expect("a file");
    let plain = plain.to_str().expect("a plain path");
    let gone = room.dir.path().join("gone");
    let table = [
        (
            "no-such-program-here",
            room.dir.path(),
            "cannot start `no-such-program-here`: there is no such program",
        ),
        (plain, room.dir.path(), "permission denied"),
        ("true", gone.as_path(), "gone does not exist"),
        ("true", plain.as_ref(), "plain is not a directory"),
        ("tr\0ue", room.dir.path(), "nul byte"),
    ];
    for (row, (program, directory, want)) in table.into_iter().enumerate() {
        let mut launch = room.launch(&format!("row-{row}"), &[program]);
        launch.directory = directory.to_owned();
        let id = room.start(launch).await;
        let Cause::NotStarted(message) = ended(&room.live, &id).await.cause else {
            panic!("row {row} started")
        };
        assert!(message.contains(want) && message.contains(program), "row {row}: {message}");
    }
}

pub async fn a_program_that_listens_ends_within_its_grace() {
    let room = Room::new().await;
    let script = "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.05; done";
    let id = room.shell("a", script).await;
    room.printed(&id, "ready").await;
    room.live.stop(&id, LONG).await.expect("it is asked");
    let end = ended(&room.live, &id).await;
    assert_eq!(end.cause, Cause::Exited(7));
    assert_eq!(end.last_line.as_deref(), Some("bye"));
}

pub async fn a_program_that_does_not_listen_is_killed_after_its_grace() {
    let room = Room::new().await;
    let id = room.shell("a", "trap '' TERM; echo ready; while :; do sleep 1000; done").await;
    room.printed(&id, "ready").await;
    let grace = Duration::from_millis(300);
    let asked = Instant::now();
    room.live.stop(&id, grace).await.expect("it is asked");
    assert_eq!(ended(&room.live, &id).await.cause, Cause::Signaled(9));
    assert!(asked.elapsed() >= grace, "it had its grace");
}

pub async fn a_second_stop_shortens_the_grace() {
    let room = Room::new().await;
    let id = room.shell("a", "trap 'echo asked' TERM; echo ready; while :; do sleep 0.05; done").await;
    room.printed(&id, "ready").await;
    room.live.stop(&id, LONG).await.expect("it is asked");
    room.printed(&id, "asked").await;
    room.live.stop(&id, Duration::ZERO).await.expect("it is asked again");
    room.live.stop(&id, LONG).await.expect("asking for more time is nothing");
    assert_eq!(ended(&room.live, &id).await.cause, Cause::Signaled(9));
}

pub async fn nothing_of_a_tree_is_left_however_it_hid() {
    let room = Room::new().await;
    let hide = "setsid sh -c 'trap \"\" TERM HUP; echo pid $$; sleep 1000; sleep 1000' &\n\
                (sh -c 'sleep 1000 & echo pid $!')\n\
                (setsid sh -c '(sleep 1000 & echo pid $!)' &)\n";
    for (id, last) in [("ends", "while [ ! -e go ]; do sleep 0.02; done"), ("stopped", "sleep 1000")] {
        let id = room.shell(id, &format!("{hide}{last}")).await;
        until("three have hidden", || room.log(&id).matches("pid ").count() == 3).await;
        let hidden = printed_processes(&room.log(&id));
        assert_eq!(hidden.iter().filter(|process| process.is_alive()).count(), 3);
        match last.contains("go") {
            true => fs::write(room.dir.path().join("go"), "").expect("a file"),
            false => room.live.stop(&id, Duration::from_millis(200)).await.expect("it is asked"),
        }
        ended(&room.live, &id).await;
        assert_eq!(hidden.iter().filter(|process| Process::is_alive(process)).count(), 0, "{id}");
    }
}

pub async fn everything_ends_at_once_when_the_platform_ends() {
    let room = Room::new().await;
    let marker = format!("marker-{}-everything", std::process::id());
    for number in 0..5 {
        let script = format!("trap '' TERM; echo ready; while :; do sleep 1000; done # {marker}");
        room.shell(&format!("stubborn-{number}"), &script).await;
    }
    for id in room.live.list().await.expect("a list") {
        room.printed(&id, "ready").await;
    }
    let asked = Instant::now();
    room.live.stop_all(Duration::from_secs(1)).await.expect("everything ends");
    assert!(asked.elapsed() < Duration::from_secs(4), "side by side: {:?}", asked.elapsed());
    assert_eq!(carrying(&marker), 0);
    let late = room.launch("late", &["true"]);
    assert!(room.live.start(late).await.is_err(), "nothing starts any more");
}
