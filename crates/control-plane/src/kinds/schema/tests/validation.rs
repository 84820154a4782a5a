use super::*;

fn widget() -> Value {
    let item = json!({ "type": "object", "required": ["name"],
        "properties": { "name": { "type": "string" }, "value": { "type": "string" } } });
    json!({ "type": "object", "required": ["spec"], "properties": { "spec": {
        "type": "object",
        "required": ["size"],
        "properties": {
            "size": { "type": "integer", "minimum": 1, "maximum": 100 },
            "color": { "type": "string", "enum": ["red", "green", "blue"], "default": "red" },
            "items": { "type": "array", "items": item,
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] },
            "tags": { "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "string" } },
        },
        "x-kubernetes-validations": [
            { "rule": "self.size <= 50 || self.color == 'red'", "message": "big widgets must be red" },
            { "rule": "self.color == oldSelf.color", "message": "color is immutable" },
        ],
    } } })
}

fn judged(value: &Value, old: Option<&Value>) -> Vec<String> {
    let rules = Rules::compile(&widget()).expect("the rules compile");
    told(&validate_with_rules(&Schema::parse(&widget()), rules.as_ref(), value, old))
}

const UNCHECKED: &str = "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";

#[test]
fn the_recorded_objects_give_the_recorded_causes() {
    let bad = json!({ "spec": { "size": 0, "items": [{ "value": "1" }, { "name": "b" }, { "name": "b" }], "tags": ["x", "x"], "color": "pink" } });
    assert_eq!(
        judged(&bad, None),
        [
            "spec.color: Unsupported value: \"pink\": supported values: \"red\", \"green\", \"blue\"",
            "spec.items[0].name: Required value",
            "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1",
            "spec.items[2]: Duplicate value: {\"name\":\"b\"}",
            "spec.tags[1]: Duplicate value: \"x\"",
            UNCHECKED,
        ]
    );
    let mistyped = json!({ "spec": { "size": "str", "color": "red" } });
    assert_eq!(
        judged(&mistyped, None),
        [
            "spec.size: Invalid value: \"string\": spec.size in body must be of type integer: \"string\"",
            UNCHECKED
        ]
    );
    assert_eq!(judged(&json!({}), None), ["spec: Required value", UNCHECKED]);
    assert_eq!(
        judged(&json!({ "spec": { "size": 60, "color": "green" } }), None),
        ["spec: Invalid value: big widgets must be red"]
    );
    let (red, blue) =
        (json!({ "spec": { "size": 6, "color": "red" } }), json!({ "spec": { "size": 6, "color": "blue" } }));
    assert_eq!(judged(&blue, Some(&red)), ["spec: Invalid value: color is immutable"]);
    assert_eq!(judged(&red, None), Vec::<String>::new());
}

#[test]
fn a_bound_alone_does_not_keep_rules_from_being_asked() {
    assert_eq!(
        judged(&json!({ "spec": { "size": 101, "color": "green" } }), None),
        [
            "spec.size: Invalid value: 101: spec.size in body should be less than or equal to 100",
            "spec: Invalid value: big widgets must be red",
        ]
    );
}

