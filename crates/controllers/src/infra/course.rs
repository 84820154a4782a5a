//! What becomes of the differences between a spec and a resource: made, mended, watched, or asked about. Pure.

use std::sync::Arc;
use std::time::Duration;

use api::annotations::{ADOPT, APPROVE_PLAN, MODE};
use api::conditions::{Reason, SYNCED};
use api::drift::{Drift, Severity};
use api::infra::Tags;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kit::{Do, Name, Next, Plan};
use ports::aws::Account;
use sha2::{Digest, Sha256};

use super::desk::RESYNC;
use super::report::{Parts, Report};
use super::step::Step;
use super::tags::{self, Mark, OWNER, mark};

/// The value of the annotation that lets nothing be written.
pub(super) const OBSERVE: &str = "observe";
/// How soon a resource is looked at that has just been made: only then is it known what AWS made of it.
const LOOK_AGAIN: Duration = Duration::from_millis(250);
/// How much of the digest of a plan is asked for: enough that no two plans of one object share it.
const DIGEST_BYTES: usize = 6;

/// Fields that are otherwise, and the call that mends them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mend<C> {
    pub(super) fields: Vec<Drift>,
    pub(super) call: C,
}

/// A resource beside its spec.
pub(super) struct Case<'a, C> {
    /// The object.
    pub(super) meta: &'a ObjectMeta,
    /// What the resource is called, for people: `queue orders`.
    pub(super) what: String,
    /// Where it is.
    pub(super) account: Arc<Account>,
    /// Its tags, if it is there.
    pub(super) live: Option<&'a Tags>,
    /// All tags that it is to have.
    pub(super) tags: &'a Tags,
    /// Those of them that its spec names.
    pub(super) own: &'a Tags,
    /// What makes it, settings included.
    pub(super) make: Vec<C>,
    /// What mends it. The mark is among it.
    pub(super) mends: Vec<Mend<C>>,
    /// Why it is not ready although there is nothing to mend, and when to look again.
    pub(super) waiting: Option<Waiting>,
    /// The time.
    pub(super) now: Timestamp,
}

/// Why a resource is not ready.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Waiting {
    pub(super) reason: Reason,
    pub(super) message: String,
    pub(super) delay: Duration,
}

/// Whether nothing may be written.
pub(super) fn observes(meta: &ObjectMeta) -> bool {
    annotation(meta, MODE) == Some(OBSERVE)
}

/// Whether a resource with these tags is this object's. One that lost its mark is, if the object had set it.
pub(super) fn owns(meta: &ObjectMeta, live: &Tags, held: &[String]) -> bool {
    match mark(live, &name(meta)) {
        Mark::Ours => true,
        Mark::Others => false,
        Mark::None => held.iter().any(|key| key == OWNER),
    }
}

/// The other object that a resource with these tags belongs to, if there is one. Nobody takes it from there.
fn owner_beside<'a>(meta: &ObjectMeta, live: &'a Tags) -> Option<&'a String> {
    live.get(OWNER).filter(|_| mark(live, &name(meta)) == Mark::Others)
}

/// One field that is otherwise.
pub(super) fn field(name: &str, expected: impl ToString, actual: impl ToString) -> Drift {
    let severity = Some(Severity::Medium);
    Drift { field: name.to_owned(), expected: expected.to_string(), actual: actual.to_string(), severity }
}

