//! A room on a control plane in memory, whose passes are run by hand.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use control_plane::ControlPlane;
use jiff::Timestamp;
use kube::Client;
use parking_lot::Mutex;
use serde_json::Value;

use super::gate::{Gate, Touched};
use super::shelves::Collections;
use super::state::State;
use crate::address::{Name, Object};
use crate::fault::Fault;
use crate::reader::Reader;
use crate::room::Room;
use crate::run::{Outcome, reconcile};
use crate::time::{Clock, Dice};
use crate::tools::Tools;

/// A clock that is moved by hand.
#[derive(Debug)]
pub struct Hand(Mutex<Timestamp>);

impl Hand {
    /// A clock that stands at now: what the server dates is not far.
    fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(Timestamp::now())))
    }

    /// Lets time pass.
    pub fn advance(&self, by: Duration) {
        let mut now = self.0.lock();
        *now = now.saturating_add(by).unwrap_or(Timestamp::MAX);
    }
}

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        *self.0.lock()
    }
}

/// A control plane in memory with all definitions, and everything that a pass needs.
pub struct Bench {
    plane: ControlPlane,
    touched: Touched,
    collections: Collections,
    /// What was there before anything happened: uids and versions.
    baseline: HashMap<String, String>,
    gate: Gate,
    clock: Arc<Hand>,
    tools: Tools,
}

impl Bench {
    /// A bench with all definitions.
    pub async fn start() -> Self {
        Self::lacking(&[]).await
    }

    /// A bench without the definitions of these names.
    pub async fn lacking(definitions: &[&str]) -> Self {
        let plane = ControlPlane::start().await.expect("a plane in memory starts");
        let touched = Touched::default();
        let client = Gate::noting(touched.clone()).client(plane.service());
        let mut collections = Collections::new(client.clone(), touched.clone()).await;
        let wanted = definitions_as_json().iter();
        let wanted = wanted
            .filter(|made| !definitions.iter().any(|lacking| made["metadata"]["name"] == *lacking))
            .map(|made| collections.create(made.clone()));
        futures::future::join_all(wanted).await;
        collections = Collections::new(client, touched.clone()).await;
        let baseline = versions(&collections.everything().await);
        touched.lock().clear();
        let (gate, clock, tools) = tooled(&plane, &touched);
        Self { plane, touched, collections, baseline, gate, clock, tools }
    }

    /// The same plane as it was at the start, with a new gate, clock and dice. A new one, if something that was there
    /// at the start has changed.
    pub(super) async fn renewed(self, definitions: &[&str]) -> Self {
        let left = self.collections.clear(&self.baseline).await;
        if versions(&left).into_iter().any(|(uid, version)| self.baseline.get(&uid) != Some(&version)) {
            self.plane.close().await;
            return Self::lacking(definitions).await;
        }
        let (gate, clock, tools) = tooled(&self.plane, &self.touched);
        Self { gate, clock, tools, ..self }
    }

    /// The gate that every request of a pass goes through.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// The clock of the passes.
    pub fn clock(&self) -> &Arc<Hand> {
        &self.clock
    }

    /// The tools of the passes.
    pub fn tools(&self) -> &Tools {
        &self.tools
    }

    /// The plane.
    pub fn plane(&self) -> &ControlPlane {
        &self.plane
    }

    /// A client that goes around the gate.
    pub fn client(&self) -> &Client {
        self.collections.client()
    }

    /// Creates an object from its manifest, with its status; in `default`, if it does not say where. A namespace that
    /// is not there is created, too. Returns the object as it is then.
    pub async fn create(&self, manifest: Value) -> Value {
        self.collections.create(manifest).await
    }

    /// Merges a patch into an object, its status included.
    pub async fn patch<K: Object>(&self, name: &Name, patch: Value) {
        self.collections.patch(&self.collections.path::<K>(name), patch).await;
    }

    /// Deletes an object, as a user does.
    pub async fn delete<K: Object>(&self, name: &Name) {
        self.collections.delete(&self.collections.path::<K>(name)).await;
    }

    /// One object, as it is on the server.
    pub async fn get<K: Object>(&self, namespace: &str, name: &str) -> Option<K> {
        let path = self.collections.path::<K>(&Name::new(namespace, name));
        let found = self.collections.ask("GET", &path, None).await.ok()?;
        Some(serde_json::from_value(found).expect("an object can be read as its kind"))
    }

    /// Runs one pass over an object as it is now. The pass must not be killed.
    pub async fn pass<R: Room>(&self, room: &R, name: &Name) -> Result<Outcome, Fault> {
        self.attempt(room, name).await.expect("nobody kills this pass")
    }

    /// Runs one pass; `None` if it was killed half-way.
    pub async fn attempt<R: Room>(&self, room: &R, name: &Name) -> Option<Result<Outcome, Fault>> {
        let Some(object) = self.get::<R::Kind>(&name.namespace, &name.name).await else {
            return Some(Ok(Outcome::Gone));
        };
        tokio::select! {
            biased;
            () = self.gate.killed() => None,
            outcome = reconcile(room, &self.tools, &object) => Some(outcome),
        }
    }

    /// Everything that came or changed since the start, when the server has cleaned up, and what is outside.
    pub async fn state(&self, outside: &str) -> State {
        let mut objects = self.collections.quiet().await;
        objects.retain(|object| {
            let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
            self.baseline.get(uid).is_none_or(|version| object["metadata"]["resourceVersion"] != **version)
        });
        State::new(objects, outside)
    }

    /// A word that changes whenever anything on the server does.
    pub(super) async fn revision(&self) -> String {
        let path = "/api/v1/namespaces/default/configmaps?limit=1";
        let list = self.collections.ask("GET", path, None).await.expect("ConfigMaps can be listed");
        list["metadata"]["resourceVersion"].to_string()
    }
}

fn tooled(plane: &ControlPlane, touched: &Touched) -> (Gate, Arc<Hand>, Tools) {
    let (gate, clock) = (Gate::noting(touched.clone()), Hand::new());
    let client = gate.client(plane.service());
    let counter = AtomicU64::new(0);
    // Any sequence will do, as long as it is the same in each run.
    let dice = Dice::loaded(move || {
        counter.fetch_add(1, Ordering::Relaxed).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    });
    let tools = Tools::new(Reader::direct(client).with(clock.clone(), dice));
    (gate, clock, tools)
}

fn versions(objects: &[Value]) -> HashMap<String, String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let of =
        |object: &Value| (text(&object["metadata"]["uid"]), text(&object["metadata"]["resourceVersion"]));
    objects.iter().map(of).collect()
}

/// All definitions, made once: each takes a while.
fn definitions_as_json() -> &'static [Value] {
    static MADE: OnceLock<Vec<Value>> = OnceLock::new();
    MADE.get_or_init(|| {
        let all = api::crds().into_iter().chain(api::foreign_crds());
        all.map(|definition| serde_json::to_value(definition).expect("a definition is JSON")).collect()
    })
}
