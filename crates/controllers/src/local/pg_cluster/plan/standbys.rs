//! The instances that do not lead: they run, follow, are counted on, come and go.

use std::collections::BTreeSet;

use api::foreign::cnpg::Cluster;
use jiff::{SignedDuration, Timestamp};
use ports::postgres::{Facts, Instance, Number, Run, Settings, Stop, There};

use super::failover::{HUNG, Lead, facts, pause_left};
use super::{Step, World, there};

/// How far behind a standby may be when it begins to count: with more, a commit would wait for long.
const CLOSE: u64 = 16 << 20;
/// How often a standby may fail to start before it is made anew.
const HOPELESS: u32 = 4;
/// How long a standby that is up may receive nothing before it is made to rejoin. It tries every few seconds itself.
const STRAYED: SignedDuration = SignedDuration::from_secs(60);
/// How long a copy that failed rests before it is begun again.
const COPY_AGAIN: SignedDuration = SignedDuration::from_secs(30);

/// What is done about the instances.
#[derive(Debug, Default)]
pub(super) struct Care {
    /// Whom the primary is to wait for, if that changes: it must not wait for one that is gone.
    pub(super) waits: Option<Step>,
    pub(super) steps: Vec<Step>,
    pub(super) doing: Doing,
}

/// What the status calls it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Doing {
    #[default]
    Nothing,
    /// One more is made.
    Copying,
    /// One goes.
    Removing,
    /// One is restarted for its settings.
    Restarting,
}

/// What is to be done about the instances beside what the lead asks for.
pub(super) fn care(cluster: &Cluster, world: &World, lead: &Lead<'_>, settings: Option<&Settings>) -> Care {
    let mut care = Care::default();
    let leads = match lead {
        Lead::Up(number, facts) => Some((*number, *facts)),
        _ => None,
    };
    let touched = touched(lead);
    for (number, there) in there(&world.seen).filter(|(number, _)| !touched.contains(number)) {
        let steps = match leads {
            Some((primary, _)) if primary == number => dressed(number, there, settings),
            _ => one(number, there, leads, (world, settings)),
        };
        care.steps.extend(steps);
    }
    let Some((primary, facts)) = leads else { return care };
    let surplus = surplus(cluster, world, primary);
    let waits = waited(world, primary, facts, surplus);
    if facts.waits_for != waits || world.seen.synchronous != waits {
        care.waits = Some(Step::WaitFor { primary, standbys: waits });
    }
    if let Some(number) = surplus {
        care.steps.push(Step::Remove(number));
        care.doing = Doing::Removing;
        return care;
    }
    if let Some(number) = missing(cluster, world) {
        care.doing = Doing::Copying;
        care.steps.extend(number.map(|number| Step::Copy { number, primary }));
        return care;
    }
    if care.steps.is_empty()
        && care.waits.is_none()
        && let Some(number) = stale(world, primary)
    {
        care.doing = Doing::Restarting;
        care.steps = vec![Step::Stop(number, Stop::Fast), Step::Start(number)];
    }
    care
}

/// Instances that the lead itself is about.
fn touched(lead: &Lead<'_>) -> BTreeSet<Number> {
    match lead {
        Lead::Up(..) | Lead::Lost(_) | Lead::Wait(None, ..) => BTreeSet::new(),
        Lead::Over { old, new, .. } => old.iter().copied().chain([*new]).collect(),
        Lead::Double { stays, go } => go.iter().copied().chain([*stays]).collect(),
        Lead::Back(number) | Lead::Start(number, _) | Lead::Restart(number, _) => [*number].into(),
        Lead::Wait(Some(number), ..) => [*number].into(),
    }
}

/// What makes an instance run: never without its settings.
pub(super) fn running(number: Number, there: &There, settings: Option<&Settings>) -> Vec<Step> {
    if settings.is_none() && there.settings.is_none() {
        return Vec::new();
    }
    let mut steps = dressed(number, there, settings);
    steps.push(Step::Start(number));
    steps
}

/// What gives an instance its settings, if it has others.
fn dressed(number: Number, there: &There, settings: Option<&Settings>) -> Vec<Step> {
    let differs = settings.filter(|settings| there.settings.as_ref() != Some(&settings.mark));
    differs.map(|settings| Step::Configure { number, settings: settings.clone() }).into_iter().collect()
}

