//! How far a service is, read off what the API says of it. Pure.

use api::conditions::READY;
use api::services::{ManagedService, ManagedServicePhase};
use kube::ResourceExt;

use super::wait::Seen;

/// Reasons of a failure that goes by by itself.
const PASSING: [&str; 1] = ["DependencyNotReady"];

/// Reads how far a service is. What is said of an older spec does not count.
pub(super) fn stand(service: &ManagedService) -> Seen<()> {
    let name = service.name_any();
    let status = service.status.clone().unwrap_or_default();
    let ready = status.conditions.iter().find(|condition| condition.type_ == READY);
    let Some(ready) = ready.filter(|ready| ready.observed_generation >= service.metadata.generation) else {
        return Seen::Waiting(format!("{name}: waiting for the platform to take it up"));
    };
    let phase = status.phase.unwrap_or(ManagedServicePhase::Provisioning);
    let message = status.message.unwrap_or_default();
    match phase {
        ManagedServicePhase::Ready if ready.status == "True" => Seen::Done(()),
        ManagedServicePhase::Failed if !PASSING.contains(&ready.reason.as_str()) => Seen::Failed(message),
        ManagedServicePhase::Deleting => Seen::Failed("somebody deletes it".into()),
        ManagedServicePhase::Ready | ManagedServicePhase::Failed | ManagedServicePhase::Provisioning => {
            Seen::Waiting(format!("{name}: {phase:?}: {message}"))
        }
    }
}
