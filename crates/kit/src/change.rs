//! How an object differs from what is wanted of it, field by field.

use std::fmt::Write;

use serde_json::Value;

/// Fields that tell one entry of a list from another, the first that all wanted entries have.
const KEYS: [&str; 7] = ["name", "uid", "type", "containerPort", "port", "key", "ip"];
/// What stands in the place of a secret.
const SEALED: &str = "[sealed]";

/// One field that differs.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Change {
    /// Where: `spec.template.spec.containers[app].image`.
    pub path: String,
    /// What is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Value>,
    /// What is wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Value>,
}

/// Every field that differs.
pub type Changes = Vec<Change>;

/// Every field of `wanted` that `live` lacks or has otherwise. What `live` has beside is somebody else's.
pub(crate) fn changes(live: Option<&Value>, wanted: &Value) -> Changes {
    let mut found = Vec::new();
    compare(String::new(), live, wanted, &mut found);
    found
}

/// Whether an object holds everything that is wanted of it.
pub fn says(live: &Value, wanted: &Value) -> bool {
    changes(Some(live), wanted).is_empty()
}

/// The changes of a Secret without what they hold.
pub(crate) fn seal(kind: &str, mut changes: Changes) -> Changes {
    if kind != "Secret" {
        return changes;
    }
    for change in &mut changes {
        let secret = ["data", "stringData"].iter().any(|field| {
            change
                .path
                .strip_prefix(field)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        });
        if secret {
            change.from = change.from.take().map(|_| SEALED.into());
            change.to = change.to.take().map(|_| SEALED.into());
        }
    }
    changes
}

fn compare(path: String, live: Option<&Value>, wanted: &Value, found: &mut Changes) {
    match (live, wanted) {
        (Some(Value::Object(live)), Value::Object(wanted)) => {
            for (key, value) in wanted {
                compare(join(&path, key), live.get(key), value, found);
            }
        }
        // Nothing is there: each leaf is told, so that a new object reads like a document.
        (None, Value::Object(wanted)) if !wanted.is_empty() => {
            for (key, value) in wanted {
                compare(join(&path, key), None, value, found);
            }
        }
        (live, Value::Array(items)) if key_of(items).is_some() => entries(&path, live, items, found),
        (Some(live), wanted) if live == wanted => {}
        // An empty wish is met by nothing.
        (None, wanted) if wanted.is_null() => {}
        (live, wanted) => {
            found.push(Change { path, from: live.cloned(), to: Some(wanted.clone()) });
        }
    }
}

/// Lists whose entries have names are compared by name: the order and the entries of others do not matter.
fn entries(path: &str, live: Option<&Value>, items: &[Value], found: &mut Changes) {
    let Some(key) = key_of(items) else { return };
    let held: &[Value] = live.and_then(Value::as_array).map_or(&[], Vec::as_slice);
    for item in items {
        let name = &item[key];
        let mut place = path.to_owned();
        let _ = match name {
            Value::String(name) => write!(place, "[{name}]"),
            other => write!(place, "[{other}]"),
        };
        compare(place, held.iter().find(|held| &held[key] == name), item, found);
    }
}

/// The field that names the entries of a list, if all of them have it and no two the same.
fn key_of(items: &[Value]) -> Option<&'static str> {
    if items.is_empty() {
        return None;
    }
    KEYS.into_iter().find(|key| {
        let mut seen = Vec::with_capacity(items.len());
        items.iter().all(|item| match item.get(key) {
            Some(name) if !seen.contains(&name) => {
                seen.push(name);
                true
            }
            _ => false,
        })
    })
}

fn join(path: &str, key: &str) -> String {
    // A key with dots is an annotation or label, mostly.
    let plain = !key.contains(['.', '/']);
    match (path.is_empty(), plain) {
        (true, _) => key.to_owned(),
        (false, true) => format!("{path}.{key}"),
        (false, false) => format!("{path}[{key}]"),
    }
}

