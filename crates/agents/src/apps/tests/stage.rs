//! A server with one session, on a control plane in memory.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;

use api::apps::Application;
use control_plane::wire::{Identified, Mounted, Upload, full};
use control_plane::{Config, ControlPlane};
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, ResourceExt};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::identity::{Caller, Role};
use crate::server::{Agents, Asked, Settings};
use crate::tool::{Answered, Progress, Question, Stop};

/// A value that must never come out.
pub(crate) const CANARY: &str = "s3cret/canary+pass";
/// Bounds of a push that a test can reach.
pub(crate) const FILES: usize = 5;
pub(crate) const BYTES: u64 = 4096;

/// What the place for archives has seen: who put what where, and the logs of builds that it has.
#[derive(Default)]
pub(crate) struct Uploads {
    pub(crate) seen: Vec<String>,
    pub(crate) blobs: BTreeMap<String, Vec<u8>>,
    pub(crate) log: Option<Vec<u8>>,
}

pub(crate) struct Stage {
    pub(crate) plane: ControlPlane,
    pub(crate) client: Client,
    pub(crate) agents: Agents,
    pub(crate) caller: Caller,
    pub(crate) session: String,
    pub(crate) ns: String,
    pub(crate) uploads: Arc<Mutex<Uploads>>,
    pub(crate) dir: tempfile::TempDir,
}

impl Stage {
    pub(crate) async fn start() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let config = Config { logs: Some(dir.path().join("logs")), ..Config::default() };
        let plane = ControlPlane::open(config).await.expect("starts");
        let client = plane.client();
        let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
        for definition in api::crds().into_iter().chain(api::foreign_crds()) {
            if ["iaf.io", "postgresql.cnpg.io"].contains(&definition.spec.group.as_str()) {
                definitions.create(&PostParams::default(), &definition).await.expect("is defined");
            }
        }
        let uploads = mounted(&plane);
        let settings = Settings {
            rate: 100.0,
            burst: 100,
            push_bytes: BYTES,
            push_files: FILES,
            private_git_hosts: vec!["git.internal".into()],
            postgres_versions: vec!["16".into(), "17".into()],
            ..Settings::new(dir.path().join("audit"), "http://127.0.0.1:7070".into())
        };
        let agents = Agents::open(client.clone(), settings, CancellationToken::new()).await.expect("opens");
        let caller = caller(Role::Session);
        let (session, ns) = (String::new(), String::new());
        let mut stage = Self { plane, client, agents, caller, session, ns, uploads, dir };
        let begun = stage.run("register", json!({}), None).await.expect("a session");
        let text = |key: &str| begun[key].as_str().expect("a text").to_owned();
        (stage.session, stage.ns) = (text("session_id"), text("namespace"));
        stage
    }

    /// The same platform for somebody else.
    pub(crate) async fn run_as(&self, caller: &Caller, tool: &str, arguments: Value) -> Result<Value, Stop> {
        let asked = self.asked_for(tool, arguments, None);
        self.agents.run(caller, asked, Progress::default()).await
    }

    async fn run(&self, tool: &str, arguments: Value, hash: Option<String>) -> Result<Value, Stop> {
        let asked = self.asked_for(tool, arguments, hash);
        self.agents.run(&self.caller, asked, Progress::default()).await
    }

    fn asked_for(&self, tool: &str, arguments: Value, hash: Option<String>) -> Asked {
        let known = self.agents.tools().iter().find(|known| known.name() == tool).expect("a tool");
        let mut arguments: Map<String, Value> = serde_json::from_value(arguments).expect("arguments");
        if known.in_session {
            arguments.insert("session_id".into(), self.session.clone().into());
        }
        Asked { tool: tool.into(), arguments, answered: hash.map(|hash| Answered { hash }), led: false }
    }

    /// What a tool answers; it has the shape that was promised, and no secret in it.
    pub(crate) async fn good(&self, tool: &str, arguments: Value) -> Value {
        match self.run(tool, arguments, None).await {
            Ok(value) => self.proper(tool, value),
            Err(stop) => panic!("{tool}: {stop:?}"),
        }
    }

    fn proper(&self, tool: &str, value: Value) -> Value {
        let known = self.agents.tools().iter().find(|known| known.name() == tool).expect("a tool");
        let schema = known.listed.output_schema.as_ref().expect("a schema");
        let promised = schema["properties"].as_object().expect("properties");
        let given = value.as_object().expect("an object");
        let odd: Vec<&String> = given.keys().filter(|key| !promised.contains_key(*key)).collect();
        assert!(odd.is_empty(), "{tool} promised no {odd:?}");
        let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        for key in required {
            assert!(given.contains_key(key.as_str().expect("a name")), "{tool} promised {key}: {value}");
        }
        assert!(!value.to_string().contains(CANARY), "no secret comes out: {value}");
        value
    }

    /// What a tool says that cannot do what was asked.
    pub(crate) async fn wrong(&self, tool: &str, arguments: Value) -> String {
        match self.run(tool, arguments, None).await {
            Err(Stop::Wrong(error)) => error.to_string(),
            other => panic!("{tool} is refused, not {other:?}"),
        }
    }

    /// What a tool wants to ask a person.
    pub(crate) async fn question(&self, tool: &str, arguments: Value) -> Question {
        match self.run(tool, arguments, None).await {
            Err(Stop::Ask(question)) => question,
            other => panic!("{tool} asks, not {other:?}"),
        }
    }

    /// What a tool answers when a person has agreed to what has this hash.
    pub(crate) async fn agreed(&self, tool: &str, arguments: Value, hash: &str) -> Result<Value, Stop> {
        self.run(tool, arguments, Some(hash.to_owned())).await
    }

    pub(crate) fn apps(&self) -> Api<Application> {
        Api::namespaced(self.client.clone(), &self.ns)
    }

    pub(crate) async fn app(&self, name: &str) -> Application {
        self.apps().get(name).await.expect("the application")
    }

    pub(crate) async fn make(&self, mut object: Value) {
        let (version, kind) = (object["apiVersion"].as_str().expect("a version"), object["kind"].as_str());
        let (group, version) = version.rsplit_once('/').unwrap_or(("", version));
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind.expect("a kind")));
        let status = object.as_object_mut().and_then(|fields| fields.remove("status"));
        let everywhere = ["DataSource", "Namespace"].contains(&kind.kind.as_str());
        let ns = object["metadata"]["namespace"].as_str().unwrap_or(&self.ns).to_owned();
        let api: Api<DynamicObject> = match everywhere {
            true => Api::all_with(self.client.clone(), &kind),
            false => Api::namespaced_with(self.client.clone(), &ns, &kind),
        };
        let object: DynamicObject = serde_json::from_value(object).expect("an object");
        let made = api.create(&PostParams::default(), &object).await.expect("is created");
        if let Some(status) = status {
            let patch = Patch::Merge(json!({ "status": status }));
            api.patch_status(&made.name_any(), &PatchParams::default(), &patch).await.expect("is told");
        }
    }

    pub(crate) async fn make_app(&self, name: &str, spec: Value, status: Value) {
        let mut object = json!({
            "apiVersion": "iaf.io/v1alpha1", "kind": "Application", "metadata": { "name": name }, "spec": spec,
        });
        if !status.is_null() {
            object["status"] = status;
        }
        self.make(object).await;
    }

    pub(crate) async fn make_secret(&self, name: &str, data: Value) {
        self.make(json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "stringData": data,
        }))
        .await;
    }

    /// A pod of an application, with a log.
    pub(crate) async fn make_pod(&self, app: &str, pod: &str, log: Option<&[u8]>) -> PathBuf {
        let container = json!({ "name": "app", "image": "i" });
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &self.ns);
        let object = json!({
            "metadata": { "name": pod, "labels": { "iaf.io/application": app } },
            "spec": { "containers": [container] },
        });
        let object: Pod = serde_json::from_value(object).expect("a pod");
        pods.create(&PostParams::default(), &object).await.expect("is created");
        let folder = self.dir.path().join("logs").join(&self.ns).join(pod);
        std::fs::create_dir_all(&folder).expect("a directory");
        if let Some(log) = log {
            std::fs::write(folder.join("app.log"), log).expect("a log");
        }
        folder.join("app.log")
    }

    pub(crate) async fn end(self) {
        self.agents.stop().cancel();
        self.plane.close().await;
    }
}

