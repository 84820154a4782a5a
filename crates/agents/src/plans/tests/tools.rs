//! The two tools, called as the server calls them.

use std::sync::Arc;

use api::apps::Application;
use control_plane::ControlPlane;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::app;
use super::fake::{DESTROYS, Fake, IMPOSSIBLE};
use crate::identity::{Caller, Role};
use crate::plans::Planner;
use crate::server::{Asked, record};
use crate::tool::{Answered, Progress, Question, Stop};
use crate::{Agents, Settings};

struct Stage {
    agents: Agents,
    owner: Caller,
    session: String,
    apps: Api<Application>,
    _plane: ControlPlane,
    _directory: tempfile::TempDir,
}

fn caller(fingerprint: &str, role: Role) -> Caller {
    Caller { name: fingerprint.into(), fingerprint: fingerprint.into(), role, scoped: false }
}

impl Stage {
    async fn start(planner: Option<Arc<dyn Planner>>) -> Self {
        let plane = ControlPlane::start().await.expect("starts");
        let definitions: Api<CustomResourceDefinition> = Api::all(plane.client());
        for definition in api::crds().into_iter().filter(|one| one.spec.group == "iaf.io") {
            definitions.create(&PostParams::default(), &definition).await.expect("is defined");
        }
        let directory = tempfile::tempdir().expect("a directory");
        let settings = Settings {
            rate: 1e6,
            burst: 1_000_000,
            planner,
            ..Settings::new(directory.path().join("audit"), "http://127.0.0.1:1".into())
        };
        let agents =
            Agents::open(plane.client(), settings, CancellationToken::new()).await.expect("is opened");
        let owner = caller("0000000000000001", Role::Session);
        let session = register(&agents, &owner).await;
        let apps = Api::namespaced(plane.client(), &format!("iaf-{session}"));
        Self { agents, owner, session, apps, _plane: plane, _directory: directory }
    }

    async fn with_planner() -> Self {
        Self::start(Some(Arc::new(Fake))).await
    }

    async fn plan(&self, manifests: &[Value], delete: &[&str]) -> Value {
        let arguments = json!({
            "session_id": self.session, "manifests": Value::from(manifests).to_string(), "delete": delete,
        });
        self.call("plan", arguments, None).await.unwrap_or_else(|stop| panic!("{stop:?}"))
    }

    async fn hash(&self, manifests: &[Value], delete: &[&str]) -> String {
        self.plan(manifests, delete).await["hash"].as_str().expect("a hash").to_owned()
    }

    async fn apply(&self, hash: &str) -> Result<Value, Stop> {
        self.call("apply_plan", json!({ "session_id": self.session, "hash": hash }), None).await
    }

    /// Why a plan was not carried out.
    async fn refused(&self, hash: &str) -> String {
        wrong(self.apply(hash).await)
    }

    async fn call(&self, tool: &str, arguments: Value, answered: Option<Answered>) -> Result<Value, Stop> {
        call(&self.agents, &self.owner, tool, arguments, answered).await
    }

    async fn spec(&self, name: &str) -> Option<Value> {
        let app = self.apps.get_opt(name).await.expect("is read");
        app.map(|app| serde_json::to_value(app.spec).expect("is JSON"))
    }

    async fn write(&self, name: &str, spec: Value) {
        let params = PatchParams::apply("kubectl").force();
        self.apps.patch(name, &params, &Patch::Apply(app(name, spec))).await.expect("is written");
    }
}

async fn call(
    agents: &Agents,
    caller: &Caller,
    tool: &str,
    arguments: Value,
    answered: Option<Answered>,
) -> Result<Value, Stop> {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    let asked = Asked { tool: tool.into(), arguments, answered, led: false };
    agents.run(caller, asked, Progress::default()).await
}

async fn register(agents: &Agents, caller: &Caller) -> String {
    let told = call(agents, caller, "register", json!({}), None).await.expect("a session");
    told["session_id"].as_str().expect("an id").to_owned()
}

fn wrong(outcome: Result<Value, Stop>) -> String {
    match outcome {
        Err(Stop::Wrong(error)) => error.to_string(),
        other => panic!("it is refused: {other:?}"),
    }
}

fn asked(outcome: Result<Value, Stop>) -> Question {
    match outcome {
        Err(Stop::Ask(question)) => question,
        other => panic!("a person is asked: {other:?}"),
    }
}

