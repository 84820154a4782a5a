//! What a pass does to the children of an object.

mod puppet;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use api::apps::ApplicationStatus;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use k8s_openapi::api::networking::v1::Ingress;
use kit::testing::Bench;
use kit::{Address, Child, Do, Fault, Name, Next, Outcome, Plan};
use puppet::{Puppet, apply, config, staged};
use serde_json::{Value, json};

/// A puppet that does these steps, all of them or beside others.
fn doing(whole: bool, steps: impl Fn() -> Vec<Do<String>> + Send + Sync + 'static) -> Puppet {
    Puppet::new(move |_| {
        let plan = if whole { Plan::whole } else { Plan::part };
        Ok(plan(steps(), ApplicationStatus::default(), Next::OnChange))
    })
}

fn applying(child: impl Fn() -> Child + Send + Sync + 'static) -> Puppet {
    doing(true, move || vec![apply(child())])
}

fn service(name: &str) -> Child {
    let object = json!({
        "metadata": { "name": name, "namespace": "default" }, "spec": { "ports": [{ "port": 80 }] },
    });
    Child::of(&serde_json::from_value::<Service>(object).expect("a Service"))
}

fn ingress(name: &str) -> Child {
    let backend = json!({ "service": { "name": name, "port": { "number": 80 } } });
    let object = json!({
        "metadata": { "name": name, "namespace": "default" }, "spec": { "defaultBackend": backend },
    });
    Child::of(&serde_json::from_value::<Ingress>(object).expect("an Ingress"))
}

/// What a pass writes.
async fn writes(bench: &Bench, room: &Puppet, name: &Name) -> Vec<String> {
    bench.gate().take();
    bench.pass(room, name).await.expect("the pass works");
    bench.gate().writes()
}

async fn data(bench: &Bench, name: &str) -> Value {
    let map = bench.get::<ConfigMap>("default", name).await.expect("the ConfigMap is there");
    json!(map.data.unwrap_or_default())
}

const PATCHED: &str = "PATCH /api/v1/namespaces/default/configmaps/c";

#[tokio::test]
async fn a_child_is_written_only_when_it_differs_from_what_is_wanted() {
    let (bench, app) = staged().await;
    let both = applying(|| config("c", json!({ "a": "1", "b": "2" })));
    assert_eq!(writes(&bench, &both, &app).await, [PATCHED]);
    assert_eq!(writes(&bench, &both, &app).await, [""; 0]);
    let child = Name::new("default", "c");
    bench.patch::<ConfigMap>(&child, json!({ "data": { "theirs": "x" } })).await;
    assert_eq!(writes(&bench, &both, &app).await, [""; 0], "what others add is theirs");
    bench.patch::<ConfigMap>(&child, json!({ "data": { "a": "drifted" } })).await;
    assert_eq!(writes(&bench, &both, &app).await, [PATCHED]);
    assert_eq!(data(&bench, "c").await, json!({ "a": "1", "b": "2", "theirs": "x" }));
    let one = applying(|| config("c", json!({ "a": "1" })));
    assert_eq!(writes(&bench, &one, &app).await, [PATCHED], "a wish that is dropped is noticed");
    assert_eq!(data(&bench, "c").await, json!({ "a": "1", "theirs": "x" }));
    assert_eq!(writes(&bench, &one, &app).await, [""; 0]);
    bench.delete::<ConfigMap>(&child).await;
    assert_eq!(writes(&bench, &one, &app).await, [PATCHED]);
}

#[tokio::test]
async fn what_somebody_else_made_is_taken_over_only_with_consent() {
    for child in [|| config("c", json!({ "a": "1" })), || config("c", json!({ "a": "1" })).unowned()] {
        let (bench, app) = staged().await;
        let theirs = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "c" }, "data": { "a": "0" } });
        bench.create(theirs).await;
        let room = applying(child);
        let fault = bench.pass(&room, &app).await.expect_err("it is not ours");
        assert!(
            matches!(&fault, Fault::NotOurs { address } if address == "ConfigMap default/c"),
            "{fault:?}"
        );
        assert_eq!(data(&bench, "c").await, json!({ "a": "0" }));
        let consent = json!({ "metadata": { "annotations": { api::annotations::ADOPT: "true" } } });
        bench.patch::<ConfigMap>(&Name::new("default", "c"), consent).await;
        assert_eq!(bench.pass(&room, &app).await.expect("it may have it"), Outcome::OnChange);
        assert_eq!(data(&bench, "c").await, json!({ "a": "1" }));
    }
}

