//! Which machine is an object's.

use api::annotations::INSTANCE_ID;
use api::infra::EC2Instance;
use api::secret::Sealed;
use kube::ResourceExt;
use ports::aws::{Console, Machine, Power, Profile};

use crate::infra::tags::OWNER;

/// What was found in the account.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Machines with our mark, also those that ended lately.
    pub(in super::super) marked: Vec<Machine>,
    /// If none of them lives: the machine that the status names, and the one that is meant by annotation or by name.
    pub(in super::super) others: Vec<Machine>,
    /// More of the machine, if it is one and stands still.
    pub(in super::super) details: Option<Details>,
}

/// What a list of machines does not say.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Details {
    /// Whether AWS refuses to terminate it.
    pub(in super::super) protected: bool,
    /// Its instance profile.
    pub(in super::super) profile: Option<Profile>,
    /// Its script, where the spec has one.
    pub(in super::super) user_data: Option<Sealed<Vec<u8>>>,
    /// Its console, where the spec asks for it.
    pub(in super::super) console: Option<Console>,
}

/// Which machine it is.
#[derive(Debug, PartialEq)]
pub(in super::super) enum Who<'a> {
    /// None.
    Nobody,
    /// This one.
    One(&'a Machine),
    /// One of these; nobody knows which.
    Several(Vec<&'a Machine>),
    /// The one that the annotation names, which is not there.
    Lost(&'a str),
}

/// Whether a machine has not ended.
pub(in crate::infra) fn lives(machine: &Machine) -> bool {
    !matches!(machine.power, Power::ShuttingDown | Power::Terminated)
}

/// Whether it is on its way from one state to another, so that most calls would be refused.
pub(in super::super) fn moving(power: &Power) -> bool {
    match power {
        Power::Pending | Power::Stopping | Power::ShuttingDown | Power::Other(_) => true,
        Power::Running | Power::Stopped | Power::Terminated => false,
    }
}

/// Which machine is an object's.
pub(in super::super) fn who<'a>(instance: &'a EC2Instance, found: &'a Found) -> Who<'a> {
    let all = || found.marked.iter().chain(&found.others);
    let living: Vec<&Machine> = all().filter(|machine| lives(machine)).collect();
    match living.as_slice() {
        [] => {}
        [one] => return Who::One(one),
        _ => return Who::Several(living),
    }
    if let Some(ending) = all().find(|machine| machine.power == Power::ShuttingDown) {
        return Who::One(ending);
    }
    let owned = instance.status.as_ref().is_some_and(|status| status.tag_keys.iter().any(|key| key == OWNER));
    match instance.annotations().get(INSTANCE_ID) {
        // One that was ours is made again, as any other.
        Some(id) if !owned => Who::Lost(id),
        Some(_) | None => Who::Nobody,
    }
}
