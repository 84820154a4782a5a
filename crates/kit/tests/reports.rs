//! What a pass says of itself: status, conditions, events, finalizers, outcomes.

mod puppet;

use std::time::Duration;

use api::apps::{Application, ApplicationStatus};
use api::conditions::{READY, RECONCILING, Reason, STALLED, Standing, find, holds};
use k8s_openapi::api::events::v1::Event;
use kit::testing::{Bench, Trouble};
use kit::{Do, Fault, Name, Next, Outcome, Plan, Refusal, Retry};
use kube::api::{Api, ListParams};
use puppet::{Puppet, apply, config, staged};
use serde_json::json;

const STATUS: &str = "PATCH /apis/iaf.io/v1alpha1/namespaces/default/applications/app/status";
const OBJECT: &str = "PATCH /apis/iaf.io/v1alpha1/namespaces/default/applications/app";

/// A puppet that says that it is ready, or why it is not.
fn saying(ready: bool, reason: Reason, message: &'static str) -> Puppet {
    Puppet::new(move |app| {
        let mut status = app.status.clone().unwrap_or_default();
        status.say(READY, Some(ready), reason.clone(), message);
        Ok(Plan::part(Vec::new(), status, Next::OnChange))
    })
}

async fn status(bench: &Bench) -> ApplicationStatus {
    let app = bench.get::<Application>("default", "app").await.expect("the object is there");
    app.status.unwrap_or_default()
}

/// What a pass writes but for events, and the events.
async fn written(bench: &Bench, room: &Puppet, name: &Name) -> (Vec<String>, usize) {
    bench.gate().take();
    bench.pass(room, name).await.expect("the pass works");
    let (events, rest): (Vec<_>, Vec<_>) =
        bench.gate().writes().into_iter().partition(|what| what.contains("/events"));
    (rest, events.len())
}

async fn events(bench: &Bench) -> Vec<String> {
    let api = Api::<Event>::all(bench.client().clone());
    let list = api.list(&ListParams::default()).await.expect("events are listed");
    let told = |event: Event| {
        format!(
            "{} {} {}",
            event.type_.unwrap_or_default(),
            event.reason.unwrap_or_default(),
            event.note.unwrap_or_default()
        )
    };
    let mut told: Vec<String> = list.items.into_iter().map(told).collect();
    told.sort();
    told
}

#[tokio::test]
async fn a_status_is_written_when_it_changes_and_events_follow_conditions() {
    let (bench, app) = staged().await;
    let one = (vec![STATUS.to_owned()], 1);
    let none = (Vec::new(), 0);
    assert_eq!(written(&bench, &saying(false, Reason::Deploying, "starting"), &app).await, one);
    assert_eq!(written(&bench, &saying(false, Reason::Deploying, "starting"), &app).await, none);
    let (writes, told) = written(&bench, &saying(false, Reason::Deploying, "half of them"), &app).await;
    assert_eq!((writes.len(), told), (1, 0), "a new message is no event");
    assert_eq!(written(&bench, &saying(false, Reason::BuildFailed, "no such file"), &app).await, one);
    assert_eq!(written(&bench, &saying(true, Reason::Deployed, "it runs"), &app).await, one);
    assert_eq!(written(&bench, &saying(true, Reason::Deployed, "it runs"), &app).await, none);
    let told = ["Normal Deployed it runs", "Normal Deploying starting", "Warning BuildFailed no such file"];
    assert_eq!(events(&bench).await, told);
}

#[tokio::test]
async fn the_time_of_a_transition_moves_only_with_the_status() {
    let (bench, app) = staged().await;
    let when = || async {
        find(&status(&bench).await.conditions, READY).expect("said").last_transition_time.clone()
    };
    bench.pass(&saying(false, Reason::Deploying, "a"), &app).await.expect("works");
    let first = when().await;
    bench.clock().advance(Duration::from_secs(60));
    bench.pass(&saying(false, Reason::BuildFailed, "b"), &app).await.expect("works");
    assert_eq!(when().await, first, "another reason is no transition");
    bench.pass(&saying(true, Reason::Deployed, "c"), &app).await.expect("works");
    let moved = when().await.0.duration_since(first.0);
    assert_eq!(moved.as_secs(), 60);
}

#[tokio::test]
async fn what_is_not_ready_is_reconciling_and_conditions_name_their_generation() {
    let (bench, app) = staged().await;
    bench.pass(&saying(false, Reason::Deploying, "starting"), &app).await.expect("works");
    let told = status(&bench).await.conditions;
    assert!(holds(&told, RECONCILING) && !holds(&told, STALLED), "{told:?}");
    assert!(told.iter().all(|condition| condition.observed_generation == Some(1)), "{told:?}");
    bench.patch::<Application>(&app, json!({ "spec": { "replicas": 2 } })).await;
    bench.pass(&saying(true, Reason::Deployed, "runs"), &app).await.expect("works");
    let told = status(&bench).await.conditions;
    assert!(find(&told, RECONCILING).is_none(), "{told:?}");
    assert_eq!(find(&told, READY).expect("said").observed_generation, Some(2));
}

