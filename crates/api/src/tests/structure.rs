use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{all, schema};

/// What may stand in a structural schema.
const KEYS: [&str; 28] = [
    "additionalProperties",
    "default",
    "description",
    "enum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "pattern",
    "properties",
    "required",
    "type",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "multipleOf",
    "x-kubernetes-embedded-resource",
];

#[test]
fn every_definition_is_structural() {
    let mut wrong = Vec::new();
    for crd in all() {
        let name = crd.metadata.name.clone().unwrap_or_default();
        visit(&schema(&crd), &name, &mut wrong);
    }
    assert_eq!(wrong, Vec::<String>::new());
}

fn visit(node: &Value, path: &str, wrong: &mut Vec<String>) {
    let Some(node) = node.as_object() else {
        wrong.push(format!("{path}: no object"));
        return;
    };
    wrong.extend(
        node.keys().filter(|key| !KEYS.contains(&key.as_str())).map(|key| format!("{path}: has {key}")),
    );
    wrong.extend(faults(node).into_iter().map(|fault| format!("{path}: {fault}")));
    for (name, child) in node.get("properties").and_then(Value::as_object).into_iter().flatten() {
        visit(child, &format!("{path}.{name}"), wrong);
    }
    for key in ["items", "additionalProperties"] {
        if let Some(child) = node.get(key) {
            visit(child, &format!("{path}[]"), wrong);
        }
    }
}

fn faults(node: &Map<String, Value>) -> Vec<&'static str> {
    let has = |key: &str| node.contains_key(key);
    let type_ = node.get("type").and_then(Value::as_str);
    let known = ["object", "array", "string", "integer", "number", "boolean"];
    let typed = type_.is_some_and(|name| known.contains(&name));
    let free = has("x-kubernetes-int-or-string") || has("x-kubernetes-preserve-unknown-fields");
    let bounded = |list: &Map<String, Value>| list.contains_key("maxItems");
    let rows = [
        ("has no type", !typed && !free),
        ("has properties and additional properties", has("properties") && has("additionalProperties")),
        ("is an array without items", type_ == Some("array") && !has("items")),
        ("has a default of null", node.get("default").is_some_and(Value::is_null)),
        (
            "has an enum with null",
            node.get("enum")
                .is_some_and(|values| values.as_array().is_some_and(|v| v.contains(&Value::Null))),
        ),
        ("is a map list whose keys are not required", !keys_are_required(node)),
        (
            "has rules on items without a bound on their number",
            type_ == Some("array")
                && node["items"].get("x-kubernetes-validations").is_some()
                && !bounded(node),
        ),
        ("requires what it does not have", !required_is_there(node)),
    ];
    rows.into_iter().filter(|(_, fault)| *fault).map(|(words, _)| words).collect()
}

fn words(value: Option<&Value>) -> BTreeSet<&str> {
    value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

fn keys_are_required(node: &Map<String, Value>) -> bool {
    if node.get("x-kubernetes-list-type") != Some(&json!("map")) {
        return true;
    }
    let keys = words(node.get("x-kubernetes-list-map-keys"));
    let item = &node["items"];
    let required = words(item.get("required"));
    let defaulted = |key: &str| item["properties"][key].get("default").is_some();
    !keys.is_empty() && keys.iter().all(|key| required.contains(key) || defaulted(key))
}

fn required_is_there(node: &Map<String, Value>) -> bool {
    let properties = node.get("properties").and_then(Value::as_object);
    words(node.get("required")).iter().all(|name| properties.is_some_and(|all| all.contains_key(*name)))
}

#[test]
fn every_field_of_ours_says_what_it_is() {
    fn silent(node: &Value, path: &str, found: &mut Vec<String>) {
        for (name, child) in node.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let path = format!("{path}.{name}");
            let said = child.get("description").and_then(Value::as_str).unwrap_or_default();
            if said.is_empty() && name != "metadata" {
                found.push(path.clone());
            }
            silent(child, &path, found);
        }
        if let Some(items) = node.get("items") {
            silent(items, &format!("{path}[]"), found);
        }
    }
    let mut found = Vec::new();
    for crd in crate::crds() {
        silent(&schema(&crd), &crd.spec.names.kind, &mut found);
    }
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn our_kinds_are_found_under_one_category_and_report_a_status() {
    let mut names = BTreeSet::new();
    for crd in crate::crds() {
        let kind = &crd.spec.names.kind;
        assert_eq!(crd.spec.names.categories.as_deref(), Some(&[crate::CATEGORY.to_owned()][..]), "{kind}");
        let version = &crd.spec.versions[0];
        assert!(version.subresources.as_ref().is_some_and(|sub| sub.status.is_some()), "{kind}");
        assert!(
            version.additional_printer_columns.as_ref().is_some_and(|columns| columns.len() > 1),
            "{kind}"
        );
        let conditions = &schema(&crd)["properties"]["status"]["properties"]["conditions"];
        assert_eq!(conditions["x-kubernetes-list-map-keys"], json!(["type"]), "{kind}");
        for short in crd.spec.names.short_names.iter().flatten() {
            assert!(names.insert(short.clone()), "{kind}: {short} is taken");
        }
    }
}

#[test]
fn foreign_kinds_lose_nothing() {
    fn losing(node: &Value, path: &str, found: &mut Vec<String>) {
        let keeps = node.get("x-kubernetes-preserve-unknown-fields") == Some(&json!(true));
        if node["type"] == "object" && node.get("additionalProperties").is_none() && !keeps {
            found.push(path.to_owned());
        }
        for (name, child) in node.get("properties").and_then(Value::as_object).into_iter().flatten() {
            losing(child, &format!("{path}.{name}"), found);
        }
        if let Some(items) = node.get("items") {
            losing(items, &format!("{path}[]"), found);
        }
    }
    let mut found = Vec::new();
    for crd in crate::foreign_crds() {
        for part in ["spec", "status"] {
            if let Some(part_schema) = schema(&crd)["properties"].get(part) {
                losing(part_schema, &format!("{}.{part}", crd.spec.names.kind), &mut found);
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn no_status_has_room_for_a_password() {
    fn passwords(node: &Value, path: &str, found: &mut Vec<String>) {
        for (name, child) in node.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let path = format!("{path}.{name}");
            if ["password", "privatekey", "token", "dsn"]
                .iter()
                .any(|word| name.to_lowercase().contains(word))
            {
                found.push(path.clone());
            }
            passwords(child, &path, found);
        }
        if let Some(items) = node.get("items") {
            passwords(items, path, found);
        }
    }
    let mut found = Vec::new();
    for crd in crate::crds() {
        passwords(&schema(&crd)["properties"]["status"], &crd.spec.names.kind, &mut found);
    }
    assert_eq!(found, Vec::<String>::new());
}
