//! `terrace db dsn`: the connection that a claim gives. Its password is shown to a person alone, and only after the
//! platform has written that down.

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};
use api::connection::{Connection, SslMode};
use api::secret::Sealed;
use clap::Args;
use http::header::USER_AGENT;
use http::{Request, StatusCode};
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::Api;
use kube::client::Body;
use serde_json::Value;

use super::Which;
use super::claim::Claim;
use super::find::{Found, find};
use super::witness;
use crate::apps::connect;
use crate::say;

/// What stands where the password would.
const MASK: &str = "********";

#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    which: Which,
    /// As a URI
    #[arg(long)]
    uri: bool,
    /// With the password; on a terminal only, and written down in the audit trail
    #[arg(long)]
    show: bool,
}

pub(crate) async fn run(data_dir: &Path, options: &Options) -> anyhow::Result<ExitCode> {
    let client = options.which.connection.client(data_dir).await?;
    let claim = match find(&client, &options.which).await? {
        Found::One(claim) => *claim,
        Found::Both(why) => return Ok(say::usage(&why)),
    };
    if options.show && !(std::io::stdout().is_terminal() && std::io::stdin().is_terminal()) {
        return Ok(say::usage(&format!(
            "a password is shown to a person at a terminal only; use the Secret {} in your program",
            claim.secret
        )));
    }
    let connection = read(&client, &claim).await?;
    if !options.show {
        say::line(&masked(&connection, options.uri))?;
        return Ok(ExitCode::SUCCESS);
    }
    written_down(&client, &claim)
        .await
        .context("nothing is shown, because the platform did not write it down in its audit trail")?;
    let shown = if options.uri { connection.uri() } else { connection.dsn() };
    say::line(shown.open())?;
    Ok(ExitCode::SUCCESS)
}

/// The connection that the claim's Secret holds.
async fn read(client: &Client, claim: &Claim) -> anyhow::Result<Connection> {
    let (namespace, name) = (&claim.namespace, &claim.secret);
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let secret = match secrets.get_opt(name).await {
        Ok(Some(secret)) => secret,
        Ok(None) => bail!(
            "there is no Secret {name} in namespace {namespace} yet; `terrace db status {}` tells why",
            claim.name
        ),
        Err(kube::Error::Api(status)) if status.code == 403 => bail!(
            "you may not read the Secret {name}: {}; whoever gives rights in {namespace} can let you `get` it",
            status.message
        ),
        Err(error) => return Err(connect::told(error)),
    };
    connection(&secret).with_context(|| format!("the Secret {name} in namespace {namespace} cannot be used"))
}

/// Has the platform write down that the password of a claim is shown. The record is on its disk when this returns.
async fn written_down(client: &Client, claim: &Claim) -> anyhow::Result<()> {
    let request = Request::post(witness::path(&claim.namespace, claim.kind, &claim.name))
        .header(USER_AGENT, concat!("terrace/", env!("CARGO_PKG_VERSION")))
        .body(Body::empty())?;
    let response = client.send(request).await.map_err(connect::told)?;
    let code = response.status();
    if code.is_success() {
        return Ok(());
    }
    let body = response.into_body().collect_bytes().await.map_err(connect::told)?;
    let status: Value = serde_json::from_slice(&body).unwrap_or_default();
    let message = status["message"].as_str().map_or_else(|| format!("it answered {code}"), str::to_owned);
    match code {
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => bail!(
            "{message}; there is no trail where the API is served alone (`terrace up --api-only`) or by another cluster"
        ),
        _ => bail!("{message}"),
    }
}

/// The connection that a Secret holds, from its parts.
pub(super) fn connection(secret: &Secret) -> anyhow::Result<Connection> {
    let part = |key: &str| -> anyhow::Result<String> {
        let data = secret.data.as_ref().and_then(|data| data.get(key));
        let bytes = data.ok_or_else(|| anyhow!("it has no key {key:?}"))?;
        let text = String::from_utf8(bytes.0.clone()).map_err(|_| anyhow!("its key {key:?} is not text"))?;
        // They would do something to the terminal.
        match text.contains(char::is_control) {
            true => Err(anyhow!("its key {key:?} holds control characters")),
            false => Ok(text),
        }
    };
    let port = part("port")?;
    let mode = part("sslmode")?;
    Ok(Connection {
        host: part("hostname")?,
        read_only_host: None,
        port: port.parse().map_err(|_| anyhow!("its key \"port\" is no port: {port:?}"))?,
        database: part("database")?,
        username: part("username")?,
        password: Sealed::new(part("password")?),
        ssl_mode: serde_json::from_value::<SslMode>(mode.clone().into())
            .map_err(|_| anyhow!("its key \"sslmode\" is none that PostgreSQL has: {mode:?}"))?,
    })
}

/// The connection with a mask for a password.
pub(super) fn masked(connection: &Connection, uri: bool) -> String {
    // Made without the password, so that no part of it can be left over. Quotes in other values are escaped, and colons
    // in a URI's login encoded: what is replaced stands there once.
    let empty = Connection { password: Sealed::new(String::new()), ..connection.clone() };
    match uri {
        true => empty.uri().open().replacen(":@", &format!(":{MASK}@"), 1),
        false => empty.dsn().open().replacen("password=''", &format!("password='{MASK}'"), 1),
    }
}
