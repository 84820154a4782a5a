//! Every rule of machines.

mod call;
mod identity;
mod launch;
mod leave;
mod report;
mod settings;

use std::time::Duration;

use api::annotations::{ADOPT, INSTANCE_ID};
use api::conditions::{Reason, SYNCED, Standing};
use api::drift::Drift;
use api::infra::{EC2Instance, EC2InstanceStatus, Tags};
use jiff::Timestamp;
use kit::{Name, Next, Plan, Refusal};
use kube::ResourceExt;
use ports::aws::{Machine, Power};

use crate::infra::course::{Case, Mend, Waiting, observes, owns};
use crate::infra::desk::{Open, RESYNC, RETRY, Sight, World};
use crate::infra::farewell::untouched;
use crate::infra::report::Report;
use crate::infra::step::Step;
use crate::infra::tags;
pub(super) use call::Call;
pub(in crate::infra) use identity::lives;
pub(super) use identity::{Details, Found, Who, moving, who};
use settings::Mends;

/// The tag that people see as a machine's name.
pub(in crate::infra) const NAME: &str = "Name";
/// The tag of a machine that we stopped, and that is to run again. It stands on the machine, because a status might be lost
/// between the two.
pub(in crate::infra) const RESTART: &str = "terrace.dev/restart";
/// How soon a machine is looked for that has just been made: for a moment it cannot be seen.
const NEWBORN: Duration = Duration::from_secs(2);
/// How soon a machine is looked at that is on its way: it takes half a minute.
const LOOK: Duration = Duration::from_secs(5);

type Pass = Plan<Step<Call>, EC2InstanceStatus>;

/// The plan for one pass over one machine.
pub(super) fn plan(instance: &EC2Instance, world: &World<Found>) -> Result<Pass, Refusal> {
    let mut status = instance.status.clone().unwrap_or_default();
    let going = instance.metadata.deletion_timestamp.is_some();
    let open = match &world.sight {
        Sight::Open(open) => open,
        Sight::Parked => return Ok(Plan::part(Vec::new(), status, Next::OnChange)),
        Sight::Closed(..) if going && untouched(&instance.metadata, leave::policy(instance)) => {
            return Ok(Plan::release(Vec::new(), status));
        }
        Sight::Closed(reason, message) => {
            status.unseen(reason.clone(), message.clone());
            return Ok(Plan::part(Vec::new(), status, Next::After(RETRY)));
        }
    };
    let nothing = Found::default();
    let found = open.found.as_ref().unwrap_or(&nothing);
    if going {
        return Ok(leave::leave(instance, open, found, status));
    }
    Ok(match who(instance, found) {
        Who::One(machine) => compared(instance, (open, world.now), machine, status),
        Who::Nobody => made(instance, (open, world.now), found, status),
        Who::Several(all) => several(found, &all, status),
        Who::Lost(id) => {
            let message = format!(
                "machine {id}, which the annotation {INSTANCE_ID} names, does not exist; take the annotation off to have one made"
            );
            status.out_of_sync(Reason::NotOurs, message);
            Plan::part(Vec::new(), status, Next::After(RESYNC))
        }
    })
}

fn several(found: &Found, all: &[&Machine], mut status: EC2InstanceStatus) -> Pass {
    let message = match found.marked.iter().any(lives) {
        true => format!(
            "machines {} all carry the tag {} of this object; take it off all but one",
            listed(all),
            tags::OWNER
        ),
        false => format!(
            "machines {} have this name and were not made by this object; choose another name, or say with the annotation {INSTANCE_ID} which one is meant",
            listed(all)
        ),
    };
    status.out_of_sync(Reason::NotOurs, message);
    Plan::part(Vec::new(), status, Next::After(RESYNC))
}

/// The ids of machines.
fn listed(all: &[&Machine]) -> String {
    all.iter().map(|machine| machine.id.as_str()).collect::<Vec<_>>().join(", ")
}

