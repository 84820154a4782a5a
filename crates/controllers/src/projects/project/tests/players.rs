//! Who else is in the world: the rooms of repositories and registries, and Flux, each in a few lines.

use api::foreign::flux::{GitRepository, Kustomization};
use api::projects::{OCIRegistry, REPOSITORY_FINALIZER, Repository};
use kit::testing::Bench;
use kit::{Name, Object, Outcome};
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use super::Projects;

const FLUX: &str = "finalizers.fluxcd.io";

/// Each does what it would do next, if there is anything.
pub(super) async fn play(client: Client) {
    rooms(&client).await;
    flux(&client).await;
}

/// The rooms of repositories and registries.
pub(super) async fn rooms(client: &Client) {
    let url = "http://git.localhost/git/team/shop.git";
    let key = json!({ "secretName": "shop-deploy-key", "fingerprint": "SHA256:x" });
    let said = json!({ "url": url, "deployKey": key, "conditions": [ready("Available")] });
    tend::<Repository>(client, Some(REPOSITORY_FINALIZER), said).await;
    tend::<OCIRegistry>(client, None, json!({ "conditions": [ready("Available")] })).await;
}

/// Flux.
pub(super) async fn flux(client: &Client) {
    tend::<GitRepository>(client, Some(FLUX), json!({ "conditions": [ready("Succeeded")] })).await;
    tend::<Kustomization>(client, Some(FLUX), json!({ "conditions": [ready("ReconciliationSucceeded")] }))
        .await;
}

/// The condition that all is well.
fn ready(reason: &str) -> Value {
    json!({ "type": "Ready", "status": "True", "reason": reason, "message": "all is well",
            "lastTransitionTime": "2026-01-01T00:00:00Z" })
}

/// Holds every object of a kind, says that it is ready, and lets it go when it is deleted.
async fn tend<K: Object>(client: &Client, finalizer: Option<&str>, status: Value) {
    for object in listed::<K>(client).await {
        let held = object.finalizers().iter().any(|held| Some(held.as_str()) == finalizer);
        let path = K::url_path(&(), object.namespace().as_deref());
        let leaving = object.meta().deletion_timestamp.is_some();
        let wanted: Vec<&str> = finalizer.into_iter().filter(|_| !leaving).collect();
        if finalizer.is_some() && held == leaving {
            patch(
                client,
                &format!("{path}/{}", object.name_any()),
                json!({ "metadata": { "finalizers": wanted } }),
            )
            .await;
        }
        let value = serde_json::to_value(&object).expect("an object is JSON");
        if !leaving && !kit::says(&value["status"], &status) {
            let path = format!("{path}/{}/status", object.name_any());
            patch(client, &path, json!({ "status": status })).await;
        }
    }
}

async fn listed<K: Object>(client: &Client) -> Vec<K> {
    let all =
        Api::<kube::core::DynamicObject>::all_with(client.clone(), &kube::core::ApiResource::erase::<K>(&()));
    let found = all.list(&ListParams::default()).await.expect("objects can be listed");
    found
        .items
        .into_iter()
        .map(|object| object.try_parse::<K>().unwrap_or_else(|why| panic!("{why}")))
        .collect()
}

/// Merges a patch in. The object may be gone meanwhile.
async fn patch(client: &Client, path: &str, patch: Value) {
    let (collection, name) = path.rsplit_once('/').expect("a path has parts");
    let request = kube::core::Request::new(collection);
    let request = request.patch(name, &PatchParams::default(), &Patch::Merge(patch));
    let _ = client.request::<Value>(request.expect("a patch is a request")).await;
}

/// Runs passes until nothing happens any more.
pub(super) async fn settle(bench: &Bench, project: &Name) {
    let mut quiet = 0;
    for _ in 0..60 {
        play(bench.client().clone()).await;
        bench.gate().take();
        let outcome =
            bench.pass(&Projects, project).await.unwrap_or_else(|fault| panic!("{}", fault.story()));
        // The server cleans up behind us before the next look.
        bench.state("").await;
        quiet = if bench.gate().writes().is_empty() { quiet + 1 } else { 0 };
        if outcome == Outcome::Gone || quiet > 2 {
            return;
        }
    }
    panic!("{project} does not come to rest");
}
