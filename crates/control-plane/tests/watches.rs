//! Lists and watches over the API: selection, resumption, compaction, chunks.

mod harness;

use std::collections::BTreeMap;

use harness::{Asker, CONFIGS, House, config};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

fn labelled(name: &str, team: &str) -> Value {
    let mut object = config(name);
    object["metadata"]["labels"] = json!({ "team": team });
    object
}

async fn version(admin: &Asker) -> String {
    admin.get(CONFIGS).await.json()["metadata"]["resourceVersion"].as_str().expect("has a version").to_owned()
}

#[tokio::test]
async fn a_watch_shows_what_happens_from_a_version_on() {
    let house = House::new().await;
    let admin = house.admin();
    admin.until(CONFIGS, "kube-root-ca.crt", |found| found.is_some()).await;
    let start = version(&admin).await;
    admin.made(CONFIGS, &config("a")).await;
    admin.merge(&format!("{CONFIGS}/a"), &json!({ "data": { "k": "v" } })).await;
    admin.delete(&format!("{CONFIGS}/a"), &json!({})).await;
    let mut events = admin.watch(&format!("{CONFIGS}?resourceVersion={start}")).await;
    for want in ["ADDED a", "MODIFIED a", "DELETED a"] {
        assert_eq!(events.told().await, want);
    }
}

#[tokio::test]
async fn an_object_that_starts_or_stops_to_match_comes_and_goes() {
    let house = House::new().await;
    let admin = house.admin();
    admin.until(CONFIGS, "kube-root-ca.crt", |found| found.is_some()).await;
    let start = version(&admin).await;
    let mut events =
        admin.watch(&format!("{CONFIGS}?labelSelector=team%3Dred&resourceVersion={start}")).await;
    admin.made(CONFIGS, &labelled("a", "blue")).await;
    admin.merge(&format!("{CONFIGS}/a"), &json!({ "metadata": { "labels": { "team": "red" } } })).await;
    admin.merge(&format!("{CONFIGS}/a"), &json!({ "data": { "k": "v" } })).await;
    admin.merge(&format!("{CONFIGS}/a"), &json!({ "metadata": { "labels": { "team": "blue" } } })).await;
    admin.delete(&format!("{CONFIGS}/a"), &json!({})).await;
    admin.made(CONFIGS, &labelled("b", "red")).await;
    for want in ["ADDED a", "MODIFIED a", "DELETED a", "ADDED b"] {
        assert_eq!(events.told().await, want);
    }
}

