use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::tests::{any_json, deep};
use super::element::Element;
use super::*;

/// The Widget of the recorded answers, with ObjectMeta as every kind has it.
fn widget() -> Schema {
    let text = || json!({"type": "string"});
    let texts = || json!({"type": "object", "additionalProperties": {"type": "string"}});
    let metadata = json!({"type": "object", "properties": {
        "name": text(), "namespace": text(), "uid": text(), "labels": texts(), "annotations": texts(),
        "finalizers": {"type": "array", "items": text(), "x-kubernetes-list-type": "set"},
        "ownerReferences": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
            "items": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"uid": text(), "name": text()}},
        },
    }});
    Schema::parse(&json!({"type": "object", "properties": {
        "metadata": metadata,
        "data": texts(),
        "spec": {"type": "object", "properties": {
            "color": text(), "size": {"type": "integer"}, "replicas": {"type": "integer"}, "on": {"type": "boolean"},
            "tags": {"type": "array", "items": text(), "x-kubernetes-list-type": "set"},
            "items": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "object", "properties": {"name": text(), "value": text()}},
            },
            "ports": {
                "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"],
                "items": {"type": "object", "properties": {
                    "port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}, "name": text(),
                }},
            },
            "args": {"type": "array", "items": text()},
            "selector": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": text()},
            "target": {"x-kubernetes-int-or-string": true},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        }},
        "status": {"type": "object", "properties": {"phase": text()}},
    }}))
}

fn by(name: &str, second: i64) -> Manager<'_> {
    let now = Timestamp::from_second(1_794_769_162 + second).expect("a moment");
    Manager { name, api_version: "demo.io/v1", subresource: "", now }
}

/// A Widget with these members.
fn object(members: Value) -> Value {
    let mut object = json!({"apiVersion": "demo.io/v1", "kind": "Widget", "metadata": {"name": "w"}});
    for (name, value) in members.as_object().expect("members") {
        match name.as_str() {
            "labels" => object["metadata"]["labels"] = value.clone(),
            _ => object[name] = value.clone(),
        }
    }
    object
}

fn created(name: &str, members: Value) -> Value {
    let mut new = object(members);
    track(None, &mut new, Some(&widget()), &by(name, 0));
    new
}

fn updated(old: &Value, name: &str, members: Value) -> Value {
    let mut new = object(members);
    track(Some(old), &mut new, Some(&widget()), &by(name, 3));
    new
}

fn applied(live: &Value, name: &str, members: Value) -> Value {
    apply(Some(live), &object(members), Some(&widget()), &by(name, 3), false).expect("no conflict")
}

fn forced(live: &Value, name: &str, members: Value) -> Value {
    apply(Some(live), &object(members), Some(&widget()), &by(name, 3), true).expect("no conflict")
}

/// The owners in one line each: `name operation seconds fields`.
fn owners(object: &Value) -> Vec<String> {
    let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let line = |entry: &Value| {
        let word = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        let time = word("time");
        format!(
            "{} {} {} {}",
            word("manager"),
            word("operation"),
            time.get(17..19).unwrap_or("-"),
            entry["fieldsV1"]
        )
    };
    entries.iter().map(line).collect()
}

fn spec_of(object: &Value) -> &Value {
    &object["spec"]
}

