//! What may stand in a plan.

use serde_json::{Value, json};

use super::super::rules::{OBJECTS_MAX, wish};
use super::app;

const NS: &str = "iaf-1";

/// What is planned, or why not.
fn told(manifests: Vec<Value>, deletes: &[&str]) -> String {
    let deletes: Vec<String> = deletes.iter().map(|&text| text.to_owned()).collect();
    match wish(NS, manifests, &deletes) {
        Ok(wish) => Value::Array(wish.manifests).to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn manifests_are_what_is_wished_and_nothing_else() {
    let read = json!({
        "apiVersion": "iaf.io/v1alpha1", "kind": "Application",
        "metadata": {
            "name": "shop", "namespace": NS, "uid": "u", "resourceVersion": "7", "generation": 2,
            "creationTimestamp": null, "managedFields": [{}], "finalizers": null, "labels": { "a": "b" },
        },
        "spec": { "port": 80 }, "status": { "phase": "Running" },
    });
    let clean = json!([{
        "apiVersion": "iaf.io/v1alpha1", "kind": "Application",
        "metadata": { "name": "shop", "namespace": NS, "labels": { "a": "b" } }, "spec": { "port": 80 },
    }]);
    assert_eq!(serde_json::from_str::<Value>(&told(vec![read], &[])).expect("is JSON"), clean);
    let placed: Value = serde_json::from_str(&told(vec![app("shop", json!({}))], &[])).expect("is JSON");
    assert_eq!(placed[0]["metadata"]["namespace"], NS, "no namespace means the session's");
}

#[test]
fn what_cannot_be_planned_is_refused_with_words() {
    let with = |key: &str, value: Value| {
        let mut app = app("shop", json!({}));
        app["metadata"][key] = value;
        vec![app]
    };
    let kind = |kind: &str| vec![json!({ "apiVersion": "v1", "kind": kind, "metadata": { "name": "x" } })];
    let many = (0..OBJECTS_MAX + 1).map(|number| app(&format!("a{number}"), json!({}))).collect();
    let twice = vec![app("shop", json!({})), app("shop", json!({ "port": 1 }))];
    let table: [(Vec<Value>, &[&str], &str); 17] = [
        (with("namespace", json!("default")), &[], "a plan ends at its session"),
        (with("namespace", json!(7)), &[], "a plan ends at its session"),
        (with("ownerReferences", json!([])), &[], "metadata.ownerReferences cannot be planned"),
        (with("finalizers", json!(["x"])), &[], "metadata.finalizers cannot be planned"),
        (with("generateName", json!("x")), &[], "metadata.generateName cannot be planned"),
        (with("deletionTimestamp", json!("x")), &[], "metadata.deletionTimestamp cannot be planned"),
        (with("name", json!("")), &[], "no metadata.name"),
        (with("name", json!("a/b")), &[], "no metadata.name"),
        (vec![json!({ "kind": "Application" })], &[], "no apiVersion"),
        (vec![json!("text")], &[], "no object"),
        (kind("Secret"), &[], "an agent never holds a secret"),
        (Vec::new(), &["secrets/x"], "add_git_credential"),
        (Vec::new(), &[], "no object"),
        (many, &[], "too many"),
        (twice, &[], "twice"),
        (vec![app("shop", json!({}))], &["application.iaf.io/shop"], "in the manifests as well"),
        (Vec::new(), &["shop"], "no Kind/name"),
    ];
    for (row, (manifests, deletes, want)) in table.into_iter().enumerate() {
        let told = told(manifests, deletes);
        assert!(told.contains(want), "row {row}: {told}");
    }
}
