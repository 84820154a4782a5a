//! `iaf://platform`: what the platform offers.

use serde_json::{Value, json};

use crate::mcp::prompts::LANGUAGES;
use crate::server::Settings;

/// What services can be made of where nobody has looked which versions are on the machine (seed 000).
const POSTGRES: [&str; 2] = ["16", "17"];

/// What the platform offers.
pub(super) fn told(settings: &Settings) -> Value {
    let versions: Vec<String> = match settings.postgres_versions.as_slice() {
        [] => POSTGRES.map(str::to_owned).to_vec(),
        there => there.to_vec(),
    };
    json!({
        "name": "Terrace",
        "version": env!("CARGO_PKG_VERSION"),
        "address": settings.address,
        "languages": LANGUAGES,
        "sources": ["push_code", "git", "image"],
        "limits": {
            "pushBytes": settings.push_bytes,
            "pushFiles": settings.push_files,
            "sessionTtlSeconds": settings.session_ttl.as_secs(),
        },
        "managedServices": {
            "available": ["postgres"],
            "plans": {
                "micro": { "instances": 1, "storage": "1Gi", "memory": "256Mi" },
                "small": { "instances": 1, "storage": "5Gi", "memory": "512Mi" },
                "ha": { "instances": 3, "storage": "10Gi", "memory": "1Gi" },
            },
            "versions": { "postgres": versions },
        },
    })
}
