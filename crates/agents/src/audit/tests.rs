//! What is written is found again, and what was changed is found out.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::Map;
use tempfile::TempDir;

use super::chain::{BROKEN, hash};
use super::*;

fn record(action: &str) -> Record {
    Record {
        time: Timestamp::from_second(1_800_000_000).expect("a time"),
        token: "0123456789abcdef".into(),
        name: "builder".into(),
        agent: "test 1".into(),
        action: action.into(),
        subject: "k3x9".into(),
        arguments: digest(&Map::new()),
        plan: None,
        outcome: Outcome::Done,
        reason: None,
    }
}

/// Lines as the trail writes them, and their head.
fn chained(actions: &[String]) -> (Vec<Vec<u8>>, Head) {
    let (mut at, mut lines) = (Head::default(), Vec::new());
    for action in actions {
        let link = Link { number: at.count + 1, previous: at.hash.clone(), record: record(action).bounded() };
        let line = serde_json::to_vec(&link).expect("a line");
        at = at.after(&line);
        lines.push(line);
    }
    (lines, at)
}

fn text(lines: &[Vec<u8>]) -> Vec<u8> {
    lines.iter().flat_map(|line| line.iter().copied().chain([b'\n'])).collect()
}

/// One thing that somebody does to a trail.
#[derive(Clone, Debug)]
enum Harm {
    Flip { line: usize, byte: usize, bit: u8 },
    Remove(usize),
    Swap(usize, usize),
    Duplicate(usize, usize),
    Insert(usize, Vec<u8>),
    Truncate(usize),
    Rewrite(usize),
}

fn harm() -> impl Strategy<Value = Harm> {
    let at = any::<usize>();
    prop_oneof![
        (at, any::<usize>(), 0..8u8).prop_map(|(line, byte, bit)| Harm::Flip { line, byte, bit }),
        at.prop_map(Harm::Remove),
        (at, any::<usize>()).prop_map(|(one, other)| Harm::Swap(one, other)),
        (at, any::<usize>()).prop_map(|(from, to)| Harm::Duplicate(from, to)),
        (at, proptest::collection::vec(any::<u8>(), 0..40)).prop_map(|(at, line)| Harm::Insert(at, line)),
        at.prop_map(Harm::Truncate),
        at.prop_map(Harm::Rewrite),
    ]
}

/// What is left when it is done.
fn harmed(mut lines: Vec<Vec<u8>>, harm: &Harm) -> Vec<u8> {
    let count = lines.len();
    match harm {
        Harm::Flip { line, byte, bit } => {
            let line = &mut lines[line % count];
            let byte = byte % line.len();
            line[byte] ^= 1 << bit;
        }
        Harm::Remove(at) => drop(lines.remove(at % count)),
        Harm::Swap(one, other) => lines.swap(one % count, other % count),
        Harm::Duplicate(from, to) => lines.insert(to % (count + 1), lines[from % count].clone()),
        Harm::Insert(at, line) => lines.insert(at % (count + 1), line.clone()),
        Harm::Truncate(bytes) => {
            let whole = text(&lines);
            return whole[..bytes % whole.len()].to_vec();
        }
        // With its number and the hash of the line before: as good a forgery as one line can be.
        Harm::Rewrite(at) => {
            let line = &mut lines[at % count];
            let mut link: Link = serde_json::from_slice(line).expect("a link");
            link.record.outcome = Outcome::Refused;
            *line = serde_json::to_vec(&link).expect("a line");
        }
    }
    text(&lines)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn every_change_of_one_record_is_found(
        actions in proptest::collection::vec("[a-z_\"\\\\ é]{0,12}", 1..12), harm in harm(),
    ) {
        let (lines, head) = chained(&actions);
        let whole = text(&lines);
        let good = verify(whole.as_slice(), &head, Some(&head.hash)).expect("what was written verifies");
        prop_assert_eq!((good.count, &good.hash, good.expected), (head.count, &head.hash, Some(head.count)));
        let changed = harmed(lines, &harm);
        // Swapped with itself, a record is where it was.
        prop_assume!(changed != whole);
        prop_assert!(verify(changed.as_slice(), &head, None).is_err(), "{:?} is not found", harm);
    }
}