#[test]
fn the_recorded_answers_on_a_config_map_come_out() {
    let made = created("t1", json!({"data": {"a": "1"}}));
    assert_eq!(owners(&made), [r#"t1 Update 22 {"f:data":{".":{},"f:a":{}}}"#]);
    let entry = &made["metadata"]["managedFields"][0];
    let keys: Vec<_> = entry.as_object().expect("an entry").keys().collect();
    assert_eq!(keys, ["manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1"]);
    assert_eq!(entry["time"], "2026-11-15T18:59:22Z");

    let put = updated(&made, "t2", json!({"data": {"a": "2"}}));
    assert_eq!(owners(&put), [r#"t1 Update 22 {"f:data":{}}"#, r#"t2 Update 25 {"f:data":{"f:a":{}}}"#]);
    assert_eq!(
        owners(&updated(&put, "t2", json!({"data": {"a": "2"}}))),
        owners(&put),
        "no change, no trace"
    );

    let patched = updated(&put, "", json!({"data": {"a": "2", "b": "1", "c": "3"}}));
    let taken = forced(&patched, "me", json!({"data": {"a": "x"}}));
    assert_eq!(taken["data"], json!({"a": "x", "b": "1", "c": "3"}));
    assert_eq!(
        owners(&taken),
        [
            r#"me Apply 25 {"f:data":{"f:a":{}}}"#,
            r#"t1 Update 22 {"f:data":{}}"#,
            r#"unknown Update 25 {"f:data":{"f:b":{},"f:c":{}}}"#,
        ]
    );
    let config = json!({"apiVersion": "demo.io/v1", "metadata": {"name": "g2", "annotations": {"q": "r"}}, "data": {"a": "x"}});
    let new = apply(None, &config, Some(&widget()), &by("me", 3), false).expect("a create");
    assert_eq!(
        owners(&new),
        [r#"me Apply 25 {"f:data":{"f:a":{}},"f:metadata":{"f:annotations":{"f:q":{}}}}"#]
    );
}

#[test]
fn the_recorded_answers_on_a_widget_come_out() {
    let spec = json!({"color": "red", "items": [{"name": "a", "value": "1"}], "replicas": 1, "size": 5, "tags": ["x", "y"]});
    let made = created("t", json!({"spec": spec}));
    let full = r#"t Update 22 {"f:spec":{".":{},"f:color":{},"f:items":{".":{},"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:value":{}}},"f:replicas":{},"f:size":{},"f:tags":{".":{},"v:\"x\"":{},"v:\"y\"":{}}}}"#;
    assert_eq!(owners(&made), [full]);

    let mut scaled = made.clone();
    scaled["spec"]["replicas"] = json!(4);
    track(Some(&made), &mut scaled, Some(&widget()), &Manager { subresource: "scale", ..by("", 3) });
    let mut status = scaled.clone();
    status["status"] = json!({"phase": "X"});
    track(Some(&scaled), &mut status, Some(&widget()), &Manager { subresource: "status", ..by("", 3) });
    let merged =
        applied(&status, "li", json!({"spec": {"items": [{"name": "b", "value": "2"}], "tags": ["z"]}}));
    assert_eq!(spec_of(&merged)["items"], json!([{"name": "a", "value": "1"}, {"name": "b", "value": "2"}]));
    assert_eq!(spec_of(&merged)["tags"], json!(["x", "y", "z"]));
    assert_eq!(
        owners(&merged),
        [
            r#"li Apply 25 {"f:spec":{"f:items":{"k:{\"name\":\"b\"}":{".":{},"f:name":{},"f:value":{}}},"f:tags":{"v:\"z\"":{}}}}"#,
            r#"unknown Update - {"f:spec":{"f:replicas":{}}}"#,
            &full.replace(r#""f:replicas":{},"#, ""),
            r#"unknown Update 25 {"f:status":{".":{},"f:phase":{}}}"#,
        ]
    );
    assert_eq!(merged["metadata"]["managedFields"][3]["subresource"], "status");
}

#[test]
fn a_write_takes_what_it_changes_and_forgets_what_it_removes() {
    let base = created("one", json!({"spec": {"size": 1, "color": "red"}, "labels": {"a": "1"}}));
    let table = [
        (
            "what changes goes to who changed it",
            json!({"spec": {"size": 2, "color": "red"}, "labels": {"a": "1"}}),
            vec![
                r#"one Update 22 {"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:spec":{".":{},"f:color":{}}}"#,
                r#"two Update 25 {"f:spec":{"f:size":{}}}"#,
            ],
        ),
        (
            "what goes is nobody's",
            json!({"spec": {"color": "red"}}),
            vec![r#"one Update 22 {"f:spec":{".":{},"f:color":{}}}"#],
        ),
        ("who owns nothing is not listed", json!({}), vec![]),
        (
            "an atomic list and map are one field each",
            json!({"spec": {"size": 1, "color": "red", "args": ["a"], "selector": {"a": "b"}}, "labels": {"a": "1"}}),
            vec![
                r#"one Update 22 {"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:spec":{".":{},"f:color":{},"f:size":{}}}"#,
                r#"two Update 25 {"f:spec":{"f:args":{},"f:selector":{}}}"#,
            ],
        ),
    ];
    for (rule, members, want) in table {
        assert_eq!(owners(&updated(&base, "two", members)), want, "{rule}");
    }
    let mine = applied(&base, "me", json!({"spec": {"replicas": 3}}));
    let mut members = json!({"spec": {"size": 1, "color": "red", "replicas": 4}, "labels": {"a": "1"}});
    let lost = updated(&mine, "two", members.take());
    assert!(!owners(&lost).iter().any(|line| line.starts_with("me ")), "from appliers too");
}

#[test]
fn apply_follows_the_documented_rules() {
    let none = json!({"apiVersion": "demo.io/v1", "kind": "Widget", "metadata": {"name": "w"}});
    let a = applied(
        &none,
        "a",
        json!({"spec": {"size": 1, "color": "red", "items": [{"name": "x", "value": "1"}]}}),
    );

    let shared = applied(&a, "b", json!({"spec": {"size": 1}}));
    assert_eq!(owners(&shared).len(), 2, "equal values are shared");
    let rest = applied(&shared, "a", json!({"spec": {"color": "red"}}));
    assert_eq!(spec_of(&rest), &json!({"size": 1, "color": "red"}), "what another owns stays, the rest goes");
    let rest = applied(&rest, "b", json!({}));
    assert_eq!(spec_of(&rest), &json!({"color": "red"}), "with its last owner a field goes");

    let kept = updated(
        &a,
        "u",
        json!({"spec": {"size": 2, "color": "red", "items": [{"name": "x", "value": "1"}]}}),
    );
    let rest = applied(&kept, "a", json!({}));
    assert_eq!(spec_of(&rest), &json!({"size": 2}), "what an updater took over stays");

    let merged = applied(&a, "b", json!({"spec": {"items": [{"name": "x"}, {"name": "y"}]}}));
    assert_eq!(spec_of(&merged)["items"], json!([{"name": "x", "value": "1"}, {"name": "y"}]));
    let rest = applied(&merged, "a", json!({"spec": {"size": 1}}));
    assert_eq!(
        spec_of(&rest)["items"],
        json!([{"name": "x"}, {"name": "y"}]),
        "an element stays for its owner"
    );

    let nulled = applied(&a, "a", json!({"spec": {"color": null}}));
    assert_eq!(spec_of(&nulled)["color"], json!(null), "a null is written");
    assert_eq!(owners(&nulled), [r#"a Apply 25 {"f:spec":{"f:color":{}}}"#], "and owned");
}

#[test]
fn elements_keep_the_live_order_and_new_ones_follow_the_applied_order() {
    let items = |names: &str| {
        let each = names.chars().map(|name| json!({ "name": name.to_string() }));
        json!({"spec": {"items": each.collect::<Vec<_>>(), "tags": names.chars().map(String::from).collect::<Vec<_>>()}})
    };
    let table = [
        ("abc", "d", "abcd"),
        ("abc", "b", "abc"),
        ("abc", "ca", "bca"),
        ("abc", "dbe", "adbce"),
        ("ab", "ba", "ba"),
        ("", "ba", "ba"),
        ("abc", "", "abc"),
    ];
    for (live, config, want) in table {
        let live = created("u", items(live));
        let merged = forced(&live, "me", items(config));
        let names: String =
            merged["spec"]["tags"].as_array().expect("tags").iter().filter_map(Value::as_str).collect();
        assert_eq!(names, want, "{config} over {live}");
        let all: Vec<_> = merged["spec"]["items"]
            .as_array()
            .expect("items")
            .iter()
            .map(|one| one["name"].clone())
            .collect();
        assert_eq!(json!(all), merged["spec"]["tags"], "lists by key and sets are ordered alike");
    }
}

#[test]
fn conflicts_are_told_in_the_words_of_the_original() {
    let mut live = created("kubectl-client-side-apply", json!({"data": {"a": "1"}}));
    let refused = |live: &Value, members: Value| match apply(
        Some(live),
        &object(members),
        Some(&widget()),
        &by("me", 3),
        false,
    ) {
        Err(ApplyError::Conflicts(conflicts)) => conflict_status("demo.io", "widgets", "w", &conflicts),
        other => panic!("expected conflicts, got {other:?}"),
    };
    let status = refused(&live, json!({"data": {"a": "2"}}));
    let want = r#"Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using demo.io/v1: .data.a"#;
    assert_eq!(status.message, want);
    assert_eq!(
        status.to_json()["details"],
        json!({"causes": [{
            "reason": "FieldManagerConflict",
            "message": "conflict with \"kubectl-client-side-apply\" using demo.io/v1",
            "field": ".data.a",
        }]})
    );
    assert_eq!(
        (status.to_json()["code"].clone(), status.to_json()["reason"].clone()),
        (json!(409), json!("Conflict"))
    );

    live = applied(
        &live,
        "helm",
        json!({"spec": {"items": [{"name": "a", "value": "1"}], "ports": [{"port": 80, "name": "w"}]}}),
    );
    let mut with_status = live.clone();
    with_status["status"] = json!({"phase": "X"});
    track(Some(&live), &mut with_status, Some(&widget()), &Manager { subresource: "status", ..by("ctl", 3) });
    let status = refused(
        &with_status,
        json!({
            "data": {"a": "2"}, "status": {"phase": "Y"},
            "spec": {"items": [{"name": "a", "value": "2"}], "ports": [{"port": 80, "protocol": "TCP", "name": "v"}]},
        }),
    );
    let want = "Apply failed with 4 conflicts: \
                conflicts with \"ctl\" with subresource \"status\" using demo.io/v1:\n- .status.phase\n\
                conflicts with \"helm\":\n- .spec.items[name=\"a\"].value\n- .spec.ports[port=80,protocol=\"TCP\"].name\n\
                conflicts with \"kubectl-client-side-apply\" using demo.io/v1:\n- .data.a";
    assert_eq!(status.message, want);
}

#[test]
fn a_configuration_that_does_not_fit_is_refused_in_the_words_of_the_original() {
    let spec = |spec: Value| json!({ "spec": spec });
    let table = [
        (json!({"data": {"b": true}}), ".data.b: expected string, got &value.valueUnstructured{Value:true}"),
        (json!({"foo": 1}), ".foo: field not declared in schema"),
        (spec(json!({"size": "x"})), ".spec.size: expected numeric (int or float), got string"),
        (spec(json!({"on": "x"})), ".spec.on: expected boolean, got &{x}"),
        (
            spec(json!({"color": {"b": [1, null], "a": "c"}})),
            r#".spec.color: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"a":"c", "b":[]interface {}{1, interface {}(nil)}}}"#,
        ),
        (spec(json!({"items": {"b": [1], "a": "c"}})), ".spec.items: expected list, got &{map[a:c b:[1]]}"),
        (spec(json!([])), ".spec: expected map, got &{[]}"),
        (
            spec(json!({"args": ["a", 1]})),
            ".spec.args[1]: expected string, got &value.valueUnstructured{Value:1}",
        ),
        (
            spec(json!({"items": [{"name": "a", "value": 1}]})),
            r#".spec.items[name="a"].value: expected string, got &value.valueUnstructured{Value:1}"#,
        ),
        (
            spec(json!({"items": [{"name": "a"}, {"name": "a"}]})),
            r#".spec.items: duplicate entries for key [name="a"]"#,
        ),
        (spec(json!({"tags": ["a", "a"]})), r#".spec.tags: duplicate entries for key [="a"]"#),
        (
            spec(json!({"items": [{"value": "a"}]})),
            r#".spec.items: element 0: associative list with keys has an element that omits all key fields ["name"] (and doesn't have default values for any key fields)"#,
        ),
        (
            spec(json!({"size": "x", "on": 1})),
            "errors:\n  .spec.size: expected numeric (int or float), got string\n  .spec.on: expected boolean, got &{1}",
        ),
    ];
    for (members, want) in table {
        let refused = apply(None, &object(members), Some(&widget()), &by("me", 0), false);
        assert_eq!(refused, Err(ApplyError::Typed(want.into())));
    }
    let open = object(spec(json!({"target": 1, "free": {"any": {"thing": [1]}}, "items": null})));
    assert!(apply(None, &open, Some(&widget()), &by("me", 0), false).is_ok(), "what is open is open");
}

#[test]
fn what_cannot_be_an_apply_is_malformed() {
    let mut managed = object(json!({}));
    managed["metadata"]["managedFields"] = json!([]);
    let table = [
        (json!([]), "an applied configuration must be an object"),
        (managed, "metadata.managedFields must be nil"),
        (json!({"apiVersion": "v2", "kind": "Other"}), "invalid object type: /v2, Kind=Other"),
        (deep(300), "exceeded max depth"),
    ];
    for (config, want) in table {
        let refused = apply(None, &config, None, &by("me", 0), false);
        assert_eq!(refused, Err(ApplyError::Malformed(want.into())));
    }
}

#[test]
fn without_a_schema_objects_are_granular_and_lists_atomic() {
    let config = object(json!({"spec": {"a": {"b": 1}, "list": [{"name": "x"}], "empty": {}}}));
    let made = apply(None, &config, None, &by("me", 0), false).expect("a create");
    let want = r#"me Apply 22 {"f:spec":{".":{},"f:a":{".":{},"f:b":{}},"f:empty":{},"f:list":{}}}"#;
    assert_eq!(owners(&made), [want]);
    let config = object(json!({"spec": {"list": [{"name": "y"}]}}));
    let merged = apply(Some(&made), &config, None, &by("me", 3), false).expect("the same manager");
    assert_eq!(merged["spec"], json!({"list": [{"name": "y"}]}));
}

#[test]
fn what_a_client_writes_into_managed_fields_counts_if_it_can_be_read() {
    let base = created("one", json!({"spec": {"size": 1}}));
    let entry = json!({"manager": "zz", "operation": "Apply", "apiVersion": "demo.io/v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:size": {}}}});
    let kept = vec![r#"one Update 22 {"f:spec":{".":{},"f:size":{}}}"#];
    let table = [
        ("nothing keeps what is stored", json!(null), kept.clone()),
        ("an empty list resets", json!([]), vec![]),
        ("an empty entry resets", json!([{}]), vec![]),
        ("a readable list is taken", json!([entry]), vec![r#"zz Apply - {"f:spec":{"f:size":{}}}"#]),
        ("an unreadable list is passed over", json!([{"manager": "zz", "operation": "Bad"}]), kept),
    ];
    for (rule, managed, want) in table {
        let mut new = object(json!({"spec": {"size": 1}}));
        new["metadata"]["managedFields"] = managed;
        track(Some(&base), &mut new, Some(&widget()), &by("two", 3));
        assert_eq!(owners(&new), want, "{rule}");
    }
    let texts = [
        (json!([{"operation": "Bad"}]), "operation must be `Apply` or `Update`"),
        (json!([{"operation": "Apply"}]), "apiVersion must not be empty"),
        (json!([{"operation": "Apply", "apiVersion": "v1"}]), "missing fieldsType in managed fields entry 0"),
        (
            json!([{"operation": "Apply", "apiVersion": "v1", "fieldsType": "x"}]),
            "invalid fieldsType \"x\" in managed fields entry 0",
        ),
    ];
    for (managed, want) in texts {
        assert_eq!(readable(&managed), Err(want.to_owned()));
    }
}

#[test]
fn an_object_that_is_not_tracked_stays_so_until_it_is_applied() {
    let live = object(json!({"spec": {"size": 1}}));
    assert_eq!(owners(&updated(&live, "two", json!({"spec": {"size": 2}}))), Vec::<String>::new());
    assert_eq!(
        owners(&applied(&live, "me", json!({"spec": {"color": "red"}}))),
        [
            r#"me Apply 25 {"f:spec":{"f:color":{}}}"#,
            r#"before-first-apply Update 25 {"f:spec":{".":{},"f:size":{}}}"#
        ]
    );
}

#[test]
fn more_than_ten_updaters_become_ancient() {
    let mut live = created("u0", json!({"data": {"k0": "v"}}));
    for at in 1..14 {
        let mut new = live.clone();
        new["data"][format!("k{at}")] = json!("v");
        track(Some(&live), &mut new, Some(&widget()), &by(&format!("u{at}"), at));
        live = new;
    }
    let lines = owners(&live);
    assert_eq!(lines.len(), 10);
    assert_eq!(
        lines[0],
        r#"ancient-changes Update 26 {"f:data":{".":{},"f:k0":{},"f:k1":{},"f:k2":{},"f:k3":{},"f:k4":{}}}"#
    );
}

#[test]
fn kubectl_takes_over_what_its_annotation_says_it_applied() {
    const KEY: &str = "kubectl.kubernetes.io/last-applied-configuration";
    let old =
        json!({"apiVersion": "demo.io/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}});
    let mut live = old.clone();
    live["spec"]["color"] = json!("red");
    live["metadata"]["annotations"] = json!({ KEY: old.to_string() });
    track(None, &mut live, Some(&widget()), &by("kubectl-client-side-apply", 0));
    let try_as = |name: &str, members: Value| {
        apply(Some(&live), &object(members), Some(&widget()), &by(name, 3), false)
    };
    let taken = try_as("kubectl", json!({"spec": {"size": 2}})).expect("its own field");
    let text = "{\"apiVersion\":\"demo.io/v1\",\"kind\":\"Widget\",\"metadata\":{\"name\":\"w\"},\"spec\":{\"size\":2}}\n";
    assert_eq!(taken["metadata"]["annotations"][KEY], text);
    assert!(try_as("other", json!({"spec": {"size": 2}})).is_err());
    match try_as("kubectl", json!({"spec": {"size": 2, "color": "blue"}})) {
        Err(ApplyError::Conflicts(left)) => assert_eq!(left.len(), 1, "{left:?}"),
        other => panic!("expected one conflict, got {other:?}"),
    }
}

#[test]
fn a_field_set_is_read_and_written_in_the_same_words() {
    let text = r#"{"f:a":{},"f:b":{".":{},"f:c":{}},"f:d":{"k:{\"n\":\"x\",\"p\":1}":{".":{},"f:n":{}},"v:\"y\"":{},"v:true":{},"i:0":{}}}"#;
    let parsed: Value = serde_json::from_str(text).expect("JSON");
    let set = FieldSet::parse(&parsed).expect("fields");
    assert_eq!(set.print().to_string(), text);
    let paths: Vec<String> = set.paths().iter().map(|path| printed(path)).collect();
    assert_eq!(
        paths,
        [".a", ".b", ".b.c", ".d[n=\"x\",p=1]", ".d[=\"y\"]", ".d[=true]", ".d[0]", ".d[n=\"x\",p=1].n"]
    );
    for bad in [
        json!({"x": {}}),
        json!({"ff": {}}),
        json!({"v:{": {}}),
        json!({"k:1": {}}),
        json!({"i:x": {}}),
        json!(1),
        json!({"f:a": 1}),
    ] {
        assert!(FieldSet::parse(&bad).is_err(), "{bad}");
    }
    assert_eq!(
        FieldSet::parse(&json!({"z:later": {}})),
        Ok(FieldSet::default()),
        "later kinds are passed over"
    );
}

fn any_widget() -> impl Strategy<Value = Value> {
    let names = || prop::collection::btree_set("[a-d]", 0..4);
    let value = || prop::option::of("[xy]");
    let items = prop::collection::btree_map("[a-d]", value(), 0..4);
    (items, names(), prop::option::of(0..3), value(), prop::collection::btree_map("[a-c]", "[xy]", 0..3))
        .prop_map(|(items, tags, size, color, labels)| {
            let item = |(name, value): (String, Option<String>)| match value {
                Some(value) => json!({"name": name, "value": value}),
                None => json!({ "name": name }),
            };
            let mut spec = json!({});
            if !items.is_empty() {
                spec["items"] = items.into_iter().map(item).collect();
            }
            if !tags.is_empty() {
                spec["tags"] = json!(tags);
            }
            if let Some(size) = size {
                spec["size"] = json!(size);
            }
            if let Some(color) = color {
                spec["color"] = json!(color);
            }
            // Empty objects are owned like values, which these laws do not speak of.
            let mut members = json!({});
            if spec != json!({}) {
                members["spec"] = spec;
            }
            if !labels.is_empty() {
                members["labels"] = json!(labels);
            }
            object(members)
        })
}

fn any_fields() -> impl Strategy<Value = FieldSet> {
    let step = prop_oneof![
        "[a-c]".prop_map(Element::Field),
        "[a-c]".prop_map(|name| Element::parse(&format!("k:{{\"n\":\"{name}\"}}"))
            .expect("a key")
            .expect("known")),
        (0i64..3).prop_map(Element::Index),
    ];
    prop::collection::vec(prop::collection::vec(step, 1..4), 0..6).prop_map(|paths| {
        let mut set = FieldSet::default();
        paths.iter().for_each(|path| set.insert(path));
        set
    })
}

proptest! {
    #[test]
    fn field_sets_obey_the_laws_of_sets(a in any_fields(), b in any_fields()) {
        prop_assert_eq!(FieldSet::parse(&a.print()), Ok(a.clone()));
        prop_assert_eq!(a.clone().union(&b), b.clone().union(&a));
        prop_assert_eq!(a.intersection(&b), b.intersection(&a));
        prop_assert_eq!(a.difference(&b).union(&a.intersection(&b)), a.clone());
        prop_assert!(a.difference(&b).intersection(&b).is_empty());
        prop_assert!(a.difference(&a).is_empty());
    }

    #[test]
    fn applying_twice_is_applying_once(live in any_widget(), config in any_widget()) {
        let schema = widget();
        let mut live = live;
        track(None, &mut live, Some(&schema), &by("u", 0));
        let once = apply(Some(&live), &config, Some(&schema), &by("me", 1), true).expect("forced");
        let twice = apply(Some(&once), &config, Some(&schema), &by("me", 2), false).expect("nothing changes");
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn what_was_applied_is_there(live in any_widget(), config in any_widget()) {
        let schema = widget();
        let mut live = live;
        track(None, &mut live, Some(&schema), &by("u", 0));
        let merged = apply(Some(&live), &config, Some(&schema), &by("me", 1), true).expect("forced");
        let shape = Shape::root(Some(&schema));
        let wanted = walk::fields(&config, shape);
        prop_assert!(wanted.difference(&walk::fields(&merged, shape)).is_empty());
        prop_assert!(Changes::between(&config, &merged, shape).modified.is_empty());
    }

    #[test]
    fn to_apply_and_then_nothing_leaves_what_was_there(live in any_widget(), config in any_widget()) {
        let schema = widget();
        let shape = Shape::root(Some(&schema));
        let mut live = live;
        track(None, &mut live, Some(&schema), &by("u", 0));
        let Ok(merged) = apply(Some(&live), &config, Some(&schema), &by("me", 1), false) else { return Ok(()) };
        let back = apply(Some(&merged), &object(json!({})), Some(&schema), &by("me", 2), false).expect("no conflict");
        let before = walk::fields(&live, shape).difference(&untracked());
        let after = walk::fields(&back, shape);
        let untouched = before.difference(&walk::fields(&config, shape));
        prop_assert!(untouched.difference(&after).is_empty(), "{untouched:?} was lost");
        prop_assert!(owners(&back).iter().all(|line| line.starts_with("u ")));
    }

    #[test]
    fn no_object_under_no_schema_panics(
        schema in any_schema(), old in any_json(), new in any_json(), config in any_json(), managed in any_json()
    ) {
        let schema = Schema::parse(&schema);
        let mut new = new;
        if let Value::Object(new) = &mut new {
            new.insert("metadata".into(), json!({ "managedFields": managed }));
        }
        for schema in [Some(&schema), None] {
            let mut first = old.clone();
            track(None, &mut first, schema, &by("a", 0));
            let mut second = new.clone();
            track(Some(&first), &mut second, schema, &by("b", 1));
            let mut config = config.clone();
            if let Value::Object(config) = &mut config {
                config.insert("apiVersion".into(), json!("demo.io/v1"));
            }
            for force in [true, false] {
                if let Ok(merged) = apply(Some(&second), &config, schema, &by("c", 2), force) {
                    let bare = json!({"apiVersion": "demo.io/v1"});
                    let _ = apply(Some(&merged), &bare, schema, &by("c", 3), force);
                }
            }
        }
    }
}

fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({})),
        Just(json!({"type": "string"})),
        Just(json!({"type": "integer"})),
        Just(json!({"type": "boolean"})),
        Just(json!({"type": "object"})),
        Just(json!({"x-kubernetes-preserve-unknown-fields": true})),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        let list = prop_oneof![
            Just(json!({"type": "array"})),
            Just(json!({"type": "array", "x-kubernetes-list-type": "set"})),
            Just(json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "name"]})),
            Just(json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []})),
        ];
        prop_oneof![
            (list, inner.clone()).prop_map(|(mut list, items)| {
                list["items"] = items;
                list
            }),
            (prop::collection::vec(("[a-d]|name|spec", inner.clone()), 0..4), any::<bool>()).prop_map(|(members, atomic)| {
                let members: Value = Value::Object(members.into_iter().collect());
                let kind = if atomic { "atomic" } else { "granular" };
                json!({"type": "object", "properties": members, "x-kubernetes-map-type": kind})
            }),
            inner.prop_map(|values| json!({"type": "object", "additionalProperties": values})),
        ]
    })
}
