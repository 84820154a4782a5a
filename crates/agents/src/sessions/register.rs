//! `register`: begins a session.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, PostParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{LABEL, LAST_ACTIVITY, NAME, OWNER, PREFIX, TTL};
use crate::Error;
use crate::identity::rights;
use crate::tool::{Call, Hints, Stop, Tool};

/// `register`.
pub struct Register;

/// What the session is for.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Input {
    /// What it is for, for people
    #[serde(default)]
    pub name: Option<String>,
}

/// The session.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Names the session in every other call
    pub session_id: String,
    /// Where its objects live
    pub namespace: String,
    /// How long it lasts without a call
    pub ttl_seconds: u64,
    /// What comes next
    pub message: String,
}

impl Tool for Register {
    const NAME: &'static str = "register";
    const TITLE: &'static str = "Begin a session";
    const DESCRIPTION: &'static str = "Begin a session: a private place for your apps and databases. Call it once, \
        first; pass the session_id to every other tool. Next: push_code or deploy_app. Prompt `deploy-guide` explains more.";
    const HINTS: Hints = Hints::ADDS;
    const IN_SESSION: bool = false;
    type Input = Input;
    type Output = Output;

    async fn run(call: &Call<'_>, input: Input) -> Result<Output, Stop> {
        if !rights::may(&call.client, "create", "sessions.agents.terrace.dev", None).await? {
            return Err(Error::Denied { what: "begin sessions".into() }.into());
        }
        let drawn: [u8; 8] = rand::random();
        let session_id = crate::audit::hex(&drawn);
        let namespace = format!("{PREFIX}{session_id}");
        let ttl: Duration = call.agents.settings().session_ttl;
        let mut annotations = json!({
            OWNER: call.caller.fingerprint,
            LAST_ACTIVITY: Timestamp::now().to_string(),
            TTL: ttl.as_secs().to_string(),
        });
        if let Some(name) = input.name {
            annotations[NAME] = name.chars().take(200).collect::<String>().into();
        }
        let object = json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {
                "name": namespace, "annotations": annotations,
                "labels": { LABEL: "true", "app.kubernetes.io/managed-by": "terrace" },
            },
        });
        let own = call.agents.client();
        let object: Namespace =
            serde_json::from_value(object).map_err(|error| Error::Internal(error.to_string()))?;
        Api::<Namespace>::all(own.clone()).create(&PostParams::default(), &object).await?;
        rights::apply(own, &rights::granted(call.caller, rights::TENANT, &namespace)).await?;
        Ok(Output {
            session_id,
            namespace,
            ttl_seconds: ttl.as_secs(),
            message: "next: push_code with your files, or deploy_app with an image or a git repository"
                .into(),
        })
    }
}