/// All tags that a machine is to have. One whose name is its own id has none.
fn wanted(instance: &EC2Instance, open: &Open<Found>, id: Option<&str>) -> Tags {
    let mut all = tags::wanted(&open.default_tags, &instance.spec.tags, &Name::of(instance));
    if id == Some(instance.spec.instance_name.as_str()) {
        all.remove(NAME);
    } else {
        all.insert(NAME.to_owned(), instance.spec.instance_name.clone());
    }
    all
}

/// There is no machine: it is made.
fn made(
    instance: &EC2Instance,
    (open, now): (&Open<Found>, Timestamp),
    found: &Found,
    mut status: EC2InstanceStatus,
) -> Pass {
    let uid = instance.metadata.uid.clone().unwrap_or_default();
    let (token, before) = launch::token(&uid, &status, found);
    report::gone(&mut status);
    if let Some((rest, before)) = before.and_then(|before| Some((rest(before, now)?, before)))
        && !observes(&instance.metadata)
    {
        let why = before.state_reason.as_deref().unwrap_or("no reason is given");
        let message = format!(
            "machine {} ended soon after it was launched: {why}; another one is launched a minute after it",
            before.id
        );
        status.out_of_sync(Reason::CreationFailed, message);
        return Plan::part(Vec::new(), status, Next::After(rest));
    }
    let wanted = wanted(instance, open, None);
    let what = format!("machine {}", instance.spec.instance_name);
    let message = format!("{what} is being made");
    let case = Case {
        meta: &instance.metadata,
        what,
        account: open.account.clone(),
        live: None,
        tags: &wanted,
        own: &instance.spec.tags,
        mends: Vec::new(),
        make: vec![Call::Launch(Box::new(launch::launch(instance, &wanted, token)))],
        waiting: Some(Waiting { reason: Reason::Provisioning, message, delay: NEWBORN }),
        now,
    };
    case.settle(status)
}

/// How long it takes until a machine that ended at once is made again: one that cannot start would be launched all day.
fn rest(before: &Machine, now: Timestamp) -> Option<Duration> {
    let age = Duration::try_from(now.duration_since(before.launch_time?)).unwrap_or_default();
    RETRY.checked_sub(age).filter(|rest| !rest.is_zero())
}

/// There is a machine: what differs is mended.
fn compared(
    instance: &EC2Instance,
    (open, now): (&Open<Found>, Timestamp),
    machine: &Machine,
    mut status: EC2InstanceStatus,
) -> Pass {
    if status.instance_id.as_deref() != Some(machine.id.as_str()) {
        // What was set on another machine says nothing of this one.
        status.tag_keys.clear();
    }
    let details = open.found.as_ref().and_then(|found| found.details.as_ref());
    report::report(machine, details, &mut status);
    let (meta, spec) = (&instance.metadata, &instance.spec);
    let wanted = wanted(instance, open, Some(&machine.id));
    let mends = settings::mends(spec, machine, details, (&wanted, &status.tag_keys));
    let adopts = instance.annotations().get(ADOPT).is_some_and(|value| value == "true");
    let meant = adopts || observes(meta) || owns(meta, &machine.tags, &status.tag_keys);
    let fixed = settings::fixed(spec, machine);
    if meant && !fixed.is_empty() {
        return unalterable(machine, fixed, &mends, (observes(meta), status));
    }
    let hard = fields(&mends.hard);
    let stops = machine.power == Power::Running && !hard.is_empty() && !observes(meta);
    // Its name is the spec's word, too.
    let own = Tags::from_iter(
        wanted.clone().into_iter().filter(|(key, _)| key == NAME || spec.tags.contains_key(key)),
    );
    let case = Case {
        meta,
        what: format!("machine {} ({})", spec.instance_name, machine.id),
        account: open.account.clone(),
        live: Some(&machine.tags),
        tags: &wanted,
        own: &own,
        make: Vec::new(),
        mends: ordered(machine, mends),
        waiting: waiting(machine, &hard, stops),
        now,
    };
    let waiting = case.waiting.clone();
    let mut plan = case.settle(status.clone());
    let writes = !plan.steps.is_empty();
    if moving(&machine.power) {
        // Most calls would be refused now.
        plan = if writes { wait(status, waiting) } else { plan };
        plan.next = Next::After(LOOK);
    } else if stops && writes {
        let message = format!("{} can only be changed while the machine is stopped", names(&hard));
        plan.status.say(SYNCED, Some(false), Reason::Provisioning, message);
    }
    plan
}

