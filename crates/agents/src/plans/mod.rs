//! Changes that are told before they are made: `plan` says field by field what manifests would do, and `apply_plan` does
//! exactly that, or nothing.
//!
//! What a plan says is found by a [`Planner`], which asks the control plane as the caller and without writing. The rules for
//! manifests, the hash, who may carry out what, and the writing itself stand here.

pub mod apply_plan;
mod carry;
mod fault;
mod hash;
mod memory;
pub mod planning;
mod rules;
mod show;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use kube::Client;
use kube::core::ApiResource;
use serde::Serialize;
use serde_json::Value;

use crate::tool::Call;

pub use fault::Fault;
pub(crate) use memory::Memory;

/// Who writes, in the objects' own records.
pub const WRITER: &str = "terrace-agents";
/// How long a plan may take: no call is to be longer than 30 seconds, and some of them are for the writing.
const PATIENCE: Duration = Duration::from_secs(20);

/// Finds out what manifests would do, and does nothing.
pub trait Planner: Send + Sync {
    /// The objects of a text: documents of YAML or JSON, and the items of lists.
    fn documents(&self, text: &str) -> Result<Vec<Value>, String>;

    /// What would become of each object: first of the manifests, then of what is to go, each in its order. `client` has the
    /// caller's rights.
    fn preview<'a>(&'a self, client: &'a Client, wish: &'a Wish) -> BoxFuture<'a, Vec<Planned>>;
}

/// What is asked for, after the rules have seen it.
#[derive(Clone, Debug, PartialEq)]
pub struct Wish {
    /// The one namespace that everything lies in.
    pub namespace: String,
    /// What is to be there.
    pub manifests: Vec<Value>,
    /// What is to go.
    pub deletes: Vec<Named>,
}

/// An object, as a caller names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Named {
    /// Its kind, with its group where several groups have one of that name: `Cluster.postgresql.cnpg.io`.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// What would become of one object.
#[derive(Clone, Debug)]
pub struct Planned {
    /// Kind and name: `Application/shop`.
    pub object: String,
    /// What would be done to it.
    pub action: Action,
    /// Where it is written to; `None` only beside an error.
    pub target: Option<Target>,
    /// The fields that would be others.
    pub changes: Vec<Change>,
    /// What its controller would then do.
    pub steps: Vec<Step>,
    /// Why it cannot be.
    pub error: Option<String>,
}

/// What is done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// It comes into being.
    Create,
    /// It changes.
    Update,
    /// It goes.
    Delete,
    /// It stays as it is.
    None,
}

impl Action {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::None => "none",
        }
    }
}

/// Where an object is written to.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its kind, as the control plane serves it.
    pub resource: ApiResource,
    /// Its name.
    pub name: String,
    /// The one that was looked at; `None` where there is none yet.
    pub uid: Option<String>,
}

/// A field that would be another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Where: `spec.replicas`.
    pub path: String,
    /// What is there.
    pub from: Option<Value>,
    /// What would be there.
    pub to: Option<Value>,
}

/// What a controller would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// In words: `apply Deployment shop/web`.
    pub words: String,
    /// Whether data goes with it.
    pub destroys: bool,
}

/// The planner, if this platform has one.
fn planner(call: &Call<'_>) -> Result<Arc<dyn Planner>, Fault> {
    call.agents.settings().planner.clone().ok_or(Fault::NoPlanner)
}

/// What would become of everything, as the caller.
async fn preview(call: &Call<'_>, wish: &Wish) -> Result<Vec<Planned>, Fault> {
    let planner = planner(call)?;
    let previews = tokio::time::timeout(PATIENCE, planner.preview(&call.client, wish)).await;
    previews.map_err(|_| Fault::TooSlow)
}
