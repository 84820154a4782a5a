//! Every decision of a roll-out by table, and a deployment through the two tests of every kind.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kit::{Do, Next};
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::Deployments;
use super::plan::{World, plan, resolve_bounds, set_name};

const NOW: &str = "2026-01-01T12:00:00Z";

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("the fixture is of its kind")
}

fn template(image: &str) -> Value {
    json!({
        "metadata": { "labels": { "app": "web" } },
        "spec": { "containers": [{ "name": "app", "image": image }] },
    })
}

/// A deployment of four pods of image `v2`, one more and one fewer at a time.
fn deployment(change: impl FnOnce(&mut Value)) -> Deployment {
    let mut value = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": "web", "namespace": "default", "uid": "d", "generation": 2,
            "annotations": { "deployment.kubernetes.io/revision": "2", "note": "hello" } },
        "spec": {
            "replicas": 4, "progressDeadlineSeconds": 600, "revisionHistoryLimit": 1,
            "selector": { "matchLabels": { "app": "web" } },
            "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 1 } },
            "template": template("v2"),
        },
        "status": { "conditions": [{ "type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated",
            "lastUpdateTime": "2026-01-01T11:59:00Z" }] },
    });
    change(&mut value);
    read(value)
}

/// A set by its name and revision, the image of its template, its size and how many of its pods work.
fn set(revision: i64, image: &str, size: i32, available: i32) -> Value {
    let mut labels = template(image);
    labels["metadata"]["labels"]["pod-template-hash"] = json!(format!("h{revision}"));
    json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {
            "name": format!("web-h{revision}"), "namespace": "default", "uid": format!("s{revision}"),
            "generation": 1, "creationTimestamp": format!("2026-01-01T10:0{revision}:00Z"),
            "annotations": {
                "deployment.kubernetes.io/revision": revision.to_string(), "note": "hello",
                "deployment.kubernetes.io/desired-replicas": "4",
                "deployment.kubernetes.io/max-replicas": "5",
            },
        },
        "spec": { "replicas": size, "selector": { "matchLabels": { "app": "web" } }, "template": labels },
        "status": { "replicas": size, "readyReplicas": available, "availableReplicas": available,
            "observedGeneration": 1 },
    })
}

fn world(sets: Vec<Value>) -> World {
    let sets = sets.into_iter().map(|value| Arc::new(read::<ReplicaSet>(value))).collect();
    World { now: NOW.parse().expect("a time"), sets, ..World::default() }
}

