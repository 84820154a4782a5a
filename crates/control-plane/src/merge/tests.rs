use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::kinds::schema::Schema;

/// Any JSON of a modest size.
pub(super) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3i64..4).prop_map(Value::from),
        (-2.5f64..2.5).prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-d]|name|spec|metadata|\\$patch|\\$retainKeys", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn any_object() -> impl Strategy<Value = Value> {
    prop::collection::vec(("[a-d]", any_json()), 0..4)
        .prop_map(|members| Value::Object(members.into_iter().collect()))
}

/// A value of so many levels.
pub(super) fn deep(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, _| json!({ "a": inner }))
}

#[test]
fn merge_patch_follows_the_appendix_of_rfc_7386() {
    let table = [
        ("a value is replaced", json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
        ("a value is added", json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
        ("null removes", json!({"a": "b"}), json!({"a": null}), json!({})),
        ("null leaves the others", json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
        ("a list gives way", json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
        ("a list comes whole", json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
        (
            "objects merge",
            json!({"a": {"b": "c"}}),
            json!({"a": {"b": "d", "c": null}}),
            json!({"a": {"b": "d"}}),
        ),
        ("lists do not merge", json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
        ("a null that was there stays", json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
        ("a list becomes an object", json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"})),
        ("nulls are not written", json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
        (
            "nulls in new lists of objects are not written",
            json!({}),
            json!({"a": [{"b": null, "c": 1}, null]}),
            json!({"a": [{"c": 1}, null]}),
        ),
    ];
    for (rule, mut doc, patch, want) in table {
        assert_eq!(merge_patch(&mut doc, &patch), Ok(()), "{rule}");
        assert_eq!(doc, want, "{rule}");
    }
}

#[test]
fn merge_patch_must_be_an_object() {
    for patch in [json!(null), json!([]), json!(1), json!("a")] {
        let mut doc = json!({"a": 1});
        assert_eq!(merge_patch(&mut doc, &patch), Err(PatchError::Malformed("Invalid JSON Patch".into())));
        assert_eq!(doc, json!({"a": 1}));
    }
}

/// The document after a patch, or which refusal it met.
fn patched(mut doc: Value, patch: Value) -> Result<Value, &'static str> {
    let before = doc.clone();
    match json_patch(&mut doc, &patch) {
        Ok(()) => Ok(doc),
        Err(error) => {
            assert_eq!(doc, before, "a refused patch changed the document");
            Err(match error {
                PatchError::Malformed(_) => "malformed",
                PatchError::Rejected(_) => "rejected",
                PatchError::TooMany { .. } => "too many",
            })
        }
    }
}

#[test]
fn json_patch_follows_the_appendix_of_rfc_6902() {
    let op = |op: &str, path: &str, value: Value| json!([{ "op": op, "path": path, "value": value }]);
    let from = |op: &str, from: &str, path: &str| json!([{ "op": op, "from": from, "path": path }]);
    let nested = json!({"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}});
    let table = [
        (
            "A.1 add a member",
            json!({"foo": "bar"}),
            op("add", "/baz", json!("qux")),
            Ok(json!({"foo": "bar", "baz": "qux"})),
        ),
        (
            "A.2 add an element",
            json!({"foo": ["bar", "baz"]}),
            op("add", "/foo/1", json!("qux")),
            Ok(json!({"foo": ["bar", "qux", "baz"]})),
        ),
        (
            "A.3 remove a member",
            json!({"baz": "qux", "foo": "bar"}),
            json!([{"op": "remove", "path": "/baz"}]),
            Ok(json!({"foo": "bar"})),
        ),
        (
            "A.4 remove an element",
            json!({"foo": ["bar", "qux", "baz"]}),
            json!([{"op": "remove", "path": "/foo/1"}]),
            Ok(json!({"foo": ["bar", "baz"]})),
        ),
        (
            "A.5 replace a value",
            json!({"baz": "qux", "foo": "bar"}),
            op("replace", "/baz", json!("boo")),
            Ok(json!({"baz": "boo", "foo": "bar"})),
        ),
        (
            "A.6 move a value",
            nested,
            from("move", "/foo/waldo", "/qux/thud"),
            Ok(json!({"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}})),
        ),
        (
            "A.7 move an element",
            json!({"foo": ["all", "grass", "cows", "eat"]}),
            from("move", "/foo/1", "/foo/3"),
            Ok(json!({"foo": ["all", "cows", "eat", "grass"]})),
        ),
        (
            "A.8 test holds",
            json!({"baz": "qux", "foo": ["a", 2, "c"]}),
            op("test", "/foo/1", json!(2)),
            Ok(json!({"baz": "qux", "foo": ["a", 2, "c"]})),
        ),
        ("A.9 test fails", json!({"baz": "qux"}), op("test", "/baz", json!("bar")), Err("rejected")),
        (
            "A.10 add a nested object",
            json!({"foo": "bar"}),
            op("add", "/child", json!({"grandchild": {}})),
            Ok(json!({"foo": "bar", "child": {"grandchild": {}}})),
        ),
        (
            "A.11 unknown members are passed over",
            json!({"foo": "bar"}),
            json!([{"op": "add", "path": "/baz", "value": "qux", "xyz": 123}]),
            Ok(json!({"foo": "bar", "baz": "qux"})),
        ),
        ("A.12 no target", json!({"foo": "bar"}), op("add", "/baz/bat", json!("qux")), Err("rejected")),
        (
            "A.14 escapes",
            json!({"/": 9, "~1": 10}),
            op("test", "/~01", json!(10)),
            Ok(json!({"/": 9, "~1": 10})),
        ),
        (
            "A.15 strings are no numbers",
            json!({"/": 9, "~1": 10}),
            op("test", "/~01", json!("10")),
            Err("rejected"),
        ),
        (
            "A.16 append",
            json!({"foo": ["bar"]}),
            op("add", "/foo/-", json!(["abc", "def"])),
            Ok(json!({"foo": ["bar", ["abc", "def"]]})),
        ),
        ("copy", json!({"a": [1]}), from("copy", "/a", "/b"), Ok(json!({"a": [1], "b": [1]}))),
        (
            "all or nothing",
            json!({"a": 1}),
            json!([{"op": "remove", "path": "/a"}, {"op": "remove", "path": "/a"}]),
            Err("rejected"),
        ),
        (
            "remove of what is not there",
            json!({"a": 1}),
            json!([{"op": "remove", "path": "/b"}]),
            Err("rejected"),
        ),
        ("remove of the end", json!({"a": [1]}), json!([{"op": "remove", "path": "/a/-"}]), Err("rejected")),
        ("index out of range", json!({"a": [1]}), op("add", "/a/2", json!(1)), Err("rejected")),
        ("no such operation", json!({}), op("bogus", "/a", json!(1)), Err("rejected")),
        ("no path", json!({}), json!([{"op": "remove"}]), Err("rejected")),
        ("not a list", json!({}), json!({"op": "remove"}), Err("malformed")),
        ("not operations", json!({}), json!([1]), Err("malformed")),
        (
            "leniency: index from the end",
            json!({"a": [1, 2]}),
            op("replace", "/a/-1", json!(3)),
            Ok(json!({"a": [1, 3]})),
        ),
        ("leniency: replace adds", json!({}), op("replace", "/a", json!(1)), Ok(json!({"a": 1}))),
        ("leniency: absent is null", json!({}), op("test", "/a", json!(null)), Ok(json!({}))),
        ("the root is replaced", json!({"a": 1}), op("replace", "", json!({"b": 2})), Ok(json!({"b": 2}))),
        ("the root is not added", json!({"a": 1}), op("add", "", json!({"b": 2})), Err("rejected")),
    ];
    for (rule, doc, patch, want) in table {
        assert_eq!(patched(doc, patch), want, "{rule}");
    }
}

#[test]
fn json_patch_is_bounded() {
    let test = json!({"op": "test", "path": "/a", "value": 1});
    let many = |count: usize| Value::from(vec![test.clone(); count]);
    assert!(patched(json!({"a": 1}), many(10_000)).is_ok());
    assert_eq!(patched(json!({"a": 1}), many(10_001)), Err("too many"));
    let error = json_patch(&mut json!({}), &many(10_001)).expect_err("one too many");
    assert_eq!(error.to_string(), "The allowed maximum operations in a JSON patch is 10000, got 10001");

    let double = json!({"op": "copy", "from": "/a", "path": "/a/-"});
    let bomb = Value::from(vec![double; 100]);
    assert_eq!(patched(json!({"a": [1]}), bomb), Err("rejected"));
    let nest = json!({"op": "copy", "from": "/a", "path": "/a/a"});
    assert_eq!(patched(json!({"a": {}}), Value::from(vec![nest; 1000])), Err("rejected"));
}

#[test]
fn what_is_nested_too_deep_is_refused_and_not_walked() {
    let refused = PatchError::Malformed("exceeded max depth".into());
    let schema = Schema::default();
    for (doc, patch) in [(deep(300), json!({"a": 1})), (json!({}), deep(300))] {
        assert_eq!(merge_patch(&mut doc.clone(), &patch), Err(refused.clone()));
        assert_eq!(strategic(&mut doc.clone(), &patch, Some(&schema)), Err(refused.clone()));
        let patch = json!([{"op": "add", "path": "/b", "value": patch}]);
        assert_eq!(json_patch(&mut doc.clone(), &patch), Err(refused.clone()));
    }
    let mut doc = json!({});
    assert_eq!(merge_patch(&mut doc, &deep(DEPTH_MAX)), Ok(()));
}

fn patch_schema() -> Schema {
    let merged = |key: &str, items: Value| {
        json!({
            "type": "array", "items": items,
            "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": key,
        })
    };
    let scalars =
        json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-patch-strategy": "merge"});
    let ports = merged("port", json!({"type": "object", "properties": {"port": {}, "name": {}}}));
    Schema::parse(&json!({"type": "object", "properties": {
        "containers": merged("name", json!({"type": "object", "properties": {
            "name": {"type": "string"}, "image": {"type": "string"}, "ports": ports, "args": {"type": "array"},
        }})),
        "finalizers": scalars,
        "args": {"type": "array"},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "strategy": {"type": "object", "x-kubernetes-patch-strategy": "retainKeys"},
    }}))
}

#[test]
fn strategic_merge_patch_follows_its_documented_rules() {
    let two = || json!({"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]});
    let names =
        |names: &[&str]| Value::from(names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>());
    let table = [
        (
            "maps merge",
            json!({"labels": {"a": "1", "b": "2"}}),
            json!({"labels": {"b": "3"}}),
            json!({"labels": {"a": "1", "b": "3"}}),
        ),
        (
            "null deletes",
            json!({"labels": {"a": "1", "b": "2"}}),
            json!({"labels": {"a": null}}),
            json!({"labels": {"b": "2"}}),
        ),
        (
            "null of what is not there is nothing",
            json!({}),
            json!({"labels": {"a": null}}),
            json!({"labels": {}}),
        ),
        (
            "lists without a strategy are replaced",
            json!({"args": [1, 2]}),
            json!({"args": [3]}),
            json!({"args": [3]}),
        ),
        (
            "lists with a merge key merge by it",
            two(),
            json!({"containers": [{"name": "b", "image": "3"}]}),
            json!({"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "3"}]}),
        ),
        (
            "lists in lists merge too",
            json!({"containers": [{"name": "a", "ports": [{"port": 1}], "args": [1]}]}),
            json!({"containers": [{"name": "a", "ports": [{"port": 2}], "args": [2]}]}),
            json!({"containers": [{"name": "a", "ports": [{"port": 2}, {"port": 1}], "args": [2]}]}),
        ),
        (
            "$patch: delete removes an element",
            two(),
            json!({"containers": [{"name": "a", "$patch": "delete"}]}),
            json!({"containers": [{"name": "b", "image": "2"}]}),
        ),
        (
            "$patch: replace in an element replaces the list",
            two(),
            json!({"containers": [{"name": "c"}, {"$patch": "replace"}]}),
            json!({"containers": [{"name": "c"}]}),
        ),
        (
            "$patch: replace replaces a map",
            json!({"labels": {"a": "1"}}),
            json!({"labels": {"b": "2", "$patch": "replace"}}),
            json!({"labels": {"b": "2"}}),
        ),
        (
            "$patch: delete empties a map",
            json!({"labels": {"a": "1"}}),
            json!({"labels": {"$patch": "delete"}}),
            json!({"labels": {}}),
        ),
        (
            "$patch: merge is what happens anyway",
            json!({"labels": {"a": "1"}}),
            json!({"labels": {"b": "2", "$patch": "merge"}}),
            json!({"labels": {"a": "1", "b": "2"}}),
        ),
        (
            "a directive for what is not there is nothing",
            json!({}),
            json!({"labels": {"$patch": "delete"}}),
            json!({}),
        ),
        (
            "lists of scalars merge as sets",
            json!({"finalizers": ["a", "b"]}),
            json!({"finalizers": ["c", "b"]}),
            json!({"finalizers": ["c", "a", "b"]}),
        ),
        (
            "$deleteFromPrimitiveList takes scalars out",
            json!({"finalizers": ["a", "b", "c"]}),
            json!({"$deleteFromPrimitiveList/finalizers": ["b", "z"]}),
            json!({"finalizers": ["a", "c"]}),
        ),
        (
            "$setElementOrder orders, and the server's own stay in place",
            json!({"containers": names(&["a", "x", "b"])}),
            json!({"$setElementOrder/containers": names(&["b", "a"])}),
            json!({"containers": names(&["x", "b", "a"])}),
        ),
        (
            "$setElementOrder with a list of changes",
            two(),
            json!({"$setElementOrder/containers": names(&["c", "b", "a"]), "containers": [{"name": "c"}, {"name": "a", "image": "9"}]}),
            json!({"containers": [{"name": "c"}, {"name": "b", "image": "2"}, {"name": "a", "image": "9"}]}),
        ),
        (
            "$setElementOrder of scalars",
            json!({"finalizers": ["a", "b"]}),
            json!({"$setElementOrder/finalizers": ["b", "c", "a"], "finalizers": ["c"]}),
            json!({"finalizers": ["b", "c", "a"]}),
        ),
        (
            "$retainKeys drops the others",
            json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}),
            json!({"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}),
            json!({"strategy": {"type": "Recreate"}}),
        ),
        (
            "directives are never stored",
            json!({}),
            json!({"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}),
            json!({"strategy": {"type": "Recreate"}}),
        ),
    ];
    for (rule, mut doc, patch, want) in table {
        assert_eq!(strategic(&mut doc, &patch, Some(&patch_schema())), Ok(()), "{rule}");
        assert_eq!(doc, want, "{rule}");
    }
}

#[test]
fn strategic_merge_patch_names_what_is_wrong() {
    let two = || json!({"containers": [{"name": "a"}, {"name": "b"}]});
    let table = [
        (
            "the patch",
            two(),
            json!([]),
            "json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
        (
            "no key",
            two(),
            json!({"containers": [{"image": "x"}]}),
            r#"map: {"image":"x"} does not contain declared merge key: name"#,
        ),
        (
            "unknown word",
            two(),
            json!({"labels": {}, "$patch": "bogus"}),
            r#"unknown patch type: bogus in map: {"labels":{}}"#,
        ),
        (
            "merge in a list",
            two(),
            json!({"containers": [{"$patch": "merge"}]}),
            "merging lists cannot yet be specified in the patch",
        ),
        (
            "keys not retained",
            json!({}),
            json!({"$retainKeys": ["a"], "b": 1}),
            "invalid patch format of retainKeys",
        ),
        ("no list of keys", json!({}), json!({"$retainKeys": 1}), "invalid patch format of retainKeys"),
        (
            "no list to delete",
            json!({"finalizers": []}),
            json!({"$deleteFromPrimitiveList/finalizers": 1}),
            "invalid patch format of primitive list",
        ),
        (
            "no name of a list",
            json!({}),
            json!({"$setElementOrder": []}),
            "invalid patch format of setElementOrder list",
        ),
    ];
    for (rule, doc, patch, want) in table {
        let mut after = doc.clone();
        let error = strategic(&mut after, &patch, Some(&patch_schema())).expect_err(rule);
        assert_eq!(error, PatchError::Malformed(want.into()), "{rule}");
        assert_eq!(after, doc, "{rule}");
    }
    let error = strategic(
        &mut json!({"finalizers": [["a"]]}),
        &json!({"finalizers": [["b"]]}),
        Some(&patch_schema()),
    );
    assert_eq!(error, Err(PatchError::Rejected("lists of lists are not supported".into())));
}

proptest! {
    #[test]
    fn a_merge_patch_twice_is_a_merge_patch_once(doc in any_json(), patch in any_object()) {
        let mut once = doc;
        merge_patch(&mut once, &patch).expect("an object");
        let mut twice = once.clone();
        merge_patch(&mut twice, &patch).expect("an object");
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn an_empty_merge_patch_changes_no_object(doc in any_object()) {
        let mut after = doc.clone();
        merge_patch(&mut after, &json!({})).expect("an object");
        prop_assert_eq!(doc, after);
    }

    #[test]
    fn a_strategic_patch_without_schema_is_a_merge_patch(doc in any_json(), patch in any_json()) {
        let (mut one, mut other) = (doc.clone(), doc);
        prop_assert_eq!(strategic(&mut one, &patch, None), merge_patch(&mut other, &patch));
        prop_assert_eq!(one, other);
    }

    #[test]
    fn no_strategic_patch_panics(doc in any_json(), patch in any_json(), list in any_json(), order in any_json()) {
        let mut patch = patch;
        if let Value::Object(patch) = &mut patch {
            patch.insert("containers".into(), list);
            patch.insert("$setElementOrder/containers".into(), order);
        }
        let mut after = doc.clone();
        if strategic(&mut after, &patch, Some(&patch_schema())).is_err() {
            prop_assert_eq!(after, doc);
        }
    }

    #[test]
    fn no_json_patch_panics(doc in any_json(), from in "(/([a-d]|-?[0-3]|-)){0,3}", path in "(/([a-d]|-?[0-3]|-)){0,3}", value in any_json()) {
        for op in ["add", "remove", "replace", "move", "copy", "test"] {
            let patch = json!([{"op": op, "from": from, "path": path, "value": value}]);
            let mut after = doc.clone();
            if json_patch(&mut after, &patch).is_err() {
                prop_assert_eq!(&after, &doc);
            }
        }
    }

    #[test]
    fn add_then_remove_gives_the_object_back(doc in any_object(), value in any_json()) {
        let mut after = doc.clone();
        let patch = json!([{"op": "add", "path": "/new", "value": value}, {"op": "remove", "path": "/new"}]);
        json_patch(&mut after, &patch).expect("both fit");
        prop_assert_eq!(after, doc);
    }
}
