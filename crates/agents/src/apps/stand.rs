//! How far an application is, read off what the API says of it. Pure.

use api::annotations::SOURCE;
use api::apps::{Application, ApplicationPhase};
use api::conditions::READY;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::source::Source;

/// Reasons after which nothing changes until a person does something.
pub const HOPELESS: [&str; 3] = ["InvalidSpec", "InvalidConfiguration", "HostConflict"];
/// Reasons of a program that does not come up, though it may yet.
const TROUBLE: [&str; 5] =
    ["CrashLoopBackOff", "CrashLooping", "CreateContainerConfigError", "ImagePullBackOff", "ProbeFailing"];

/// How far an application is.
#[derive(Clone, Debug, PartialEq)]
pub enum Stand {
    /// On its way; in words.
    Waiting(String),
    /// What was asked for runs.
    Up,
    /// Scaled to zero, as asked.
    Stopped,
    /// It does not come up, but is tried again; why.
    Troubled(String),
    /// It will not come up as it is; why, and whether the program's own log may tell more.
    Failed(String, bool),
}

/// Reads how far an application is. What is said of an older spec does not count.
pub fn stand(app: &Application, deployment: Option<&Deployment>) -> Stand {
    let Some(status) =
        app.status.as_ref().filter(|status| status.observed_generation >= app.metadata.generation)
    else {
        return Stand::Waiting("Pending: waiting for the platform to take it up".into());
    };
    let phase = status.phase.unwrap_or_default();
    let ready = status.conditions.iter().find(|condition| condition.type_ == READY);
    let reason = ready.map_or("", |ready| ready.reason.as_str());
    let message = message(ready);
    let good = ready.is_some_and(|ready| ready.status == "True");
    if phase == ApplicationPhase::Failed || HOPELESS.contains(&reason) {
        return Stand::Failed(message, TROUBLE.contains(&reason));
    }
    if app.spec.replicas == 0 && reason == "Stopped" {
        return Stand::Stopped;
    }
    if phase == ApplicationPhase::Running && good && rolled_out(app, deployment) {
        return Stand::Up;
    }
    if TROUBLE.contains(&reason) && !good {
        return Stand::Troubled(message);
    }
    // An old version that still runs is good news, but not the one that is waited for.
    let phase = if good { ApplicationPhase::Deploying } else { phase };
    Stand::Waiting(if message.is_empty() { format!("{phase:?}") } else { format!("{phase:?}: {message}") })
}

/// What the Ready condition says.
pub fn message(ready: Option<&Condition>) -> String {
    ready.map(|ready| ready.message.clone()).unwrap_or_default()
}

/// Whether the Deployment runs this very source, and nothing older. One that cannot be seen is believed.
fn rolled_out(app: &Application, deployment: Option<&Deployment>) -> bool {
    let Some(deployment) = deployment else { return true };
    let annotations = deployment.metadata.annotations.as_ref();
    let remembered = annotations.and_then(|all| all.get(SOURCE)).and_then(|json| Source::remembered(json));
    if remembered.is_some() && remembered != Source::of(app) {
        return false;
    }
    let Some(status) = &deployment.status else { return false };
    let wanted = deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
    let updated = status.updated_replicas.unwrap_or_default();
    status.observed_generation >= deployment.metadata.generation
        && updated >= wanted
        && status.replicas.unwrap_or_default() <= updated
        && status.available_replicas.unwrap_or_default() >= wanted
}

/// How far an application is, in one word: of what was asked for last, not of what runs meanwhile.
pub fn phase(app: &Application, now: &Stand) -> ApplicationPhase {
    let seen = app.status.as_ref().filter(|status| status.observed_generation >= app.metadata.generation);
    let told = seen.and_then(|status| status.phase).unwrap_or_default();
    match (now, told) {
        (Stand::Waiting(_), ApplicationPhase::Running) => ApplicationPhase::Deploying,
        (Stand::Waiting(_) | Stand::Up | Stand::Stopped | Stand::Troubled(_), told) => told,
        (Stand::Failed(..), _) => ApplicationPhase::Failed,
    }
}
