use super::*;

fn told(causes: &[Cause]) -> Vec<String> {
    causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect()
}

fn new(metadata: Value) -> Vec<String> {
    told(&check_new(&json!({"metadata": metadata}), NameRule::DnsSubdomain, true))
}

#[test]
fn new_metadata_is_judged_field_by_field() {
    let key = |field: &str, value: Value| json!({"name": "a", "namespace": "n", field: value});
    let owner = |controller: bool, name: &str| json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": "u", "controller": controller});
    let managed = |entry: Value| key("managedFields", json!([entry]));
    let table: Vec<(&str, Value, &str)> = vec![
        ("good", key("labels", json!({"a": "b"})), ""),
        (
            "no name",
            json!({"namespace": "n"}),
            "metadata.name: Required value: name or generateName is required",
        ),
        (
            "bad name",
            json!({"name": "A", "namespace": "n"}),
            "metadata.name: Invalid value: \"A\": a lowercase RFC 1123 subdomain",
        ),
        (
            "bad prefix",
            key("generateName", json!("Ab-")),
            "metadata.generateName: Invalid value: \"Ab-\": a lowercase",
        ),
        ("good prefix", key("generateName", json!("job-")), ""),
        ("no namespace", json!({"name": "a"}), "metadata.namespace: Required value"),
        (
            "bad namespace",
            json!({"name": "a", "namespace": "a.b"}),
            "metadata.namespace: Invalid value: \"a.b\": must not contain dots",
        ),
        (
            "generation below zero",
            key("generation", json!(-1)),
            "metadata.generation: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            "label key",
            key("labels", json!({"a b": "c"})),
            "metadata.labels: Invalid value: \"a b\": name part must consist",
        ),
        (
            "label value",
            key("labels", json!({"a": "b c"})),
            "metadata.labels: Invalid value: \"b c\": a valid label must be",
        ),
        (
            "annotation key",
            key("annotations", json!({"/a": "c"})),
            "metadata.annotations: Invalid value: \"/a\": prefix part must be non-empty",
        ),
        ("annotation key in capitals", key("annotations", json!({"Example.com/A": "c"})), ""),
        (
            "annotations too long",
            key("annotations", json!({"a": "x".repeat(256 * 1024)})),
            "metadata.annotations: Too long: may not be more than 262144 bytes",
        ),
        ("annotations just fit", key("annotations", json!({"a": "x".repeat(256 * 1024 - 1)})), ""),
        (
            "owner without uid",
            key("ownerReferences", json!([{"apiVersion": "v1", "kind": "Pod", "name": "p"}])),
            "metadata.ownerReferences.uid: Invalid value: \"\": must not be empty",
        ),
        (
            "owner without version",
            key("ownerReferences", json!([{"apiVersion": "apps/", "kind": "Pod", "name": "p", "uid": "u"}])),
            "metadata.ownerReferences.apiVersion: Invalid value: \"apps/\": version must not be empty",
        ),
        (
            "an event owns nothing",
            key("ownerReferences", json!([{"apiVersion": "v1", "kind": "Event", "name": "p", "uid": "u"}])),
            "metadata.ownerReferences: Invalid value: {\"apiVersion\":\"v1\",\"kind\":\"Event\",\"name\":\"p\",\"uid\":\"u\"}: /v1, Kind=Event is disallowed from being an owner",
        ),
        ("one controller", key("ownerReferences", json!([owner(true, "p"), owner(false, "q")])), ""),
        (
            "finalizer name",
            key("finalizers", json!(["a b"])),
            "metadata.finalizers: Invalid value: \"a b\": name part must consist",
        ),
        (
            "both ways of deleting",
            key("finalizers", json!(["orphan", "foregroundDeletion"])),
            "metadata.finalizers: Invalid value: [\"orphan\",\"foregroundDeletion\"]: finalizer orphan and foregroundDeletion cannot be both set",
        ),
        (
            "managed by whom",
            managed(json!({"operation": "Update", "manager": "a\u{1}"})),
            "metadata.managedFields[0].manager: Invalid value: \"a\\u0001\": invalid character U+0001 (at position 1)",
        ),
        (
            "managed how",
            managed(json!({"operation": "Steal"})),
            "metadata.managedFields[0].operation: Invalid value: \"Steal\": must be `Apply` or `Update`",
        ),
        (
            "managed in which form",
            managed(json!({"operation": "Apply", "fieldsType": "X"})),
            "metadata.managedFields[0].fieldsType: Invalid value: \"X\": must be `FieldsV1`",
        ),
        (
            "manager too long",
            managed(json!({"operation": "Apply", "manager": "m".repeat(129)})),
            "metadata.managedFields[0].manager: Too long: may not be more than 128 bytes",
        ),
    ];
    for (rule, metadata, want) in table {
        let told = new(metadata);
        match want {
            "" => assert_eq!(told, Vec::<String>::new(), "{rule}"),
            want => assert!(told.len() == 1 && told[0].starts_with(want), "{rule}: {told:?}"),
        }
    }
    let told = new(key("ownerReferences", json!([owner(true, "p"), owner(true, "q")])));
    let want = "Only one reference can have Controller set to true. Found \"true\" in references for Pod/p and Pod/q";
    assert!(told.len() == 1 && told[0].ends_with(want), "{told:?}");
}

