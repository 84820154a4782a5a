//! What becomes of a machine when its object is deleted.

use api::conditions::{DELETION_BLOCKED, Reason, Standing, find};
use api::infra::{AwsDeletionPolicy, EC2Instance, EC2InstanceStatus, InstanceDeletionPolicy};
use kit::{Do, Next, Plan};
use ports::aws::{Machine, MachineSetting, Power};

use super::call::Call;
use super::identity::{Found, Who, who};
use super::{LOOK, RESTART};
use crate::infra::desk::{Open, RETRY};
use crate::infra::farewell::{Farewell, farewell};
use crate::infra::step::Step;
use crate::infra::tags::OWNER;

type Leave = Plan<Step<Call>, EC2InstanceStatus>;

/// The same as for other kinds, but that a machine is stopped before it loses its mark.
pub(super) fn policy(instance: &EC2Instance) -> AwsDeletionPolicy {
    match instance.spec.deletion_policy {
        InstanceDeletionPolicy::Delete => AwsDeletionPolicy::Delete,
        InstanceDeletionPolicy::Retain => AwsDeletionPolicy::Retain,
        InstanceDeletionPolicy::Stop => AwsDeletionPolicy::Orphan,
    }
}

/// The last plans.
pub(super) fn leave(
    instance: &EC2Instance,
    open: &Open<Found>,
    found: &Found,
    status: EC2InstanceStatus,
) -> Leave {
    let machine = match who(instance, found) {
        Who::One(machine) => machine,
        Who::Nobody | Who::Lost(_) => return Plan::release(Vec::new(), status),
        Who::Several(_) if policy(instance) == AwsDeletionPolicy::Retain => {
            return Plan::release(Vec::new(), status);
        }
        Who::Several(all) => {
            let message = format!(
                "machines {} all carry the tag {OWNER} of this object; take it off those that are not to go",
                super::listed(&all)
            );
            return blocked(status, Reason::WouldLoseData, message);
        }
    };
    let known = status.instance_id.as_deref() == Some(machine.id.as_str());
    let held = if known { status.tag_keys.clone() } else { Vec::new() };
    match farewell(&instance.metadata, policy(instance), Some(&machine.tags), &held) {
        Farewell::Leave => Plan::release(Vec::new(), status),
        Farewell::Delete => terminate(instance, open, machine, status),
        Farewell::Unmark => stop(open, machine, status),
    }
}

/// It goes, unless it is protected; the object goes when it is gone.
fn terminate(
    instance: &EC2Instance,
    open: &Open<Found>,
    machine: &Machine,
    mut status: EC2InstanceStatus,
) -> Leave {
    let id = machine.id.clone();
    if machine.power == Power::ShuttingDown {
        return wait(status, machine);
    }
    let protected = open.found.as_ref().and_then(|found| found.details.as_ref()).is_some_and(|d| d.protected);
    if instance.spec.disable_api_termination {
        let message = format!("machine {id} is not terminated: set disableApiTermination: false first");
        return blocked(status, Reason::AwaitingApproval, message);
    }
    // Whoever was asked to change the spec has done so.
    let agreed = find(&status.conditions, DELETION_BLOCKED).is_some_and(|condition| {
        condition.status == "True" && condition.reason == Reason::AwaitingApproval.as_str()
    });
    if protected && !agreed {
        let message = format!(
            "machine {id} is protected against termination, which its spec does not ask for: somebody wants to keep it; set disableApiTermination: false on the machine first"
        );
        return blocked(status, Reason::WouldLoseData, message);
    }
    let unlock = Call::Set { id: id.clone(), setting: MachineSetting::Protected(false) };
    let calls = protected.then_some(unlock).into_iter().chain([Call::Terminate { id: id.clone() }]);
    let steps = steps(open, calls);
    if !protected && find(&status.conditions, DELETION_BLOCKED).is_some() {
        status.say(DELETION_BLOCKED, Some(false), Reason::Deleting, "");
    }
    going(&mut status, format!("machine {id} is being terminated"));
    Plan::part(steps, status, Next::After(LOOK))
}

/// It is stopped, and then it is nobody's.
fn stop(open: &Open<Found>, machine: &Machine, mut status: EC2InstanceStatus) -> Leave {
    let id = machine.id.clone();
    match machine.power {
        Power::Running => {
            going(&mut status, format!("machine {id} is being stopped"));
            Plan::part(steps(open, [Call::Stop { id }]), status, Next::After(LOOK))
        }
        Power::Stopped => {
            let ours = [OWNER, RESTART].iter().filter(|key| machine.tags.contains_key(**key));
            let keys: Vec<String> = ours.map(|key| (*key).to_owned()).collect();
            let untag = (!keys.is_empty()).then_some(Call::Untag { id, keys });
            Plan::release(steps(open, untag), status)
        }
        Power::Pending | Power::Stopping | Power::Other(_) => wait(status, machine),
        Power::ShuttingDown | Power::Terminated => Plan::release(Vec::new(), status),
    }
}

fn steps(open: &Open<Found>, calls: impl IntoIterator<Item = Call>) -> Vec<Do<Step<Call>>> {
    let step = |call| Do::Outside(Step { account: open.account.clone(), call, fields: Vec::new() });
    calls.into_iter().map(step).collect()
}

fn wait(mut status: EC2InstanceStatus, machine: &Machine) -> Leave {
    going(&mut status, format!("machine {} is {}", machine.id, machine.power.as_str()));
    status.instance_state = Some(machine.power.as_str().to_owned());
    Plan::part(Vec::new(), status, Next::After(LOOK))
}

fn going(status: &mut EC2InstanceStatus, message: String) {
    status.ready = false;
    status.not_ready(Reason::Deleting, message);
}

fn blocked(mut status: EC2InstanceStatus, reason: Reason, message: String) -> Leave {
    status.say(DELETION_BLOCKED, Some(true), reason.clone(), message.clone());
    status.ready = false;
    status.not_ready(reason, message);
    Plan::part(Vec::new(), status, Next::After(RETRY))
}
