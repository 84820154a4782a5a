//! How far an application is.

use std::time::Duration;

use api::apps::{Application, ApplicationPhase};
use api::conditions::Reason;
use kit::Next;

use super::pods::{self, Trouble};
use super::source::Build;
use super::{World, program};
use crate::apps::Config;

/// The safety net while an image is built; kpack's own changes come sooner (seed 002, case 4).
const BUILDING: Duration = Duration::from_secs(5);
/// The safety net while pods come up; their own changes come sooner (seed 002, case 1).
const DEPLOYING: Duration = Duration::from_secs(10);
/// The safety net for what a person has to put right, and what nobody watches: Secrets.
const WAITING: Duration = Duration::from_secs(30);

/// What the program lacks that the spec asks for. What runs goes on running.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Hold {
    /// Its image.
    Build(Build),
    /// Data that is attached; in words.
    Data(String),
}

/// How far an application is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Verdict {
    /// In one word.
    pub phase: ApplicationPhase,
    /// Whether it is as its spec asks.
    pub ready: bool,
    /// Why, for programs.
    pub reason: Reason,
    /// Why, for people.
    pub message: String,
    /// When to look again.
    pub next: Next,
}

/// Reads off the world how far an application is.
pub(super) fn verdict(app: &Application, world: &World, config: &Config, hold: Option<&Hold>) -> Verdict {
    let serving = app.spec.replicas > 0 && program::available(world) >= 1;
    let trouble = pods::trouble(world, app.spec.port);
    match hold {
        Some(hold) => held(hold, serving),
        None if app.spec.replicas == 0 => {
            let message = "scaled to zero; set spec.replicas to start it";
            not_ready(ApplicationPhase::Deploying, Reason::Stopped, message, Next::OnChange)
        }
        None if serving => running(app, world, trouble),
        None => coming(world, config, trouble),
    }
}

fn not_ready(phase: ApplicationPhase, reason: Reason, message: impl Into<String>, next: Next) -> Verdict {
    Verdict { phase, ready: false, reason, message: message.into(), next }
}

fn held(hold: &Hold, serving: bool) -> Verdict {
    use ApplicationPhase::{Building, Deploying, Failed, Pending, Running};
    let or_running = |phase| if serving { Running } else { phase };
    let (phase, reason, message, next) = match hold {
        Hold::Data(missing) => {
            (or_running(Deploying), Reason::DependencyNotReady, missing.clone(), Next::After(WAITING))
        }
        Hold::Build(build) => match build {
            Build::UnderWay(_) => (Building, Reason::Building, build.message(), Next::After(BUILDING)),
            Build::Failed(_) => (Failed, Reason::BuildFailed, build.message(), Next::OnChange),
            Build::NoBuilder => (or_running(Pending), Reason::KindMissing, build.message(), Next::OnChange),
            // An image that is there holds nothing up.
            Build::Given(_) | Build::Built(_) => {
                (or_running(Deploying), Reason::Deploying, build.message(), Next::After(DEPLOYING))
            }
        },
    };
    let message = if serving { format!("{message}; the version before still serves") } else { message };
    not_ready(phase, reason, message, next)
}

fn running(app: &Application, world: &World, trouble: Option<Trouble>) -> Verdict {
    let phase = ApplicationPhase::Running;
    let next = if pods::unready(world) { Next::After(DEPLOYING) } else { Next::OnChange };
    match trouble {
        Some(Trouble { reason, story, grave: true, .. }) if old_copies(world) => {
            let message =
                format!("the version before still serves; the roll-out of the new one is stuck: {story}");
            not_ready(phase, reason, message, next)
        }
        trouble => {
            let count =
                format!("{} of {} copies take requests", program::available(world), app.spec.replicas);
            let message = match trouble {
                Some(trouble) => format!("{count}; {}", trouble.story),
                None => count,
            };
            Verdict { phase, ready: true, reason: Reason::Deployed, message, next }
        }
    }
}

/// Whether copies of an older version are there.
fn old_copies(world: &World) -> bool {
    let status = world.deployment.as_ref().and_then(|deployment| deployment.status.as_ref());
    status.is_some_and(|status| status.replicas > status.updated_replicas)
}

fn coming(world: &World, config: &Config, trouble: Option<Trouble>) -> Verdict {
    let Some(trouble) = trouble else {
        let message = "waiting for pods to become available";
        return not_ready(ApplicationPhase::Deploying, Reason::Deploying, message, Next::After(DEPLOYING));
    };
    let Trouble { reason, story, since, grave } = trouble;
    let lasted = Duration::try_from(world.now.duration_since(since)).unwrap_or_default();
    let left = config.crash_loop_after.saturating_sub(lasted);
    if grave && left.is_zero() {
        let minutes = config.crash_loop_after.as_secs().div_ceil(60);
        let message = format!("no copy came up for {minutes} min: {story}");
        return not_ready(ApplicationPhase::Failed, Reason::CrashLooping, message, Next::After(WAITING));
    }
    let next = if grave { DEPLOYING.min(left) } else { DEPLOYING };
    not_ready(ApplicationPhase::Deploying, reason, story, Next::After(next))
}
