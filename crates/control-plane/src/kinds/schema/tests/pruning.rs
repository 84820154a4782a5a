use super::*;

#[test]
fn unknown_fields_go_and_are_named() {
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "properties": { "strict": object(json!({ "a": { "type": "string" } })) } });
    let resource = json!({ "type": "object", "x-kubernetes-embedded-resource": true, "properties": { "spec": object(json!({})) } });
    let map =
        json!({ "type": "object", "additionalProperties": object(json!({ "a": { "type": "string" } })) });
    let list = json!({ "type": "array", "items": object(json!({ "a": { "type": "string" } })) });
    let kept_list = json!({ "type": "array", "x-kubernetes-preserve-unknown-fields": true,
        "items": object(json!({ "a": object(json!({})) })) });
    type Row = (&'static str, Value, Value, Value, &'static [&'static str]);
    let table: Vec<Row> = vec![
        (
            "a field nobody declared",
            object(json!({ "a": { "type": "string" } })),
            json!({ "a": "1", "b": 2 }),
            json!({ "a": "1" }),
            &["spec.b"],
        ),
        (
            "elements of a list",
            list,
            json!([{ "a": "1" }, { "x": 1, "a": "2" }]),
            json!([{ "a": "1" }, { "a": "2" }]),
            &["spec[1].x"],
        ),
        ("values of a map", map, json!({ "k": { "x": 1 } }), json!({ "k": {} }), &["spec.k.x"]),
        (
            "an island keeps everything but its declared parts",
            open,
            json!({ "any": { "thing": 1 }, "strict": { "a": "1", "b": 1 } }),
            json!({ "any": { "thing": 1 }, "strict": { "a": "1" } }),
            &["spec.strict.b"],
        ),
        (
            "elements of an island are islands",
            kept_list,
            json!([{ "any": 1, "a": { "x": 1 } }]),
            json!([{ "any": 1, "a": {} }]),
            &["spec[0].a.x"],
        ),
        (
            "a resource keeps its head",
            resource,
            json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "x": 1 }, "spec": { "y": 1 }, "z": 1 }),
            json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "x": 1 }, "spec": {} }),
            &["spec.spec.y", "spec.z"],
        ),
        (
            "an object without fields is emptied",
            json!({ "type": "object" }),
            json!({ "a": 1 }),
            json!({}),
            &["spec.a"],
        ),
        (
            "a list without a shape is emptied inside",
            json!({ "type": "array" }),
            json!([{ "a": 1 }, 2]),
            json!([{}, 2]),
            &["spec[0].a"],
        ),
        ("scalars are not our business", json!({ "type": "object" }), json!(5), json!(5), &[]),
    ];
    for (rule, schema, value, want, unknown) in table {
        let mut root = json!({ "apiVersion": "v", "kind": "k", "metadata": { "any": 1 }, "spec": value });
        let paths = prune(&Schema::parse(&object(json!({ "spec": schema }))), &mut root);
        assert_eq!(root["spec"], want, "{rule}");
        assert_eq!(root["metadata"], json!({ "any": 1 }), "{rule}");
        assert_eq!(paths, unknown, "{rule}");
    }
}

#[test]
fn paths_are_sorted() {
    let mut value = json!({ "z": 1, "a": 1 });
    assert_eq!(prune(&Schema::default(), &mut value), ["a", "z"]);
}
