//! What every object's metadata must hold, when it is new and when it changes.

mod shape;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

pub use super::names::NameRule;
pub use shape::check_shape;

use crate::status::Cause;

/// Sum of all keys and values of annotations, in bytes.
const ANNOTATIONS_MAX: usize = 256 * 1024;
const IMMUTABLE: &str = "field is immutable";

/// Everything wrong with the metadata of an object that is to be stored. Its name has been generated already,
/// and its shape passed [`check_shape`].
pub fn check_new(object: &Value, rule: NameRule, namespaced: bool) -> Vec<Cause> {
    let meta = &object["metadata"];
    let mut causes = Vec::new();
    let prefix = text(meta, "generateName");
    if !prefix.is_empty() {
        causes.extend(invalid_each("metadata.generateName", prefix, rule.prefix_faults(prefix)));
    }
    match text(meta, "name") {
        "" => causes.push(Cause::required("metadata.name", "name or generateName is required")),
        name => causes.extend(invalid_each("metadata.name", name, rule.faults(name))),
    }
    match (namespaced, text(meta, "namespace")) {
        (true, "") => causes.push(Cause::required("metadata.namespace", "")),
        (true, name) => {
            causes.extend(invalid_each("metadata.namespace", name, NameRule::DnsLabel.faults(name)));
        }
        (false, "") => {}
        (false, _) => causes.push(Cause::forbidden("metadata.namespace", "not allowed on this type")),
    }
    if meta["generation"].as_i64().is_some_and(|generation| generation < 0) {
        let why = "must be greater than or equal to 0";
        causes.push(Cause::invalid("metadata.generation", &meta["generation"], why));
    }
    causes.extend(labels(meta));
    causes.extend(annotations(meta));
    causes.extend(owner_references(meta));
    causes.extend(finalizers(meta));
    causes.extend(managed_fields(meta));
    causes
}

/// Everything wrong with new metadata given the old. The caller has already put back what an update cannot
/// change silently: creation and deletion timestamps, grace period, generation; and answers a foreign uid
/// with a conflict.
pub fn check_update(new: &Value, old: &Value) -> Vec<Cause> {
    let (new, old) = (&new["metadata"], &old["metadata"]);
    let mut causes = Vec::new();
    if !old["deletionTimestamp"].is_null() {
        causes.extend(new_finalizers(new, old));
    }
    if text(new, "resourceVersion").is_empty() {
        let why = "must be specified for an update";
        causes.push(Cause::invalid("metadata.resourceVersion", &json!(""), why));
    }
    let generation = |meta: &Value| meta["generation"].as_i64().unwrap_or_default();
    if generation(new) < generation(old) {
        let why = "must not be decremented";
        causes.push(Cause::invalid("metadata.generation", &json!(generation(new)), why));
    }
    for field in ["name", "namespace", "uid"] {
        if text(new, field) != text(old, field) {
            causes.push(Cause::invalid(format!("metadata.{field}"), &json!(text(new, field)), IMMUTABLE));
        }
    }
    for field in ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        if new[field] != old[field] {
            causes.push(Cause::invalid(format!("metadata.{field}"), &new[field], IMMUTABLE));
        }
    }
    causes.extend(labels(new));
    causes.extend(annotations(new));
    causes.extend(owner_references(new));
    causes.extend(managed_fields(new));
    causes
}

fn text<'a>(meta: &'a Value, field: &str) -> &'a str {
    meta[field].as_str().unwrap_or_default()
}

fn entries<'a>(meta: &'a Value, field: &str) -> impl Iterator<Item = (&'a String, &'a str)> {
    let map = meta[field].as_object().into_iter().flatten();
    map.map(|(key, value)| (key, value.as_str().unwrap_or_default()))
}

fn items<'a>(meta: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    meta[field].as_array().into_iter().flatten()
}

fn invalid_each(field: &str, value: &str, faults: Vec<String>) -> impl Iterator<Item = Cause> {
    faults.into_iter().map(move |why| Cause::invalid(field, &json!(value), &why))
}

fn labels(meta: &Value) -> Vec<Cause> {
    let field = "metadata.labels";
    let mut causes = Vec::new();
    for (key, value) in entries(meta, "labels") {
        causes.extend(invalid_each(field, key, NameRule::QualifiedName.faults(key)));
        causes.extend(invalid_each(field, value, NameRule::LabelValue.faults(value)));
    }
    causes
}

