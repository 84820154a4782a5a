//! Plans of agents on a control plane in memory, from YAML to the objects.

use agents::identity::{Caller, Role};
use agents::server::Asked as Called;
use agents::tool::{Answered, Progress, Stop};
use agents::{Agents, Settings};
use api::apps::Application;
use control_plane::ControlPlane;
use controllers::{apps, services};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;

struct Stage {
    agents: Agents,
    owner: Caller,
    session: String,
    client: Client,
    _plane: ControlPlane,
    _directory: tempfile::TempDir,
}

impl Stage {
    async fn start() -> Self {
        let plane = ControlPlane::start().await.expect("starts");
        let client = plane.client();
        let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
        for definition in api::crds().into_iter().chain(api::foreign_crds()) {
            definitions.create(&PostParams::default(), &definition).await.expect("is defined");
        }
        let config = apps::Config::under("localhost".parse().expect("is a host"));
        let rooms = controllers::all(
            config,
            services::Config::default(),
            crate::preview::claims(),
            controllers::infra::Desk::new(std::sync::Arc::default()),
        );
        let directory = tempfile::tempdir().expect("a directory");
        let settings = Settings {
            rate: 1e6,
            burst: 1_000_000,
            planner: Some(Arc::new(Planner::new(client.clone(), rooms))),
            ..Settings::new(directory.path().join("audit"), "http://127.0.0.1:1".into())
        };
        let opened = Agents::open(client.clone(), settings, CancellationToken::new()).await;
        let agents = opened.expect("is opened");
        let owner = caller("0000000000000001", Role::Session);
        let told = call(&agents, &owner, ("register", json!({})), None).await.expect("a session");
        let session = told["session_id"].as_str().expect("an id").to_owned();
        Self { agents, owner, session, client, _plane: plane, _directory: directory }
    }

    fn namespace(&self) -> String {
        format!("iaf-{}", self.session)
    }

    fn apps(&self) -> Api<Application> {
        Api::namespaced(self.client.clone(), &self.namespace())
    }

    async fn plan(&self, manifests: &str, delete: &[&str]) -> Value {
        self.plan_as(&self.owner, manifests, delete).await
    }

    async fn plan_as(&self, caller: &Caller, manifests: &str, delete: &[&str]) -> Value {
        let wanted = json!({ "session_id": self.session, "manifests": manifests, "delete": delete });
        let planned = call(&self.agents, caller, ("plan", wanted), None).await;
        let planned = planned.unwrap_or_else(|stop| panic!("{stop:?}"));
        let text = planned.to_string();
        assert!(!text.contains("managedFields") && !text.contains("terrace:agent"), "{text}");
        planned
    }

    async fn apply(&self, planned: &Value, answered: Option<Answered>) -> Result<Value, Stop> {
        let wanted = json!({ "session_id": self.session, "hash": planned["hash"] });
        call(&self.agents, &self.owner, ("apply_plan", wanted), answered).await
    }
}

fn caller(fingerprint: &str, role: Role) -> Caller {
    Caller { name: fingerprint.into(), fingerprint: fingerprint.into(), role, scoped: false }
}

async fn call(
    agents: &Agents,
    caller: &Caller,
    (tool, arguments): (&str, Value),
    answered: Option<Answered>,
) -> Result<Value, Stop> {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    let called = Called { tool: tool.into(), arguments, answered, led: false };
    agents.run(caller, called, Progress::default()).await
}

const SHOP: &str = "\
apiVersion: iaf.io/v1alpha1
kind: Application
metadata:
  name: shop
spec:
  image: nginx:1
  port: 3000
---
apiVersion: iaf.io/v1alpha1
kind: ManagedService
metadata:
  name: db
spec:
  type: postgres
  plan: micro
";

