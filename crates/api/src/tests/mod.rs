//! What holds for all kinds together.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::Value;

mod examples;
mod fields;
mod refusals;
mod structure;

/// Every definition, ours and foreign.
fn all() -> Vec<CustomResourceDefinition> {
    crate::crds().into_iter().chain(crate::foreign_crds()).collect()
}

/// The schema of a definition.
fn schema(crd: &CustomResourceDefinition) -> Value {
    let validation = crd.spec.versions[0].schema.as_ref().expect("every version has a schema");
    let props = validation.open_api_v3_schema.as_ref().expect("every schema is an OpenAPI schema");
    serde_json::to_value(props).expect("a schema is JSON")
}

/// The example of a kind.
fn example(kind: &str) -> Value {
    let path = format!("{}/../../examples/{}.yaml", env!("CARGO_MANIFEST_DIR"), kind.to_lowercase());
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}
