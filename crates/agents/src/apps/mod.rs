//! Applications: push their source, deploy them, see how far they are, read what they say, go back, delete.

pub mod archive;
pub mod delete;
pub mod deploy;
pub mod files;
pub mod git_url;
pub mod list;
pub mod logs;
pub mod paths;
pub mod push;
mod request;
pub mod revisions;
pub mod rollback;
mod secrets;
pub mod source;
pub mod stand;
pub mod status;
#[cfg(test)]
pub(crate) mod tests;
pub mod untrusted;
pub mod write;

use std::collections::BTreeMap;

use api::apps::{Application, ApplicationPhase};
use api::names::{EnvName, HostName, Label};
use kube::api::Api;
use schemars::JsonSchema;
use serde::Serialize;

use crate::Error;
use crate::identity::rights;
use crate::sessions;
use crate::tool::Call;
use write::{Wish, Written};

/// Who writes, in the object's own records.
const WRITER: &str = "terrace-agents";
/// The resource, as rights name it.
const APPLICATIONS: &str = "applications.iaf.io";
/// How often it is worth looking: builds and roll-outs take seconds.
pub(crate) const POLL_SECONDS: u32 = 5;
/// Most copies of one application; the schema of Applications says the same.
const REPLICAS_MAX: u16 = 1000;

/// Longest part of a host between two dots (RFC 1035).
const LABEL_MAX: usize = 63;

/// What was begun.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Begun {
    /// Its name.
    pub name: String,
    /// How far it is.
    #[schemars(with = "String")]
    pub phase: ApplicationPhase,
    /// Where it is reached, as soon as that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What comes next.
    pub message: String,
    /// When to look again.
    pub poll_seconds: u32,
}

impl Begun {
    fn of(name: &str, written: &Written, done: &str) -> Self {
        let app = &written.app;
        let status = app.status.clone().unwrap_or_default();
        let next = format!("poll app_status every {POLL_SECONDS} s until its phase is Running");
        let message = match written.changed {
            true => format!("{done}; {next}"),
            false => format!("nothing changed: it is what was asked for before; {next}"),
        };
        let phase = stand::phase(app, &stand::stand(app, None));
        Self { name: name.to_owned(), phase, url: status.url, message, poll_seconds: POLL_SECONDS }
    }
}

/// Refuses whoever may not write applications, before anything is written.
async fn may_write(call: &Call<'_>) -> Result<(), Error> {
    for verb in ["create", "patch"] {
        may(call, verb).await?;
    }
    Ok(())
}

/// Refuses whoever may not do this to applications.
pub(crate) async fn may(call: &Call<'_>, verb: &str) -> Result<(), Error> {
    match rights::may(&call.client, verb, APPLICATIONS, Some(&call.namespace)).await? {
        true => Ok(()),
        false => Err(Error::Denied { what: format!("{verb} applications in {}", call.namespace) }),
    }
}

/// A name that an application can have.
fn check_name(name: &str) -> Result<(), Error> {
    name.parse::<Label>().map(drop).map_err(|error| Error::invalid("name", error.to_string()))
}

/// The host that an application is to have: the one asked for; else, for one that is new in a session, one that bears the
/// session's id, so that sessions do not take each other's names. `None` leaves it as it is.
async fn host_for(call: &Call<'_>, name: &str, asked: Option<String>) -> Result<Option<String>, Error> {
    let in_session = call.namespace == format!("{}{}", sessions::PREFIX, call.session);
    if asked.is_some() || !in_session {
        return Ok(asked);
    }
    let apps: Api<Application> = Api::namespaced(call.client.clone(), &call.namespace);
    match apps.get_opt(name).await? {
        Some(_) => Ok(None),
        None => Ok(Some(session_host(name, &call.session, &call.agents.settings().base_domain))),
    }
}

fn session_host(name: &str, session: &str, domain: &str) -> String {
    let room = LABEL_MAX.saturating_sub(session.len() + 1);
    let name: String = name.chars().take(room).collect();
    format!("{}-{session}.{domain}", name.trim_end_matches('-'))
}

/// Puts what a caller asks for beside the source into a wish.
fn ask_for(
    wish: Wish,
    port: Option<u16>,
    env: BTreeMap<String, String>,
    replicas: Option<u16>,
    host: Option<String>,
) -> Result<Wish, Error> {
    if port == Some(0) {
        return Err(Error::invalid("port", "0 is none; 1 to 65535, and 8080 if it is left out"));
    }
    if replicas.is_some_and(|replicas| replicas > REPLICAS_MAX) {
        return Err(Error::invalid("replicas", format!("{REPLICAS_MAX} is the most; 0 stops the program")));
    }
    for name in env.keys() {
        name.parse::<EnvName>().map_err(|error| Error::invalid("env", error.to_string()))?;
    }
    if let Some(host) = &host {
        host.parse::<HostName>().map_err(|error| Error::invalid("host", error.to_string()))?;
    }
    Ok(Wish { port, replicas, host, env: env.into_iter().collect(), ..wish })
}