/// The calls, in their order: what can be mended at once comes first, and a machine that we stopped runs again last.
fn ordered(machine: &Machine, mends: Mends) -> Vec<Mend<Call>> {
    let id = || machine.id.clone();
    let only = |call| Mend { fields: Vec::new(), call };
    let again = machine.tags.contains_key(RESTART);
    let settled = only(Call::Untag { id: id(), keys: vec![RESTART.to_owned()] });
    let Mends { easy: mut all, hard } = mends;
    match machine.power {
        Power::Running if !hard.is_empty() => {
            let mark = Tags::from([(RESTART.to_owned(), "true".to_owned())]);
            all.push(only(Call::Tag { id: id(), tags: mark }));
            all.push(Mend { fields: fields(&hard), call: Call::Stop { id: id() } });
        }
        Power::Stopped if again => {
            all.extend(hard);
            all.push(only(Call::Start { id: id() }));
            all.push(settled);
        }
        Power::Running if again => all.push(settled),
        Power::Running
        | Power::Stopped
        | Power::Pending
        | Power::Stopping
        | Power::ShuttingDown
        | Power::Terminated
        | Power::Other(_) => all.extend(hard),
    }
    all
}

/// Why a machine is not ready.
fn waiting(machine: &Machine, hard: &[Drift], stops: bool) -> Option<Waiting> {
    let again = machine.tags.contains_key(RESTART);
    let (reason, told, delay) = match &machine.power {
        Power::Running if stops => {
            let told = format!("is stopped and started again to change {}", names(hard));
            (Reason::Provisioning, told, LOOK)
        }
        Power::Running => return None,
        Power::Stopped if again => (Reason::Provisioning, "is being started again".into(), LOOK),
        Power::Stopped => {
            (Reason::Stopped, "is stopped, and stays so until somebody starts it".into(), RESYNC)
        }
        Power::ShuttingDown | Power::Terminated => {
            let told = format!("is {}; another one is made when it is gone", machine.power.as_str());
            (Reason::Provisioning, told, LOOK)
        }
        Power::Pending | Power::Stopping | Power::Other(_) => {
            (Reason::Provisioning, format!("is {}", machine.power.as_str()), LOOK)
        }
    };
    Some(Waiting { reason, message: format!("machine {} {told}", machine.id), delay })
}

/// Nothing is written while the machine is on its way.
fn wait(mut status: EC2InstanceStatus, waiting: Option<Waiting>) -> Pass {
    status.ready = false;
    if let Some(Waiting { reason, message, .. }) = waiting {
        status.not_ready(reason, message);
    }
    Plan::part(Vec::new(), status, Next::After(LOOK))
}

/// The machine is another one than the spec asks for.
fn unalterable(
    machine: &Machine,
    fixed: Vec<Drift>,
    mends: &Mends,
    (observing, mut status): (bool, EC2InstanceStatus),
) -> Pass {
    let message = format!(
        "machine {} differs in {}, which cannot be changed on a machine; make the spec say what is there, or make a new object",
        machine.id,
        names(&fixed)
    );
    let reason = if observing { Reason::Drifted } else { Reason::InvalidSpec };
    status.drift = fixed;
    status.drift.extend(fields(&mends.easy));
    status.drift.extend(fields(&mends.hard));
    status.out_of_sync(reason, message);
    Plan::part(Vec::new(), status, Next::After(RESYNC))
}

fn fields(mends: &[Mend<Call>]) -> Vec<Drift> {
    mends.iter().flat_map(|mend| mend.fields.clone()).collect()
}

fn names(fields: &[Drift]) -> String {
    fields.iter().map(|drift| drift.field.as_str()).collect::<Vec<_>>().join(", ")
}
