//! Everything there is, in a form in which two runs can be compared.

use std::collections::BTreeMap;
use std::fmt::Write;

use api::annotations::APPLIED;
use serde_json::Value;

/// Everything there is, field by field, without what differs from run to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State(BTreeMap<String, String>);

/// Fields of metadata that differ from run to run.
const FLEETING: [&str; 6] =
    ["uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "selfLink"];

impl State {
    /// The state of these objects, and of what is outside.
    pub(super) fn new(mut objects: Vec<Value>, outside: &str) -> Self {
        objects.sort_by_cached_key(|object| (name(object), revision(object)));
        let aliases = aliases(&objects);
        let mut fields = BTreeMap::new();
        for object in &mut objects {
            let place = alias(&name(object), &aliases);
            normalise(object);
            flatten(&place, object, &mut |path, value| {
                fields.insert(path, alias(&value, &aliases));
            });
        }
        for line in outside.lines() {
            let number = fields.keys().filter(|key| key.starts_with(&format!("outside {line}"))).count();
            fields.insert(format!("outside {line} #{number}"), String::new());
        }
        Self(fields)
    }

    /// The same, with a word in the place of each password that is in a Secret, wherever else in that Secret it stands.
    pub(super) fn veiled(mut self) -> Self {
        let passwords: Vec<(String, String)> = self
            .0
            .iter()
            .filter_map(|(key, value)| Some((key.strip_suffix(" password")?.to_owned(), decoded(value)?)))
            .filter(|(place, _)| place.starts_with("Secret ") && place.ends_with(" data"))
            .collect();
        for (place, password) in passwords.iter().filter(|(_, password)| !password.is_empty()) {
            for (_, value) in self.0.iter_mut().filter(|(key, _)| key.starts_with(&format!("{place} "))) {
                if let Some(text) = decoded(value) {
                    *value = text.replace(password, "<password>");
                }
            }
        }
        self
    }

    /// What another state has otherwise, a line per field; empty if nothing.
    pub fn diff(&self, other: &Self) -> String {
        let mut text = String::new();
        let keys: std::collections::BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        for key in keys {
            let (ours, theirs) = (self.0.get(key), other.0.get(key));
            if ours == theirs {
                continue;
            }
            for (sign, value) in [('-', ours), ('+', theirs)] {
                if let Some(value) = value {
                    let _ = writeln!(text, "{sign} {key} {value}");
                }
            }
        }
        text
    }
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|(key, value)| writeln!(f, "{key} {value}"))
    }
}

/// The text of a value in a Secret.
fn decoded(value: &str) -> Option<String> {
    let bytes: k8s_openapi::ByteString = serde_json::from_str(value).ok()?;
    String::from_utf8(bytes.0).ok()
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// `Deployment default/web`.
fn name(object: &Value) -> String {
    let (kind, name) = (text(object, "/kind"), text(object, "/metadata/name"));
    match text(object, "/metadata/namespace") {
        "" => format!("{kind} {name}"),
        namespace => format!("{kind} {namespace}/{name}"),
    }
}

fn revision(object: &Value) -> u64 {
    text(object, "/metadata/resourceVersion").parse().unwrap_or_default()
}

/// What stands for uids and for names that the server or the dice drew.
fn aliases(objects: &[Value]) -> Vec<(String, String)> {
    let mut aliases = Vec::new();
    let mut drawn: BTreeMap<&str, usize> = BTreeMap::new();
    for object in objects {
        let (prefix, name) = (text(object, "/metadata/generateName"), text(object, "/metadata/name"));
        if !prefix.is_empty() && name.starts_with(prefix) {
            let count = drawn.entry(prefix).or_default();
            *count += 1;
            aliases.push((name.to_owned(), format!("{prefix}<{count}>")));
        }
    }
    for object in objects {
        let uid = text(object, "/metadata/uid");
        if !uid.is_empty() {
            aliases.push((uid.to_owned(), format!("<uid of {}>", alias(&name(object), &aliases))));
        }
    }
    aliases
}

fn alias(text: &str, aliases: &[(String, String)]) -> String {
    let mut text = text.to_owned();
    for (from, to) in aliases.iter().filter(|(from, _)| !from.is_empty()) {
        if text.contains(from.as_str()) {
            text = text.replace(from.as_str(), to);
        }
    }
    text
}

fn normalise(object: &mut Value) {
    if let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        meta.retain(|field, _| !FLEETING.contains(&field.as_str()));
    }
    // The server draws a Service's address anew each time.
    if object["kind"] == "Service"
        && let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut)
    {
        spec.retain(|field, _| !["clusterIP", "clusterIPs"].contains(&field.as_str()));
    }
    // A mark of what was wanted, with the uid of the owner in it.
    if let Some(mark) = object.pointer_mut("/metadata/annotations").and_then(|all| all.get_mut(APPLIED)) {
        *mark = "<mark>".into();
    }
    let conditions = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
    // A list by type: its order says nothing.
    if let Some(conditions) = conditions {
        conditions.sort_by_key(|condition| condition["type"].as_str().unwrap_or_default().to_owned());
    }
}

/// One line per leaf, with times, observed generations and versions of other objects left out.
fn flatten(place: &str, value: &Value, leaf: &mut dyn FnMut(String, String)) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let version = |field: &str| field == "resourceVersion" || field.ends_with("ResourceVersion");
            let steady = |field: &str| field != "observedGeneration" && !version(field);
            for (field, value) in fields.iter().filter(|(field, _)| steady(field)) {
                flatten(&format!("{place} {field}"), value, leaf);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                flatten(&format!("{place} [{index}]"), item, leaf);
            }
        }
        Value::String(text) if text.parse::<jiff::Timestamp>().is_ok() => {
            leaf(place.to_owned(), "<time>".to_owned());
        }
        other => leaf(place.to_owned(), other.to_string()),
    }
}
