//! A client of the platform, and what it says when it refuses.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use clap::Args;
use http::{Method, Request, Response};
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::place;

/// How long a platform may take to answer the door.
const DOOR: Duration = Duration::from_secs(5);

/// Which platform is meant, and where in it.
#[derive(Args, Clone)]
pub(crate) struct Connection {
    /// Kubeconfig of the platform or cluster; without it, and without KUBECONFIG, the platform in the data directory
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Namespace
    #[arg(long, short, default_value = "default", value_name = "NAME")]
    pub namespace: String,
}

impl Connection {
    /// The platform of a kubeconfig, else the one that the environment or the data directory names.
    pub(crate) fn to(kubeconfig: Option<PathBuf>) -> Self {
        Self { kubeconfig, namespace: "default".into() }
    }

    /// The platform in a data directory, whatever else the environment names.
    pub(crate) fn to_platform_in(data_dir: &Path) -> Self {
        Self { kubeconfig: Some(place::kubeconfig(data_dir)), namespace: "default".into() }
    }

    /// A client that the platform has answered.
    pub(crate) async fn client(&self, data_dir: &Path) -> anyhow::Result<Client> {
        let kubeconfig = self.address_book(data_dir)?;
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
            .await
            .context("the kubeconfig cannot be used")?;
        config.connect_timeout = Some(DOOR);
        // Logs are followed for as long as somebody looks.
        config.read_timeout = None;
        // A proxy leads away from this machine, never back to it.
        if matches!(config.cluster_url.host(), Some("127.0.0.1" | "localhost" | "[::1]")) {
            config.proxy_url = None;
        }
        let address = config.cluster_url.to_string();
        let client = Client::try_from(config).context("the kubeconfig cannot be used")?;
        let greeting = tokio::time::timeout(2 * DOOR, client.apiserver_version()).await;
        match greeting {
            Ok(Ok(_) | Err(kube::Error::Api(_))) => Ok(client),
            _ => {
                bail!("no platform answers at {}; start it with `terrace up`", address.trim_end_matches('/'))
            }
        }
    }

    fn address_book(&self, data_dir: &Path) -> anyhow::Result<Kubeconfig> {
        if let Some(path) = &self.kubeconfig {
            return Kubeconfig::read_from(path).with_context(|| format!("cannot read {}", path.display()));
        }
        if std::env::var_os("KUBECONFIG").is_some_and(|value| !value.is_empty()) {
            let read = Kubeconfig::from_env().context("cannot read the file that KUBECONFIG names")?;
            return read.context("KUBECONFIG names no file that is there");
        }
        let path = place::kubeconfig(data_dir);
        Kubeconfig::read_from(&path).map_err(|_| {
            anyhow!("no platform has been started in {}; start one with `terrace up`", data_dir.display())
        })
    }
}

/// What the platform said, in its own words.
pub(crate) fn told(error: kube::Error) -> anyhow::Error {
    match error {
        kube::Error::Api(status) => anyhow!("{}", status.message),
        other => {
            anyhow::Error::new(other).context("the platform did not answer; is `terrace up` still running?")
        }
    }
}

/// A request beside the Kubernetes API. An answer that is no success is an error with its message.
pub(crate) async fn ask(
    client: &Client,
    method: Method,
    path: &str,
    body: Body,
) -> anyhow::Result<Response<Body>> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(http::header::CONTENT_TYPE, "application/octet-stream")
        .body(body)?;
    let response = client.send(request).await.map_err(told)?;
    let code = response.status();
    if code.is_success() {
        return Ok(response);
    }
    let body = response.into_body().collect_bytes().await.map_err(told)?;
    let status: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    match status["message"].as_str() {
        Some(message) => bail!("{message}"),
        None => bail!("the platform answered {code}"),
    }
}
