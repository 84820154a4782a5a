//! Whether a definition's names are its own.

use serde_json::{Map, Value, json};

use super::{flag, list, text};

/// The status of a definition. `taken` tells, for a group and a name, whether another definition of the
/// group holds it; names that are not taken, or were accepted before, are accepted.
pub fn accepted_status(crd: &Value, taken: &dyn Fn(&str, &str) -> bool, now: jiff::Timestamp) -> Value {
    let empty = Map::new();
    let wanted = crd.pointer("/spec/names").and_then(Value::as_object).unwrap_or(&empty);
    let mut names =
        crd.pointer("/status/acceptedNames").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut conflict = None;
    for (field, reason) in [
        ("plural", "PluralConflict"),
        ("singular", "SingularConflict"),
        ("shortNames", "ShortNamesConflict"),
        ("kind", "KindConflict"),
        ("listKind", "ListKindConflict"),
    ] {
        let used = used(wanted.get(field), names.get(field), &|name| taken(text(crd, "/spec/group"), name));
        if used.is_empty() {
            replace(&mut names, field, wanted.get(field));
        } else {
            conflict = Some((reason, told(&used)));
        }
    }
    replace(&mut names, "categories", wanted.get("categories"));
    let accepted = conflict.is_none();
    let (reason, message) = conflict.unwrap_or(("NoConflicts", "no conflicts found".into()));
    let names_accepted = condition(crd, ("NamesAccepted", accepted), (reason, &message), now);
    let before = list(crd, "/status/conditions").iter().find(|known| text(known, "/type") == "Established");
    let established = match before {
        Some(before) if text(before, "/status") == "True" => before.clone(),
        _ if accepted => {
            let why = ("InitialNamesAccepted", "the initial names have been accepted");
            condition(crd, ("Established", true), why, now)
        }
        _ => condition(crd, ("Established", false), ("NotAccepted", "not all names are accepted"), now),
    };
    json!({
        "conditions": merged(crd, [names_accepted, established]),
        "acceptedNames": in_order(&names),
        "storedVersions": stored_versions(crd),
    })
}

/// Names that somebody else holds and that were not ours before.
fn used<'a>(
    wanted: Option<&'a Value>,
    accepted: Option<&Value>,
    taken: &dyn Fn(&str) -> bool,
) -> Vec<&'a str> {
    let words = |value: Option<&'a Value>| -> Vec<&'a str> {
        match value {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        }
    };
    let ours = |name: &str| match accepted {
        Some(Value::String(one)) => one == name,
        Some(Value::Array(many)) => many.iter().any(|one| one == name),
        _ => false,
    };
    words(wanted).into_iter().filter(|name| !ours(name) && taken(name)).collect()
}

fn told(names: &[&str]) -> String {
    let sentences: Vec<_> = names.iter().map(|name| format!("{name:?} is already in use")).collect();
    match sentences.as_slice() {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}

fn replace(names: &mut Map<String, Value>, field: &str, value: Option<&Value>) {
    let empty = value.is_none_or(|value| value.is_null() || value.as_array().is_some_and(Vec::is_empty));
    match value {
        Some(value) if !empty => {
            names.insert(field.into(), value.clone());
        }
        _ => {
            names.shift_remove(field);
        }
    }
}

/// Names in the order the API writes them.
pub(super) fn in_order(names: &Map<String, Value>) -> Map<String, Value> {
    const ORDER: [&str; 6] = ["plural", "singular", "shortNames", "kind", "listKind", "categories"];
    let place = |name: &String| ORDER.iter().position(|known| known == name).unwrap_or(ORDER.len());
    let mut fields: Vec<_> = names.iter().collect();
    fields.sort_by_key(|(name, _)| place(name));
    fields.into_iter().map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// A condition; its time moves only when its answer does.
fn condition(
    crd: &Value,
    (kind, holds): (&str, bool),
    (reason, message): (&str, &str),
    now: jiff::Timestamp,
) -> Value {
    let status = if holds { "True" } else { "False" };
    let known = list(crd, "/status/conditions").iter().find(|known| text(known, "/type") == kind);
    let since = known
        .filter(|known| text(known, "/status") == status)
        .map(|known| text(known, "/lastTransitionTime"));
    let now = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    json!({
        "type": kind, "status": status,
        "lastTransitionTime": since.filter(|since| !since.is_empty()).unwrap_or(&now),
        "reason": reason, "message": message,
    })
}

/// The two conditions in their old places, with whatever else was there.
fn merged(crd: &Value, fresh: [Value; 2]) -> Vec<Value> {
    let mut conditions = list(crd, "/status/conditions").to_vec();
    for new in fresh {
        match conditions.iter_mut().find(|known| known["type"] == new["type"]) {
            Some(known) => *known = new,
            None => conditions.push(new),
        }
    }
    conditions
}

/// Every version objects were ever stored in, the present one last.
pub(super) fn stored_versions(crd: &Value) -> Vec<Value> {
    let mut stored = list(crd, "/status/storedVersions").to_vec();
    let storage = list(crd, "/spec/versions").iter().find(|version| flag(version, "/storage"));
    if let Some(name) = storage.and_then(|version| version.get("name"))
        && !stored.contains(name)
    {
        stored.push(name.clone());
    }
    stored
}