/// The merge patch that turns one document into another; `None` if they are the same.
pub(crate) fn merge_patch(from: &Value, to: &Value) -> Option<Value> {
    let (Value::Object(old), Value::Object(new)) = (from, to) else {
        return (from != to).then(|| to.clone());
    };
    let mut patch = serde_json::Map::new();
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    for (key, value) in new {
        match old.get(key) {
            None => drop(patch.insert(key.clone(), value.clone())),
            Some(held) => {
                if let Some(inner) = merge_patch(held, value) {
                    patch.insert(key.clone(), inner);
                }
            }
        }
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(live: Value, wanted: Value) -> String {
        let found = changes((!live.is_null()).then_some(&live), &wanted);
        let shown = |value: Option<Value>| value.map_or("-".to_owned(), |value| value.to_string());
        let lines = found.into_iter().map(|c| format!("{} {} {}", c.path, shown(c.from), shown(c.to)));
        lines.collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn what_differs_is_told_by_its_path_and_what_others_added_is_not() {
        let table = [
            ("the same", json!({ "a": 1 }), json!({ "a": 1 }), ""),
            ("more than wanted", json!({ "a": 1, "b": 2 }), json!({ "a": 1 }), ""),
            ("a field is missing", json!({}), json!({ "a": 1 }), "a - 1"),
            ("a field is other", json!({ "a": { "b": 1 } }), json!({ "a": { "b": 2 } }), "a.b 1 2"),
            ("nothing is there", json!(null), json!({ "a": { "b": 1 }, "c": [] }), "a.b - 1; c - []"),
            ("a list of words", json!({ "l": ["x", "y"] }), json!({ "l": ["x"] }), r#"l ["x","y"] ["x"]"#),
            (
                "entries are found by name, in any order, beside those of others",
                json!({ "env": [{ "name": "B", "value": "2" }, { "name": "X" }, { "name": "A", "value": "1" }] }),
                json!({ "env": [{ "name": "A", "value": "1" }, { "name": "B", "value": "3" }] }),
                r#"env[B].value "2" "3""#,
            ),
            (
                "an entry is missing",
                json!({ "ports": [] }),
                json!({ "ports": [{ "port": 80, "protocol": "TCP" }] }),
                r#"ports[80].port - 80; ports[80].protocol - "TCP""#,
            ),
            (
                "entries without names are compared whole",
                json!({ "l": [{ "a": 1, "b": 2 }] }),
                json!({ "l": [{ "a": 1 }] }),
                r#"l [{"a":1,"b":2}] [{"a":1}]"#,
            ),
            ("keys with dots", json!({ "l": {} }), json!({ "l": { "a.b/c": "d" } }), r#"l[a.b/c] - "d""#),
        ];
        for (what, live, wanted, want) in table {
            assert_eq!(told(live, wanted), want, "{what}");
        }
    }

    #[test]
    fn the_data_of_a_secret_is_never_told() {
        let live = json!({ "data": { "password": "b2xk" }, "type": "Opaque" });
        let wanted = json!({ "data": { "password": "bmV3", "user": "YQ==" }, "type": "Other" });
        let sealed = seal("Secret", changes(Some(&live), &wanted));
        let text = serde_json::to_string(&sealed).expect("changes are JSON");
        assert!(!text.contains("b2xk") && !text.contains("bmV3") && !text.contains("YQ=="), "{text}");
        assert!(text.contains("Other") && text.contains("data.password"), "{text}");
    }

    #[test]
    fn a_merge_patch_turns_one_document_into_the_other() {
        let table = [
            ("the same", json!({ "a": 1 }), json!({ "a": 1 }), None),
            ("a field goes", json!({ "a": 1, "b": 2 }), json!({ "a": 1 }), Some(json!({ "b": null }))),
            ("a field comes", json!({}), json!({ "a": { "b": 1 } }), Some(json!({ "a": { "b": 1 } }))),
            (
                "deep",
                json!({ "a": { "b": 1, "c": 2 } }),
                json!({ "a": { "b": 1, "c": 3 } }),
                Some(json!({ "a": { "c": 3 } })),
            ),
            ("lists are replaced", json!({ "l": [1, 2] }), json!({ "l": [1] }), Some(json!({ "l": [1] }))),
        ];
        for (what, from, to, want) in table {
            assert_eq!(merge_patch(&from, &to), want, "{what}");
        }
    }
}
