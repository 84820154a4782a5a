use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::kinds::{ScalePaths, SchemaRef, builtin};

/// What kube-apiserver 1.36.4 answers, recorded.
const RECORDED: &str = include_str!("recorded-v2.json");

fn builtins() -> Vec<Arc<Kind>> {
    builtin::kinds().into_iter().map(Arc::new).collect()
}

fn widget(version: &str) -> Arc<Kind> {
    Arc::new(Kind {
        group: "demo.io".into(),
        version: version.into(),
        kind: "Widget".into(),
        list_kind: "WidgetList".into(),
        plural: "widgets".into(),
        singular: "widget".into(),
        short_names: vec!["wd".into()],
        categories: vec!["all".into()],
        namespaced: true,
        verbs: vec!["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"],
        storage: "widgets.demo.io".into(),
        schema: SchemaRef::None,
        status: true,
        scale: Some(ScalePaths {
            spec: ".spec.replicas".into(),
            status: ".status.replicas".into(),
            selector: None,
        }),
        subresources: Vec::new(),
        columns: Vec::new(),
        selectable: Vec::new(),
        builtin: false,
    })
}

/// The recorded answer without the resources and subresources that we do not serve.
fn recorded(part: &str, kinds: &[Arc<Kind>]) -> Value {
    let mut document: Value = serde_json::from_str(RECORDED).expect("recorded JSON");
    let mut document = document[part].take();
    let groups = document["items"].as_array_mut().expect("groups");
    for group in groups.iter_mut() {
        let name = group["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        for version in group["versions"].as_array_mut().expect("versions") {
            let number = version["version"].as_str().unwrap_or_default().to_owned();
            let resources = version["resources"].as_array_mut().expect("resources");
            resources.retain_mut(|resource| {
                let served = kinds.iter().find(|kind| {
                    kind.group == name && kind.version == number && resource["resource"] == *kind.plural
                });
                let Some(kind) = served else { return false };
                let ours: Vec<String> = kind.all_subresources().into_iter().map(|sub| sub.name).collect();
                if let Some(list) = resource["subresources"].as_array_mut() {
                    list.retain(|sub| ours.iter().any(|name| sub["subresource"] == **name));
                }
                true
            });
        }
        let versions = group["versions"].as_array_mut().expect("versions");
        versions.retain(|version| version["resources"] != json!([]));
    }
    groups.retain(|group| group["versions"] != json!([]));
    document
}

#[test]
fn aggregated_discovery_is_what_the_original_answers_byte_for_byte() {
    let kinds = builtins();
    for (part, core) in [("api", true), ("apis", false)] {
        // Reading a field of a JSON object that lacks it adds null; the recorded text has none.
        let want = recorded(part, &kinds).to_string().replace(",\"subresources\":null", "");
        assert_eq!(aggregated(&kinds, core, "v2").to_string(), want, "{part}");
    }
}

#[test]
fn custom_groups_come_last_with_their_kinds_written_out() {
    let mut kinds = vec![widget("v1alpha1"), widget("v1"), widget("v1beta1")];
    kinds.extend(builtins());
    let document = aggregated(&kinds, false, "v2beta1");
    assert_eq!(document["apiVersion"], "apidiscovery.k8s.io/v2beta1");
    let last = document["items"].as_array().and_then(|items| items.last()).expect("a last group");
    assert_eq!(last["metadata"], json!({ "name": "demo.io" }));
    let order: Vec<&str> =
        last["versions"].as_array().into_iter().flatten().filter_map(|v| v["version"].as_str()).collect();
    assert_eq!(order, ["v1", "v1beta1", "v1alpha1"]);
    let resource = &last["versions"][0]["resources"][0];
    assert_eq!(resource["responseKind"], json!({ "group": "demo.io", "version": "v1", "kind": "Widget" }));
    let scale = json!({ "group": "autoscaling", "version": "v1", "kind": "Scale" });
    assert_eq!(resource["subresources"][1]["responseKind"], scale);
}

