//! What may stand in a plan. Pure.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{Named, Wish};
use crate::Error;

/// Largest text of manifests; what an agent writes is far smaller.
pub(super) const TEXT_MAX: usize = 1024 * 1024;
/// Most objects in one plan: more could not be read by whoever has to agree to them.
pub(super) const OBJECTS_MAX: usize = 100;
/// Longest name of a kind or an object (RFC 1123 has 253 letters).
const NAME_MAX: usize = 253;
/// What the server writes, and what stands in every manifest that was read from it: left out in silence.
const SERVERS: [&str; 7] = [
    "managedFields",
    "resourceVersion",
    "uid",
    "creationTimestamp",
    "generation",
    "selfLink",
    "deletionGracePeriodSeconds",
];
/// What decides when an object goes, and what it takes along: refused, because leaving it out would be another wish.
const LIFETIMES: [&str; 4] = ["ownerReferences", "finalizers", "deletionTimestamp", "generateName"];

/// The wish that manifests and names stand for, if it may be one.
pub(super) fn wish(namespace: &str, manifests: Vec<Value>, deletes: &[String]) -> Result<Wish, Error> {
    let deletes = deletes.iter().map(|text| named(text)).collect::<Result<Vec<_>, _>>()?;
    let count = manifests.len() + deletes.len();
    if count == 0 {
        return Err(Error::invalid("manifests", "they hold no object, and nothing is to be deleted"));
    }
    if count > OBJECTS_MAX {
        return Err(Error::invalid(
            "manifests",
            format!("{count} objects are too many for one plan; plan at most {OBJECTS_MAX} at a time"),
        ));
    }
    let manifests =
        manifests.into_iter().map(|manifest| clean(namespace, manifest)).collect::<Result<Vec<_>, _>>()?;
    let wish = Wish { namespace: namespace.to_owned(), manifests, deletes };
    once(&wish)?;
    Ok(wish)
}

/// Kind and name of a manifest: `Application/shop`.
pub(super) fn told(manifest: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or("?").chars().take(100).collect::<String>();
    format!("{}/{}", word(&manifest["kind"]), word(&manifest["metadata"]["name"]))
}

fn named(text: &str) -> Result<Named, Error> {
    let wrong = || {
        let shown: String = text.chars().take(100).collect();
        Error::invalid("delete", format!("{shown:?} is no Kind/name, as in Application/shop"))
    };
    let (kind, name) = text.split_once('/').ok_or_else(wrong)?;
    let fits = |word: &str| (1..=NAME_MAX).contains(&word.len()) && !word.contains('/');
    if !fits(kind) || !fits(name) {
        return Err(wrong());
    }
    open(kind)?;
    Ok(Named { kind: kind.to_owned(), name: name.to_owned() })
}

/// Whether agents may have to do with a kind.
fn open(kind: &str) -> Result<(), Error> {
    let kind = kind.split('.').next().unwrap_or_default().to_lowercase();
    match ["secret", "secrets"].contains(&kind.as_str()) {
        true => Err(Error::invalid(
            "manifests",
            "a Secret cannot be planned: an agent never holds a secret. For a git repository use add_git_credential, for \
             a database bind_service; for anything else a person runs `kubectl create secret`",
        )),
        false => Ok(()),
    }
}

/// A manifest that says what is wanted and nothing else.
fn clean(namespace: &str, manifest: Value) -> Result<Value, Error> {
    let object = told(&manifest);
    let wrong = |why: String| Error::invalid("manifests", format!("{object}: {why}"));
    let Value::Object(mut fields) = manifest else {
        return Err(Error::invalid("manifests", "a document is no object with apiVersion and kind"));
    };
    let text =
        |fields: &Map<String, Value>, key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
    let (Some(_), Some(kind)) = (text(&fields, "apiVersion"), text(&fields, "kind")) else {
        return Err(wrong("it has no apiVersion or no kind".into()));
    };
    open(&kind)?;
    fields.shift_remove("status");
    let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) else {
        return Err(wrong("it has no metadata.name".into()));
    };
    let held = |key: &&&str| metadata.get(**key).is_some_and(|value| !value.is_null());
    if let Some(key) = LIFETIMES.iter().find(held) {
        return Err(wrong(format!("metadata.{key} cannot be planned; leave it out")));
    }
    LIFETIMES.iter().chain(&SERVERS).for_each(|key| drop(metadata.shift_remove(*key)));
    let name = text(metadata, "name").filter(|name| (1..=NAME_MAX).contains(&name.len()));
    if name.is_none_or(|name| name.contains('/')) {
        return Err(wrong("it has no metadata.name of at most 253 letters".into()));
    }
    match metadata.get("namespace") {
        None | Some(Value::Null) => {}
        Some(Value::String(place)) if place == namespace => {}
        Some(_) => {
            return Err(wrong(format!(
                "a plan ends at its session: leave metadata.namespace out, or let it be {namespace}"
            )));
        }
    }
    metadata.insert("namespace".into(), namespace.into());
    Ok(Value::Object(fields))
}

/// No object stands in a plan twice: the second would undo the first. The version is no part of what it is.
fn once(wish: &Wish) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    for manifest in &wish.manifests {
        let group = manifest["apiVersion"].as_str().and_then(|version| version.split_once('/'));
        if !seen.insert((group.map(|(group, _)| group), told(manifest))) {
            return Err(Error::invalid("manifests", format!("{} stands there twice", told(manifest))));
        }
    }
    let mut going: BTreeSet<String> = wish.manifests.iter().map(|kept| told(kept).to_lowercase()).collect();
    for Named { kind, name } in &wish.deletes {
        let kind = kind.split('.').next().unwrap_or_default();
        if !going.insert(format!("{kind}/{name}").to_lowercase()) {
            let why = format!("{kind}/{name} stands there twice, or in the manifests as well");
            return Err(Error::invalid("delete", why));
        }
    }
    Ok(())
}
