//! Laws that hold for every schema and every value.

use proptest::prelude::*;

use super::*;

const NAMES: [&str; 6] = ["a", "b", "c", "metadata", "spec", "x"];

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-5i64..5).prop_map(Value::from),
        prop_oneof![Just(0.5f64), Just(1e300), Just(-2.0)].prop_map(Value::from),
        "[a-c]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            proptest::collection::vec((proptest::sample::select(&NAMES[..]), inner), 0..4).prop_map(
                |fields| Value::Object(
                    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
                )
            ),
        ]
    })
}

fn schema_value() -> impl Strategy<Value = Value> {
    const KINDS: [&str; 6] = ["object", "array", "string", "integer", "number", "boolean"];
    let extras = prop_oneof![
        4 => Just(json!({})),
        1 => Just(json!({ "nullable": true })),
        1 => Just(json!({ "minimum": 1, "maxLength": 2, "minItems": 1 })),
        1 => Just(json!({ "x-kubernetes-preserve-unknown-fields": true })),
        1 => Just(json!({ "x-kubernetes-embedded-resource": true })),
        1 => Just(json!({ "x-kubernetes-int-or-string": true })),
        1 => Just(json!({ "x-kubernetes-list-type": "set" })),
        1 => Just(json!({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"] })),
        1 => Just(json!({ "pattern": "^a", "enum": ["a", 1, null] })),
        1 => Just(json!({ "anyOf": [{ "required": ["a"] }, { "required": ["b"] }] })),
    ];
    let leaf = (proptest::sample::select(&KINDS[..]), extras).prop_map(|(kind, mut extra)| {
        extra["type"] = kind.into();
        extra
    });
    leaf.prop_recursive(4, 24, 4, |inner| {
        let fields = proptest::collection::vec((proptest::sample::select(&NAMES[..]), inner.clone()), 0..4);
        (inner.clone(), fields, inner, proptest::option::of(json_value())).prop_map(
            |(mut node, fields, items, default)| {
                match node["type"].as_str() {
                    Some("object") => {
                        let fields =
                            fields.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
                        node["properties"] = Value::Object(fields);
                    }
                    Some("array") => node["items"] = items,
                    _ => {}
                }
                if let Some(default) = default {
                    node["default"] = default;
                }
                node
            },
        )
    })
}

proptest! {
    #[test]
    fn pruning_twice_is_pruning_once(schema in schema_value(), mut value in json_value()) {
        let schema = Schema::parse(&schema);
        prune(&schema, &mut value);
        let once = value.clone();
        prop_assert!(prune(&schema, &mut value).is_empty());
        prop_assert_eq!(value, once);
    }

    #[test]
    fn defaulting_twice_is_defaulting_once(schema in schema_value(), mut value in json_value()) {
        let schema = Schema::parse(&schema);
        default(&schema, &mut value);
        let once = value.clone();
        default(&schema, &mut value);
        prop_assert_eq!(value, once);
    }

    #[test]
    fn a_valid_object_stays_valid(schema in schema_value(), noise in json_value()) {
        let schema = without_limits(schema);
        let parsed = Schema::parse(&schema);
        let mut value = fitting(&schema, &noise);
        prop_assume!(validate(&parsed, &value, None).is_empty());
        prune(&parsed, &mut value);
        let causes = validate(&parsed, &value, None);
        prop_assert!(causes.is_empty(), "{causes:?}");
        default(&parsed, &mut value);
        let causes = validate(&parsed, &value, None);
        prop_assert!(causes.is_empty(), "{causes:?}");
    }

    #[test]
    fn nothing_panics_on_anything(schema in json_value(), mut value in json_value(), old in json_value()) {
        let parsed = Schema::parse(&schema);
        prune(&parsed, &mut value);
        default(&parsed, &mut value);
        validate(&parsed, &value, Some(&old));
        let _ = Rules::compile(&schema);
    }

    #[test]
    fn nothing_is_held_against_an_unchanged_object(schema in schema_value(), value in json_value()) {
        // Embedded resources are checked like new ones, always.
        prop_assume!(!schema.to_string().contains("embedded-resource"));
        prop_assert!(validate(&Schema::parse(&schema), &value, Some(&value)).is_empty());
    }

    #[test]
    fn patterns_never_panic(text in "\\PC{0,12}") {
        let _ = pattern(&text);
    }
}

/// What a definition may not do, so that the law needs not hold for it: defaults that break the schema, and
/// checks that speak of fields that are pruned.
fn without_limits(mut schema: Value) -> Value {
    if let Some(map) = schema.as_object_mut() {
        for name in ["default", "anyOf", "x-kubernetes-list-type", "enum"] {
            map.shift_remove(name);
        }
        for (_, child) in map.iter_mut().filter(|(name, _)| *name == "items") {
            *child = without_limits(child.take());
        }
        for (_, fields) in map.iter_mut().filter(|(name, _)| *name == "properties") {
            for (_, child) in fields.as_object_mut().into_iter().flatten() {
                *child = without_limits(child.take());
            }
        }
    }
    schema
}

/// A value that mostly fits a schema, with fields it does not know.
fn fitting(schema: &Value, noise: &Value) -> Value {
    match schema["type"].as_str() {
        _ if schema["x-kubernetes-int-or-string"] == true => json!(2),
        Some("object") => {
            let mut map = noise.as_object().cloned().unwrap_or_default();
            for (name, child) in schema["properties"].as_object().into_iter().flatten() {
                map.insert(name.clone(), fitting(child, noise));
            }
            if schema["x-kubernetes-embedded-resource"] == true {
                map.extend([("apiVersion".into(), json!("v1")), ("kind".into(), json!("Pod"))]);
            }
            Value::Object(map)
        }
        Some("array") => json!([fitting(&schema["items"], noise)]),
        Some("string") => json!("ab"),
        Some("boolean") => json!(true),
        Some("integer") => json!(2.0),
        Some("number") => json!(2.5),
        _ => noise.clone(),
    }
}