#[tokio::test]
async fn a_plan_is_carried_out_exactly_once() {
    let stage = Stage::with_planner().await;
    let manifests = [app("shop", json!({ "image": "nginx:1", "port": 81 }))];
    let told = stage.plan(&manifests, &[]).await;
    let object = &told["objects"][0];
    assert_eq!((&object["object"], &object["action"]), (&json!("Application/shop"), &json!("create")));
    assert_eq!(object["changes"][1], json!({ "path": "spec.port", "to": "81" }));
    assert_eq!(stage.spec("shop").await, None, "nothing was written");
    let hash = told["hash"].as_str().expect("a hash");
    let done = stage.apply(hash).await.expect("is carried out");
    assert_eq!(done["done"], json!(["Application/shop: created"]));
    assert_eq!(stage.spec("shop").await.expect("is there")["port"], 81);
    let again = stage.apply(hash).await.expect("is answered");
    assert_eq!(
        (&again["done"], again["message"].as_str()),
        (&json!([]), Some("nothing to do: it was carried out"))
    );
    stage.write("shop", json!({ "image": "nginx:1", "port": 90 })).await;
    let refused = stage.refused(hash).await;
    assert!(refused.contains("carried out before") && refused.contains("spec.port 90 → 81"), "{refused}");
    assert_eq!(stage.spec("shop").await.expect("is there")["port"], 90);
}

#[tokio::test]
async fn a_plan_holds_only_for_what_it_was_made_for() {
    let stage = Stage::with_planner().await;
    stage.write("shop", json!({ "image": "nginx:1", "port": 80 })).await;
    let manifests = [app("shop", json!({ "port": 81 })), app("new", json!({ "image": "nginx:1" }))];
    let hash = stage.hash(&manifests, &[]).await;
    // What a status says, and what the plan does not touch, is no change.
    let status = Patch::Merge(json!({ "status": { "message": "it runs" } }));
    stage.apps.patch_status("shop", &PatchParams::default(), &status).await.expect("is told");
    stage.write("shop", json!({ "image": "nginx:2", "port": 80 })).await;
    assert_eq!(stage.hash(&manifests, &[]).await, hash);
    stage.write("shop", json!({ "image": "nginx:2", "port": 70 })).await;
    let refused = stage.refused(&hash).await;
    assert!(refused.contains("spec.port 70 → 81") && refused.contains("plan again"), "{refused}");
    assert!(!refused.contains("Application/new"), "that did not change: {refused}");
    assert_eq!(stage.spec("new").await, None, "nothing was written");
}

#[tokio::test]
async fn a_plan_belongs_to_the_token_and_the_session_that_made_it() {
    let stage = Stage::with_planner().await;
    let hash = stage.hash(&[app("shop", json!({ "image": "nginx:1" }))], &[]).await;
    assert!(stage.refused("no-such-hash").await.contains("plan again"));
    let second = register(&stage.agents, &stage.owner).await;
    let elsewhere = json!({ "session_id": second, "hash": hash });
    assert!(wrong(stage.call("apply_plan", elsewhere, None).await).contains("has no plan"));
    let thief = caller("0000000000000002", Role::Session);
    let stolen = json!({ "session_id": stage.session, "hash": hash });
    let told = wrong(call(&stage.agents, &thief, "apply_plan", stolen.clone(), None).await);
    assert!(told.contains("there is no session"), "{told}");
    // An administrator reaches the session, but the plan is not theirs.
    let admin = caller("0000000000000003", Role::Admin);
    let told = wrong(call(&stage.agents, &admin, "apply_plan", stolen, None).await);
    assert!(told.contains("has no plan"), "{told}");
    assert_eq!(stage.spec("shop").await, None, "nothing was written");
}

#[tokio::test]
async fn one_error_keeps_the_whole_plan_from_being_carried_out() {
    let stage = Stage::with_planner().await;
    let spec = json!({ "image": "nginx:1" });
    let told = stage.plan(&[app("shop", spec.clone()), app(IMPOSSIBLE, spec)], &[]).await;
    assert_eq!(told["objects"][1]["error"], "the host is held by another");
    assert!(told["message"].as_str().is_some_and(|text| text.contains("1 cannot be")), "{told}");
    let refused = stage.refused(told["hash"].as_str().expect("a hash")).await;
    assert!(refused.contains("the host is held") && refused.contains("nothing was written"), "{refused}");
    assert_eq!(stage.spec("shop").await, None);
}

