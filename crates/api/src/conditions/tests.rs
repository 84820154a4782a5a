use serde_json::json;

use super::*;

fn at(second: u8) -> Time {
    serde_json::from_value(json!(format!("2026-01-01T00:00:{second:02}Z"))).expect("a time")
}

fn say(status: Option<bool>, reason: Reason) -> Statement<'static> {
    Statement { type_: READY, status, reason, message: String::new(), generation: Some(1) }
}

#[test]
fn the_time_of_transition_moves_only_with_the_status() {
    let mut conditions = Vec::new();
    let table = [
        ("the first statement counts from now", say(Some(false), Reason::Deploying), 1, "False Deploying", 1),
        ("a new reason keeps the time", say(Some(false), Reason::CrashLooping), 2, "False CrashLooping", 1),
        ("a new status moves it", say(Some(true), Reason::Deployed), 3, "True Deployed", 3),
        ("not knowing is a status too", say(None, Reason::Failed), 4, "Unknown Failed", 4),
    ];
    for (rule, statement, now, want, since) in table {
        set(&mut conditions, statement, at(now));
        assert_eq!(conditions.len(), 1, "{rule}");
        let held = find(&conditions, READY).expect("it was just said");
        assert_eq!(format!("{} {}", held.status, held.reason), want, "{rule}");
        assert_eq!(held.last_transition_time, at(since), "{rule}");
    }
    assert!(!holds(&conditions, READY));
    assert!(!holds(&conditions, STALLED));
}

#[test]
fn every_reason_is_spelled_as_kubernetes_allows() {
    let table = [
        ("a plain code stays", "NoSuchBucket", "NoSuchBucket"),
        (
            "dots become underscores",
            "AWS.SimpleQueueService.NonExistentQueue",
            "AWS_SimpleQueueService_NonExistentQueue",
        ),
        ("it begins with a letter", "404 Not Found", "Not_Found"),
        ("nothing left is a failure", "…", "Failed"),
    ];
    for (rule, code, want) in table {
        assert_eq!(Reason::Code(code.into()).as_str(), want, "{rule}");
    }
}