#[test]
fn what_is_wrong_is_told_with_the_number_of_its_line() {
    let actions: Vec<String> = ["a", "b", "c", "d"].map(str::to_owned).into();
    let (lines, head) = chained(&actions);
    let with = |change: &dyn Fn(&mut Vec<Vec<u8>>)| {
        let mut lines = lines.clone();
        change(&mut lines);
        text(&lines)
    };
    let late = Link { number: 5, previous: BROKEN.into(), record: record("e") };
    let late = serde_json::to_vec(&late).expect("a line");
    let mut torn = text(&lines);
    torn.pop();
    let table = [
        (with(&|lines| lines[1].push(b' ')), "line 3 does not follow the line before it"),
        (with(&|lines| drop(lines.remove(0))), "line 1 is record 2"),
        (with(&|lines| drop(lines.pop())), "line 4 is missing: the trail has had 4 records"),
        (with(&|lines| lines[3].push(b' ')), "line 4 is not the one that the head"),
        (with(&|lines| lines.push(b"{}".to_vec())), "line 5 is not a record"),
        (with(&|lines| lines.push(vec![b'x'; LINE_MAX + 1])), "line 5 is not a record"),
        (with(&|lines| lines.push(late.clone())), "line 5 was written after a break"),
        (Vec::new(), "line 1 is missing: the trail has had 4 records"),
        (torn, "line 4 is missing"),
    ];
    for (row, (changed, want)) in table.into_iter().enumerate() {
        let finding = verify(changed.as_slice(), &head, None).expect_err("it is found").to_string();
        assert!(finding.starts_with(want), "row {row}: {finding}");
    }
}

#[test]
fn a_head_that_was_seen_before_is_found_in_a_longer_trail_and_not_in_another() {
    let actions: Vec<String> = ["a", "b", "c"].map(str::to_owned).into();
    let (lines, head) = chained(&actions);
    let seen = hash(&lines[1]);
    let whole = text(&lines);
    let verified = verify(whole.as_slice(), &head, Some(&seen)).expect("it has grown since");
    assert_eq!(verified.expected, Some(2));
    let (others, new) = chained(&["a".into(), "x".into(), "c".into()]);
    let finding = verify(text(&others).as_slice(), &new, Some(&seen)).expect_err("written anew").to_string();
    assert!(finding.starts_with("no record up to line 3 has the hash"), "{finding}");
    verify(&b""[..], &Head::default(), Some(FIRST)).expect("the head of an empty trail");
}

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(TempDir::new().expect("a directory"))
    }

    fn log(&self) -> PathBuf {
        self.0.path().join("audit.log")
    }

    fn head(&self) -> PathBuf {
        head_beside(&self.log())
    }

    async fn write(&self, actions: &[&str]) {
        let trail = Trail::open(&self.log()).expect("opens");
        for action in actions {
            trail.write(record(action)).await.expect("is written");
        }
        assert!(trail.is_sound());
    }

    fn told(&self) -> String {
        told(&self.log())
    }
}

/// What `verify` says, and how many lines there are.
fn told(log: &Path) -> String {
    let head = Head::read(&head_beside(log)).expect("readable").expect("a head");
    let bytes = std::fs::read(log).expect("a log");
    match verify(bytes.as_slice(), &head, None) {
        Ok(Verified { count, torn, .. }) => format!("{count} records, torn {torn}, head {}", head.count),
        Err(finding) => finding.to_string(),
    }
}

#[tokio::test]
async fn a_trail_goes_on_where_it_ended() {
    let place = Place::new();
    place.write(&[]).await;
    assert_eq!(place.told(), "0 records, torn false, head 0");
    place.write(&["a", "b"]).await;
    place.write(&["c"]).await;
    assert_eq!(place.told(), "3 records, torn false, head 3");
}

#[tokio::test]
async fn what_a_crash_left_after_the_head_is_kept_if_it_is_whole_and_cut_off_if_not() {
    let place = Place::new();
    place.write(&["a"]).await;
    let early = std::fs::read(place.head()).expect("a head");
    place.write(&["b", "c"]).await;
    // As if the server had been killed before it wrote the head, and in the middle of a fourth record.
    std::fs::write(place.head(), early).expect("written");
    let mut log = std::fs::read(place.log()).expect("a log");
    log.extend(b"{\"number\":4,\"prev");
    std::fs::write(place.log(), log).expect("written");
    assert_eq!(place.told(), "3 records, torn true, head 1");
    place.write(&["d"]).await;
    assert_eq!(place.told(), "4 records, torn false, head 4");
}

