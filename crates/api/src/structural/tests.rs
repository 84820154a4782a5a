use super::*;

fn settled(mut schema: Value) -> Value {
    settle(&mut schema);
    schema
}

#[test]
fn every_shape_that_the_types_produce_becomes_structural() {
    let table = [
        (
            "an optional string",
            json!({ "type": ["string", "null"], "default": null }),
            json!({ "type": "string" }),
        ),
        (
            "a nullable number of an unknown format",
            json!({ "type": "integer", "format": "uint8", "nullable": true }),
            json!({ "type": "integer" }),
        ),
        (
            "an optional struct keeps the field's words",
            json!({ "description": "field", "anyOf": [{ "type": "object", "description": "type" }, { "type": "null" }] }),
            json!({ "description": "field", "type": "object" }),
        ),
        (
            "rules of type and field add up",
            json!({ RULES: ["field"], "anyOf": [{ "type": "string", RULES: ["type"] }, { "enum": [null], "nullable": true }] }),
            json!({ RULES: ["type", "field"], "type": "string" }),
        ),
        (
            "an enum with words",
            json!({ "description": "Size.", "oneOf": [
                { "type": "string", "const": "s", "description": "Small." },
                { "type": "string", "enum": ["m"] },
            ] }),
            json!({ "description": "Size.\n\n`s`: Small.", "type": "string", "enum": ["s", "m"] }),
        ),
        (
            "an optional enum with words",
            json!({ "anyOf": [{ "oneOf": [{ "const": "s", "description": "Small." }] }, { "type": "null" }] }),
            json!({ "type": "string", "enum": ["s"], "description": "`s`: Small." }),
        ),
        (
            "a flattened map",
            json!({ "type": "object", "properties": { "a": { "type": "string" } }, "additionalProperties": true }),
            json!({ "type": "object", "properties": { "a": { "type": "string" } }, PRESERVE: true }),
        ),
        (
            "a closed struct",
            json!({ "type": "object", "properties": {}, "additionalProperties": false }),
            json!({ "type": "object", "properties": {} }),
        ),
        (
            "anything",
            json!({ "type": "array", "items": true }),
            json!({ "type": "array", "items": { PRESERVE: true } }),
        ),
        (
            "values of a map",
            json!({ "type": "object", "additionalProperties": { "type": ["string", "null"] } }),
            json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        ),
    ];
    for (row, schema, want) in table {
        assert_eq!(settled(schema), want, "{row}");
    }
}

#[test]
fn unknown_fields_are_kept_at_every_level() {
    let mut schema = json!({
        "type": "object",
        "properties": {
            "list": { "type": "array", "items": { "type": "object" } },
            "map": { "type": "object", "additionalProperties": { "type": "object" } },
            "text": { "type": "string" },
        },
    });
    keep_unknown(&mut schema);
    let kept = json!({ "type": "object", PRESERVE: true });
    assert_eq!(schema[PRESERVE], true);
    assert_eq!(schema["properties"]["list"]["items"], kept);
    assert_eq!(schema["properties"]["map"], json!({ "type": "object", "additionalProperties": kept }));
    assert_eq!(schema["properties"]["text"], json!({ "type": "string" }));
}