pub(crate) fn caller(role: Role) -> Caller {
    Caller { name: "t".into(), fingerprint: format!("{}-1", role.name()), role, scoped: false }
}

/// A status as the controller writes it.
pub(crate) fn told(phase: &str, ready: &str, reason: &str, message: &str) -> Value {
    let time = "2026-01-01T00:00:00Z";
    let ready = json!({ "type": "Ready", "status": ready, "reason": reason, "message": message, "lastTransitionTime": time });
    json!({
        "phase": phase, "observedGeneration": 1, "url": "http://shop.localhost:8080", "availableReplicas": 1,
        "latestImage": "i:1", "conditions": [ready],
    })
}

/// A place for archives that remembers who asked.
fn mounted(plane: &ControlPlane) -> Arc<Mutex<Uploads>> {
    let uploads = Arc::new(Mutex::new(Uploads::default()));
    let place = uploads.clone();
    let service = tower::service_fn(move |request: Request<Upload>| {
        let place = place.clone();
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.expect("a body").to_bytes();
            let user = parts.extensions.get::<Identified>().map(|Identified(user)| user.name.clone());
            let uri = parts.uri.to_string();
            let mut place = place.lock();
            place.seen.push(format!("{} {} {uri}", user.unwrap_or_default(), parts.method));
            let (code, body) = match parts.method {
                Method::PUT => {
                    place.blobs.insert(uri, body.to_vec());
                    (StatusCode::CREATED, Vec::new())
                }
                Method::HEAD if place.blobs.contains_key(&uri) => (StatusCode::OK, Vec::new()),
                Method::GET if place.log.is_some() => (StatusCode::OK, place.log.clone().unwrap_or_default()),
                _ => {
                    let status = json!({ "kind": "Status", "code": 404, "reason": "NotFound", "message": "builds \"x\" not found" });
                    (StatusCode::NOT_FOUND, status.to_string().into_bytes())
                }
            };
            let mut response = Response::new(full(body.into()));
            *response.status_mut() = code;
            Ok::<_, Infallible>(response)
        }
    });
    plane.mount(crate::apps::paths::PREFIX, Mounted::new(service));
    uploads
}