#[test]
fn a_cluster_object_has_no_namespace() {
    let object = json!({"metadata": {"name": "a", "namespace": "n"}});
    let causes = check_new(&object, NameRule::DnsLabel, false);
    assert_eq!(told(&causes), ["metadata.namespace: Forbidden: not allowed on this type"]);
}

#[test]
fn an_update_keeps_what_cannot_change() {
    let old = json!({
        "name": "a", "namespace": "n", "uid": "u", "resourceVersion": "5", "generation": 3,
        "creationTimestamp": "2026-11-15T18:59:38Z", "finalizers": ["x.io/f"],
    });
    let dying = {
        let mut dying = old.clone();
        dying["deletionTimestamp"] = json!("2026-11-15T19:00:00Z");
        dying
    };
    let table: [(&str, &Value, &str, Value, &str); 10] = [
        ("nothing changed", &old, "labels", json!({}), ""),
        ("name", &old, "name", json!("b"), "metadata.name: Invalid value: \"b\": field is immutable"),
        (
            "namespace",
            &old,
            "namespace",
            json!("b"),
            "metadata.namespace: Invalid value: \"b\": field is immutable",
        ),
        ("uid", &old, "uid", json!("b"), "metadata.uid: Invalid value: \"b\": field is immutable"),
        (
            "version",
            &old,
            "resourceVersion",
            json!(""),
            "metadata.resourceVersion: Invalid value: \"\": must be specified for an update",
        ),
        (
            "generation",
            &old,
            "generation",
            json!(2),
            "metadata.generation: Invalid value: 2: must not be decremented",
        ),
        (
            "creation",
            &old,
            "creationTimestamp",
            json!("2026-11-15T18:59:39Z"),
            "metadata.creationTimestamp: Invalid value: \"2026-11-15T18:59:39Z\": field is immutable",
        ),
        (
            "deletion",
            &old,
            "deletionTimestamp",
            json!("2026-11-15T18:59:39Z"),
            "metadata.deletionTimestamp: Invalid value: \"2026-11-15T18:59:39Z\": field is immutable",
        ),
        ("finalizers of the living", &old, "finalizers", json!(["y.io/g"]), ""),
        (
            "finalizers of the dying",
            &dying,
            "finalizers",
            json!(["y.io/g", "x.io/f"]),
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{\"y.io/g\"}",
        ),
    ];
    for (rule, old, field, value, want) in table {
        let mut new = old.clone();
        new[field] = value;
        let told = told(&check_update(&json!({"metadata": new}), &json!({"metadata": old})));
        let want: Vec<&str> = if want.is_empty() { vec![] } else { vec![want] };
        assert_eq!(told, want, "{rule}");
    }
}

#[test]
fn wrong_types_are_refused_as_a_decoder_would() {
    let table = [
        ("no metadata", json!({}), ""),
        ("nulls", json!({"metadata": {"name": null, "labels": {"a": null}}}), ""),
        (
            "good",
            json!({"metadata": {"generation": 1, "ownerReferences": [{"controller": true}], "creationTimestamp": "2026-11-15T18:59:38Z"}}),
            "",
        ),
        (
            "metadata",
            json!({"metadata": []}),
            "array into Go struct field ConfigMap.metadata of type v1.ObjectMeta",
        ),
        (
            "name",
            json!({"metadata": {"name": 1}}),
            "number into Go struct field ObjectMeta.metadata.name of type string",
        ),
        (
            "label",
            json!({"metadata": {"labels": {"a": true}}}),
            "bool into Go struct field ObjectMeta.metadata.labels of type string",
        ),
        (
            "labels",
            json!({"metadata": {"labels": ["a"]}}),
            "array into Go struct field ObjectMeta.metadata.labels of type map[string]string",
        ),
        (
            "finalizers",
            json!({"metadata": {"finalizers": "a"}}),
            "string into Go struct field ObjectMeta.metadata.finalizers of type []string",
        ),
        (
            "generation",
            json!({"metadata": {"generation": 1.5}}),
            "number 1.5 into Go struct field ObjectMeta.metadata.generation of type int64",
        ),
        (
            "controller",
            json!({"metadata": {"ownerReferences": [{"controller": "yes"}]}}),
            "string into Go struct field OwnerReference.metadata.ownerReferences.controller of type bool",
        ),
        (
            "owners",
            json!({"metadata": {"ownerReferences": {}}}),
            "object into Go struct field ObjectMeta.metadata.ownerReferences of type []v1.OwnerReference",
        ),
    ];
    for (rule, object, want) in table {
        let told =
            check_shape(&object, "ConfigMap", "v1").err().map(|status| status.message).unwrap_or_default();
        let start = "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal ";
        let want = if want.is_empty() { String::new() } else { format!("{start}{want}") };
        assert_eq!(told, want, "{rule}");
    }
    let told = check_shape(&json!({"metadata": {"creationTimestamp": "now"}}), "ConfigMap", "v1");
    assert!(told.expect_err("no time").message.contains("parsing time \"now\""));
}
