use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use api::apps::Application;
use control_plane::ControlPlane;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::json;
use tower::Service;

use super::*;
use crate::fault::Fault;
use crate::plan::Child;
use crate::reader::Reader;
use crate::testing::{Bench, Gate};
use crate::tools::Tools;

/// Waits until something can be seen.
async fn until(what: &str, mut seen: impl FnMut() -> bool) {
    let looked = tokio::time::timeout(Duration::from_secs(20), async {
        let mut looks = tokio::time::interval(Duration::from_millis(2));
        while !seen() {
            looks.tick().await;
        }
    });
    assert!(looked.await.is_ok(), "never seen: {what}");
}

struct Stage {
    plane: ControlPlane,
    gate: Gate,
    client: Client,
    caches: Caches,
    /// Ends the watches with the test.
    _stop: tokio_util::sync::DropGuard,
}

async fn stage() -> Stage {
    let plane = ControlPlane::start().await.expect("starts");
    let gate = Gate::default();
    let client = gate.client(plane.service());
    let stop = CancellationToken::new();
    let caches = Caches::new(client.clone(), stop.clone());
    Stage { plane, gate, client, caches, _stop: stop.drop_guard() }
}

fn config(name: &str, value: &str) -> ConfigMap {
    let object = json!({ "metadata": { "name": name, "namespace": "default" }, "data": { "a": value } });
    serde_json::from_value(object).expect("a ConfigMap")
}

async fn made(plane: &ControlPlane, map: &ConfigMap) -> ConfigMap {
    let api = Api::<ConfigMap>::namespaced(plane.client(), "default");
    api.create(&PostParams::default(), map).await.expect("is created")
}

fn owner() -> Application {
    let object = json!({
        "metadata": { "name": "app", "namespace": "default", "uid": "u-1" }, "spec": { "image": "a:1" },
    });
    serde_json::from_value(object).expect("an Application")
}

#[tokio::test]
async fn a_kind_is_watched_once_however_many_ask() {
    let stage = stage().await;
    made(&stage.plane, &config("c", "1")).await;
    let (one, two) = (stage.caches.shelf::<ConfigMap>(), stage.caches.shelf::<ConfigMap>());
    assert!(one.settled().await && two.settled().await);
    let reader = Reader::cached(stage.client.clone(), stage.caches.clone());
    for _ in 0..3 {
        let found = reader.get::<ConfigMap>("default", "c").await.expect("is read");
        assert!(found.is_some());
    }
    let asked = || {
        let calls = stage.gate.calls().into_iter().map(|call| call.what);
        calls.filter(|what| what.contains("/configmaps")).collect::<Vec<_>>()
    };
    until("the watch", || asked().len() > 1).await;
    assert_eq!(asked(), ["GET /api/v1/configmaps", "WATCH /api/v1/configmaps"]);
}

#[tokio::test]
async fn kinds_that_nobody_watches_are_read_from_the_server() {
    let stage = stage().await;
    made(&stage.plane, &config("c", "1")).await;
    let reader = Reader::cached(stage.client.clone(), stage.caches.clone());
    assert!(reader.get::<ConfigMap>("default", "c").await.expect("is read").is_some());
    assert!(reader.get::<ConfigMap>("default", "none").await.expect("is read").is_none());
    assert!(!reader.list::<ConfigMap>(Some("default")).await.expect("is listed").is_empty());
    assert!(reader.list::<Application>(None).await.expect("no kind, no objects").is_empty());
    assert!(!reader.served::<Application>().await.expect("is asked"));
    let asked = |what: &str| stage.gate.calls().iter().any(|call| call.what == what);
    assert!(asked("GET /api/v1/namespaces/default/configmaps/c"));
    assert!(!asked("WATCH /api/v1/configmaps"));
}