fn error(planned: &Value, place: usize) -> String {
    planned["objects"][place]["error"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_plan_tells_fields_and_steps_and_is_then_carried_out() {
    let stage = Stage::start().await;
    let planned = stage.plan(SHOP, &[]).await;
    let shop = &planned["objects"][0];
    assert_eq!((&shop["object"], &shop["action"]), (&json!("Application/shop"), &json!("create")));
    let fields = shop["changes"].to_string();
    assert!(fields.contains(r#"{"path":"spec.port","to":"3000"}"#), "{fields}");
    let steps = shop["steps"].to_string();
    assert!(steps.contains(&format!("Deployment {}/shop", stage.namespace())), "{planned}");
    assert!(planned["objects"][1]["steps"].to_string().contains("Cluster"), "{planned}");
    assert!(stage.apps().get_opt("shop").await.expect("is read").is_none(), "nothing was written");
    assert_eq!(stage.plan(SHOP, &[]).await["hash"], planned["hash"], "the same plan");

    let done = stage.apply(&planned, None).await.expect("is carried out");
    assert_eq!(done["done"], json!(["Application/shop: created", "ManagedService/db: created"]));
    let again = stage.apply(&planned, None).await.expect("is answered");
    assert_eq!(again["done"], json!([]));
    let planned = stage.plan(SHOP, &[]).await;
    assert_eq!(planned["message"], "2 as it should be: there is nothing to apply");

    let planned = stage.plan(&SHOP.replace("3000", "4000"), &[]).await;
    let change = json!([{ "path": "spec.port", "from": "3000", "to": "4000" }]);
    assert_eq!(planned["objects"][0]["changes"], change);
    assert_eq!(planned["objects"][0]["action"], "update");
    stage.apply(&planned, None).await.expect("is carried out");
    assert_eq!(stage.apps().get("shop").await.expect("is there").spec.port, 4000);
}

#[tokio::test]
async fn a_plan_deletes_after_a_person_has_agreed() {
    let stage = Stage::start().await;
    let planned = stage.plan(SHOP, &[]).await;
    stage.apply(&planned, None).await.expect("is carried out");
    let planned =
        stage.plan("", &["application/shop", "ManagedService.iaf.io/db", "Application/never"]).await;
    let actions: Vec<&Value> =
        planned["objects"].as_array().expect("objects").iter().map(|one| &one["action"]).collect();
    assert_eq!(actions, ["delete", "delete", "none"], "{planned}");
    let question = match stage.apply(&planned, None).await {
        Err(Stop::Ask(question)) => question,
        other => panic!("a person is asked: {other:?}"),
    };
    assert_eq!(question.plan[0], "delete Application/shop");
    assert!(question.command.contains("managedservices.iaf.io db"), "{question:?}");
    let agreed = Answered { hash: question.hash() };
    let done = stage.apply(&planned, Some(agreed)).await.expect("is carried out");
    assert_eq!(done["done"], json!(["Application/shop: deleted", "ManagedService/db: deleted"]));
    let again = stage.apply(&planned, None).await.expect("is answered");
    assert_eq!(again["message"], "nothing to do: it was carried out");
}

#[tokio::test]
async fn a_deletion_that_would_wait_says_for_whom() {
    let stage = Stage::start().await;
    let env = "  env: [{name: PGHOST, secretKeyRef: {name: db-app, key: host}}]\n";
    let bound = SHOP.replace("  port: 3000\n", &format!("  port: 3000\n{env}"));
    let planned = stage.plan(&bound, &[]).await;
    stage.apply(&planned, None).await.expect("is carried out");
    let planned = stage.plan("", &["ManagedService/db"]).await;
    let steps = planned["objects"][0]["steps"].to_string();
    assert!(steps.contains("it would say: ") && steps.contains("shop"), "{planned}");
}

#[tokio::test]
async fn what_cannot_be_is_told_before_anything_is_written() {
    let stage = Stage::start().await;
    let named =
        |kind: &str, version: &str| format!("{{apiVersion: {version}, kind: {kind}, metadata: {{name: x}}}}");
    let table = [
        (named("Application", "iaf.io/v1alpha1"), "spec"),
        (named("Namespace", "v1"), "lies in no namespace"),
        (named("Deployment", "apps/v1"), "this token may not "),
        (named("RoleBinding", "rbac.authorization.k8s.io/v1"), "this token may not "),
        (named("Unicorn", "v1"), "serves no Unicorn"),
    ];
    for (manifest, want) in table {
        let planned = stage.plan(&manifest, &[]).await;
        assert!(error(&planned, 0).contains(want), "{manifest}: {planned}");
        let Err(Stop::Wrong(refused)) = stage.apply(&planned, None).await else { panic!("it is refused") };
        assert!(refused.to_string().starts_with("nothing was written"), "{refused}");
    }
    let planned = stage.plan("", &["Unicorn/x", "Namespace/x", "Deployment/x"]).await;
    assert!(error(&planned, 0).contains("serves no Unicorn"), "{planned}");
    assert!(error(&planned, 1).contains("serves no Namespace"), "{planned}");
    let looker = caller("0000000000000002", Role::ReadOnly);
    let planned = stage.plan_as(&looker, SHOP, &[]).await;
    assert!(error(&planned, 0).contains("this token may not patch"), "{planned}");
}

#[tokio::test]
async fn nothing_is_taken_from_others_and_their_name_is_told() {
    let stage = Stage::start().await;
    let object = documents(SHOP).expect("is YAML").swap_remove(0);
    let params = PatchParams::apply("kubectl");
    stage.apps().patch("shop", &params, &Patch::Apply(object)).await.expect("is written");
    let planned = stage.plan(&SHOP.replace("3000", "4000"), &[]).await;
    let told = error(&planned, 0);
    assert!(told.contains("conflict with \"kubectl\"") && told.contains(".spec.port"), "{told}");
    assert_eq!(stage.plan(SHOP, &[]).await["objects"][0]["action"], "none", "the same value is no conflict");
}

#[tokio::test]
async fn what_lies_in_other_sessions_stays_unnamed() {
    let stage = Stage::start().await;
    let shop = |host: &str| {
        let metadata = json!({ "name": "shop" });
        let spec = json!({ "image": "nginx:1", "host": host });
        json!({ "apiVersion": "iaf.io/v1alpha1", "kind": "Application", "metadata": metadata, "spec": spec })
    };
    let elsewhere: Api<Application> = Api::namespaced(stage.client.clone(), "default");
    let held = serde_json::from_value(shop("held.localhost")).expect("an application");
    elsewhere.create(&PostParams::default(), &held).await.expect("is created");
    let planned = stage.plan(&shop("held.localhost").to_string(), &[]).await;
    let told = error(&planned, 0);
    assert!(told.contains("is held by an Application in another namespace;"), "{planned}");
}

#[test]
fn what_destroys_data_is_known_by_its_words() {
    let table = [
        (Verb::Delete, "delete Cluster default/db", true),
        (Verb::Delete, "delete Ingress default/shop", false),
        (Verb::Act, "drop database orders", true),
        (Verb::Act, "build it", false),
        (Verb::Change, "apply Cluster default/db", false),
    ];
    for (verb, words, want) in table {
        let step = step(Drafted { verb, words: words.into(), changes: Vec::new() });
        assert_eq!(step.destroys, want, "{words}");
    }
}
