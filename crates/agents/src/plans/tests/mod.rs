//! The rules by table; the two tools on a control plane in memory, with a planner that looks at specs only.

mod fake;
mod rules;
mod tools;

use std::time::{Duration, Instant};

use kube::core::ApiResource;
use serde_json::{Value, json};

use super::memory::{ALL_MAX, Key, LIFETIME, Memory, OWN_BYTES, OWN_MAX, Remembered};
use super::*;

fn app(name: &str, spec: Value) -> Value {
    json!({ "apiVersion": "iaf.io/v1alpha1", "kind": "Application", "metadata": { "name": name }, "spec": spec })
}

fn planned(action: Action, uid: Option<&str>, changes: Vec<Change>) -> Planned {
    let resource = ApiResource::erase::<api::apps::Application>(&());
    let target = Target { resource, name: "shop".into(), uid: uid.map(str::to_owned) };
    let object = "Application/shop".into();
    Planned { object, action, target: Some(target), changes, steps: Vec::new(), error: None }
}

fn change(path: &str, from: Value, to: Value) -> Change {
    Change { path: path.into(), from: Some(from), to: Some(to) }
}

fn wish(manifests: Vec<Value>) -> Wish {
    Wish { namespace: "iaf-1".into(), manifests, deletes: Vec::new() }
}

#[test]
fn a_hash_is_of_what_is_wished_and_of_what_would_change() {
    let one = wish(vec![app("shop", json!({ "port": 80, "replicas": 2 }))]);
    let same = wish(vec![app("shop", json!({ "replicas": 2, "port": 80 }))]);
    let fields = || vec![change("spec.replicas", json!(1), json!(2))];
    let then = hash::plan(&one, &[planned(Action::Update, Some("a"), fields())]);
    assert_eq!(hash::plan(&same, &[planned(Action::Update, Some("a"), fields())]), then, "the order of keys");
    let mut step = planned(Action::Update, Some("a"), fields());
    step.steps.push(Step { words: "apply Deployment iaf-1/shop".into(), destroys: false });
    assert_eq!(hash::plan(&one, std::slice::from_ref(&step)), then, "what a controller does in any case");

    let elsewhere = Wish { namespace: "iaf-2".into(), ..one.clone() };
    let other = wish(vec![app("shop", json!({ "port": 80, "replicas": 3 }))]);
    step.steps.push(Step { words: "delete Cluster iaf-1/db".into(), destroys: true });
    let mut wrong = planned(Action::Update, Some("a"), fields());
    wrong.error = Some("it cannot be".into());
    let situations = [
        ("another namespace", hash::plan(&elsewhere, &[planned(Action::Update, Some("a"), fields())])),
        ("another wish", hash::plan(&other, &[planned(Action::Update, Some("a"), fields())])),
        ("another object of that name", hash::plan(&one, &[planned(Action::Update, Some("b"), fields())])),
        (
            "another value there",
            hash::plan(
                &one,
                &[planned(Action::Update, Some("a"), vec![change("spec.replicas", json!(5), json!(2))])],
            ),
        ),
        ("nothing left to do", hash::plan(&one, &[planned(Action::None, Some("a"), Vec::new())])),
        ("data that goes", hash::plan(&one, &[step])),
        ("an error", hash::plan(&one, &[wrong])),
    ];
    for (situation, hash) in situations {
        assert_ne!(hash, then, "{situation}");
    }
}

fn key(owner: &str, hash: &str) -> Key {
    Key { owner: owner.into(), namespace: "iaf-1".into(), hash: hash.into() }
}

fn remembered(spec: Value) -> Remembered {
    Remembered::new(wish(vec![app("shop", spec)]), &[])
}

#[test]
fn plans_are_kept_for_their_maker_and_for_half_an_hour() {
    let (memory, now) = (Memory::default(), Instant::now());
    memory.keep(key("a", "1"), remembered(json!({})), now);
    assert!(memory.find(&key("a", "1"), now).is_some());
    assert!(memory.find(&key("b", "1"), now).is_none(), "another token");
    assert!(memory.find(&key("a", "2"), now).is_none(), "another plan");
    let elsewhere = Key { namespace: "iaf-2".into(), ..key("a", "1") };
    assert!(memory.find(&elsewhere, now).is_none(), "another session");
    assert!(memory.find(&key("a", "1"), now + LIFETIME - Duration::from_secs(1)).is_some());
    assert!(memory.find(&key("a", "1"), now + LIFETIME).is_none(), "too old");
}

#[test]
fn no_token_can_fill_the_memory() {
    let (memory, now) = (Memory::default(), Instant::now());
    memory.keep(key("quiet", "1"), remembered(json!({})), now);
    for number in 0..OWN_MAX + 1 {
        memory.keep(key("loud", &number.to_string()), remembered(json!({})), now);
    }
    assert!(memory.find(&key("loud", "0"), now).is_none(), "the oldest of the same token made room");
    assert!(memory.find(&key("loud", "1"), now).is_some());
    assert!(memory.find(&key("quiet", "1"), now).is_some(), "others did not");
    let large = "x".repeat(OWN_BYTES / 2);
    for number in 0..2 {
        memory.keep(key("large", &number.to_string()), remembered(json!({ "large": large })), now);
    }
    assert!(memory.find(&key("large", "0"), now).is_none(), "bytes count, too");
    assert!(memory.find(&key("large", "1"), now).is_some());
    for number in 0..ALL_MAX {
        memory.keep(key(&format!("crowd-{number}"), "1"), remembered(json!({})), now);
    }
    assert!(memory.find(&key("quiet", "1"), now).is_none(), "the oldest of all made room");
    assert!(memory.find(&key("crowd-0", "1"), now).is_some());
}

#[test]
fn what_is_told_is_short() {
    let long = "x".repeat(10_000);
    let fields = || (0..1_000).map(|n| change(&format!("spec.f{n}"), json!(long), json!(n))).collect();
    let mut many: Vec<Planned> = (0..100).map(|_| planned(Action::Update, None, fields())).collect();
    many[0].steps = (0..500).map(|_| Step { words: long.clone(), destroys: false }).collect();
    many[1].error = Some(long.clone());
    let told = show::shown(&many);
    assert_eq!((told[0].changes.len(), told[0].more), (50, Some(950)));
    assert_eq!(told[99].more, Some(1_000));
    let size = serde_json::to_string(&told).expect("is JSON").len();
    assert!(size < 128 * 1024, "{size} bytes");
    assert!(show::line(&many[0]).len() < 1_000);
}
