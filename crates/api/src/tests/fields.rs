use std::collections::BTreeMap;

use serde_json::Value;

use super::{all, schema};

/// Every field that the requirements name, kind by kind. Written from them, not from the code.
const FIELDS: &str = include_str!("fields.txt");

#[test]
fn every_field_that_the_requirements_name_is_there() {
    let schemas: BTreeMap<String, Value> =
        all().iter().map(|crd| (crd.spec.names.kind.clone(), schema(crd))).collect();
    let mut kind = "";
    let mut seen = 0;
    let mut missing = Vec::new();
    for line in FIELDS.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        if let Some(heading) = line.strip_suffix(':') {
            kind = heading;
            assert!(schemas.contains_key(kind), "{kind} is not served");
            seen += 1;
            continue;
        }
        for path in line.split_whitespace() {
            if !there(&schemas[kind], path) {
                missing.push(format!("{kind}: {path}"));
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new());
    assert_eq!(seen, schemas.len(), "every kind has its fields listed");
}

/// Whether a dotted path leads to a field; `[]` steps into the items of a list.
fn there(schema: &Value, path: &str) -> bool {
    let mut node = Some(schema);
    for step in path.split('.') {
        let (name, list) = step.strip_suffix("[]").map_or((step, false), |name| (name, true));
        node = node.and_then(|node| node.get("properties")?.get(name));
        if list {
            node = node.and_then(|node| node.get("items"));
        }
    }
    node.is_some()
}
