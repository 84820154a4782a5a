//! What a pass decided, as data: it can be printed, compared, tested by table, stopped half-way and begun again.

use std::fmt;
use std::time::Duration;

use api::conditions::{Reason, Standing};
use kube::core::ApiResource;
use serde_json::Value;

use crate::address::{Address, Name, Object};

/// What stands for a value that is not told.
const HIDDEN: &str = "***";

/// What is to be done, what will then be said, and when to look again.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan<S, T> {
    /// The steps, in their order.
    pub steps: Vec<Do<S>>,
    /// What the status says when all steps are done.
    pub status: T,
    /// When to look again.
    pub next: Next,
    /// Whether the steps name every child that is to exist, so that others of ours are deleted.
    pub whole: bool,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub enum Do<S> {
    /// Makes a child of the object be as given: written only if something differs, and deleted when a whole plan no
    /// longer names it.
    Apply(Box<Child>),
    /// Creates an object as given; one that is there already is left alone.
    Create(Box<Child>),
    /// Merges a few fields into an object; a field that is null goes away.
    Patch(Address, Value),
    /// Deletes an object, if it is there. With a grace, it is told how long it may take.
    Delete(Address, Option<Duration>),
    /// Something outside the cluster.
    Outside(S),
}

/// An object that is to exist. Whoever prints it for debugging sees no data of a Secret.
#[derive(Clone, PartialEq)]
pub struct Child {
    /// Its kind and name.
    pub address: Address,
    /// All that is wanted of it.
    pub body: Value,
    /// Whether it belongs to the object of the plan, and goes when that goes.
    pub owned: bool,
}

impl Child {
    /// A child that belongs to the object of the plan. What it does not say is left to others.
    pub fn of<K: Object>(object: &K) -> Self {
        let address = Address::of(object);
        // Our kinds and those of Kubernetes are plain data: they always have a JSON form.
        let mut body = serde_json::to_value(object).unwrap_or_default();
        prune_empty(&mut body);
        if let Some(fields) = body.as_object_mut() {
            fields.remove("status");
        }
        body["apiVersion"] = address.resource.api_version.clone().into();
        body["kind"] = address.resource.kind.clone().into();
        Self { address, body, owned: true }
    }

    /// The same, but it belongs to nobody: it outlives the object of the plan.
    #[must_use]
    pub fn unowned(mut self) -> Self {
        self.owned = false;
        self
    }

    /// Its kind.
    pub fn resource(&self) -> &ApiResource {
        &self.address.resource
    }

    /// Its name.
    pub fn name(&self) -> &Name {
        &self.address.name
    }
}

impl fmt::Debug for Child {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body =
            if self.address.resource.kind == "Secret" { hidden(&self.body) } else { self.body.clone() };
        let mut told = f.debug_struct("Child");
        told.field("address", &self.address).field("body", &body).field("owned", &self.owned).finish()
    }
}

/// A Secret whose values are not told; its keys are.
fn hidden(body: &Value) -> Value {
    let mut body = body.clone();
    for field in ["data", "stringData"] {
        match body.get_mut(field) {
            Some(Value::Object(values)) => values.values_mut().for_each(|value| *value = HIDDEN.into()),
            Some(other) => *other = HIDDEN.into(),
            None => {}
        }
    }
    body
}

/// Takes out fields that say nothing: a null is no wish.
fn prune_empty(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(prune_empty);
        }
        Value::Array(items) => items.iter_mut().for_each(prune_empty),
        _ => {}
    }
}

/// When a pass comes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// When something changes.
    OnChange,
    /// After this long, if nothing changes before.
    After(Duration),
    /// Never: the object is let go.
    Release,
}

/// What an outside step brought back.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Receipt {
    /// Nothing to keep.
    #[default]
    Done,
    /// An answer that is given only once: it is applied before the next step.
    Keep(Box<Child>),
}

/// The spec cannot be met: nobody retries until it changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// Why, for programs.
    pub reason: Reason,
    /// Why, for people: what is wrong, and what to do.
    pub message: String,
}

impl Refusal {
    /// A refusal, with its reason for programs and for people.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}

impl<S, T: Standing> Plan<S, T> {
    /// Steps that name every child there is to be.
    pub fn whole(steps: Vec<Do<S>>, status: T, next: Next) -> Self {
        Self { steps, status, next, whole: true }
    }

    /// Steps beside which other children stay as they are.
    pub fn part(steps: Vec<Do<S>>, status: T, next: Next) -> Self {
        Self { steps, status, next, whole: false }
    }

    /// Nothing can be done yet; all stays as it is.
    pub fn wait(mut status: T, reason: Reason, message: impl Into<String>, delay: Duration) -> Self {
        status.not_ready(reason, message);
        Self::part(Vec::new(), status, Next::After(delay))
    }

    /// The last steps of an object that goes, after which it is let go.
    pub fn release(steps: Vec<Do<S>>, status: T) -> Self {
        Self::part(steps, status, Next::Release)
    }
}

impl<S: fmt::Display> fmt::Display for Do<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Apply(child) => write!(f, "apply {}", child.address),
            Self::Create(child) => write!(f, "create {}", child.address),
            Self::Patch(address, _) => write!(f, "patch {address}"),
            Self::Delete(address, _) => write!(f, "delete {address}"),
            Self::Outside(step) => step.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_secret_is_printed_without_its_values() {
        let secret: Secret = serde_json::from_value(json!({
            "metadata": { "name": "login", "namespace": "default" },
            "data": { "password": "aHVudGVyMg==" }, "stringData": { "token": "hunter3" },
        }))
        .expect("a Secret");
        let kept = Child::of(&secret);
        let whole: Plan<(), Value> = Plan {
            steps: vec![Do::Apply(Box::new(kept.clone())), Do::Create(Box::new(kept.clone()))],
            status: Value::Null,
            next: Next::OnChange,
            whole: true,
        };
        let mut odd = kept.clone();
        odd.body["data"] = "aHVudGVyMg==".into();
        for told in [
            format!("{kept:?} {kept:#?}"),
            format!("{whole:?}"),
            format!("{:?}", Receipt::Keep(Box::new(kept.clone()))),
            format!("{odd:?}"),
        ] {
            assert!(!told.contains("aHVudGVyMg==") && !told.contains("hunter3"), "{told}");
            assert!(told.contains("login") && told.contains("***"), "{told}");
        }
        let told = format!("{kept:?}");
        assert!(told.contains("password") && told.contains("token"), "its keys are told: {told}");
        assert_eq!(kept.body["data"]["password"], "aHVudGVyMg==", "only what is printed is hidden");
    }

    #[test]
    fn other_objects_are_printed_whole() {
        let map: ConfigMap = serde_json::from_value(json!({
            "metadata": { "name": "settings", "namespace": "default" }, "data": { "colour": "blue" },
        }))
        .expect("a ConfigMap");
        assert!(format!("{:?}", Child::of(&map)).contains("blue"));
    }
}
