//! `add_git_credential`: asks a person for what a repository wants to see.

use std::time::Instant;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::entries::Pending;
use super::host::{Host, Kind};
use super::store::{self, Wish};
use crate::Error;
use crate::identity::rights;
use crate::tool::{Call, Entry, Hints, Stop, Tool};

/// When to look again.
const POLL_SECONDS: u64 = 5;

/// `add_git_credential`.
pub struct AddGitCredential;

/// What it is for. The secret is no argument.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Input {
    /// A name for it
    pub name: String,
    /// https://github.com, or git@github.com for ssh
    pub host: String,
    /// User name at the host
    #[serde(default)]
    pub username: Option<String>,
    /// token (default) or ssh
    #[serde(default)]
    pub kind: Option<Kind>,
}

/// Whether it is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// Whether it is there.
    pub status: Status,
    /// What comes next.
    pub message: String,
    /// When to look again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_seconds: Option<u64>,
}

/// Whether a credential is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// A person is entering it.
    Waiting,
    /// It is there.
    Stored,
}

impl Tool for AddGitCredential {
    const NAME: &'static str = "add_git_credential";
    const TITLE: &'static str = "Add a git credential";
    const DESCRIPTION: &'static str = "Let builds fetch a private git repository. A person enters the secret on a page \
        of the platform; it is never an argument. Next: list_git_credentials until it is listed, then deploy_app.";
    const HINTS: Hints = Hints::WRITES;
    type Input = Input;
    type Output = Output;

    async fn run(call: &Call<'_>, input: Input) -> Result<Output, Stop> {
        let (own, namespace) = (call.agents.client(), &call.namespace);
        let wish = wish(call, input)?;
        if !rights::may(&call.client, "create", "gitcredentials.agents.terrace.dev", Some(namespace)).await? {
            return Err(Error::Denied { what: "add git credentials here".into() }.into());
        }
        if let Some(found) = store::find(own, namespace, &wish.name).await? {
            return Ok(there(&wish, &found.host)?);
        }
        if call.led {
            let message = "a person enters it; it is there when list_git_credentials lists it".into();
            let poll_seconds = Some(POLL_SECONDS);
            return Ok(Output { name: wish.name, status: Status::Waiting, message, poll_seconds });
        }
        Err(Stop::Enter(entry(call, wish)))
    }
}

fn wish(call: &Call<'_>, input: Input) -> Result<Wish, Error> {
    let Input { name, host, username, kind } = input;
    store::checked_name(&name)?;
    let kind = kind.unwrap_or_default();
    if kind == Kind::Ssh && !call.agents.settings().git_over_ssh {
        return Err(Error::invalid("kind", "builds of this platform fetch over https; add a token instead"));
    }
    let host = Host::read(&host, kind, &call.agents.settings().private_git_hosts)?;
    let username = username.filter(|username| !username.is_empty());
    username.as_deref().map_or(Ok(()), store::checked_username)?;
    Ok(Wish { name, host, kind, username })
}

/// What is told of one that is there already.
fn there(wish: &Wish, host: &str) -> Result<Output, Error> {
    if host != wish.host.as_str() {
        let why = format!(
            "there is one of that name for {host}; choose another, or delete_git_credential removes it first"
        );
        return Err(Error::invalid("name", why));
    }
    let message = format!("builds use it for repositories at {host}");
    Ok(Output { name: wish.name.clone(), status: Status::Stored, message, poll_seconds: None })
}

fn entry(call: &Call<'_>, wish: Wish) -> Entry {
    let Wish { name, host, kind, username } = &wish;
    let secret = match kind {
        Kind::Token => "access token or password",
        Kind::Ssh => "private key",
    };
    let what = format!("Enter the {secret} for {host}, to be kept as {name} in session {}.", call.session);
    let username = username.as_ref().map(|name| format!(" --username {}", quoted(name))).unwrap_or_default();
    let kind = match kind {
        Kind::Token => "",
        Kind::Ssh => " --kind ssh",
    };
    let command =
        format!("terrace credential add {name} --host {host}{username}{kind} -n {}", call.namespace);
    let pending = Pending {
        namespace: call.namespace.clone(),
        session: call.session.clone(),
        asker: call.caller.name.clone(),
        fingerprint: call.caller.fingerprint.clone(),
        wish,
    };
    let id = call.agents.entries().open(pending, Instant::now());
    let url = format!("{}/enter/{id}", call.agents.settings().address.trim_end_matches('/'));
    Entry { what, url, id, command }
}

/// A word as a shell takes it for one.
fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._@".contains(&byte);
    match word.bytes().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
