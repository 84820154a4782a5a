use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::kinds::{ScalePaths, SchemaRef, builtin};

fn widget() -> Kind {
    Kind {
        group: "demo.io".into(),
        version: "v1".into(),
        kind: "Widget".into(),
        list_kind: "WidgetList".into(),
        plural: "widgets".into(),
        singular: "widget".into(),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: true,
        verbs: vec!["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"],
        storage: "widgets.demo.io".into(),
        schema: SchemaRef::None,
        status: true,
        scale: Some(ScalePaths { spec: ".a".into(), status: ".b".into(), selector: None }),
        subresources: Vec::new(),
        columns: Vec::new(),
        selectable: Vec::new(),
        builtin: false,
    }
}

fn raw() -> Value {
    json!({ "type": "object", "description": "A thing to turn.", "properties": {
        "spec": { "type": "object", "description": "The wish.", "required": ["size"], "properties": {
            "size": { "type": "integer", "minimum": 1, "description": "How large." },
            "port": { "x-kubernetes-int-or-string": true, "anyOf": [{ "type": "integer" }, { "type": "string" }] },
            "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": { "a": { "type": "string" } } },
            "items": { "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": { "type": "object", "properties": { "name": { "type": "string", "default": "n" } } } },
        } },
    } })
}

/// Every `$ref` in a document.
fn pointers(node: &Value, found: &mut BTreeSet<String>) {
    match node {
        Value::Object(map) => {
            found.extend(map.get("$ref").and_then(Value::as_str).map(str::to_owned));
            map.values().for_each(|child| pointers(child, found));
        }
        Value::Array(list) => list.iter().for_each(|child| pointers(child, found)),
        _ => {}
    }
}

#[test]
fn every_pointer_in_every_document_leads_somewhere() {
    let (kinds, widget, raw) = (builtin::kinds(), widget(), raw());
    let mut served: Vec<Served> = kinds.iter().map(|kind| Served { kind, raw_schema: None }).collect();
    served.push(Served { kind: &widget, raw_schema: Some(&raw) });
    for group in ["", "apps", "apiextensions.k8s.io", "authentication.k8s.io", "demo.io"] {
        let version = "v1";
        let document = v3(&served, group, version).expect("it is served");
        let mut found = BTreeSet::new();
        pointers(&document, &mut found);
        for pointer in found {
            let name = pointer.strip_prefix("#/components/schemas/").expect("a v3 pointer");
            assert!(document["components"]["schemas"][name].is_object(), "{group}/{version} {name}");
        }
    }
    let document = v2(&served);
    let mut found = BTreeSet::new();
    pointers(&document, &mut found);
    for pointer in found {
        let name = pointer.strip_prefix("#/definitions/").expect("a v2 pointer");
        assert!(document["definitions"][name].is_object(), "{name}");
    }
    assert_eq!(v3(&served, "nope.io", "v1"), None);
}