#[tokio::test]
async fn a_child_of_another_object_is_not_ours_even_if_terrace_made_it() {
    let (bench, app) = staged().await;
    let other = json!({
        "apiVersion": "iaf.io/v1alpha1", "kind": "Application",
        "metadata": { "name": "other" }, "spec": { "image": "app:1" },
    });
    bench.create(other).await;
    let room = applying(|| config("c", json!({ "a": "1" })));
    bench.pass(&room, &Name::new("default", "other")).await.expect("the first has it");
    let mine = applying(|| config("c", json!({ "a": "2" })));
    let fault = bench.pass(&mine, &app).await.expect_err("it belongs to the other");
    assert!(matches!(fault, Fault::NotOurs { .. }), "{fault:?}");
}

#[tokio::test]
async fn only_our_own_children_are_pruned_and_by_kind() {
    let (bench, app) = staged().await;
    let first = doing(true, || vec![apply(service("x")), apply(ingress("x")), apply(config("c", json!({})))]);
    bench.pass(&first, &app).await.expect("all are made");
    for name in ["theirs", "unowned"] {
        bench
            .create(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name,
            "labels": { api::annotations::MANAGED_BY: "terrace" } } }))
            .await;
    }
    let part = doing(false, || vec![apply(service("x"))]);
    assert_eq!(writes(&bench, &part, &app).await, [""; 0], "a plan in part deletes nothing");
    let whole = doing(true, || vec![apply(service("x"))]);
    let deleted = [
        "DELETE /api/v1/namespaces/default/configmaps/c",
        "DELETE /apis/networking.k8s.io/v1/namespaces/default/ingresses/x",
    ];
    assert_eq!(writes(&bench, &whole, &app).await, deleted);
    assert!(bench.get::<Service>("default", "x").await.is_some(), "the Service of the same name stays");
    assert!(bench.get::<Ingress>("default", "x").await.is_none());
    assert!(bench.get::<ConfigMap>("default", "theirs").await.is_some());
    assert_eq!(writes(&bench, &whole, &app).await, [""; 0]);
}

#[tokio::test]
async fn a_child_that_is_on_its_way_out_is_not_deleted_again() {
    let (bench, app) = staged().await;
    bench.pass(&applying(|| config("c", json!({}))), &app).await.expect("it is made");
    let held = json!({ "metadata": { "finalizers": ["example.org/hold"] } });
    bench.patch::<ConfigMap>(&Name::new("default", "c"), held).await;
    let none = doing(true, Vec::new);
    assert_eq!(writes(&bench, &none, &app).await, ["DELETE /api/v1/namespaces/default/configmaps/c"]);
    assert_eq!(writes(&bench, &none, &app).await, [""; 0]);
}

#[tokio::test]
async fn what_is_created_is_left_alone_afterwards_and_goes_when_it_is_no_longer_named() {
    let (bench, app) = staged().await;
    let room = doing(true, || vec![Do::Create(Box::new(config("c", json!({ "a": "1" }))))]);
    bench.pass(&room, &app).await.expect("it is made");
    bench.patch::<ConfigMap>(&Name::new("default", "c"), json!({ "data": { "a": "theirs" } })).await;
    bench.pass(&room, &app).await.expect("it is there already");
    assert_eq!(data(&bench, "c").await, json!({ "a": "theirs" }));
    bench.pass(&doing(true, Vec::new), &app).await.expect("nothing is wanted");
    assert!(bench.get::<ConfigMap>("default", "c").await.is_none(), "it was ours, so it goes");
}

#[tokio::test]
async fn fields_are_merged_only_if_they_differ() {
    let (bench, app) = staged().await;
    bench
        .create(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "c" },
        "data": { "old": "x" } }))
        .await;
    let patch =
        || Do::Patch(Address::new::<ConfigMap>("default", "c"), json!({ "data": { "a": "1", "old": null } }));
    let room = doing(false, move || vec![patch()]);
    assert_eq!(writes(&bench, &room, &app).await, [PATCHED]);
    assert_eq!(data(&bench, "c").await, json!({ "a": "1" }));
    assert_eq!(writes(&bench, &room, &app).await, [""; 0]);
}

#[tokio::test]
async fn an_answer_given_once_is_kept_before_the_next_step() {
    let (bench, app) = staged().await;
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let room = doing(false, move || {
        counted.fetch_add(1, Ordering::Relaxed);
        vec![Do::Outside("keep me".into()), Do::Outside("fail then".into())]
    });
    bench.pass(&room, &app).await.expect_err("the second step fails");
    assert_eq!(count.load(Ordering::Relaxed), 1);
    assert_eq!(data(&bench, "kept").await, json!({ "answer": "keep me" }));
}