/// What is done about one that does not lead.
fn one(
    number: Number,
    there: &There,
    leads: Option<(Number, &Facts)>,
    (world, settings): (&World, Option<&Settings>),
) -> Vec<Step> {
    let rejoin = || leads.map(|(primary, _)| Step::Rejoin { number, primary }).into_iter().collect();
    if there.fenced {
        return rejoin();
    }
    if there.major.is_none() {
        // A copy of the primary takes its place, under another number.
        return leads.map(|_| Step::Remove(number)).into_iter().collect();
    }
    match &there.run {
        Run::Stopped => running(number, there, settings),
        Run::Ended { failures, .. } if *failures >= HOPELESS && leads.is_some() => rejoin(),
        Run::Ended { at, failures, .. } => match pause_left(*at, *failures, world.now) {
            None => running(number, there, settings),
            Some(_) => Vec::new(),
        },
        Run::Starting { since, story: None, .. } if world.now.duration_since(*since) > HUNG => {
            vec![Step::Stop(number, Stop::Immediate)]
        }
        Run::Starting { .. } => Vec::new(),
        Run::Up(_) => {
            let mut steps = dressed(number, there, settings);
            let Some((primary, led)) = leads else { return steps };
            if there.follows != Some(led.port) {
                steps.push(Step::Follow { number, primary });
            } else if world.silent.get(&number).is_some_and(|since| past(*since, STRAYED, world.now)) {
                steps = vec![Step::Stop(number, Stop::Fast), Step::Rejoin { number, primary }];
            }
            steps
        }
    }
}

fn past(since: Timestamp, limit: SignedDuration, now: Timestamp) -> bool {
    now.duration_since(since) > limit
}

/// The standby that goes, if there are too many: the one with the highest number.
fn surplus(cluster: &Cluster, world: &World, primary: Number) -> Option<Number> {
    let wanted = usize::try_from(cluster.spec.instances).unwrap_or(1).max(1);
    let too_many = world.seen.instances.len() > wanted;
    let mut others = world.seen.instances.keys().rev().filter(|number| **number != primary);
    too_many.then(|| others.next().copied()).flatten()
}

/// The standby that is to come, if one is missing: nothing yet while another is on its way.
fn missing(cluster: &Cluster, world: &World) -> Option<Option<Number>> {
    let wanted = usize::try_from(cluster.spec.instances).unwrap_or(1).max(1);
    for (number, instance) in &world.seen.instances {
        match instance {
            Instance::Coming { .. } => return Some(None),
            Instance::Broken { at, .. } => {
                return Some(past(*at, COPY_AGAIN, world.now).then_some(*number));
            }
            Instance::There(_) => {}
        }
    }
    (world.seen.instances.len() < wanted).then_some(Some(world.seen.highest + 1))
}

/// The standbys that the primary is to wait for: those that receive what it writes. One begins to count when it is close;
/// from then on it counts as long as it receives.
fn waited(world: &World, primary: Number, led: &Facts, goes: Option<Number>) -> BTreeSet<Number> {
    let counts = |number: Number, there: &There| {
        let streams = facts(there).is_some_and(|facts| facts.in_recovery && facts.streaming);
        let kept = led.serves.get(&number);
        let close = kept.is_some_and(|kept| led.lsn.0.saturating_sub(kept.0) <= CLOSE);
        streams && !there.fenced && kept.is_some() && (close || led.waits_for.contains(&number))
    };
    let standbys = there(&world.seen).filter(|(number, _)| *number != primary && Some(*number) != goes);
    standbys.filter(|(number, there)| counts(*number, there)).map(|(number, _)| number).collect()
}

/// The instance that is restarted for its settings: standbys first, one at a time, and only while none is on its way.
/// One that cannot start does not hold up the primary: it may be the primary's old settings that keep it from starting.
fn stale(world: &World, primary: Number) -> Option<Number> {
    let settled = world.seen.instances.values().all(|instance| match instance {
        Instance::There(there) => matches!(there.run, Run::Up(_) | Run::Ended { .. }),
        Instance::Coming { .. } | Instance::Broken { .. } => false,
    });
    let needs = |there: &There| facts(there).is_some_and(|facts| facts.restart_needed);
    let stale: Vec<Number> =
        there(&world.seen).filter(|(_, there)| needs(there)).map(|(number, _)| number).collect();
    let standby = stale.iter().find(|number| **number != primary);
    standby.or_else(|| stale.first()).copied().filter(|_| settled)
}