fn told(deployment: &Deployment, world: &World) -> String {
    let planned = plan(deployment, world);
    let mut words: Vec<String> = planned
        .steps
        .iter()
        .map(|step| match step {
            Do::Patch(address, patch) if patch["spec"]["replicas"].is_number() => {
                format!("scale {} to {}", address.name.name, patch["spec"]["replicas"])
            }
            Do::Patch(address, patch) => {
                let annotations = patch["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
                let noted: Vec<String> = annotations
                    .iter()
                    .map(|(key, value)| format!("{}={value}", key.rsplit('/').next().unwrap_or_default()))
                    .collect();
                format!("note {} {}", address.name.name, noted.join(","))
            }
            Do::Create(child) => format!("create with {}", child.body["spec"]["replicas"]),
            Do::Delete(address, _) => format!("delete {}", address.name.name),
            Do::Apply(_) => "apply".to_owned(),
            Do::Outside(never) => match *never {},
        })
        .collect();
    let conditions = planned.status.conditions.unwrap_or_default();
    let progressing = conditions.iter().find(|held| held.type_ == "Progressing");
    words.push(progressing.and_then(|held| held.reason.clone()).unwrap_or_else(|| "-".into()));
    words.join("; ")
}

#[test]
fn a_rolling_update_stays_within_its_bounds() {
    let table = [
        ("nothing is there", vec![], "create with 4; ReplicaSetUpdated"),
        ("old pods are there", vec![set(1, "v1", 4, 4)], "create with 1; ReplicaSetUpdated"),
        (
            "one more has come: one old that works may go",
            vec![set(1, "v1", 4, 4), set(2, "v2", 1, 0)],
            "scale web-h1 to 3; ReplicaSetUpdated",
        ),
        (
            "an old one went: another new one may come",
            vec![set(1, "v1", 3, 3), set(2, "v2", 1, 0)],
            "scale web-h2 to 2; ReplicaSetUpdated",
        ),
        (
            "new ones do not work: it stands still",
            vec![set(1, "v1", 3, 3), set(2, "v2", 2, 0)],
            "ReplicaSetUpdated",
        ),
        (
            "both new ones work: two old may go",
            vec![set(1, "v1", 3, 3), set(2, "v2", 2, 2)],
            "scale web-h1 to 1; ReplicaSetUpdated",
        ),
        (
            "old ones that do not work go first, and do not count",
            vec![set(1, "v1", 4, 0), set(2, "v2", 1, 1)],
            "scale web-h1 to 2; ReplicaSetUpdated",
        ),
        ("all new", vec![set(1, "v1", 0, 0), set(2, "v2", 4, 4)], "NewReplicaSetAvailable"),
        (
            "all new, and more history than is kept",
            vec![set(1, "v0", 0, 0), set(2, "v1", 0, 0), set(3, "v2", 4, 4)],
            "note web revision=\"3\"; delete web-h1; NewReplicaSetAvailable",
        ),
        (
            "back to the first template: it is the newest revision now",
            vec![set(1, "v2", 0, 0), set(2, "v1", 4, 4)],
            "note web-h1 revision=\"3\",revision-history=\"1\"; note web revision=\"3\"; scale web-h1 to 1; ReplicaSetUpdated",
        ),
    ];
    for (what, sets, want) in table {
        assert_eq!(told(&deployment(|_| {}), &world(sets)), want, "{what}");
    }
}

#[test]
fn other_wishes_have_their_plans() {
    let recreate = |value: &mut Value| value["spec"]["strategy"] = json!({ "type": "Recreate" });
    let paused = |value: &mut Value| value["spec"]["paused"] = json!(true);
    let six = |value: &mut Value| value["spec"]["replicas"] = json!(6);
    let late = |value: &mut Value| {
        let said = json!({ "replicas": 5, "updatedReplicas": 2, "readyReplicas": 3, "availableReplicas": 3 });
        value["status"].as_object_mut().expect("a status").extend(said.as_object().cloned().expect("counts"));
        value["status"]["conditions"][0]["lastUpdateTime"] = json!("2026-01-01T11:49:00Z");
    };
    let forever = |value: &mut Value| value["spec"]["progressDeadlineSeconds"] = json!(i32::MAX);
    let resumed = |value: &mut Value| value["status"]["conditions"][0]["reason"] = json!("DeploymentPaused");
    let (half, done) =
        (|| vec![set(1, "v1", 3, 3), set(2, "v2", 2, 0)], || vec![set(1, "v1", 0, 0), set(2, "v2", 4, 4)]);
    let table: Vec<(&str, Deployment, Vec<Value>, &str)> = vec![
        (
            "recreate ends the old",
            deployment(recreate),
            vec![set(1, "v1", 4, 4)],
            "scale web-h1 to 0; ReplicaSetUpdated",
        ),
        (
            "recreate then makes the new",
            deployment(recreate),
            vec![set(1, "v1", 0, 0)],
            "create with 4; ReplicaSetUpdated",
        ),
        ("paused: nothing is made", deployment(paused), vec![set(1, "v1", 4, 4)], "DeploymentPaused"),
        ("resumed", deployment(resumed), done(), "DeploymentResumed"),
        ("scaled", deployment(six), done(), "scale web-h2 to 6; ReplicaSetUpdated"),
        (
            "scaled in the middle: shared out by size",
            deployment(six),
            half(),
            "scale web-h1 to 4; scale web-h2 to 3; ReplicaSetUpdated",
        ),
        ("too late", deployment(late), half(), "ProgressDeadlineExceeded"),
        ("never too late", deployment(forever), half(), "-"),
    ];
    for (what, deployment, sets, want) in table {
        assert_eq!(told(&deployment, &world(sets)), want, "{what}");
    }
}

#[test]
fn recreate_waits_for_the_last_old_pod_and_a_taken_name_gets_another() {
    let recreate = deployment(|value| value["spec"]["strategy"] = json!({ "type": "Recreate" }));
    let mut busy = world(vec![set(1, "v1", 0, 0)]);
    busy.busy.insert("s1".into());
    assert_eq!(told(&recreate, &busy), "ReplicaSetUpdated");

    let rolling = deployment(|_| {});
    let mut taken = world(vec![]);
    taken.namesake = Some(Arc::new(read(set(9, "other", 0, 0))));
    let planned = plan(&rolling, &taken);
    assert!(planned.steps.is_empty());
    assert_eq!(planned.status.collision_count, Some(1));
    let again = Deployment { status: Some(planned.status), ..rolling.clone() };
    assert_ne!(set_name(&again), set_name(&rolling));
}

#[test]
fn a_roll_out_under_way_is_looked_at_when_its_deadline_comes() {
    let planned = plan(&deployment(|_| {}), &world(vec![set(1, "v1", 3, 3), set(2, "v2", 2, 0)]));
    assert_eq!(planned.next, Next::After(std::time::Duration::from_secs(601)));
    let done = plan(&deployment(|_| {}), &world(vec![set(2, "v2", 4, 4)]));
    assert_eq!(done.next, Next::OnChange);
    let status = done.status;
    let told = (status.replicas, status.updated_replicas, status.ready_replicas, status.available_replicas);
    assert_eq!(told, (Some(4), Some(4), Some(4), Some(4)));
    assert_eq!((status.unavailable_replicas, status.observed_generation), (None, Some(2)));
}

#[test]
fn percentages_are_rounded_as_in_kubernetes() {
    let percent = |text: &str| IntOrString::String(text.into());
    let table = [
        (percent("25%"), percent("25%"), 10, (3, 2)),
        (percent("25%"), percent("25%"), 1, (1, 0)),
        (percent("0%"), percent("10%"), 5, (0, 1)),
        (IntOrString::Int(0), IntOrString::Int(9), 3, (0, 3)),
        (IntOrString::Int(2), IntOrString::Int(0), 3, (2, 0)),
    ];
    for (surge, missing, wanted, want) in table {
        assert_eq!(resolve_bounds(&surge, &missing, wanted), want, "{surge:?} {missing:?} of {wanted}");
    }
}

/// Plays the sets: their pods come and work as soon as they are wanted.
async fn play_sets(client: kube::Client) {
    let sets = Api::<ReplicaSet>::namespaced(client, "default");
    for set in sets.list(&Default::default()).await.expect("sets can be listed") {
        let size = set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(0);
        let status = json!({ "status": { "replicas": size, "readyReplicas": size, "availableReplicas": size,
            "observedGeneration": set.metadata.generation } });
        let name = set.metadata.name.unwrap_or_default();
        let written = sets.patch_status(&name, &PatchParams::default(), &Patch::Merge(status)).await;
        // A set may go between the two calls.
        assert!(written.is_ok() || sets.get_opt(&name).await.is_ok_and(|set| set.is_none()), "{written:?}");
    }
}

fn scenario(_: &kit::testing::Gate) -> kit::testing::Scenario<Deployments> {
    let manifest = json!({
        "metadata": { "name": "web" },
        "spec": {
            "replicas": 2,
            "selector": { "matchLabels": { "app": "web" } },
            "template": template("v1"),
        },
    });
    kit::testing::Scenario::new(Deployments, manifest).world(play_sets)
}

#[tokio::test]
async fn a_deployment_converges() {
    let bench = kit::testing::converge(scenario).await;
    let made = bench.get::<Deployment>("default", "web").await.expect("it is there");
    let conditions = made.status.and_then(|status| status.conditions).unwrap_or_default();
    let words: Vec<String> = conditions
        .iter()
        .map(|held| format!("{} {}", held.type_, held.reason.clone().unwrap_or_default()))
        .collect();
    assert_eq!(words, ["Available MinimumReplicasAvailable", "Progressing NewReplicaSetAvailable"]);
}

#[tokio::test]
async fn no_broken_call_changes_what_becomes_of_a_deployment() {
    kit::testing::sweep(scenario).await;
}
