//! What is told of a service.

use api::connection::BOUND_VARIABLES;
use api::services::{ManagedService, ManagedServicePhase};
use jiff::Timestamp;
use kube::ResourceExt;
use serde_json::{Value, json};

use crate::apps::table::{age, clipped, table};

/// A service for programs.
pub(super) fn described(service: &ManagedService) -> Value {
    let status = service.status.clone().unwrap_or_default();
    json!({
        "name": service.name_any(), "namespace": service.namespace(), "type": service.spec.type_,
        "plan": service.spec.plan, "version": service.spec.version, "database": service.spec.database,
        "phase": phase(service), "message": status.message.unwrap_or_default(),
        "connectionSecretRef": status.connection_secret_ref, "connectionEnvVars": variables(service),
        "boundApps": status.bound_apps, "created": service.metadata.creation_timestamp,
    })
}

/// How far it is. Nobody has looked yet at one that says nothing.
fn phase(service: &ManagedService) -> ManagedServicePhase {
    let said = service.status.as_ref().and_then(|status| status.phase);
    said.unwrap_or(ManagedServicePhase::Provisioning)
}

/// The names of what an application gets, once there is something to get.
fn variables(service: &ManagedService) -> Vec<&'static str> {
    match phase(service) {
        ManagedServicePhase::Ready => BOUND_VARIABLES.iter().map(|(name, _)| *name).collect(),
        ManagedServicePhase::Provisioning | ManagedServicePhase::Failed | ManagedServicePhase::Deleting => {
            Vec::new()
        }
    }
}

/// One service for people, line by line.
pub(super) fn page(service: &ManagedService, now: Timestamp) -> String {
    let status = service.status.clone().unwrap_or_default();
    let some = |words: String| if words.is_empty() { "-".to_owned() } else { words };
    let secret = status.connection_secret_ref.map(|name| name.to_string()).unwrap_or_default();
    let lines = [
        ("phase", format!("{:?}", phase(service))),
        ("message", some(status.message.unwrap_or_default())),
        ("plan", service.spec.plan.as_str().to_owned()),
        ("version", some(service.spec.version.clone().unwrap_or_default())),
        ("database", service.spec.database.to_string()),
        ("secret", some(secret)),
        ("variables", some(variables(service).join(", "))),
        ("bound apps", some(status.bound_apps.join(", "))),
        ("age", old(service, now)),
    ];
    let text =
        lines.iter().map(|(what, words)| format!("{what:<12}{}\n", words.replace(char::is_control, " ")));
    text.collect()
}

/// Services for people.
pub(super) fn rows(services: &[ManagedService], namespaces: bool, now: Timestamp) -> String {
    let mut head = vec!["NAME", "TYPE", "PLAN", "VERSION", "PHASE", "APPS", "AGE", "MESSAGE"];
    if namespaces {
        head.insert(0, "NAMESPACE");
    }
    let rows: Vec<Vec<String>> = services
        .iter()
        .map(|service| {
            let status = service.status.clone().unwrap_or_default();
            let apps = status.bound_apps.join(",");
            let own = [
                service.name_any(),
                "postgres".to_owned(),
                service.spec.plan.as_str().to_owned(),
                service.spec.version.clone().unwrap_or_else(|| "-".into()),
                format!("{:?}", phase(service)),
                if apps.is_empty() { "-".to_owned() } else { clipped(&apps) },
                old(service, now),
                clipped(&status.message.unwrap_or_default()),
            ];
            let place = namespaces.then(|| service.namespace().unwrap_or_default());
            place.into_iter().chain(own).collect()
        })
        .collect();
    table(&head, &rows)
}

fn old(service: &ManagedService, now: Timestamp) -> String {
    let born = service.metadata.creation_timestamp.as_ref().map_or(now, |time| time.0);
    age(now.as_second() - born.as_second())
}
