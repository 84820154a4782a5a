//! `iaf://schema/application`: what can be said of an application, and how far it can be.

use api::apps::{ApplicationSpec, ApplicationStatus};
use schemars::{JsonSchema, schema_for};
use serde_json::{Map, Value, json};

/// What the phases mean. `Deploying` in the words of seed 002.
const PHASES: [(&str, &str); 5] = [
    ("Pending", "Nobody has looked at it yet."),
    ("Building", "Its image is being built; app_logs with the build's output says how far."),
    (
        "Deploying",
        "image is resolved; Kubernetes Deployment is created; waiting for at least one pod replica to become available. \
         The app URL is set and DNS is active but the application may not yet be accepting connections.",
    ),
    ("Running", "At least one copy takes requests."),
    ("Failed", "The build failed, or the copies have been dying for too long; app_logs says why."),
];

/// The fields and phases of an application.
pub(super) fn told() -> Value {
    let phases: Map<String, Value> =
        PHASES.iter().map(|(phase, meaning)| ((*phase).to_owned(), (*meaning).into())).collect();
    json!({
        "apiVersion": "iaf.io/v1alpha1",
        "kind": "Application",
        "spec": fields::<ApplicationSpec>(),
        "status": fields::<ApplicationStatus>(),
        "phases": phases,
    })
}

/// The fields of a type, each with what it means and what it is if nothing is said.
fn fields<T: JsonSchema>() -> Map<String, Value> {
    let schema = schema_for!(T).to_value();
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let field = |(name, about): (String, Value)| {
        let mut told = Map::new();
        for key in ["description", "default"] {
            if let Some(value) = about.get(key).filter(|value| !value.is_null()) {
                told.insert(key.to_owned(), value.clone());
            }
        }
        (name, Value::Object(told))
    };
    properties.into_iter().map(field).collect()
}
