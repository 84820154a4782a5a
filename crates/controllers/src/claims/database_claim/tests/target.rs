//! Which server a claim asks for.

use std::collections::BTreeSet;

use api::claims::DatabaseClaim;
use api::names::Label;
use kit::Name;
use serde_json::{Value, json};

use super::{claim, config, with};
use crate::claims::target::{Place, Target, wanted};

/// Servers of each kind.
const SERVERS: &str = "
defaultShape: small
athena: { host: a.example, passwordSecretRef: athena-master, passwordSecretKey: word, port: 5433, username: boss }
athena.hostapp: { host: h.example, passwordSecretRef: hostapp-master }
guest: { passwordSecretRef: guest-master, port: 6000, sslMode: disable }
bare: { host: b.example }
made: { shape: large, minStorageGB: 40, engineVersion: '16' }
";

fn asked(text: &str, spec: Value) -> String {
    asked_by("shop", text, spec)
}

fn asked_by(name: &str, text: &str, spec: Value) -> String {
    let claim: DatabaseClaim = serde_json::from_value(claim(name, with(spec))).expect("a claim");
    match wanted(&claim, &Name::of(&claim), &config(text)) {
        Err(refusal) => format!("{}: {}", refusal.reason.as_str(), refusal.message),
        Ok(Target { label, place, .. }) => {
            let label = label.unwrap_or_else(|| "no label".to_owned());
            match place {
                Place::Known(known) => format!(
                    "{label}: {}@{}:{} with {}/{}, {}",
                    known.username,
                    known.host,
                    known.port,
                    known.password_secret,
                    known.password_key,
                    known.ssl_mode.as_str()
                ),
                Place::Made(made) => {
                    let word = |word: Option<String>| word.unwrap_or_else(|| "-".to_owned());
                    let size = word(made.storage_gb.map(|size| size.to_string()));
                    let stem = made.name.rsplit_once('-').map_or("", |(stem, _)| stem).to_owned();
                    format!("{label}: {stem} {} {} {size}", word(made.shape), word(made.version))
                }
                Place::Source(_) => format!("{label}: the source"),
            }
        }
    }
}

#[test]
fn every_claim_has_its_server() {
    let host = "the login of one server is not sent to another";
    let table = [
        (
            "the key itself",
            json!({ "instanceLabel": "athena" }),
            "athena: boss@a.example:5433 with athena-master/word, require",
        ),
        (
            "the longest",
            json!({ "instanceLabel": "athena.hostapp.eu" }),
            "athena.hostapp: root@h.example:5432 with hostapp-master/password, require",
        ),
        (
            "a shorter one",
            json!({ "instanceLabel": "athena.other" }),
            "athena: boss@a.example:5433 with athena-master/word, require",
        ),
        (
            "words are whole",
            json!({ "instanceLabel": "athenaeum" }),
            "LabelNotMatched: no server is configured for the instance label `athenaeum`; the configuration has athena, athena.hostapp, bare, guest, made",
        ),
        (
            "a host of its own",
            json!({ "instanceLabel": "guest", "host": "g.example" }),
            "guest: root@g.example:6000 with guest-master/password, disable",
        ),
        (
            "with its port",
            json!({ "instanceLabel": "guest", "host": "g.example", "port": 7000 }),
            "guest: root@g.example:7000 with guest-master/password, disable",
        ),
        (
            "in words",
            json!({ "instanceLabel": "guest", "host": "g.example", "port": "7001" }),
            "guest: root@g.example:7001 with guest-master/password, disable",
        ),
        (
            "no port in words",
            json!({ "instanceLabel": "guest", "host": "g.example", "port": "" }),
            "guest: root@g.example:6000 with guest-master/password, disable",
        ),
        (
            "the same host",
            json!({ "instanceLabel": "athena", "host": "a.example" }),
            "athena: boss@a.example:5433 with athena-master/word, require",
        ),
        (
            "a port beside a configured host",
            json!({ "instanceLabel": "athena", "port": 9999 }),
            "athena: boss@a.example:5433 with athena-master/word, require",
        ),
        ("another host", json!({ "instanceLabel": "athena", "host": "evil.example" }), host),
        (
            "a host without a label",
            json!({ "host": "evil.example" }),
            "InvalidSpec: host names a server, and instanceLabel has to name the fragment key",
        ),
        ("an empty host", json!({ "instanceLabel": "athena", "host": "" }), "athena: boss@a.example:5433"),
        (
            "no login",
            json!({ "instanceLabel": "bare" }),
            "InvalidConfiguration: fragment key bare has no passwordSecretRef",
        ),
        ("no label", json!({}), "no label: db-default-shop small - -"),
        ("an empty label", json!({ "instanceLabel": "" }), "no label: db-default-shop small - -"),
        (
            "its own wishes",
            json!({ "shape": "big", "dbVersion": "17", "minStorageGB": 5 }),
            "no label: db-default-shop big 17 5",
        ),
        (
            "empty wishes",
            json!({ "shape": "", "dbVersion": "", "minStorageGB": 0 }),
            "no label: db-default-shop small - -",
        ),
        ("wishes of the key", json!({ "instanceLabel": "made.x" }), "made: db-made large 16 40"),
        (
            "a source to copy",
            json!({ "sourceDataFrom": source() }),
            "InvalidSpec: sourceDataFrom copies data",
        ),
        (
            "a source as it is",
            json!({ "sourceDataFrom": source(), "useExistingSource": true }),
            "no label: the source",
        ),
        (
            "no source",
            json!({ "useExistingSource": true }),
            "InvalidSpec: useExistingSource needs sourceDataFrom.database",
        ),
    ];
    for (row, spec, want) in table {
        let got = asked(SERVERS, spec);
        assert!(got.contains(want), "{row}: {got}");
    }
}