#[test]
fn every_keyword_has_its_sentence() {
    let text = |extra: Value| {
        let mut schema = json!({ "type": "string" });
        schema.as_object_mut().expect("an object").extend(extra.as_object().expect("an object").clone());
        schema
    };
    let long = json!({ "type": "object", "additionalProperties": { "type": "integer", "minimum": 2 } });
    let table: Vec<(&str, Value, Value, &str)> = vec![
        (
            "types match",
            json!({ "type": "boolean" }),
            json!("x"),
            "f: Invalid value: \"string\": f in body must be of type boolean: \"string\"",
        ),
        (
            "null is no string",
            json!({ "type": "string" }),
            json!(null),
            "f: Invalid value: \"null\": f in body must be of type string: \"null\"",
        ),
        ("null where nullable", json!({ "type": "string", "nullable": true }), json!(null), ""),
        ("5.0 is an integer", json!({ "type": "integer" }), json!(5.0), ""),
        (
            "5.5 is none",
            json!({ "type": "integer", "maximum": 9 }),
            json!(5.5),
            "f: Invalid value: \"number\": f in body must be of type integer: \"number\"|<nil>: Invalid value: \"\": Checked value must be of type integer (default format) in f",
        ),
        ("5 is a number", json!({ "type": "number" }), json!(5), ""),
        (
            "int32 has an end",
            json!({ "type": "integer", "format": "int32" }),
            json!(2147483648i64),
            "<nil>: Invalid value: \"\": Checked value must be of type integer with format int32 in f",
        ),
        (
            "int64 holds int64",
            json!({ "type": "integer", "format": "int64" }),
            json!(9223372036854775807i64),
            "",
        ),
        (
            "float has an end",
            json!({ "type": "number", "format": "float" }),
            json!(1e300),
            "<nil>: Invalid value: \"\": Checked value must be of type number with format float in f",
        ),
        ("int-or-string takes both", json!({ "x-kubernetes-int-or-string": true }), json!("80%"), ""),
        (
            "int-or-string takes no more",
            json!({ "x-kubernetes-int-or-string": true }),
            json!(true),
            "f: Invalid value: \"boolean\": f in body must be of type integer,string: \"boolean\"",
        ),
        (
            "minimum",
            json!({ "type": "number", "minimum": 1.5 }),
            json!(1),
            "f: Invalid value: 1: f in body should be greater than or equal to 1.5",
        ),
        (
            "exclusive minimum",
            json!({ "type": "integer", "minimum": 1, "exclusiveMinimum": true }),
            json!(1),
            "f: Invalid value: 1: f in body should be greater than 1",
        ),
        (
            "exclusive maximum",
            json!({ "type": "integer", "maximum": 1, "exclusiveMaximum": true }),
            json!(1),
            "f: Invalid value: 1: f in body should be less than 1",
        ),
        (
            "multiple of",
            json!({ "type": "integer", "multipleOf": 2 }),
            json!(5),
            "f: Invalid value: 5: f in body should be a multiple of 2",
        ),
        ("multiple of a fraction", json!({ "type": "number", "multipleOf": 0.1 }), json!(0.3), ""),
        (
            "too long",
            text(json!({ "maxLength": 2 })),
            json!("abc"),
            "f: Too long: may not be more than 2 bytes",
        ),
        ("letters are counted, not bytes", text(json!({ "maxLength": 2 })), json!("öö"), ""),
        (
            "too short",
            text(json!({ "minLength": 2 })),
            json!("a"),
            "f: Invalid value: \"a\": f in body should be at least 2 chars long",
        ),
        (
            "pattern",
            text(json!({ "pattern": "^a+$" })),
            json!("b"),
            "f: Invalid value: \"b\": f in body should match '^a+$'",
        ),
        (
            "digits in patterns are ASCII",
            text(json!({ "pattern": "^\\d$" })),
            json!("٣"),
            "f: Invalid value: \"٣\": f in body should match '^\\d$'",
        ),
        ("brackets in classes are brackets", text(json!({ "pattern": "^[[\\w-]+$" })), json!("[a-"), ""),
        (
            "enum",
            json!({ "type": "integer", "enum": [1, 2] }),
            json!(3),
            "f: Unsupported value: 3: supported values: \"1\", \"2\"",
        ),
        (
            "date-time",
            text(json!({ "format": "date-time" })),
            json!("now"),
            "f: Invalid value: \"now\": f in body must be of type date-time: \"now\"",
        ),
        (
            "a number has no date",
            text(json!({ "format": "date-time" })),
            json!(5),
            "f: Invalid value: \"int64\": f in body must be of type date-time: \"int64\"",
        ),
        ("unknown formats are no rules", text(json!({ "format": "zip-code" })), json!("x"), ""),
        (
            "too few items",
            json!({ "type": "array", "minItems": 1 }),
            json!([]),
            "f: Invalid value: 0: f in body should have at least 1 items",
        ),
        (
            "too many items",
            json!({ "type": "array", "maxItems": 1 }),
            json!([1, 2]),
            "f: Too many: 2: must have at most 1 item",
        ),
        (
            "unique items",
            json!({ "type": "array", "uniqueItems": true }),
            json!([{ "a": 1, "b": 2 }, { "b": 2, "a": 1 }]),
            "f: Invalid value: \"\": f in body shouldn't contain duplicates",
        ),
        (
            "too few properties",
            json!({ "type": "object", "minProperties": 1 }),
            json!({}),
            "f: Invalid value: 0: f in body should have at least 1 properties",
        ),
        (
            "too many properties",
            json!({ "type": "object", "maxProperties": 0 }),
            json!({ "a": 1 }),
            "f: Too many: 1: must have at most 0 items",
        ),
        (
            "map values",
            long,
            json!({ "k": 1 }),
            "f.k: Invalid value: 1: f.k in body should be greater than or equal to 2",
        ),
        (
            "any of",
            text(json!({ "anyOf": [{ "pattern": "^a" }, { "pattern": "^b" }] })),
            json!("c"),
            "<nil>: Invalid value: \"\": \"f\" must validate at least one schema (anyOf)|f: Invalid value: \"c\": f in body should match '^a'",
        ),
        (
            "one of none",
            text(json!({ "oneOf": [{ "pattern": "^a" }] })),
            json!("c"),
            "<nil>: Invalid value: \"\": \"f\" must validate one and only one schema (oneOf). Found none valid|f: Invalid value: \"c\": f in body should match '^a'",
        ),
        (
            "one of two",
            text(json!({ "oneOf": [{ "pattern": "a" }, { "pattern": "b" }] })),
            json!("ab"),
            "<nil>: Invalid value: \"\": \"f\" must validate one and only one schema (oneOf). Found 2 valid alternatives",
        ),
        (
            "all of",
            text(json!({ "allOf": [{ "pattern": "a" }] })),
            json!("b"),
            "f: Invalid value: \"b\": f in body should match 'a'|<nil>: Invalid value: \"\": \"f\" must validate all the schemas (allOf). None validated",
        ),
        (
            "not",
            text(json!({ "not": { "enum": ["a"] } })),
            json!("a"),
            "<nil>: Invalid value: \"\": \"f\" must not validate the schema (not)",
        ),
        (
            "set elements may be objects",
            json!({ "type": "array", "x-kubernetes-list-type": "set" }),
            json!([{ "a": 1, "b": 2 }, { "b": 2, "a": 1 }]),
            "f[1]: Duplicate value: {\"a\":1,\"b\":2}",
        ),
        (
            "map lists hold objects",
            json!({ "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"] }),
            json!([1]),
            "f[0]: Invalid value: 1: must be an object for an array of list-type map",
        ),
        (
            "several keys make one",
            json!({ "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"] }),
            json!([{ "a": 1, "b": 1 }, { "a": 1, "b": 2 }, { "b": 1, "a": 1 }]),
            "f[2]: Duplicate value: {\"a\":1,\"b\":1}",
        ),
        (
            "embedded resources name themselves",
            json!({ "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true }),
            json!({ "kind": "p_d" }),
            "f.apiVersion: Required value|f.kind: Invalid value: \"p_d\": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
        ),
    ];
    for (rule, schema, value, want) in table {
        let got = faults(&object(json!({ "f": schema })), &json!({ "f": value }), None).join("|");
        assert_eq!(got, want, "{rule}");
    }
}