fn annotations(meta: &Value) -> Vec<Cause> {
    let field = "metadata.annotations";
    let mut causes = Vec::new();
    let mut size = 0;
    for (key, value) in entries(meta, "annotations") {
        // Annotation keys are label keys in which case does not matter.
        causes.extend(invalid_each(field, key, NameRule::QualifiedName.faults(&key.to_lowercase())));
        size += key.len() + value.len();
    }
    if size > ANNOTATIONS_MAX {
        causes.push(Cause::too_long(field, ANNOTATIONS_MAX));
    }
    causes
}

fn owner_references(meta: &Value) -> Vec<Cause> {
    let field = "metadata.ownerReferences";
    let mut causes = Vec::new();
    let mut controller: Option<String> = None;
    for owner in items(meta, "ownerReferences") {
        causes.extend(owner_reference(field, owner));
        if owner["controller"] != json!(true) {
            continue;
        }
        let name = format!("{}/{}", text(owner, "kind"), text(owner, "name"));
        match &controller {
            None => controller = Some(name),
            Some(first) => {
                let why = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for \
                     {first} and {name}"
                );
                causes.push(Cause::invalid(field, &meta["ownerReferences"], &why));
            }
        }
    }
    causes
}

fn owner_reference(field: &str, owner: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let api_version = text(owner, "apiVersion");
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    if version.is_empty() {
        let path = format!("{field}.apiVersion");
        causes.push(Cause::invalid(path, &json!(api_version), "version must not be empty"));
    }
    for part in ["kind", "name", "uid"] {
        if text(owner, part).is_empty() {
            causes.push(Cause::invalid(format!("{field}.{part}"), &json!(""), "must not be empty"));
        }
    }
    if (group, version, text(owner, "kind")) == ("", "v1", "Event") {
        causes.push(Cause::invalid(field, owner, "/v1, Kind=Event is disallowed from being an owner"));
    }
    causes
}

fn finalizers(meta: &Value) -> Vec<Cause> {
    let field = "metadata.finalizers";
    let mut causes = Vec::new();
    let names: Vec<&str> = items(meta, "finalizers").filter_map(Value::as_str).collect();
    for name in &names {
        causes.extend(invalid_each(field, name, NameRule::QualifiedName.faults(name)));
    }
    if names.contains(&"orphan") && names.contains(&"foregroundDeletion") {
        let why = "finalizer orphan and foregroundDeletion cannot be both set";
        causes.push(Cause::invalid(field, &meta["finalizers"], why));
    }
    causes
}

fn new_finalizers(new: &Value, old: &Value) -> Option<Cause> {
    let had: Vec<&Value> = items(old, "finalizers").collect();
    let mut added: Vec<&str> =
        items(new, "finalizers").filter(|name| !had.contains(name)).filter_map(Value::as_str).collect();
    added.sort_unstable();
    added.dedup();
    if added.is_empty() {
        return None;
    }
    let list = added.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    let why = "no new finalizers can be added if the object is being deleted, found new finalizers";
    Some(Cause::forbidden("metadata.finalizers", &format!("{why} []string{{{list}}}")))
}

fn managed_fields(meta: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (at, entry) in items(meta, "managedFields").enumerate() {
        let field = |name: &str| format!("metadata.managedFields[{at}].{name}");
        let operation = text(entry, "operation");
        if !matches!(operation, "Apply" | "Update") {
            let why = "must be `Apply` or `Update`";
            causes.push(Cause::invalid(field("operation"), &json!(operation), why));
        }
        let kind = text(entry, "fieldsType");
        if !matches!(kind, "" | "FieldsV1") {
            causes.push(Cause::invalid(field("fieldsType"), &json!(kind), "must be `FieldsV1`"));
        }
        causes.extend(check_field_manager(&field("manager"), text(entry, "manager")));
        if text(entry, "subresource").len() > SUBRESOURCE_MAX {
            causes.push(Cause::too_long(field("subresource"), SUBRESOURCE_MAX));
        }
    }
    causes
}

/// Bounds the original sets on the name of a manager and of a subresource.
const MANAGER_MAX: usize = 128;
const SUBRESOURCE_MAX: usize = 256;

/// What is wrong with the name of a field manager, here or in the `fieldManager` parameter.
pub fn check_field_manager(field: &str, manager: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    if manager.len() > MANAGER_MAX {
        causes.push(Cause::too_long(field, MANAGER_MAX));
    }
    for (at, sign) in manager.char_indices().filter(|(_, sign)| sign.is_control()) {
        let why = format!("invalid character U+{:04X} (at position {at})", u32::from(sign));
        causes.push(Cause::invalid(field, &json!(manager), &why));
    }
    causes
}