#[test]
fn without_a_configuration_every_label_is_a_server() {
    let table = [
        ("a label", json!({ "instanceLabel": "any.thing" }), "any.thing: db-any-thing - - -"),
        ("none", json!({}), "no label: db-default-shop - - -"),
        (
            "a host",
            json!({ "instanceLabel": "any", "host": "evil.example" }),
            "InvalidSpec: host names a server",
        ),
    ];
    for (row, spec, want) in table {
        let got = asked("", spec);
        assert!(got.contains(want), "{row}: {got}");
    }
}

#[test]
fn passwords_from_aws_are_refused_where_they_are_needed() {
    let text = format!("authSource: aws\n{SERVERS}");
    let got = asked(&text, json!({ "instanceLabel": "athena" }));
    assert!(got.starts_with("InvalidConfiguration: authSource is aws"), "{got}");
    let got = asked(&text, json!({ "instanceLabel": "made" }));
    assert_eq!(got, "made: db-made large 16 40");
}

fn source() -> Value {
    json!({ "type": "database", "database": { "dsn": "postgres://u:p@h/d" } })
}

/// The name of the server that is made.
fn name_of(claim: &Value, text: &str) -> String {
    let claim: DatabaseClaim = serde_json::from_value(claim.clone()).expect("a claim");
    match wanted(&claim, &Name::of(&claim), &config(text)).expect("a server").place {
        Place::Made(made) => made.name,
        Place::Known(_) | Place::Source(_) => panic!("it is made"),
    }
}

#[test]
fn names_of_servers_are_valid_and_shared_by_nobody_who_did_not_ask() {
    let long = "x".repeat(60);
    let labels = [
        "a.b",
        "a-b",
        "A.b",
        "a_b",
        "..",
        "-",
        "ü",
        &format!("{long}1"),
        &format!("{long}2"),
        "default-shop",
    ];
    let of_label = |label: &str| claim("shop", with(json!({ "instanceLabel": label })));
    let places =
        [("a-b", "c"), ("a", "b-c"), ("a", "b--c"), ("default", "shop"), ("x", &long), (long.as_str(), "x")];
    let of_claim =
        |(namespace, name): (&str, &str)| claim(name, json!({ "metadata": { "namespace": namespace } }));
    let all = labels.map(of_label).into_iter().chain(places.map(of_claim));
    let names: Vec<String> = all.map(|claim| name_of(&claim, "")).collect();
    let different: BTreeSet<&String> = names.iter().collect();
    assert_eq!(different.len(), names.len(), "{names:?}");
    for name in &names {
        assert!(name.len() <= 50 && name.parse::<Label>().is_ok(), "{name}");
        // RDS takes no two hyphens in a row.
        assert!(!name.contains("--"), "{name}");
    }
}

#[test]
fn claims_with_one_label_share_one_server() {
    let one = claim("one", with(json!({ "instanceLabel": "made.one" })));
    let two =
        claim("two", json!({ "metadata": { "namespace": "other" }, "spec": { "instanceLabel": "made" } }));
    assert_eq!(name_of(&one, SERVERS), name_of(&two, SERVERS));
    assert_ne!(name_of(&one, SERVERS), name_of(&claim("one", json!({})), SERVERS));
    assert_eq!(asked_by("one", SERVERS, json!({})), "no label: db-default-one small - -");
}
