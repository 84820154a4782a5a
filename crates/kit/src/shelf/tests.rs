use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::*;

const BY_TEAM: Index<ConfigMap> = Index { name: "team", keys: teams };

fn teams(map: &ConfigMap) -> Vec<String> {
    map.metadata.labels.iter().flatten().map(|(team, _)| team.clone()).collect()
}

fn map(name: &str, version: u64, more: Value) -> ConfigMap {
    let mut object = json!({ "metadata": {
        "name": name, "namespace": "default", "uid": format!("uid-{name}"), "resourceVersion": version.to_string(),
    }});
    for (field, value) in more.as_object().into_iter().flatten() {
        object["metadata"][field] = value.clone();
    }
    serde_json::from_value(object).expect("a ConfigMap")
}

fn owned(by: &str) -> Value {
    let owner = json!({ "apiVersion": "v1", "kind": "Pod", "name": "p", "uid": by, "controller": true });
    json!({ "ownerReferences": [owner] })
}

fn names(found: &[Arc<ConfigMap>]) -> Vec<String> {
    found.iter().map(|map| map.metadata.name.clone().unwrap_or_default()).collect()
}

fn at(name: &str) -> Name {
    Name::new("default", name)
}

#[test]
fn indexes_follow_every_change_also_those_begun_late() {
    let shelf = Shelf::<ConfigMap>::new();
    shelf.put(map("a", 1, json!({ "labels": { "red": "" } })));
    shelf.put(map("b", 2, json!({ "labels": { "red": "", "blue": "" } })));
    let found = |team: &str| names(&shelf.indexed(&BY_TEAM, team));
    assert_eq!(found("red"), ["a", "b"]);
    assert_eq!(found("blue"), ["b"]);
    shelf.put(map("a", 3, json!({ "labels": { "blue": "" } })));
    assert_eq!((found("red"), found("blue")), (vec!["b".into()], vec!["a".into(), "b".into()]));
    shelf.remove(&at("b"), None);
    assert_eq!((found("red"), found("blue")), (vec![], vec!["a".to_owned()]));
    shelf.replace(vec![map("c", 5, json!({ "labels": { "red": "" } }))]);
    assert_eq!((found("red"), found("blue")), (vec!["c".to_owned()], vec![]));
}

#[test]
fn children_follow_their_owner() {
    let shelf = Shelf::<ConfigMap>::new();
    shelf.put(map("a", 1, owned("one")));
    assert_eq!(names(&shelf.children("one")), ["a"]);
    shelf.put(map("a", 2, owned("two")));
    assert_eq!(
        (names(&shelf.children("one")), names(&shelf.children("two"))),
        (vec![], vec!["a".to_owned()])
    );
    shelf.remove(&at("a"), None);
    assert!(shelf.children("two").is_empty());
}

#[test]
fn what_is_older_changes_nothing_and_nobody_is_told() {
    let shelf = Shelf::<ConfigMap>::new();
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = told.clone();
    let version = |map: &ConfigMap| map.metadata.resource_version.clone().unwrap_or_default();
    shelf.on_change(move |old, new| {
        heard.lock().push(format!("{}>{}", old.map(version).unwrap_or_default(), version(new)));
    });
    for seen in [9, 10, 10, 9] {
        shelf.put(map("a", seen, json!({})));
    }
    shelf.remove(&at("a"), Some("uid-of-another"));
    shelf.remove(&at("a"), Some("uid-a"));
    assert_eq!(*told.lock(), [">9", "9>10", ">10"]);
}

#[test]
fn an_answer_that_comes_after_the_end_of_its_object_does_not_bring_it_back() {
    let shelf = Shelf::<ConfigMap>::new();
    shelf.put(map("a", 9, json!({})));
    // Somebody deleted it right after we wrote it, and the watch was faster than our answer.
    shelf.seen_gone(&map("a", 11, json!({})));
    shelf.answered(map("a", 10, json!({})));
    assert!(shelf.get(&at("a")).is_none(), "a ghost that no watch will ever take away");
    shelf.answered(map("a", 12, json!({ "uid": "another" })));
    assert!(shelf.get(&at("a")).is_some(), "a new one of the same name is there");
    shelf.answered(map("b", 13, json!({})));
    assert!(shelf.get(&at("b")).is_some(), "the watch has not come so far");
}

#[test]
fn a_namespace_is_listed_whole_and_alone() {
    let shelf = Shelf::<ConfigMap>::new();
    for (namespace, name) in [("a", "x"), ("default", "b"), ("default", "a"), ("e", "y")] {
        shelf.put(map(name, 1, json!({ "namespace": namespace })));
    }
    assert_eq!(names(&shelf.list(Some("default"))), ["a", "b"]);
    assert_eq!(shelf.list(None).len(), 4);
    assert!(shelf.list(Some("defaul")).is_empty());
}
