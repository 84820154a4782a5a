//! The pure parts by table, and the log on a real file.

use std::fs::{self, File};
use std::io::{Cursor, Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;

use crate::bounds::proportional;
use crate::cgroup::{counter, path_of};
use crate::last_line::{LastLine, clean};
use crate::log::{Log, drain};
use crate::order::Order;
use crate::process::{Process, Stat};
use crate::{kept, process, record};

#[test]
fn a_line_of_proc_is_read_whatever_the_program_is_called() {
    let rest = "S 10 11 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 9 0 12345 1000 77 18446744073709551615";
    let want = Stat {
        process: Process { pid: 42, start: 12345 },
        ended: false,
        parent: 10,
        group: 11,
        session: 12,
        threads: 9,
        resident_pages: 77,
    };
    for name in ["sh", "a b", "evil) Z 1 1 1", "((", ""] {
        assert_eq!(Stat::parse(&format!("42 ({name}) {rest}")), Some(want), "{name}");
    }
    let ended = format!("42 (sh) {}", rest.replacen('S', "Z", 1));
    assert!(Stat::parse(&ended).is_some_and(|stat| stat.ended));
    for broken in ["", "42", "42 (sh", "42 (sh) S 1 2", "x (sh) S 10 11 12"] {
        assert_eq!(Stat::parse(broken), None, "{broken}");
    }
}

#[test]
fn a_process_is_known_by_its_number_and_its_start() {
    let this = Process::this().expect("proc is there");
    assert!(this.is_alive());
    assert!(!Process { start: this.start + 1, ..this }.is_alive(), "another with the same number");
    assert!(process::all().iter().any(|stat| stat.process == this));
}

#[test]
fn the_last_line_is_fit_to_be_shown() {
    let long = "x".repeat(1000);
    let cut = "x".repeat(300);
    let table: [(&[u8], &str); 9] = [
        (b"plain", "plain"),
        (b"  \x1b[1;31mred\x1b[0m\tand \x1b]0;title\x07bold\x1b]8;;u\x1b\\", "red and bold"),
        (b"bell\x07 null\x00 back\x08", "bell null back"),
        ("\u{9b}31mred\u{202e}txt.exe".as_bytes(), "redtxt.exe"),
        (b"\xff\xfe", "\u{fffd}\u{fffd}"),
        (b"\x1b", ""),
        (b"\x1b[", ""),
        (b"\x1b]never ends", ""),
        (long.as_bytes(), &cut),
    ];
    for (line, want) in table {
        assert_eq!(clean(line), want, "{line:?}");
    }
}

#[test]
fn the_last_line_is_the_last_that_says_something() {
    let table: [(&[&str], Option<&str>); 6] = [
        (&[], None),
        (&["\n\n  \n"], None),
        (&["one\ntwo\n\n"], Some("two")),
        (&["one\npar", "tial"], Some("partial")),
        (&["10%\r20%\r\n"], Some("20%")),
        (&["one\n", "\u{1b}[2J\n"], Some("one")),
    ];
    for (pieces, want) in table {
        let mut last = LastLine::default();
        pieces.iter().for_each(|piece| last.feed(piece.as_bytes()));
        assert_eq!(last.finish().as_deref(), want, "{pieces:?}");
    }
}

#[test]
fn our_place_among_control_groups_is_found_by_name() {
    let own = "9:name=systemd:/\n4:memory:/a/b\n3:cpu,cpuacct:/c\n0::/user.slice/x:y\n";
    let table =
        [("memory", Some("a/b")), ("cpuacct", Some("c")), ("", Some("user.slice/x:y")), ("pids", None)];
    for (controller, want) in table {
        assert_eq!(path_of(own, controller), want.map(PathBuf::from), "{controller}");
    }
}

#[test]
fn counters_are_read_by_their_whole_name() {
    let text = "oom 3\noom_kill 2\noom_kill_disable 0\n";
    let table = [("oom", 3), ("oom_kill", 2), ("oom_kill_disable", 0), ("max", 0)];
    for (key, want) in table {
        assert_eq!(counter(text, key), want, "{key}");
    }
    assert_eq!(
        proportional("00400000-7ff rollup\nRss:    900 kB\nPss:      12 kB\nPss_Anon: 4 kB\n"),
        12 * 1024
    );
}

#[test]
fn an_order_that_cannot_be_read_is_not_quoted() {
    let order = r#"{"command": ["a"], "env": {"TOKEN": ["hunter2"]}}"#;
    let error = Order::read(order.as_bytes()).expect_err("the order is wrong");
    assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
}

#[test]
fn a_log_keeps_its_newest_half_when_it_is_full() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("deep/a.log");
    let mut log = Log::open(&path, Some(8 * 1024)).expect("a log");
    let text: String = (0..5000).map(|number| format!("line {number}\n")).collect();
    for piece in text.as_bytes().chunks(777) {
        log.add(piece).expect("room");
        assert!(fs::metadata(&path).expect("it is there").len() <= 8 * 1024);
    }
    let left = fs::read_to_string(&path).expect("text");
    assert!(left.len() >= 4 * 1024 && text.ends_with(&left), "{} bytes", left.len());
    drop(log);
    let mut log = Log::open(&path, Some(8 * 1024)).expect("the same log");
    log.add(b"after\n").expect("room");
    assert_eq!(fs::read_to_string(&path).expect("text"), format!("{left}after\n"), "it is added to");
}

#[test]
fn whoever_reads_along_finds_its_place_in_the_next_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("a.log");
    let mut log = Log::open(&path, Some(8 * 1024)).expect("a log");
    log.add(&[b'a'; 8 * 1024]).expect("room");
    let mut reader = File::open(&path).expect("a log");
    let mut seen = Vec::new();
    reader.read_to_end(&mut seen).expect("text");
    log.add(b"next").expect("room");
    let mut next = File::open(&path).expect("a log");
    next.seek(SeekFrom::Start(kept(reader.metadata().expect("it is held").len()))).expect("a place");
    let mut rest = String::new();
    next.read_to_string(&mut rest).expect("text");
    assert_eq!(rest, "next");
}

#[test]
fn a_log_that_loses_its_directory_does_not_hold_up_the_program() {
    let dir = tempfile::tempdir().expect("a directory");
    let log = Log::open(&dir.path().join("gone/a.log"), Some(8 * 1024)).expect("a log");
    fs::remove_dir_all(dir.path().join("gone")).expect("it is ours");
    let text = [vec![b'x'; 100_000], b"\nend\n".to_vec()].concat();
    assert_eq!(drain(Cursor::new(text), log).as_deref(), Some("end"));
}

#[test]
fn a_record_is_created_once() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("a.run");
    let this = Process::this().expect("proc is there");
    let first = record::Record {
        boot: "b".into(),
        shim: this,
        program: None,
        since_ms: 1,
        cgroups: Vec::new(),
        end: None,
    };
    first.create(&path).expect("it is new");
    let second = record::Record { since_ms: 2, ..first.clone() };
    let error = second.create(&path).expect_err("it is there");
    assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
    assert_eq!(record::Record::read(&path).expect("a record"), first);
    second.replace(&path).expect("it can be replaced");
    assert_eq!(record::Record::read(&path).expect("a record"), second);
    assert_eq!(fs::read_dir(dir.path()).expect("a directory").count(), 1, "no draft is left");
}