#[tokio::test]
async fn who_writes_sees_it_at_once() {
    let stage = stage().await;
    let shelf = stage.caches.shelf::<ConfigMap>();
    shelf.settled().await;
    let reader = Reader::cached(stage.client.clone(), stage.caches.clone());
    let tools = Tools::new(reader.clone());
    // No server knows this one: only what is learned can show it.
    let resource = ApiResource::erase::<ConfigMap>(&());
    let mut answer = serde_json::to_value(config("learned", "1")).expect("is JSON");
    answer["metadata"]["resourceVersion"] = "999999".into();
    stage.caches.learn(&resource, answer);
    assert!(reader.get::<ConfigMap>("default", "learned").await.expect("is read").is_some());
    for value in ["1", "2", "3"] {
        tools.apply(&owner(), &Child::of(&config("c", value))).await.expect("is applied");
        let held = reader.get::<ConfigMap>("default", "c").await.expect("is read").expect("is there");
        assert_eq!(held.data.as_ref().expect("has data")["a"], value);
    }
    let address = crate::Address::new::<ConfigMap>("default", "c");
    tools.delete(&address, None, None).await.expect("is deleted");
    assert!(reader.get::<ConfigMap>("default", "c").await.expect("is read").is_none());
}

#[tokio::test]
async fn nothing_is_taken_over_while_the_list_is_still_on_its_way() {
    let stage = stage().await;
    made(&stage.plane, &config("c", "theirs")).await;
    let _shelf = stage.caches.shelf::<ConfigMap>();
    let tools = Tools::new(Reader::cached(stage.client.clone(), stage.caches.clone()));
    let fault = tools.apply(&owner(), &Child::of(&config("c", "ours"))).await;
    assert!(matches!(fault, Err(Fault::NotOurs { .. })), "{fault:?}");
}

#[tokio::test]
async fn a_kind_that_comes_later_is_picked_up_and_one_that_goes_is_let_go() {
    let bench = Bench::lacking(&["applications.iaf.io"]).await;
    let stop = CancellationToken::new();
    let _guard = stop.clone().drop_guard();
    let caches = Caches::new(bench.client().clone(), stop);
    let shelf = caches.shelf::<Application>();
    let woken = Arc::new(AtomicUsize::new(0));
    let heard = woken.clone();
    shelf.on_served(move || {
        heard.fetch_add(1, Ordering::SeqCst);
    });
    assert!(!shelf.settled().await, "it is not installed");
    let before = woken.load(Ordering::SeqCst);
    let definitions = Api::<CustomResourceDefinition>::all(bench.client().clone());
    let definition =
        api::crds().into_iter().find(|made| made.metadata.name.as_deref() == Some("applications.iaf.io"));
    let definition = definition.expect("it is one of ours");
    definitions.create(&PostParams::default(), &definition).await.expect("is installed");
    until("that it is served", || woken.load(Ordering::SeqCst) == before + 1).await;
    assert!(shelf.settled().await);
    let apps = Api::<Application>::namespaced(bench.client().clone(), "default");
    let mut app = owner();
    app.metadata.uid = None;
    apps.create(&PostParams::default(), &app).await.expect("is created");
    until("the object", || shelf.get(&Name::new("default", "app")).is_some()).await;
    definitions.delete("applications.iaf.io", &DeleteParams::default()).await.expect("is deleted");
    until("that it is no longer served", || woken.load(Ordering::SeqCst) == before + 2).await;
    assert!(!shelf.settled().await);
    assert!(shelf.names().is_empty(), "objects of a kind that is gone are gone");
}

#[tokio::test]
async fn a_watch_whose_past_is_forgotten_lists_again() {
    let plane = Arc::new(ControlPlane::start().await.expect("starts"));
    let (lists, spoilt) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let (inside, counted) = (plane.clone(), lists.clone());
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let (plane, lists, spoilt) = (inside.clone(), counted.clone(), spoilt.clone());
        async move {
            let query = request.uri().query().unwrap_or_default().to_owned();
            let ours = request.uri().path() == "/api/v1/configmaps";
            if ours && !query.contains("watch=true") {
                lists.fetch_add(1, Ordering::SeqCst);
            }
            // Between its list and its watch, something happens and is forgotten.
            if ours && query.contains("watch=true") && !spoilt.swap(true, Ordering::SeqCst) {
                made(&plane, &config("meanwhile", "1")).await;
                plane.compact();
            }
            plane.service().call(request).await
        }
    });
    let stop = CancellationToken::new();
    let _guard = stop.clone().drop_guard();
    let caches = Caches::new(Client::new(service, "default"), stop);
    let shelf = caches.shelf::<ConfigMap>();
    until("what happened meanwhile", || shelf.get(&Name::new("default", "meanwhile")).is_some()).await;
    assert_eq!(lists.load(Ordering::SeqCst), 2);
    made(&plane, &config("after", "1")).await;
    until("what happened after", || shelf.get(&Name::new("default", "after")).is_some()).await;
}