fn remove_last_record(place: &Place) {
    let log = std::fs::read_to_string(place.log()).expect("a log");
    let kept: String = log.split_inclusive('\n').take(2).collect();
    std::fs::write(place.log(), kept).expect("written");
}

/// What is done to a trail of three records while nobody has it open.
type Deed = fn(&Place);

#[tokio::test]
async fn a_broken_trail_goes_on_and_stays_broken() {
    let table: [(&str, Deed, &str); 7] = [
        ("the last record is removed", remove_last_record, "line 3 was written after a break"),
        (
            "the file is removed",
            |place| std::fs::remove_file(place.log()).expect("gone"),
            "line 1 was written after",
        ),
        (
            "the head is removed",
            |place| std::fs::remove_file(place.head()).expect("gone"),
            "line 4 was written after",
        ),
        (
            "the head is garbage",
            |place| std::fs::write(place.head(), "x").expect("written"),
            "line 4 was written after",
        ),
        (
            "the end is torn although the head covers it",
            |place| {
                let log = std::fs::read(place.log()).expect("a log");
                std::fs::write(place.log(), &log[..log.len() - 5]).expect("written");
            },
            "line 3 is not a record",
        ),
        (
            "the last record is another",
            |place| {
                let log = std::fs::read_to_string(place.log()).expect("a log").replace("\"c\"", "\"x\"");
                std::fs::write(place.log(), log).expect("written");
            },
            "line 4 was written after",
        ),
        (
            "something that is no record follows",
            |place| {
                let log = std::fs::read_to_string(place.log()).expect("a log") + "{}\n";
                std::fs::write(place.log(), log).expect("written");
            },
            "line 4 is not a record",
        ),
    ];
    for (what, deed, want) in table {
        let place = Place::new();
        place.write(&["a", "b", "c"]).await;
        deed(&place);
        // Twice: the first life after the break must not hide it from the second.
        place.write(&["d"]).await;
        place.write(&["e"]).await;
        let log = std::fs::read_to_string(place.log()).expect("a log");
        let links = log.lines().filter_map(|line| serde_json::from_str::<Link>(line).ok());
        let actions: Vec<String> = links.map(|link| link.record.action).collect();
        assert!(actions.ends_with(&["audit".into(), "d".into(), "e".into()]), "{what}: {actions:?}");
        let told = place.told();
        assert!(told.starts_with(want), "{what}: {told}");
    }
}

#[tokio::test]
async fn a_long_trail_is_opened_without_being_read() {
    let place = Place::new();
    place.write(&["a", "b", "c"]).await;
    let log = std::fs::read(place.log()).expect("a log");
    // What lies before the last line is looked at by `verify` alone.
    let mut spoiled = log.clone();
    spoiled[..20].fill(b'x');
    std::fs::write(place.log(), &spoiled).expect("written");
    place.write(&["d"]).await;
    let now = std::fs::read(place.log()).expect("a log");
    assert_eq!(now.iter().filter(|byte| **byte == b'\n').count(), 4, "there is no mark");
    assert_eq!(place.told(), "line 1 is not a record");
}

#[test]
fn no_record_is_longer_than_a_line_may_be() {
    let huge = "\"\\\u{1b}[31m\u{202e}漢".repeat(10_000);
    let full = Record {
        time: Timestamp::MAX,
        token: huge.clone(),
        name: huge.clone(),
        agent: huge.clone(),
        action: huge.clone(),
        subject: huge.clone(),
        arguments: huge.clone(),
        plan: Some(huge.clone()),
        outcome: Outcome::Refused,
        reason: Some(huge),
    };
    let link = Link { number: u64::MAX, previous: FIRST.into(), record: full.bounded() };
    let line = serde_json::to_string(&link).expect("a line");
    assert!(line.len() <= LINE_MAX, "{} bytes", line.len());
    assert!(!line.contains('\u{1b}') && !line.contains("\\u001b") && !line.contains('\u{202e}'), "{line}");
}