#[test]
fn formats_know_good_from_bad() {
    let table = [
        ("date-time", "2026-01-02T03:04:05Z", "2026-01-02 03:04:05"),
        ("date-time", "2026-01-02t03:04:05.5+02:00", "2026-01-02T24:04:05Z"),
        ("date", "2026-02-28", "2026-02-30"),
        ("duration", "1h30m", "soon"),
        ("duration", "2 days", "2 moons"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123e4567"),
        ("uuid4", "123e4567-e89b-42d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"),
        ("ipv4", "10.0.0.1", "::1"),
        ("ipv4", "010.000.0.1", "10.0.0.256"),
        ("ipv6", "2001:db8::1", "10.0.0.1"),
        ("cidr", "10.0.0.0/8", "10.0.0.0/33"),
        ("cidr", "2001:db8::/128", "2001:db8::/129"),
        ("email", "Ann <ann@example.com>", "ann"),
        ("hostname", "a.example.com", "-a.example.com"),
        ("uri", "https://example.com/a", "example"),
        ("byte", "aGVsbG8=", "a"),
        ("mac", "00:1b:44:11:3a:b7", "00:1b:44"),
        ("bsonobjectid", "507f1f77bcf86cd799439011", "507f"),
        ("hexcolor", "#ffaa00", "#ffaa0"),
        ("rgbcolor", "rgb(1, 2, 255)", "rgb(1,2,256)"),
        ("isbn", "978-0321751041", "978-0321751042"),
        ("isbn10", "0321751043", "0321751044"),
        ("creditcard", "4111 1111 1111 1111", "4111 1111 1111 1112"),
        ("ssn", "111-22-3333", "111-22"),
        ("k8s-short-name", "abc-1", "Abc"),
        ("k8s-long-name", "a.b", "a..b"),
    ];
    for (format, good, bad) in table {
        let schema = object(json!({ "f": { "type": "string", "format": format } }));
        assert_eq!(faults(&schema, &json!({ "f": good }), None), Vec::<String>::new(), "{format} {good}");
        assert_eq!(faults(&schema, &json!({ "f": bad }), None).len(), 1, "{format} {bad}");
    }
}

#[test]
fn what_did_not_change_is_not_held_against_the_new_object() {
    let schema = widget();
    let spec = |size: i64, items: Value| json!({ "spec": { "size": size, "color": "red", "items": items } });
    let rows = json!([{ "name": "a" }]);
    let table = [
        ("an unchanged bad field", spec(0, rows.clone()), spec(0, json!([{ "name": "b" }])), vec![]),
        (
            "a changed bad field",
            spec(0, rows.clone()),
            spec(-1, rows.clone()),
            vec!["spec.size: Invalid value: -1: spec.size in body should be greater than or equal to 1"],
        ),
        (
            "an unchanged element of a map list",
            spec(1, json!([{ "name": "a", "value": 5 }])),
            spec(2, json!([{ "name": "b" }, { "name": "a", "value": 5 }])),
            vec![],
        ),
        (
            "a changed element of a map list",
            spec(1, json!([{ "name": "a", "value": 5 }])),
            spec(1, json!([{ "name": "a", "value": 6 }])),
            vec![
                "spec.items[0].value: Invalid value: \"integer\": spec.items[0].value in body must be of type string: \"integer\"",
            ],
        ),
        (
            "duplicates that were there",
            spec(1, json!([{ "name": "a" }, { "name": "a" }])),
            spec(2, json!([{ "name": "a" }, { "name": "a" }])),
            vec![],
        ),
        (
            "duplicates that were not",
            spec(1, rows.clone()),
            spec(1, json!([{ "name": "a" }, { "name": "a" }])),
            vec!["spec.items[1]: Duplicate value: {\"name\":\"a\"}"],
        ),
    ];
    for (rule, old, new, want) in table {
        assert_eq!(faults(&schema, &new, Some(&old)), want, "{rule}");
    }
}

#[test]
fn an_object_too_deep_is_refused_and_costs_no_stack() {
    let mut schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let mut value = json!({});
    for _ in 0..150 {
        schema = object(json!({ "a": schema }));
        value = json!({ "a": value });
    }
    let schema = Schema::parse(&schema);
    prune(&schema, &mut value);
    default(&schema, &mut value);
    let causes = validate(&schema, &value, None);
    assert_eq!(causes.len(), 1);
    assert_eq!(causes[0].message, "Invalid value: must not be nested deeper than 128 levels");
}

#[test]
fn floats_print_as_the_api_prints_them() {
    for (float, want) in
        [(5.0, "5"), (1.5, "1.5"), (1e21, "1e+21"), (1e-7, "1e-07"), (-0.25, "-0.25"), (0.0, "0")]
    {
        assert_eq!(super::super::show::show_float(float), want);
    }
}
