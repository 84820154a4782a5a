//! Who leads: the one rule is that no commit is lost that was acknowledged, and that no two take writes.

use std::cmp::Reverse;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use ports::postgres::{Facts, Instance, Number, Run, Seen, Settings, Stop, There};

use super::standbys::running;
use super::{Step, UNDER_WAY, World, there};

/// How long a primary may be silent before a standby takes over.
const FROZEN: SignedDuration = SignedDuration::from_secs(10);
/// How long an instance may be silent before it is ended, where nobody can take over: a loaded machine is slow.
pub(super) const HUNG: SignedDuration = SignedDuration::from_secs(60);
/// The longest pause before an instance that keeps ending is started again.
const PAUSE_MAX: u64 = 30;

/// Who leads, and what is to be done about it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Lead<'a> {
    /// It takes writes.
    Up(Number, &'a Facts),
    /// A standby takes over; the old primary is put aside first.
    Over { old: Option<Number>, new: Number, port: u16, why: String },
    /// More than one would take writes: all but one are put aside.
    Double { stays: Number, go: Vec<Number> },
    /// It was put aside, and nobody else can lead.
    Back(Number),
    /// It is started.
    Start(Number, String),
    /// It hangs: it is ended and started.
    Restart(Number, String),
    /// It has to come by itself.
    Wait(Option<Number>, String, Duration),
    /// Nobody can lead, until a person does something.
    Lost(String),
}

/// Who leads.
pub(super) fn lead(seen: &Seen, last: Option<Number>, now: Timestamp) -> Lead<'_> {
    let primaries: Vec<(Number, &There)> = there(seen).filter(|(_, there)| is_primary(there)).collect();
    match primaries.as_slice() {
        [] => leaderless(seen, last, now),
        [(number, primary)] => led(seen, *number, primary, now),
        several => {
            // An instance that was promoted is on a newer timeline than any that was left behind.
            let rank = |(number, there): &(Number, &There)| {
                (facts(there).map_or(0, |facts| facts.timeline), last == Some(*number), Reverse(*number))
            };
            let stays = several.iter().max_by_key(|one| rank(one)).map_or(0, |(number, _)| *number);
            let go = several.iter().map(|(number, _)| *number).filter(|number| *number != stays);
            Lead::Double { stays, go: go.collect() }
        }
    }
}

/// What the lead asks for: what cannot wait, and what is started once the servers have a certificate.
pub(super) fn steps(lead: &Lead<'_>, settings: Option<&Settings>, world: &World) -> (Vec<Step>, Vec<Step>) {
    let start = |number: Number| {
        let found = there(&world.seen).find(|(held, _)| *held == number);
        found.map_or_else(Vec::new, |(_, there)| running(number, there, settings))
    };
    match lead {
        Lead::Up(..) | Lead::Wait(..) | Lead::Lost(_) => (Vec::new(), Vec::new()),
        Lead::Over { old, new, .. } => {
            (old.map(Step::Fence).into_iter().chain([Step::Promote(*new)]).collect(), Vec::new())
        }
        Lead::Double { go, .. } => (go.iter().copied().map(Step::Fence).collect(), Vec::new()),
        Lead::Back(number) => (vec![Step::Unfence(*number)], start(*number)),
        Lead::Start(number, _) => (Vec::new(), start(*number)),
        Lead::Restart(number, _) => (vec![Step::Stop(*number, Stop::Immediate)], start(*number)),
    }
}

/// Whether it would take writes. One that has been promoted does, whatever its directory says yet.
fn is_primary(there: &There) -> bool {
    let promoted = facts(there).is_some_and(|facts| !facts.in_recovery);
    !there.fenced && (!there.standby || promoted)
}

pub(super) fn facts(there: &There) -> Option<&Facts> {
    match &there.run {
        Run::Up(facts) => Some(facts),
        Run::Stopped | Run::Ended { .. } | Run::Starting { .. } => None,
    }
}

