//! Documents recorded from the YAML library of Kubernetes 1.36, both ways, and the laws between them.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{from_yaml, read, to_yaml};
use crate::kinds::table::number;

fn lines(text: &str) -> impl Iterator<Item = Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON"))
}

/// The value as the server holds it: whole numbers without a fraction.
fn held(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(held).collect(),
        Value::Object(fields) => {
            Value::Object(fields.into_iter().map(|(key, value)| (key, held(value))).collect())
        }
        Value::Number(given) if given.is_f64() => number::whole(given.as_f64().expect("a float")),
        other => other,
    }
}

#[test]
fn every_recorded_document_is_read_alike() {
    for case in lines(include_str!("recorded_read.jsonl")) {
        let text = case["in"].as_str().expect("a document");
        let told = from_yaml(text.as_bytes());
        match case.get("json") {
            Some(want) => assert_eq!(told.map(held), Ok(held(want.clone())), "{text}"),
            None => assert!(told.is_err(), "{text}: {told:?}"),
        }
    }
}

#[test]
fn every_recorded_value_is_written_alike() {
    let mut differing = Vec::new();
    for case in lines(include_str!("recorded_write.jsonl")) {
        let value: Value = serde_json::from_str(case["in"].as_str().expect("JSON")).expect("JSON");
        // What the original cannot write has no line to compare with.
        let Some(want) = case["yaml"].as_str().filter(|_| !departs(&value)) else { continue };
        let told = to_yaml(&value);
        if told != want || from_yaml(want.as_bytes()) != Ok(held(value.clone())) {
            differing.push(format!("{value}\n--- want\n{want}--- told\n{told}"));
        }
    }
    assert!(differing.is_empty(), "{} differ\n{}", differing.len(), differing.join("\n"));
}

/// Where we quote and the original does not, though its own reader would not read the same again.
fn departs(value: &Value) -> bool {
    let text = value.to_string();
    let alone = value.as_str().is_some_and(|text| text.contains('\n'));
    alone || text.contains(['\u{85}', '\u{2028}']) || text.contains("\"<<\":") || text.contains("\"\u{FEFF}")
}

#[test]
fn refusals_name_their_cause() {
    let table = [
        ("an alias nobody made", "a: *x", "yaml: unknown anchor 'x' referenced"),
        ("an alias within its own anchor", "a: &a [*a]", "yaml: anchor 'a' value contains itself"),
        ("a merge of no map", "a: {<<: 1}", "yaml: map merge requires map or sequence of maps as the value"),
        ("a number JSON does not know", "a: .nan", "json: unsupported value: NaN"),
        ("a type that does not hold", "a: !!int x", "yaml: cannot decode !!str `x` as a !!int"),
        ("a key of nothing", "~: c", r#"unsupported map key of type: %!s(<nil>), key: <nil>, value: "c""#),
        ("bytes that are no text", "\u{0}", "yaml: line 1: "),
    ];
    for (shows, text, want) in table {
        let told = from_yaml(text.as_bytes()).expect_err(shows);
        assert!(told.starts_with(want), "{shows}: {told}");
    }
    assert_eq!(from_yaml(b"a: \xff"), Err("yaml: invalid leading UTF-8 octet".to_owned()));
}

#[test]
fn keys_that_stand_twice_are_named() {
    let table = [
        ("at the top", "a: 1\na: 2\n", vec!["a"]),
        ("inside", "data:\n  a: 1\n  a: 2\n  a: 3\n", vec!["data.a"]),
        ("in a list", "l:\n- {}\n- k: 1\n  k: 2\n", vec!["l[1].k"]),
        ("in JSON", r#"{"a": {"b": 1, "b": 2}}"#, vec!["a.b"]),
        ("not what a merge brings", "a: &a {x: 1}\nb: {<<: *a}\n", vec![]),
    ];
    for (shows, text, want) in table {
        assert_eq!(
            read(text.as_bytes()).map(|decoded| decoded.duplicates),
            Ok(want.into_iter().map(str::to_owned).collect()),
            "{shows}"
        );
    }
}

#[test]
fn a_document_cannot_blow_itself_up() {
    let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for step in 1..12 {
        let last = step - 1;
        let ten = vec![format!("*a{last}"); 10].join(", ");
        laughs.push_str(&format!("a{step}: &a{step} [{ten}]\n"));
    }
    assert_eq!(from_yaml(laughs.as_bytes()), Err("yaml: document contains excessive aliasing".to_owned()));
    let mut stairs = "a0: &a0 [x]\n".to_owned();
    for step in 1..300 {
        stairs.push_str(&format!("a{step}: &a{step} [*a{}]\n", step - 1));
    }
    assert_eq!(from_yaml(stairs.as_bytes()), Err("yaml: exceeded max depth".to_owned()));
    for open in ["[", "{a: ", "- ", "{\"a\":", "? "] {
        assert!(from_yaml(open.repeat(100_000).as_bytes()).is_err(), "{open}");
    }
    let shouts = format!("a: &a {}\nl:\n{}", "x".repeat(1_000_000), "- *a\n".repeat(1000));
    assert_eq!(from_yaml(shouts.as_bytes()), Err("yaml: document contains excessive aliasing".to_owned()));
    let anchors = (0..100).map(|step| format!("&a{step} [")).collect::<String>();
    let nested = format!("{anchors}{}{}", "x".repeat(1_000_000), "]".repeat(100));
    assert_eq!(from_yaml(nested.as_bytes()), Err("yaml: document contains excessive aliasing".to_owned()));
    let many = "a: &a {b: c}\nlist:\n".to_owned() + &"- *a\n".repeat(5000);
    assert!(from_yaml(many.as_bytes()).is_ok(), "honest aliases pass");
}

#[test]
fn lists_stand_below_their_key() {
    let value = json!({ "kind": "ConfigMap", "data": { "a": "1" }, "list": [{ "b": 1, "a": [1, []] }] });
    assert_eq!(to_yaml(&value), "data:\n  a: \"1\"\nkind: ConfigMap\nlist:\n- a:\n  - 1\n  - []\n  b: 1\n");
}

fn any_json() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        any::<String>(),
        "[ \\n\\t'\":#,a-c0-9.?&*!|>%@`{}\\[\\]-]{0,12}",
        "([a-z]{1,9} {1,2}){0,40}",
        "[yYnN~.0-9xeob:_+TZ -]{0,8}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("JSON knows finite numbers only", |value| value.is_finite())
            .prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((text.clone(), inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(value in any_json()) {
        let text = to_yaml(&value);
        prop_assert_eq!(from_yaml(text.as_bytes()), Ok(held(value)), "{}", text);
    }

    #[test]
    fn no_bytes_make_the_reader_stumble(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes);
    }

    #[test]
    fn no_marks_make_the_reader_stumble(text in "[\\[\\]{}:,&*!|>?<'\"# \\na-b0-9.~%-]{0,60}") {
        let _ = read(text.as_bytes());
    }
}
