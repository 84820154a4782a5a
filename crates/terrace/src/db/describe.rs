//! What is told of claims.

use api::claims::ConnectionInfo;
use api::conditions::READY;
use api::drift::{Drift, Severity};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::claim::Claim;
use crate::apps::table::{age, table};

/// A claim for programs.
pub(super) fn described(claim: &Claim) -> Value {
    let ready = claim.ready();
    let server = claim.server.as_ref();
    json!({
        "name": claim.name, "namespace": claim.namespace, "kind": claim.kind.word(), "class": claim.class,
        "database": claim.database, "host": server.and_then(|info| info.host_name.as_ref()),
        "port": server.and_then(|info| info.port.as_ref()), "login": claim.login, "secret": claim.secret,
        "ready": claim.is_ready(), "reason": ready.map(|ready| &ready.reason),
        "message": ready.map(|ready| &ready.message), "heldUntil": claim.held, "source": claim.source,
        "rotated": claim.issued, "created": claim.created, "error": claim.error,
    })
}

/// One claim for programs, with all that its status says.
pub(super) fn described_whole(claim: &Claim) -> Value {
    let mut object = described(claim);
    object["status"] = claim.status.clone();
    object
}

/// One claim for people, line by line.
pub(super) fn page(claim: &Claim, now: Timestamp) -> String {
    let some = |words: Option<String>| words.unwrap_or_else(|| "-".into());
    let mut lines = vec![
        ("kind", claim.kind.word().to_owned()),
        ("ready", claim.standing()),
        ("server", some(claim.address().map(|address| format!("{address}{}", protection(claim))))),
        ("database", some(claim.database.clone())),
        ("login", some(claim.login.clone())),
        ("issued", some(claim.issued.map(|at| format!("{at:.0}, {} ago", ago(at, now))))),
        ("secret", claim.secret.clone()),
    ];
    lines.extend(claim.source.iter().map(|source| ("source", source.clone())));
    lines.extend(claim.more.iter().cloned());
    for said in claim.conditions.iter().filter(|said| said.type_ != READY) {
        lines.push((
            "condition",
            format!("{} {}: {}: {}", said.type_, said.status, said.reason, said.message),
        ));
    }
    lines.extend(claim.drift.iter().map(|drift| ("drift", differs(drift))));
    lines.extend(claim.error.iter().map(|error| ("error", error.clone())));
    lines.push(("class", claim.class.clone()));
    lines.push(("age", some(claim.created.map(|born| ago(born, now)))));
    let text =
        lines.iter().map(|(what, words)| format!("{what:<12}{}\n", words.replace(char::is_control, " ")));
    text.collect()
}

fn protection(claim: &Claim) -> String {
    let mode = claim.server.as_ref().and_then(|ConnectionInfo { ssl_mode, .. }| *ssl_mode);
    mode.map(|mode| format!(" (sslmode {})", mode.as_str())).unwrap_or_default()
}

fn differs(Drift { field, expected, actual, severity }: &Drift) -> String {
    let weight = match severity {
        Some(Severity::Low) => " (low)",
        Some(Severity::Medium) => " (medium)",
        Some(Severity::High) => " (high)",
        None => "",
    };
    format!("{field} was {actual}, and should be {expected}{weight}")
}

/// Claims for people.
pub(super) fn rows(claims: &[Claim], namespaces: bool, now: Timestamp) -> String {
    let mut head = vec!["NAME", "KIND", "DATABASE", "SERVER", "LOGIN", "READY", "ROTATED", "AGE"];
    if namespaces {
        head.insert(0, "NAMESPACE");
    }
    let rows: Vec<Vec<String>> = claims
        .iter()
        .map(|claim| {
            let some = |words: Option<String>| words.unwrap_or_else(|| "-".into());
            let own = [
                claim.name.clone(),
                claim.kind.word().to_owned(),
                some(claim.database.clone()),
                some(claim.address()),
                some(claim.login.clone()),
                ready(claim),
                some(claim.issued.map(|at| ago(at, now))),
                some(claim.created.map(|born| ago(born, now))),
            ];
            let place = namespaces.then(|| claim.namespace.clone());
            place.into_iter().chain(own.map(|word| word.replace(char::is_control, " "))).collect()
        })
        .collect();
    table(&head, &rows)
}

/// Whether it is ready, in a word or two.
fn ready(claim: &Claim) -> String {
    match (&claim.held, claim.ready()) {
        (Some(until), _) => format!("held until {until}"),
        (None, None) => "not taken up".into(),
        (None, Some(said)) if said.status == "True" => "True".into(),
        (None, Some(said)) => format!("{}: {}", said.status, said.reason),
    }
}

fn ago(then: Timestamp, now: Timestamp) -> String {
    age(now.as_second() - then.as_second())
}
