//! The end of a server.

use api::conditions::{DELETION_BLOCKED, Reason, Standing};
use api::infra::{AwsDeletionPolicy, RDSInstance, RDSInstanceStatus};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kit::{Address, Do, Name, Next, Plan};
use ports::aws::Database;

use super::state::{self, State};
use super::{Call, POLL, Planned, World, generated_secret, identifier, report, what};
use crate::infra::course::observes;
use crate::infra::desk::{Open, RETRY};
use crate::infra::farewell::{Farewell, farewell};
use crate::infra::step::Step;
use crate::infra::tags::OWNER;

/// The name of the last snapshot of a server that goes: the same at every try, and another for the next of its name.
pub(in super::super) fn final_snapshot(instance: &RDSInstance) -> Option<String> {
    let Time(gone) = instance.metadata.deletion_timestamp.as_ref()?;
    let when = gone.strftime("%Y%m%d-%H%M%S");
    (!instance.spec.skip_final_snapshot).then(|| format!("{}-final-{when}", identifier(instance)))
}

/// The plan for a server whose object goes.
pub(super) fn leave(
    instance: &RDSInstance,
    world: &World,
    open: &Open<Database>,
    mut status: RDSInstanceStatus,
) -> Planned {
    let live = open.found.as_ref();
    let tags = live.map(|live| &live.tags);
    let end = farewell(&instance.metadata, instance.spec.deletion_policy, tags, &status.tag_keys);
    let step = |call| Do::Outside(Step { account: open.account.clone(), call, fields: Vec::new() });
    let Some(live) = live.filter(|_| end != Farewell::Leave) else {
        return Plan::release(last_words(instance, world), status);
    };
    report(live, &mut status);
    match end {
        Farewell::Leave => Plan::release(Vec::new(), status),
        Farewell::Unmark => {
            let untag = Call::Untag { arn: live.arn.clone(), keys: vec![OWNER.to_owned()] };
            Plan::release(vec![step(untag)], status)
        }
        Farewell::Delete => match hindered(instance, live) {
            Some(hindrance) => hindrance.told(status),
            None => {
                let snapshot = final_snapshot(instance);
                let message = match &snapshot {
                    Some(snapshot) => format!("{} goes, after snapshot {snapshot}", what(instance)),
                    None => format!("{} goes", what(instance)),
                };
                let delete = Call::Delete { id: live.id.clone(), snapshot };
                let plan = waits(status, message);
                Plan { steps: vec![step(delete)], ..plan }
            }
        },
    }
}

/// Why a server cannot be deleted at the moment.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Hindrance {
    /// It is at something, which ends.
    Busy(String),
    /// A person has to do something.
    Blocked(Reason, String),
}

impl Hindrance {
    pub(super) fn told(self, mut status: RDSInstanceStatus) -> Planned {
        match self {
            Self::Busy(message) => waits(status, message),
            Self::Blocked(reason, message) => {
                status.say(DELETION_BLOCKED, Some(true), reason, message);
                Plan::part(Vec::new(), status, Next::After(RETRY))
            }
        }
    }
}

/// It goes, or will.
pub(super) fn waits(mut status: RDSInstanceStatus, message: String) -> Planned {
    status.conditions.retain(|condition| condition.type_ != DELETION_BLOCKED);
    status.ready = false;
    status.not_ready(Reason::Deleting, message);
    Plan::part(Vec::new(), status, Next::After(POLL))
}

fn hindered(instance: &RDSInstance, live: &Database) -> Option<Hindrance> {
    let (what, word) = (what(instance), &live.status);
    let state = state::of(word);
    if state == State::Going {
        return Some(Hindrance::Busy(format!("{what} is being deleted")));
    }
    if live.deletion_protection {
        let message = format!(
            "{what} is protected against deletion; take DeletionProtection off it, or keep it with deletionPolicy: Retain"
        );
        return Some(Hindrance::Blocked(Reason::Code("DeletionProtection".into()), message));
    }
    match state {
        // A snapshot of it cannot be made.
        State::Wrong(_) if !instance.spec.skip_final_snapshot && word != "stopped" => {
            let message = format!(
                "{what} is {word}, so that no last snapshot can be made; set skipFinalSnapshot: true to delete it with its data, or keep it with deletionPolicy: Retain"
            );
            Some(Hindrance::Blocked(Reason::WouldLoseData, message))
        }
        State::Busy => Some(Hindrance::Busy(format!("{what} is {word}, and is deleted after that"))),
        State::Open | State::Serving | State::Full | State::Going | State::Wrong(_) => None,
    }
}

/// What is done when the server is gone, or never was ours: a drawn password is of no use without it.
pub(super) fn last_words(instance: &RDSInstance, world: &World) -> Vec<Do<Step<Call>>> {
    let useless = instance.spec.deletion_policy == AwsDeletionPolicy::Delete && !observes(&instance.metadata);
    let address = || Address::new::<Secret>(&Name::of(instance).namespace, &generated_secret(instance));
    (useless && world.drawn).then(|| Do::Delete(address(), None)).into_iter().collect()
}
