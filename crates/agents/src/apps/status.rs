//! `app_status`: how far an application is.

use api::apps::{Application, ApplicationPhase};
use api::conditions::READY;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::Api;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::stand::{HOPELESS, Stand, phase, stand};
use super::untrusted::{masked, shown, visible};
use super::{POLL_SECONDS, secrets};
use crate::Error;
use crate::there;
use crate::tool::{Call, Hints, Stop, Tool};

/// `app_status`.
pub struct AppStatus;

/// What its builds came to, in the conditions of an Application.
const BUILT: &str = "Built";
/// Most that is told of what a program said.
const MESSAGE_MAX: usize = 2 * 1024;
/// Reasons whose messages are the platform's own words, with nothing of a program's in them.
const OWN_WORDS: [&str; 7] = [
    "Deploying",
    "DependencyNotReady",
    "HostConflict",
    "InvalidConfiguration",
    "InvalidSpec",
    "KindMissing",
    "Stopped",
];

/// Which application.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Input {
    /// The app
    pub name: String,
}

/// How far it is.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// How far it is, in one word.
    #[schemars(with = "String")]
    pub phase: ApplicationPhase,
    /// Where it is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Copies that take requests.
    pub available_replicas: i32,
    /// The image that runs, or is about to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// What the last build came to, in one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// What there is to say.
    pub message: String,
    /// What to do now.
    pub next: String,
    /// When to look again, while it is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_seconds: Option<u32>,
}

impl Tool for AppStatus {
    const NAME: &'static str = "app_status";
    const TITLE: &'static str = "How far an app is";
    const DESCRIPTION: &'static str = "How far an app is: Pending, Building, Deploying, Running or Failed, \
        its url, and in `next` what to do. Poll it after push_code, deploy_app, bind_service or \
        rollback_app.";
    const HINTS: Hints = Hints::READS;
    type Input = Input;
    type Output = Output;

    async fn run(call: &Call<'_>, input: Input) -> Result<Output, Stop> {
        let app = there::application(&call.client, &call.namespace, &input.name).await?;
        let deployments: Api<Deployment> = Api::namespaced(call.client.clone(), &call.namespace);
        // Who may not see Deployments believes the application alone.
        let deployment = deployments.get_opt(&input.name).await.ok().flatten();
        let now = stand(&app, deployment.as_ref());
        let status = app.status.clone().unwrap_or_default();
        let built = status.conditions.iter().find(|condition| condition.type_ == BUILT);
        let under_way = matches!(now, Stand::Waiting(_) | Stand::Troubled(_));
        Ok(Output {
            phase: phase(&app, &now),
            available_replicas: status.available_replicas,
            build: built.map(|built| built.reason.clone()),
            message: message(call, &app, &now).await?,
            next: next(&app, &now),
            poll_seconds: under_way.then_some(POLL_SECONDS),
            url: status.url,
            image: status.latest_image,
            name: input.name,
        })
    }
}

/// What the platform says of it. Where words of a program may stand in it, they are masked and fenced.
async fn message(call: &Call<'_>, app: &Application, now: &Stand) -> Result<String, Error> {
    let words = match now {
        Stand::Waiting(words) | Stand::Troubled(words) | Stand::Failed(words, _) => words.clone(),
        Stand::Up | Stand::Stopped => said(app).1,
    };
    let (reason, told) = said(app);
    let unseen =
        app.status.as_ref().is_none_or(|status| status.observed_generation < app.metadata.generation);
    // Of a program that runs it is told how many copies there are, and after a semicolon why there are no more.
    let own = unseen || OWN_WORDS.contains(&reason.as_str()) || (reason == "Deployed" && !told.contains(';'));
    if own {
        return Ok(visible(words.as_bytes()));
    }
    let masks = secrets::masks(call.agents.client(), app, &[]).await?;
    Ok(shown(&masked(words.as_bytes(), false, &masks), MESSAGE_MAX))
}

/// The reason and the message of its Ready condition.
fn said(app: &Application) -> (String, String) {
    let conditions = app.status.iter().flat_map(|status| &status.conditions);
    let ready = conditions.into_iter().find(|condition| condition.type_ == READY);
    ready.map(|ready| (ready.reason.clone(), ready.message.clone())).unwrap_or_default()
}

fn next(app: &Application, now: &Stand) -> String {
    let (reason, _) = said(app);
    match now {
        Stand::Waiting(_) => format!("call app_status again in {POLL_SECONDS} s"),
        Stand::Up => match app.status.as_ref().and_then(|status| status.url.as_deref()) {
            Some(url) => format!("open {url}; app_logs shows what it says"),
            None => "app_logs shows what it says".into(),
        },
        Stand::Stopped => "it is stopped; push_code or deploy_app with replicas 1 starts it".into(),
        Stand::Troubled(_) => {
            "it is tried again by itself; read app_logs (previous: true for the run that died), mend the \
             cause and push again"
                .into()
        }
        Stand::Failed(..) if HOPELESS.contains(&reason.as_str()) => {
            "change what the message names with push_code or deploy_app; nothing happens before".into()
        }
        Stand::Failed(_, true) => {
            "read app_logs (previous: true for the run that died), mend the cause and push again".into()
        }
        Stand::Failed(_, false) => "read app_logs with build: true, mend the cause and push again".into(),
    }
}