#[tokio::test]
async fn a_refusal_stalls_until_the_spec_changes() {
    let (bench, app) = staged().await;
    let room = Puppet::<false>::new(|app: &Application| {
        if app.spec.replicas == 1 {
            return Err(Refusal::new(Reason::InvalidSpec, "one is too few; ask for two"));
        }
        let mut status = app.status.clone().unwrap_or_default();
        status.ready(Reason::Deployed, "runs");
        Ok(Plan::part(Vec::new(), status, Next::OnChange))
    });
    assert_eq!(bench.pass(&room, &app).await.expect("a refusal is no fault"), Outcome::Refused);
    let told = status(&bench).await.conditions;
    let stalled = find(&told, STALLED).expect("it is stalled");
    assert_eq!((&*stalled.reason, &*stalled.message), ("InvalidSpec", "one is too few; ask for two"));
    assert!(!holds(&told, READY) && find(&told, RECONCILING).is_none(), "{told:?}");
    assert_eq!(written(&bench, &room, &app).await, (Vec::new(), 0));
    bench.patch::<Application>(&app, json!({ "spec": { "replicas": 2 } })).await;
    assert_eq!(bench.pass(&room, &app).await.expect("works"), Outcome::OnChange);
    assert!(find(&status(&bench).await.conditions, STALLED).is_none());
}

#[tokio::test]
async fn a_fault_keeps_what_was_said_last_and_tells_the_story() {
    let (bench, app) = staged().await;
    let room = |step: &'static str| {
        Puppet::<false>::new(move |app: &Application| {
            let mut status = app.status.clone().unwrap_or_default();
            status.url = Some(format!("http://{step}"));
            status.ready(Reason::Deployed, "runs");
            Ok(Plan::part(vec![Do::Outside(step.into())], status, Next::OnChange))
        })
    };
    bench.pass(&room("works"), &app).await.expect("works");
    let fault = bench.pass(&room("fail badly"), &app).await.expect_err("the step fails");
    assert_eq!(fault.retry(), Retry::Slowly);
    let told = status(&bench).await;
    assert_eq!(told.url.as_deref(), Some("http://works"), "a status never tells of a step that failed");
    let ready = find(&told.conditions, READY).expect("said");
    assert_eq!((&*ready.status, &*ready.reason, &*ready.message), ("False", "Failed", "strings: fail badly"));
    bench.pass(&room("works"), &app).await.expect("works again");
    assert!(holds(&status(&bench).await.conditions, READY));
}

#[tokio::test]
async fn the_first_thing_that_went_wrong_is_what_is_told() {
    let (bench, app) = staged().await;
    let room = Puppet::<false>::new(|_| {
        Ok(Plan::part(vec![Do::Outside("fail".into())], ApplicationStatus::default(), Next::OnChange))
    });
    bench.gate().arm(1, Trouble::Fail);
    let fault = bench.pass(&room, &app).await.expect_err("the step fails, and the report, too");
    assert_eq!(bench.gate().writes(), [STATUS], "the report was broken");
    assert!(matches!(fault, Fault::Outside { system: "strings", .. }), "{fault:?}");
}

#[tokio::test]
async fn an_object_is_held_before_anything_is_made_for_it_and_let_go_in_one_pass() {
    let (bench, app) = staged().await;
    let room = Puppet::<true>::new(|app| {
        let mut status = app.status.clone().unwrap_or_default();
        if app.metadata.deletion_timestamp.is_some() {
            return Ok(Plan::release(vec![Do::Outside("farewell".into())], status));
        }
        status.ready(Reason::Deployed, "runs");
        Ok(Plan::part(vec![apply(config("c", json!({})))], status, Next::OnChange))
    });
    bench.pass(&room, &app).await.expect("works");
    let writes = bench.gate().writes();
    assert_eq!(writes[..2], [OBJECT, "PATCH /api/v1/namespaces/default/configmaps/c"]);
    let hold = || json!({ "metadata": { "finalizers": ["terrace.dev/puppet", "example.org/other"] } });
    bench.patch::<Application>(&app, hold()).await;
    bench.delete::<Application>(&app).await;
    bench.gate().take();
    assert_eq!(bench.pass(&room, &app).await.expect("is let go"), Outcome::Gone);
    assert_eq!(bench.gate().writes(), [STATUS, OBJECT], "somebody else still looks at it");
    let left = bench.get::<Application>("default", "app").await.expect("the other holds it");
    assert_eq!(left.metadata.finalizers, Some(vec!["example.org/other".to_owned()]));
    assert_eq!(bench.pass(&room, &app).await.expect("works"), Outcome::OnChange, "it is no longer ours");
    bench.patch::<Application>(&app, json!({ "metadata": { "finalizers": null } })).await;
    assert_eq!(bench.pass(&room, &app).await.expect("works"), Outcome::Gone);
}

#[tokio::test]
async fn an_object_that_only_we_hold_goes_with_one_write() {
    let (bench, app) = staged().await;
    let room =
        Puppet::<true>::new(|app| Ok(Plan::release(Vec::new(), app.status.clone().unwrap_or_default())));
    bench.patch::<Application>(&app, json!({ "metadata": { "finalizers": ["terrace.dev/puppet"] } })).await;
    bench.delete::<Application>(&app).await;
    assert_eq!(bench.pass(&room, &app).await.expect("is let go"), Outcome::Gone);
    assert_eq!(bench.gate().writes(), [OBJECT]);
    assert!(bench.get::<Application>("default", "app").await.is_none());
}
