use super::*;

fn defaulted(schema: &Value, mut value: Value) -> Value {
    default(&Schema::parse(schema), &mut value);
    value
}

#[test]
fn nulls_follow_the_documented_table() {
    let schema = object(json!({ "spec": object(json!({
        "foo": { "type": "string", "nullable": false, "default": "default" },
        "bar": { "type": "string", "nullable": true },
        "baz": { "type": "string" },
        "null": { "type": "string", "nullable": true, "default": "given" },
    })) }));
    assert_eq!(
        defaulted(&schema, json!({ "spec": { "foo": null, "bar": null, "baz": null, "null": null } })),
        json!({ "spec": { "foo": "default", "bar": null, "null": null } })
    );
    assert_eq!(
        defaulted(&schema, json!({ "spec": {} })),
        json!({ "spec": { "foo": "default", "null": "given" } })
    );
}

#[test]
fn defaults_reach_everywhere() {
    let item = object(json!({ "a": { "type": "integer", "default": 1 } }));
    let table = [
        (
            "list elements",
            json!({ "type": "array", "items": item }),
            json!([{}, { "a": 2 }]),
            json!([{ "a": 1 }, { "a": 2 }]),
        ),
        (
            "map values",
            json!({ "type": "object", "additionalProperties": item }),
            json!({ "k": {} }),
            json!({ "k": { "a": 1 } }),
        ),
        (
            "null list elements with a default",
            json!({ "type": "array", "items": { "type": "integer", "default": 7 } }),
            json!([null, 1]),
            json!([7, 1]),
        ),
        (
            "null list elements without one stay",
            json!({ "type": "array", "items": { "type": "integer" } }),
            json!([null]),
            json!([null]),
        ),
        (
            "null map values without one go",
            json!({ "type": "object", "additionalProperties": { "type": "integer" } }),
            json!({ "k": null }),
            json!({}),
        ),
        (
            "a default is defaulted itself",
            object(
                json!({ "o": { "type": "object", "default": {}, "properties": { "x": { "type": "integer", "default": 3 } } } }),
            ),
            json!({}),
            json!({ "o": { "x": 3 } }),
        ),
        ("a parent without default is not made", object(json!({ "o": item })), json!({}), json!({})),
        (
            "a value of the wrong type is left to validation",
            object(json!({ "o": item })),
            json!({ "o": 5 }),
            json!({ "o": 5 }),
        ),
    ];
    for (rule, schema, value, want) in table {
        let schema = object(json!({ "spec": schema }));
        assert_eq!(defaulted(&schema, json!({ "spec": value })), json!({ "spec": want }), "{rule}");
    }
}