impl<C> Case<'_, C> {
    /// The plan, and the status that goes with it.
    pub(super) fn settle<S: Report>(self, mut status: S) -> Plan<Step<C>, S> {
        let Some(live) = self.live else { return self.absent(status) };
        let ours = owns(self.meta, live, status.parts().tag_keys);
        if let Some(other) = owner_beside(self.meta, live).filter(|_| !observes(self.meta)) {
            let message = format!(
                "{} belongs to {other}, as its tag {OWNER} says; rename one of the two, or take the tag off if that object is gone",
                self.what
            );
            status.out_of_sync(Reason::NotOurs, message);
            return self.quiet(status);
        }
        if !ours && annotation(self.meta, ADOPT) != Some("true") && !observes(self.meta) {
            let message = format!(
                "{} exists and was not made by this object; rename one of the two, or let Terrace have it with the annotation {ADOPT}: \"true\"",
                self.what
            );
            status.out_of_sync(Reason::NotOurs, message);
            return self.quiet(status);
        }
        let news: Vec<Drift> = self.differences(ours).cloned().collect();
        if observes(self.meta) {
            return self.watched(status, news);
        }
        if !ours && !news.is_empty() && annotation(self.meta, APPROVE_PLAN) != Some(&digest(&news)) {
            let message = format!(
                "{} exists and differs in {}; `terrace plan` shows how, and the annotation {APPROVE_PLAN}: {} approves it",
                self.what,
                listed(&news),
                digest(&news)
            );
            *status.parts().drift = news;
            status.out_of_sync(Reason::AwaitingApproval, message);
            return self.quiet(status);
        }
        self.mended(status, news)
    }

    /// What differs. On a resource that is not ours yet, tags do not count that come with us: the mark, and those of the
    /// provider that it lacks.
    fn differences(&self, ours: bool) -> impl Iterator<Item = &Drift> {
        let unnamed = |key: &&String| !self.own.contains_key(*key);
        let brought: Vec<String> = self.tags.keys().filter(unnamed).map(|key| tags::field(key)).collect();
        let mark = tags::field(OWNER);
        let comes = move |drift: &Drift| {
            drift.field == mark || drift.actual.is_empty() && brought.contains(&drift.field)
        };
        let all = self.mends.iter().flat_map(|mend| &mend.fields);
        all.filter(move |drift| ours || !comes(drift))
    }

    fn absent<S: Report>(self, mut status: S) -> Plan<Step<C>, S> {
        if observes(self.meta) {
            let message =
                format!("{} does not exist, and is not made because of {MODE}: {OBSERVE}", self.what);
            status.out_of_sync(Reason::Drifted, message);
            return self.quiet(status);
        }
        let message = format!("{} is being made", self.what);
        let being_made = Waiting { reason: Reason::Provisioning, message, delay: LOOK_AGAIN };
        let case = Self { waiting: self.waiting.or(Some(being_made)), ..self };
        // What was there before was deleted by somebody else.
        let drift = case.met(&mut status).then(|| field(&case.what, "there", "gone")).into_iter().collect();
        case.done(&mut status, drift);
        let Self { account, make, waiting, .. } = case;
        let step = |call| Do::Outside(Step { account: account.clone(), call, fields: Vec::new() });
        Plan::part(make.into_iter().map(step).collect(), status, next(waiting.as_ref()))
    }

    fn watched<S: Report>(self, mut status: S, news: Vec<Drift>) -> Plan<Step<C>, S> {
        status.in_sync(self.waiting.as_ref());
        if !news.is_empty() {
            let message = format!(
                "{} differs in {}, and is not changed because of {MODE}: {OBSERVE}",
                self.what,
                listed(&news)
            );
            status.say(SYNCED, Some(false), Reason::Drifted, message);
        }
        self.dated(status.parts(), false);
        *status.parts().drift = news;
        *status.parts().observed_generation = self.meta.generation;
        Plan::part(Vec::new(), status, next(self.waiting.as_ref()))
    }

    fn mended<S: Report>(self, mut status: S, news: Vec<Drift>) -> Plan<Step<C>, S> {
        // What differs although the spec is the one that was met before was changed by somebody else.
        let met = self.met(&mut status);
        let held = status.parts().tag_keys.clone();
        let drift = news.into_iter().filter(|drift| met && !self.provider_asks_anew(drift, &held)).collect();
        self.done(&mut status, drift);
        let Self { account, mends, waiting, .. } = self;
        let step = |Mend { fields, call }| Do::Outside(Step { account: account.clone(), call, fields });
        Plan::part(mends.into_iter().map(step).collect(), status, next(waiting.as_ref()))
    }

    /// Whether the spec is the one that was met before.
    fn met<S: Report>(&self, status: &mut S) -> bool {
        let seen = *status.parts().observed_generation;
        seen.is_some() && seen == self.meta.generation
    }

    /// Whether a tag differs because it was not asked for before, or is not any more. Then the provider's tags have changed.
    fn provider_asks_anew(&self, drift: &Drift, held: &[String]) -> bool {
        let one_of = |key: &String| drift.field == tags::field(key);
        self.tags.keys().any(one_of) != held.iter().any(one_of)
    }

    /// Says that all is as the spec asks, once the steps are done.
    fn done<S: Report>(&self, status: &mut S, drift: Vec<Drift>) {
        status.in_sync(self.waiting.as_ref());
        let wrote = !self.mends.is_empty() || self.live.is_none();
        let synced = self.dated(status.parts(), wrote);
        let parts = status.parts();
        *parts.tag_keys = self.tags.keys().cloned().collect();
        if self.waiting.is_none() {
            *parts.observed_generation = self.meta.generation;
        }
        if !drift.is_empty() {
            *parts.drift = drift;
        } else if synced {
            parts.drift.clear();
        }
        if !parts.drift.is_empty() {
            let message = format!("put back what was changed outside: {}", told(parts.drift));
            status.say(SYNCED, Some(true), Reason::DriftCorrected, message);
        }
    }

    /// Dates a comparison. Passes soon after it do not count as one: they would only write the time. Says whether this did.
    fn dated(&self, parts: Parts<'_>, wrote: bool) -> bool {
        let last = parts.last_sync_time.as_ref().map(|Time(last)| *last);
        let fresh = last
            .is_some_and(|last| self.now.duration_since(last) < (RESYNC / 2).try_into().unwrap_or_default());
        let moves = !fresh || wrote;
        if moves {
            *parts.last_sync_time = Some(Time(self.now));
        }
        moves
    }

    /// Nothing is done until somebody does something.
    fn quiet<S: Report>(&self, status: S) -> Plan<Step<C>, S> {
        Plan::part(Vec::new(), status, Next::After(RESYNC))
    }
}

fn next(waiting: Option<&Waiting>) -> Next {
    Next::After(waiting.map_or(RESYNC, |waiting| waiting.delay))
}

fn name(meta: &ObjectMeta) -> Name {
    Name::new(meta.namespace.clone().unwrap_or_default(), meta.name.clone().unwrap_or_default())
}

fn annotation<'a>(meta: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    meta.annotations.as_ref()?.get(key).map(String::as_str)
}

/// What a person approves: these differences and no others.
pub(super) fn digest(fields: &[Drift]) -> String {
    let text = serde_json::to_string(fields).unwrap_or_default();
    Sha256::digest(text).iter().take(DIGEST_BYTES).map(|byte| format!("{byte:02x}")).collect()
}

/// The names of fields.
fn listed(fields: &[Drift]) -> String {
    fields.iter().map(|drift| drift.field.as_str()).collect::<Vec<_>>().join(", ")
}

/// Fields, with what they were and what they are.
fn told(fields: &[Drift]) -> String {
    let one = |drift: &Drift| format!("{} was {:?}, is {:?}", drift.field, drift.actual, drift.expected);
    fields.iter().map(one).collect::<Vec<_>>().join("; ")
}