#[tokio::test]
async fn a_streaming_list_ends_with_its_bookmark_and_goes_on() {
    let house = House::new().await;
    let admin = house.admin();
    admin.until(CONFIGS, "kube-root-ca.crt", |found| found.is_some()).await;
    admin.made(CONFIGS, &config("a")).await;
    let ask = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut events = admin.watch(&format!("{CONFIGS}?{ask}")).await;
    assert_eq!(events.told().await, "ADDED a");
    assert_eq!(events.told().await, "ADDED kube-root-ca.crt");
    let bookmark = events.next().await.expect("goes on");
    assert_eq!(bookmark["type"], "BOOKMARK");
    assert_eq!(bookmark["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    admin.made(CONFIGS, &config("b")).await;
    assert_eq!(events.told().await, "ADDED b");
}

#[tokio::test]
async fn a_watch_ends_when_its_time_is_over_and_says_how_far_it_was() {
    let house = House::new().await;
    let admin = house.admin();
    let start = version(&admin).await;
    let mut events = admin
        .watch(&format!("{CONFIGS}?resourceVersion={start}&timeoutSeconds=0&allowWatchBookmarks=true"))
        .await;
    loop {
        match events.next().await {
            Some(event) if event["type"] == "BOOKMARK" => break,
            Some(_) => {}
            None => panic!("ended without a bookmark"),
        }
    }
    assert_eq!(events.told().await, "end");
}

#[tokio::test]
async fn chunks_are_one_list_of_one_moment() {
    let house = House::new().await;
    let admin = house.admin();
    admin.until(CONFIGS, "kube-root-ca.crt", |found| found.is_some()).await;
    for n in 0..10 {
        admin.made(CONFIGS, &config(&format!("c{n}"))).await;
    }
    let mut token = String::new();
    let mut names = Vec::new();
    let mut versions = Vec::new();
    loop {
        let page = admin.get(&format!("{CONFIGS}?limit=3&continue={token}")).await.json();
        versions.push(page["metadata"]["resourceVersion"].clone());
        for item in page["items"].as_array().expect("is a list") {
            names.push(item["metadata"]["name"].as_str().expect("has a name").to_owned());
        }
        // What changes between the chunks is not seen by them.
        admin.delete(&format!("{CONFIGS}/c9"), &json!({})).await;
        admin.post(CONFIGS, &config("c5a")).await;
        match page["metadata"]["continue"].as_str() {
            Some(next) => token = next.to_owned(),
            None => break,
        }
    }
    let want: Vec<String> = (0..10).map(|n| format!("c{n}")).chain(["kube-root-ca.crt".to_owned()]).collect();
    assert_eq!(names, want);
    assert!(versions.windows(2).all(|pair| pair[0] == pair[1]), "{versions:?}");
}

#[tokio::test]
async fn a_resume_from_before_the_compaction_is_told_so_and_a_new_list_heals_it() {
    let house = House::new().await;
    let admin = house.admin();
    let stale = version(&admin).await;
    admin.made(CONFIGS, &config("a")).await;
    house.plane.compact();
    let mut events = admin.watch(&format!("{CONFIGS}?resourceVersion={stale}")).await;
    let error = events.next().await.expect("is told");
    assert_eq!(
        (&error["type"], &error["object"]["code"], &error["object"]["reason"]),
        (&json!("ERROR"), &json!(410), &json!("Expired"))
    );
    assert_eq!(events.told().await, "end");
    let list = admin.get(&format!("{CONFIGS}?resourceVersionMatch=Exact&resourceVersion={stale}")).await;
    assert_eq!(list.told(), "410 Expired");
    let fresh = version(&admin).await;
    let mut events = admin.watch(&format!("{CONFIGS}?resourceVersion={fresh}")).await;
    admin.made(CONFIGS, &config("b")).await;
    assert_eq!(events.told().await, "ADDED b");
}

/// The state a watcher knows: names and what they hold.
type Known = BTreeMap<String, String>;

fn entry(object: &Value) -> (String, String) {
    let name = object["metadata"]["name"].as_str().expect("has a name").to_owned();
    (name, object["data"]["n"].as_str().unwrap_or_default().to_owned())
}

async fn relist(admin: &Asker, path: &str) -> (Known, u64) {
    let list = admin.get(path).await.json();
    let known = list["items"].as_array().expect("is a list").iter().map(entry).collect();
    (known, number(&list["metadata"]["resourceVersion"]))
}

fn number(version: &Value) -> u64 {
    version.as_str().and_then(|text| text.parse().ok()).expect("has a version")
}

/// Writes at random until it has written enough.
async fn write(admin: Asker, seed: u64) {
    let mut dice = StdRng::seed_from_u64(seed);
    for n in 0..150 {
        let name = format!("o{}", dice.random_range(0..12));
        let team = ["red", "blue"][dice.random_range(0..2)];
        let path = format!("{CONFIGS}/{name}");
        match dice.random_range(0..4) {
            0 => drop(admin.delete(&path, &json!({})).await),
            _ => {
                let mut object = labelled(&name, team);
                object["data"] = json!({ "n": format!("{seed}.{n}") });
                if admin.post(CONFIGS, &object).await.code == 409 {
                    admin.merge(&path, &json!({ "metadata": { "labels": { "team": team } }, "data": { "n": format!("{seed}.{n}") } })).await;
                }
            }
        }
    }
}

/// Watches, hangs up and comes back at random, until it has seen the mark. Returns what it knows then.
async fn follow(admin: Asker, seed: u64, path: &'static str) -> Known {
    let mut dice = StdRng::seed_from_u64(seed);
    let (mut known, mut at) = relist(&admin, path).await;
    let joint = if path.contains('?') { '&' } else { '?' };
    'again: loop {
        if known.contains_key("mark") {
            known.remove("mark");
            return known;
        }
        let mut events = admin.watch(&format!("{path}{joint}resourceVersion={at}")).await;
        for _ in 0..dice.random_range(1..40) {
            let Some(event) = events.next().await else { continue 'again };
            let object = &event["object"];
            if event["type"] == "ERROR" {
                assert_eq!(object["code"], 410, "{event}");
                (known, at) = relist(&admin, path).await;
                continue 'again;
            }
            let revision = number(&object["metadata"]["resourceVersion"]);
            assert!(revision > at, "{revision} after {at}: an event came twice or out of order");
            at = revision;
            let (name, value) = entry(object);
            let had = known.contains_key(&name);
            match event["type"].as_str().expect("has a type") {
                "ADDED" => assert!(!had, "{name} was added twice"),
                "MODIFIED" | "DELETED" => assert!(had, "{name} was never added"),
                other => panic!("{other}"),
            }
            if event["type"] == "DELETED" {
                known.remove(&name)
            } else {
                known.insert(name, value)
            };
            if known.contains_key("mark") {
                continue 'again;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watchers_that_hang_up_and_resume_know_what_the_store_knows() {
    let seed: u64 =
        std::env::var("SEED").ok().and_then(|text| text.parse().ok()).unwrap_or_else(|| rand::rng().random());
    println!("SEED={seed}");
    let house = House::new().await;
    let admin = house.admin();
    admin.until(CONFIGS, "kube-root-ca.crt", |found| found.is_some()).await;
    let red = "/api/v1/namespaces/default/configmaps?labelSelector=team%3Dred";
    let everything = CONFIGS;
    let watchers: Vec<_> = (0..12)
        .map(|n| tokio::spawn(follow(admin.clone(), seed ^ n, if n % 2 == 0 { red } else { everything })))
        .collect();
    let writers: Vec<_> = (100..106).map(|n| tokio::spawn(write(admin.clone(), seed ^ n))).collect();
    for writer in writers {
        writer.await.expect("writes");
        house.plane.compact();
    }
    admin.made(CONFIGS, &labelled("mark", "red")).await;
    let (mut all, _) = relist(&admin, everything).await;
    let (mut some, _) = relist(&admin, red).await;
    all.remove("mark");
    some.remove("mark");
    for (n, watcher) in watchers.into_iter().enumerate() {
        let known = watcher.await.expect("follows");
        assert_eq!(known, if n % 2 == 0 { some.clone() } else { all.clone() }, "watcher {n}");
    }
}
