//! kube-rs, the client the platform itself uses, in this process and without a socket.

use std::collections::BTreeMap;

use control_plane::ControlPlane;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use kube::core::GroupVersionKind;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt, discovery};
use serde_json::json;

async fn house() -> (ControlPlane, Client) {
    let plane = ControlPlane::start().await.expect("starts");
    let client = plane.client();
    (plane, client)
}

fn config(name: &str) -> ConfigMap {
    serde_json::from_value(json!({ "metadata": { "name": name }, "data": { "a": "1" } })).expect("is one")
}

#[tokio::test]
async fn typed_objects_are_written_read_patched_and_deleted() {
    let (_plane, client) = house().await;
    let configs: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let made = configs.create(&PostParams::default(), &config("c")).await.expect("is created");
    assert!(made.uid().is_some() && made.resource_version().is_some());
    let patch = Patch::Merge(json!({ "data": { "b": "2" } }));
    let patched = configs.patch("c", &PatchParams::default(), &patch).await.expect("is patched");
    assert_eq!(patched.data, Some(BTreeMap::from([("a".into(), "1".into()), ("b".into(), "2".into())])));
    let stale = configs.replace("c", &PostParams::default(), &made).await.expect_err("is stale");
    assert!(matches!(stale, kube::Error::Api(status) if status.is_conflict()));
    configs.delete("c", &DeleteParams::default()).await.expect("is deleted");
    assert!(configs.get_opt("c").await.expect("is asked").is_none());
    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    let secret = serde_json::from_value(json!({ "metadata": { "name": "s" }, "stringData": { "p": "x" } }))
        .expect("is one");
    let secret: Secret = secrets.create(&PostParams::default(), &secret).await.expect("is created");
    assert_eq!(secret.data.expect("is folded in")["p"].0, b"x");
    let deployments: Api<Deployment> = Api::default_namespaced(client);
    let pod = json!({ "metadata": { "labels": { "app": "d" } }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    let wish = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "d" },
        "spec": { "selector": { "matchLabels": { "app": "d" } }, "template": pod },
    });
    let applied =
        deployments.patch("d", &PatchParams::apply("me"), &Patch::Apply(&wish)).await.expect("is applied");
    assert_eq!(applied.spec.and_then(|spec| spec.replicas), Some(1));
    let wish = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "d" }, "spec": { "replicas": 3 } });
    deployments
        .patch("d", &PatchParams::apply("scaler"), &Patch::Apply(&wish))
        .await
        .expect("a field nobody claimed");
    let wish = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "d" }, "spec": { "replicas": 5 } });
    let refused = deployments
        .patch("d", &PatchParams::apply("other"), &Patch::Apply(&wish))
        .await
        .expect_err("is another's");
    assert!(refused.to_string().contains("conflict with \"scaler\""), "{refused}");
    let scale = deployments.get_scale("d").await.expect("has one");
    assert_eq!(scale.spec.and_then(|spec| spec.replicas), Some(3));
}

#[tokio::test]
async fn a_watcher_follows_from_the_list_on_in_both_ways() {
    let (_plane, client) = house().await;
    let configs: Api<ConfigMap> = Api::default_namespaced(client);
    configs.create(&PostParams::default(), &config("before")).await.expect("is created");
    for strategy in [watcher::Config::default(), watcher::Config::default().streaming_lists()] {
        let ours = strategy.fields("metadata.name!=kube-root-ca.crt");
        let mut seen = watcher(configs.clone(), ours).applied_objects().boxed();
        let first = seen.try_next().await.expect("goes on").expect("comes");
        assert_eq!(first.name_any(), "before");
        configs.create(&PostParams::default(), &config("after")).await.expect("is created");
        let next = seen.try_next().await.expect("goes on").expect("comes");
        assert_eq!(next.name_any(), "after");
        configs.delete("after", &DeleteParams::default()).await.expect("is deleted");
    }
    let mut raw = configs.watch(&WatchParams::default(), "0").await.expect("opens").boxed();
    let first = raw.try_next().await.expect("goes on").expect("comes");
    assert!(matches!(first, WatchEvent::Added(_)));
}

#[tokio::test]
async fn a_new_kind_is_discovered_and_used_without_its_type() {
    let (_plane, client) = house().await;
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let definition = serde_json::from_str(include_str!("recorded/widgets.json")).expect("is one");
    definitions.create(&PostParams::default(), &definition).await.expect("is created");
    let kind = GroupVersionKind::gvk("demo.io", "v1", "Widget");
    let (resource, _) = discovery::pinned_kind(&client, &kind).await.expect("is discovered");
    let widgets: Api<DynamicObject> = Api::default_namespaced_with(client, &resource);
    let wish = DynamicObject::new("w", &resource).data(json!({ "spec": { "size": 7 } }));
    let made = widgets.create(&PostParams::default(), &wish).await.expect("is created");
    assert_eq!(made.data["spec"]["color"], "red");
    let status = json!({ "status": { "phase": "Ready" } });
    let told =
        widgets.patch_status("w", &PatchParams::default(), &Patch::Merge(&status)).await.expect("is told");
    assert_eq!((told.data["status"]["phase"].as_str(), told.metadata.generation), (Some("Ready"), Some(1)));
    let red = widgets.list(&ListParams::default().fields("spec.color=red")).await.expect("is listed");
    assert_eq!(red.items.len(), 1);
}

/// The example of docs/control-plane.md.
#[tokio::test]
async fn a_config_map_is_kept() -> Result<(), Box<dyn std::error::Error>> {
    let client = ControlPlane::start().await?.client();
    let maps: Api<ConfigMap> = Api::namespaced(client, "default");
    let map = serde_json::from_value(json!({ "metadata": { "name": "settings" }, "data": { "a": "1" } }))?;
    maps.create(&PostParams::default(), &map).await?;
    assert!(maps.get("settings").await?.data.is_some());
    Ok(())
}