#[tokio::test]
async fn a_person_agrees_before_anything_goes() {
    let stage = Stage::with_planner().await;
    stage.write("old", json!({ "image": "nginx:1" })).await;
    let hash = stage.hash(&[app("new", json!({ "image": "nginx:1" }))], &["Application/old"]).await;
    let question = asked(stage.apply(&hash).await);
    assert_eq!(question.plan, ["create Application/new", "delete Application/old"]);
    assert!(question.what.contains(&hash[..12]) && question.what.contains(&stage.session), "{question:?}");
    let delete = format!("kubectl delete --namespace iaf-{} applications.iaf.io old", stage.session);
    assert!(question.command.contains(&delete) && question.command.contains("kubectl apply"), "{question:?}");
    assert!(stage.spec("old").await.is_some() && stage.spec("new").await.is_none(), "nothing was written");

    let arguments = json!({ "session_id": stage.session, "hash": hash });
    let other = Answered { hash: "another question".into() };
    asked(stage.call("apply_plan", arguments.clone(), Some(other)).await);
    let agreed = Answered { hash: question.hash() };
    let done = stage.call("apply_plan", arguments, Some(agreed)).await.expect("is carried out");
    assert_eq!(done["done"], json!(["Application/new: created", "Application/old: deleted"]));
    assert_eq!(stage.spec("old").await, None);
    let again = stage.apply(&hash).await.expect("is answered");
    assert_eq!(again["message"], "nothing to do: it was carried out");
}

#[tokio::test]
async fn a_person_agrees_to_what_a_controller_would_destroy() {
    let stage = Stage::with_planner().await;
    let hash = stage.hash(&[app(DESTROYS, json!({ "image": "nginx:1" }))], &[]).await;
    let question = asked(stage.apply(&hash).await);
    assert_eq!(question.plan[1], "because of Application/destroys: delete Cluster db");
}

#[tokio::test]
async fn what_was_done_in_part_is_told_object_by_object() {
    let stage = Stage::with_planner().await;
    stage.write("held", json!({ "image": "nginx:1", "port": 80 })).await;
    let spec = json!({ "image": "nginx:1" });
    let manifests = [app("one", spec.clone()), app("held", json!({ "port": 81 })), app("three", spec)];
    let hash = stage.hash(&manifests, &[]).await;
    let told = stage.refused(&hash).await;
    assert!(told.contains("Done: Application/one: created."), "{told}");
    assert!(
        told.contains("Failed: Application/held: ") && told.contains("conflict with \"kubectl\""),
        "{told}"
    );
    assert!(told.contains("Not tried: Application/three."), "{told}");
    assert!(stage.spec("one").await.is_some() && stage.spec("three").await.is_none());
    assert_eq!(stage.spec("held").await.expect("is there")["port"], 80, "nothing is taken from others");
}

#[tokio::test]
async fn rights_end_where_rbac_ends_them() {
    let stage = Stage::with_planner().await;
    let looker = caller("0000000000000004", Role::ReadOnly);
    let manifests = Value::from(vec![app("shop", json!({ "image": "nginx:1" }))]).to_string();
    let arguments = json!({ "session_id": stage.session, "manifests": manifests });
    let told = call(&stage.agents, &looker, "plan", arguments, None).await.expect("may look");
    let arguments = json!({ "session_id": stage.session, "hash": told["hash"] });
    let told = wrong(call(&stage.agents, &looker, "apply_plan", arguments, None).await);
    assert!(told.contains("may not patch"), "{told}");
    assert_eq!(stage.spec("shop").await, None);
}

#[tokio::test]
async fn a_platform_without_a_planner_says_so() {
    let stage = Stage::start(None).await;
    let words = "plans are not available on this platform instance";
    let arguments = json!({ "session_id": stage.session, "manifests": "[]" });
    assert_eq!(wrong(stage.call("plan", arguments, None).await), words);
}

#[tokio::test]
async fn the_trail_names_the_plan_and_both_tools_are_small() {
    let stage = Stage::with_planner().await;
    let trail = |hash: &str| {
        let arguments = json!({ "hash": hash }).as_object().cloned().unwrap_or_default();
        let asked = Asked { tool: "apply_plan".into(), arguments, ..Asked::default() };
        record(&stage.owner, "test", &asked, &Ok(())).plan
    };
    let hash = "0123456789abcdef".repeat(4);
    assert_eq!(trail(&hash), Some(hash.clone()));
    assert_eq!(trail("a secret that somebody put there"), None);
    let own = stage.agents.tools().iter().filter(|tool| ["plan", "apply_plan"].contains(&tool.name()));
    let sizes: Vec<usize> =
        own.map(|tool| serde_json::to_string(&tool.listed).expect("is JSON").len()).collect();
    assert!(sizes.len() == 2 && sizes.iter().sum::<usize>() < 2_000, "{sizes:?}");
}