#[test]
fn legacy_answers_are_the_recorded_ones() {
    let mut kinds = builtins();
    kinds.push(widget("v1"));
    let table = [
        (
            "group",
            group(&kinds, "demo.io"),
            r#"{"kind":"APIGroup","apiVersion":"v1","name":"demo.io","versions":[{"groupVersion":"demo.io/v1","version":"v1"}],"preferredVersion":{"groupVersion":"demo.io/v1","version":"v1"}}"#,
        ),
        (
            "resources",
            resource_list(&kinds, "demo.io", "v1"),
            r#"{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"demo.io/v1","resources":[{"name":"widgets","singularName":"widget","namespaced":true,"kind":"Widget","verbs":["delete","deletecollection","get","list","patch","create","update","watch"],"shortNames":["wd"],"categories":["all"]},{"name":"widgets/status","singularName":"","namespaced":true,"kind":"Widget","verbs":["get","patch","update"]},{"name":"widgets/scale","singularName":"","namespaced":true,"group":"autoscaling","version":"v1","kind":"Scale","verbs":["get","patch","update"]}]}"#,
        ),
        (
            "core versions",
            Some(core_versions("127.0.0.1:17443")),
            r#"{"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[{"clientCIDR":"0.0.0.0/0","serverAddress":"127.0.0.1:17443"}]}"#,
        ),
    ];
    for (rule, got, want) in table {
        assert_eq!(got.map(|body| body.to_string()).unwrap_or_default(), want, "{rule}");
    }
}

#[test]
fn the_core_list_has_no_api_version_and_every_subresource() {
    let list = resource_list(&builtins(), "", "v1").expect("core is served");
    assert!(
        list.to_string().starts_with(
            r#"{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"configmaps","#
        )
    );
    let names: Vec<&str> =
        list["resources"].as_array().into_iter().flatten().filter_map(|r| r["name"].as_str()).collect();
    for name in ["namespaces/finalize", "pods/eviction", "pods/log", "pods/status", "serviceaccounts/token"] {
        assert!(names.contains(&name), "{name}");
    }
}

#[test]
fn the_group_list_begins_as_recorded_and_unknown_groups_are_nobody() {
    let kinds = builtins();
    let text = group_list(&kinds).to_string();
    assert!(text.starts_with(r#"{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"apiregistration.k8s.io","versions":[{"groupVersion":"apiregistration.k8s.io/v1","version":"v1"}],"preferredVersion":{"groupVersion":"apiregistration.k8s.io/v1","version":"v1"}},{"name":"apps","#));
    assert_eq!(group(&kinds, "nope.io"), None);
    assert_eq!(group(&kinds, ""), None);
    assert_eq!(resource_list(&kinds, "apps", "v2"), None);
}

#[test]
fn versions_are_ordered_as_kubernetes_orders_them() {
    let mut versions = [
        "v1alpha1",
        "foo10",
        "v2",
        "v11beta2",
        "v10beta3",
        "v10",
        "v3beta1",
        "v1",
        "v11alpha2",
        "foo1",
        "v12alpha1",
    ];
    versions.sort_by(|left, right| by_priority(left, right));
    let want = [
        "v10",
        "v2",
        "v1",
        "v11beta2",
        "v10beta3",
        "v3beta1",
        "v12alpha1",
        "v11alpha2",
        "v1alpha1",
        "foo1",
        "foo10",
    ];
    assert_eq!(versions, want);
}

#[test]
fn the_root_lists_paths_in_order_and_tags_are_capital_digits() {
    let paths = root(&builtins());
    let list: Vec<&str> = paths["paths"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    assert!(list.is_sorted());
    assert_eq!(
        list[..6],
        [
            "/.well-known/openid-configuration",
            "/api",
            "/api/v1",
            "/apis",
            "/apis/",
            "/apis/admissionregistration.k8s.io",
        ]
    );
    assert!(etag(b"").starts_with("CF83E1357EEFB8BD"));
    assert_eq!(etag(b"").len(), 128);
}