#[test]
fn v3_tells_kubectl_what_it_looks_for() {
    let kinds = builtin::kinds();
    let served: Vec<Served> = kinds.iter().map(|kind| Served { kind, raw_schema: None }).collect();
    let document = v3(&served, "apps", "v1").expect("apps is served");
    let patch = &document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"];
    assert_eq!(patch["x-kubernetes-action"], "patch");
    assert_eq!(
        patch["x-kubernetes-group-version-kind"],
        json!({ "group": "apps", "kind": "Deployment", "version": "v1" })
    );
    let names: Vec<&str> =
        patch["parameters"].as_array().into_iter().flatten().filter_map(|p| p["name"].as_str()).collect();
    assert_eq!(names, ["dryRun", "fieldManager", "fieldValidation", "force"]);
    let schemas = &document["components"]["schemas"];
    let deployment = &schemas["io.k8s.api.apps.v1.Deployment"];
    assert_eq!(deployment["x-kubernetes-group-version-kind"][0]["kind"], "Deployment");
    let strategy = &schemas["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]["strategy"];
    assert_eq!(strategy["allOf"][0]["$ref"], "#/components/schemas/io.k8s.api.apps.v1.DeploymentStrategy");
    assert!(strategy["description"].is_string() && strategy["x-kubernetes-patch-strategy"] == "retainKeys");
    let either = &schemas["io.k8s.apimachinery.pkg.util.intstr.IntOrString"];
    assert_eq!(either["oneOf"], json!([{ "type": "integer" }, { "type": "string" }]));
    assert!(schemas.get("io.k8s.api.batch.v1.Job").is_none(), "other groups have their own document");
    let scale = &document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale"]["put"];
    assert_eq!(scale["x-kubernetes-group-version-kind"]["kind"], "Scale");
    let core = v3(&served, "", "v1").expect("core is served");
    assert!(
        core["paths"]["/api/v1/pods"]["get"].is_object()
            && core["paths"]["/api/v1/pods"].get("post").is_none()
    );
    assert!(core["paths"]["/api/v1/namespaces/{name}"]["delete"].is_object());
    assert_eq!(
        core["paths"]["/api/v1/namespaces/{namespace}/pods/{name}/binding"]["post"]["requestBody"]["content"]
            ["application/json"]["schema"]["$ref"],
        "#/components/schemas/io.k8s.api.core.v1.Binding"
    );
}

#[test]
fn custom_kinds_are_explained_in_their_own_words() {
    let (kind, raw) = (widget(), raw());
    let document =
        v3(&[Served { kind: &kind, raw_schema: Some(&raw) }], "demo.io", "v1").expect("it is served");
    let shape = &document["components"]["schemas"]["io.demo.v1.Widget"];
    assert_eq!(shape["properties"]["spec"]["properties"]["size"]["description"], "How large.");
    assert_eq!(
        shape["x-kubernetes-group-version-kind"],
        json!([{ "group": "demo.io", "kind": "Widget", "version": "v1" }])
    );
    let metadata = &shape["properties"]["metadata"]["allOf"][0]["$ref"];
    assert_eq!(metadata, "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
    let list = &document["components"]["schemas"]["io.demo.v1.WidgetList"];
    assert_eq!(list["properties"]["items"]["items"]["$ref"], "#/components/schemas/io.demo.v1.Widget");
    let types = &document["paths"]["/apis/demo.io/v1/namespaces/{namespace}/widgets/{name}"]["patch"]["requestBody"]
        ["content"];
    assert!(
        types.get("application/strategic-merge-patch+json").is_none(),
        "custom kinds know no strategic merge"
    );
}

#[test]
fn v2_shows_old_clients_only_what_they_can_read() {
    let (kind, raw) = (widget(), raw());
    let document = v2(&[Served { kind: &kind, raw_schema: Some(&raw) }]);
    let spec = &document["definitions"]["io.demo.v1.Widget"]["properties"]["spec"]["properties"];
    assert_eq!(spec["port"], json!({ "x-kubernetes-int-or-string": true }));
    assert_eq!(spec["free"], json!({}));
    assert_eq!(spec["items"]["items"]["properties"]["name"], json!({ "type": "string" }));
    assert_eq!(spec["items"]["x-kubernetes-list-map-keys"], json!(["name"]));
}

#[test]
fn hashes_change_with_what_is_served_and_the_root_carries_them() {
    let (kind, raw) = (widget(), raw());
    let plain = [Served { kind: &kind, raw_schema: Some(&raw) }];
    let other = json!({ "type": "object" });
    assert_ne!(hash(&plain), hash(&[Served { kind: &kind, raw_schema: Some(&other) }]));
    let url = v3_root(&plain)["paths"]["apis/demo.io/v1"]["serverRelativeURL"].as_str().map(str::to_owned);
    assert_eq!(url, Some(format!("/openapi/v3/apis/demo.io/v1?hash={}", hash(&plain))));
    let kinds = builtin::kinds();
    let served: Vec<Served> = kinds.iter().map(|kind| Served { kind, raw_schema: None }).collect();
    assert!(v3_root(&served)["paths"]["api/v1"].is_object());
}

/// Fields of a message: number and bytes; numbers of other kinds are passed over.
fn fields(mut bytes: &[u8]) -> Vec<(u64, &[u8])> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        value
    }
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let length = match key & 7 {
            0 => {
                varint(&mut bytes);
                continue;
            }
            1 => 8,
            2 => usize::try_from(varint(&mut bytes)).expect("a length"),
            other => panic!("wire type {other}"),
        };
        let (value, rest) = bytes.split_at(length);
        if key & 7 == 2 {
            found.push((key >> 3, value));
        }
        bytes = rest;
    }
    found
}

/// The first field with this number, as bytes.
fn field(bytes: &[u8], number: u64) -> &[u8] {
    fields(bytes).into_iter().find(|(found, _)| *found == number).map_or(&[], |(_, value)| value)
}

/// The value of the entry with this name in a map written as repeated messages.
fn entry<'a>(bytes: &'a [u8], number: u64, name: &str) -> &'a [u8] {
    let found =
        fields(bytes).into_iter().find(|(at, value)| *at == number && field(value, 1) == name.as_bytes());
    found.map_or(&[], |(_, value)| field(value, 2))
}

#[test]
fn the_packed_document_unpacks_to_the_same() {
    let kinds = builtin::kinds();
    let served: Vec<Served> = kinds.iter().map(|kind| Served { kind, raw_schema: None }).collect();
    let document = v2(&served);
    let bytes = v2_protobuf(&document);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    assert_eq!(text(field(&bytes, 1)), "2.0");
    assert_eq!(text(field(field(&bytes, 2), 1)), "Kubernetes");
    let definitions = field(&bytes, 9);
    assert_eq!(
        fields(definitions).len(),
        document["definitions"].as_object().map_or(0, serde_json::Map::len)
    );
    let spec = entry(definitions, 1, "io.k8s.api.core.v1.PodSpec");
    let containers = entry(field(spec, 25), 1, "containers");
    assert_eq!(text(field(field(containers, 22), 1)), "array");
    assert_eq!(text(field(field(field(containers, 23), 1), 1)), "#/definitions/io.k8s.api.core.v1.Container");
    let key = entry(containers, 31, "x-kubernetes-patch-merge-key");
    assert_eq!(text(field(key, 2)), "\"name\"");
    let pod = entry(definitions, 1, "io.k8s.api.core.v1.Pod");
    let gvk: Value =
        serde_json::from_slice(field(entry(pod, 31, "x-kubernetes-group-version-kind"), 2)).expect("JSON");
    assert_eq!(gvk, json!([{ "group": "", "kind": "Pod", "version": "v1" }]));
    let patch = field(entry(field(&bytes, 8), 2, "/api/v1/namespaces/{namespace}/pods/{name}"), 8);
    let gvk: Value =
        serde_json::from_slice(field(entry(patch, 13, "x-kubernetes-group-version-kind"), 2)).expect("JSON");
    assert_eq!(gvk, json!({ "group": "", "kind": "Pod", "version": "v1" }));
    let query = |item: &[u8]| text(field(field(field(field(item, 1), 2), 3), 4));
    let names: Vec<String> =
        fields(patch).into_iter().filter(|(number, _)| *number == 8).map(|(_, item)| query(item)).collect();
    assert_eq!(names[..4], ["dryRun", "fieldManager", "fieldValidation", "force"]);
}
