//! A server on a control plane in memory, and callers for it.

use std::time::Duration;

use control_plane::ControlPlane;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use kube::{Client, Resource};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::identity::{Caller, Kept, Role, mint};
use crate::server::{Agents, Asked, Settings};
use crate::tool::{Answered, Progress, Stop};

/// A server with all that it stands on.
pub(crate) struct Stage {
    pub(crate) agents: Agents,
    pub(crate) client: Client,
    pub(crate) dir: TempDir,
    _plane: ControlPlane,
    _stop: DropGuard,
}

impl Stage {
    /// A server that is said to be at an address.
    pub(crate) async fn at(address: &str) -> Self {
        let plane = ControlPlane::start().await.expect("starts");
        let client = plane.client();
        let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
        for definition in api::crds().into_iter().chain(api::foreign_crds()) {
            let ours = ["iaf.io", "postgresql.cnpg.io", "persistance.atlas.infoblox.com"];
            if ours.contains(&definition.spec.group.as_str()) {
                definitions.create(&PostParams::default(), &definition).await.expect("is defined");
            }
        }
        let dir = TempDir::new().expect("a directory");
        let settings = Settings {
            session_ttl: Duration::from_secs(3600),
            rate: 1000.0,
            burst: 1000,
            private_git_hosts: vec!["git.lan".into()],
            ..Settings::new(dir.path().join("audit.log"), address.into())
        };
        let stop = CancellationToken::new();
        let agents = Agents::open(client.clone(), settings, stop.clone()).await.expect("opens");
        // What is added before the first reading would be forgotten by it.
        let read = async {
            while !agents.tokens().is_read() {
                tokio::task::yield_now().await
            }
        };
        tokio::time::timeout(Duration::from_secs(20), read).await.expect("the tokens are read");
        Self { agents, client, dir, _plane: plane, _stop: stop.drop_guard() }
    }

    pub(crate) async fn start() -> Self {
        Self::at("http://127.0.0.1:7070").await
    }

    /// The holder of a new token.
    pub(crate) fn caller(&self, name: &str, role: Role) -> Caller {
        let kept = Kept { name: name.into(), role, digest: mint().1, expires: None, namespaces: Vec::new() };
        self.agents.tokens().add(kept.clone());
        kept.caller()
    }

    /// A caller whose token was revoked.
    pub(crate) fn stranger(&self, name: &str) -> Caller {
        let digest = mint().1;
        Kept { name: name.into(), role: Role::Session, digest, expires: None, namespaces: Vec::new() }
            .caller()
    }

    /// Asks for something.
    pub(crate) async fn ask(&self, caller: &Caller, tool: &str, arguments: Value) -> Result<Value, Stop> {
        self.answer(caller, tool, arguments, None).await
    }

    /// Asks for something that a person has agreed to.
    pub(crate) async fn answer(
        &self,
        caller: &Caller,
        tool: &str,
        arguments: Value,
        hash: Option<String>,
    ) -> Result<Value, Stop> {
        let arguments: Map<String, Value> = serde_json::from_value(arguments).expect("an object");
        let answered = hash.map(|hash| Answered { hash });
        let asked = Asked { tool: tool.into(), arguments, answered, led: false };
        self.agents.run(caller, asked, Progress::default()).await
    }

    /// A new session.
    pub(crate) async fn session(&self, caller: &Caller) -> String {
        let made = self.ask(caller, "register", json!({})).await.expect("begins");
        made["session_id"].as_str().expect("an id").to_owned()
    }

    /// Creates an object in a session.
    pub(crate) async fn create<K>(&self, session: &str, name: &str, object: Value)
    where
        K: Resource<DynamicType = ()>,
    {
        let resource = ApiResource::erase::<K>(&());
        let mut object = object;
        object["apiVersion"] = resource.api_version.clone().into();
        object["kind"] = resource.kind.clone().into();
        object["metadata"]["name"] = name.into();
        let object: DynamicObject = serde_json::from_value(object).expect("an object");
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), &format!("iaf-{session}"), &resource);
        api.create(&PostParams::default(), &object).await.expect("is created");
    }

    /// Changes the annotations of a session.
    pub(crate) async fn note(&self, session: &str, annotations: Value) {
        let patch = Patch::Merge(json!({ "metadata": { "annotations": annotations } }));
        let name = format!("iaf-{session}");
        self.namespaces().patch(&name, &PatchParams::default(), &patch).await.expect("is noted");
    }

    pub(crate) fn namespaces(&self) -> Api<Namespace> {
        Api::all(self.client.clone())
    }

    pub(crate) async fn namespace(&self, session: &str) -> Option<Namespace> {
        self.namespaces().get_opt(&format!("iaf-{session}")).await.expect("answers")
    }
}

/// Why something was refused.
pub(crate) fn refused(outcome: Result<Value, Stop>) -> String {
    match outcome {
        Err(Stop::Wrong(error)) => error.to_string(),
        other => panic!("it is refused: {other:?}"),
    }
}
