use controllers::infra::{Found, Kind};
use serde_json::json;

use super::{files, next, reference, rows};

fn found(name: &str, owner: Option<&str>) -> Found {
    Found {
        kind: Kind::SQSQueue,
        resource: name.to_owned(),
        owner: owner.map(str::to_owned),
        manifest: json!({ "kind": "SQSQueue", "metadata": { "name": name }, "spec": { "queueName": name } }),
    }
}

#[test]
fn a_provider_is_named_with_or_without_its_namespace() {
    let table = [
        ("dev", Some(("dev", None))),
        ("team/dev", Some(("dev", Some("team")))),
        ("", None),
        ("Team/dev", None),
        ("a/b/c", None),
    ];
    for (words, want) in table {
        let got = reference(words).ok();
        let got =
            got.as_ref().map(|it| (it.name.as_str(), it.namespace.as_ref().map(|space| space.as_str())));
        assert_eq!(got, want, "{words}");
    }
}

#[test]
fn only_what_nobody_has_is_written_and_nothing_is_overwritten() {
    let place = tempfile::tempdir().expect("a directory");
    let directory = place.path().join("adopted");
    let all = [found("orders", None), found("bills", Some("default/bills"))];
    assert_eq!(files::write(&directory, &all).expect("written"), 1);
    let file = directory.join("sqsqueue-orders.yaml");
    let text = std::fs::read_to_string(&file).expect("it is there");
    assert!(text.contains("queueName: orders"), "{text}");
    // The same again is the same.
    assert_eq!(files::write(&directory, &all).expect("written"), 1);
    std::fs::write(&file, "mine").expect("writable");
    let error =
        files::write(&directory, &[found("new", None), found("orders", None)]).expect_err("it is there");
    assert!(error.to_string().contains("sqsqueue-orders.yaml exists and says something else"), "{error}");
    assert!(!directory.join("sqsqueue-new.yaml").exists(), "all or nothing");
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), "mine");
}

#[test]
fn what_is_held_already_is_listed_with_its_holder() {
    let text = rows(&[found("orders", None), found("bills", Some("default/bills"))]);
    let want = "KIND       RESOURCE   OBJECT   HELD BY\nSQSQueue   orders     orders   -\nSQSQueue   bills      bills    default/bills\n";
    assert_eq!(text, want);
    assert!(next(0, std::path::Path::new("d")).contains("no manifest"));
}