fn led<'a>(seen: &'a Seen, number: Number, primary: &'a There, now: Timestamp) -> Lead<'a> {
    let over =
        |why: String| successor(seen).map(|(new, port)| Lead::Over { old: Some(number), new, port, why });
    match &primary.run {
        Run::Up(facts) if !facts.in_recovery => Lead::Up(number, facts),
        Run::Up(_) => {
            let why = format!("instance {number} goes through its history and takes no writes yet");
            Lead::Wait(Some(number), why, UNDER_WAY)
        }
        _ if primary.major.is_none() => {
            let why = format!("the directory of instance {number} is damaged: it does not tell its version");
            over(why.clone()).unwrap_or(Lead::Lost(why))
        }
        Run::Stopped => Lead::Start(number, format!("instance {number} is started")),
        Run::Ended { at, story, failures } => {
            let why = format!("instance {number} has ended: {story}");
            let again = || match pause_left(*at, *failures, now) {
                None => Lead::Start(number, why.clone()),
                Some(left) => Lead::Wait(Some(number), format!("{why}; it is started again soon"), left),
            };
            over(why.clone()).unwrap_or_else(again)
        }
        Run::Starting { since, story, .. } => {
            let silent = now.duration_since(*since);
            let mute = story.is_none();
            let why = format!("instance {number} runs, and has not answered for {} s", FROZEN.as_secs());
            let frozen = || over(why.clone()).filter(|_| mute && silent > FROZEN);
            let hung = || (mute && silent > HUNG).then(|| Lead::Restart(number, why.clone()));
            let says = story.clone().unwrap_or_else(|| "it does not answer yet".into());
            let wait =
                || Lead::Wait(Some(number), format!("instance {number} is starting: {says}"), UNDER_WAY);
            frozen().or_else(hung).unwrap_or_else(wait)
        }
    }
}

/// Nobody would take writes: the platform ended between putting one aside and promoting another, or a directory is gone.
///
/// A primary is put aside only while every commit that was acknowledged is on a standby that counted as synchronous. So
/// if all standbys can be asked, the one that has most has them all, also if nobody remembers which ones counted.
fn leaderless(seen: &Seen, last: Option<Number>, now: Timestamp) -> Lead<'_> {
    let standbys: Vec<(Number, &There)> = there(seen).filter(|(_, there)| !there.fenced).collect();
    let why = "nobody takes writes".to_owned();
    let all = || best(standbys.iter().map(|(number, there)| (*number, asked(there))));
    if let Some((new, port)) = successor(seen).or_else(all) {
        return Lead::Over { old: None, new, port, why };
    }
    if standbys.iter().any(|(_, there)| may_answer(there, now)) {
        return Lead::Wait(None, format!("{why}; the standbys are starting"), UNDER_WAY);
    }
    let fenced: Vec<Number> =
        there(seen).filter(|(_, there)| there.fenced).map(|(number, _)| number).collect();
    let aside = last.filter(|last| fenced.contains(last)).or_else(|| fenced.first().copied());
    aside.map_or_else(
        || {
            Lead::Lost(
                "no instance can take writes without losing some: the primary's directory is gone".into(),
            )
        },
        Lead::Back,
    )
}

/// The standby that takes over without loss: the one that has most, of those that count, if all of them can be asked.
fn successor(seen: &Seen) -> Option<(Number, u16)> {
    best(seen.synchronous.iter().map(|number| {
        let there = match seen.instances.get(number) {
            Some(Instance::There(there)) if !there.fenced => Some(there),
            _ => None,
        };
        (*number, there.and_then(asked))
    }))
}

/// The one that has most, if all can be asked; of equal ones the first.
fn best<'a>(all: impl Iterator<Item = (Number, Option<&'a Facts>)>) -> Option<(Number, u16)> {
    let asked: Option<Vec<(Number, &Facts)>> = all.map(|(number, facts)| Some((number, facts?))).collect();
    let rank = |(number, facts): &(Number, &Facts)| (facts.timeline, facts.lsn, Reverse(*number));
    asked?.into_iter().max_by_key(rank).map(|(number, facts)| (number, facts.port))
}

/// What a standby answers.
fn asked(there: &There) -> Option<&Facts> {
    facts(there).filter(|facts| facts.in_recovery)
}

/// Whether a standby that cannot be asked may be asked soon.
fn may_answer(there: &There, now: Timestamp) -> bool {
    match &there.run {
        Run::Stopped => there.major.is_some(),
        Run::Ended { failures, .. } => *failures == 0 && there.major.is_some(),
        Run::Starting { since, story, .. } => {
            let limit = if story.is_some() { HUNG } else { FROZEN };
            now.duration_since(*since) <= limit
        }
        Run::Up(_) => false,
    }
}

/// How long an instance that has ended rests before it is started again; `None` if not at all.
pub(super) fn pause_left(at: Timestamp, failures: u32, now: Timestamp) -> Option<Duration> {
    let doubled = 1_u64.checked_shl(failures.checked_sub(1)?).unwrap_or(PAUSE_MAX);
    let pause = SignedDuration::from_secs(i64::try_from(doubled.min(PAUSE_MAX)).unwrap_or_default());
    let left = pause - now.duration_since(at);
    Duration::try_from(left).ok().filter(|left| !left.is_zero())
}
