//! Databases of deleted claims: kept for a while, taken back, or dropped when their time has come.

use api::annotations::{HELD_AS, HELD_FOR, KEPT_UNTIL, MANAGED_BY};
use api::claims::{DATABASE_CLAIM_FINALIZER, DatabaseClaim, DatabaseClaimStatus};
use api::conditions::Reason;
use api::names::{RoleName, Side};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kit::{Address, Child, Do, MANAGER, Name, Next};
use ports::admin::{Act, Title};
use sha2::{Digest, Sha256};

use super::ground::{Ground, mark};
use super::{Drawn, Kept, MAKING, RESYNC, World, waits};
use crate::claims::secret::seconds;
use crate::claims::step::Step;
use crate::claims::target::Place;

/// An object that keeps a database: it waits, and then goes.
pub(super) fn keeping(
    claim: &DatabaseClaim,
    world: &World,
    kept: &Kept,
    status: DatabaseClaimStatus,
) -> Drawn {
    let Some(until) = kept.until else {
        let words = format!(
            "the database of {} is kept; the annotation {KEPT_UNTIL} does not say until when",
            world.identity
        );
        return waits(status, Reason::InvalidSpec, words, RESYNC);
    };
    let words = format!(
        "the database of {} is kept as {} until {}; make the claim again to get it back, or delete this one to drop it now",
        world.identity,
        kept.held,
        seconds(until)
    );
    let left = until.duration_since(world.now);
    let mut plan = waits(status, Reason::Deleting, words, left.unsigned_abs());
    plan.status.error = None;
    if left <= SignedDuration::ZERO {
        plan.steps = vec![Do::Delete(Address::of(claim), None)];
        plan.next = Next::After(MAKING);
    }
    plan
}

/// The claim came back in time: its database and roles get their names again.
pub(super) fn take_back(
    ground: &Ground<'_>,
    record: &Name,
    kept: &Kept,
    mut status: DatabaseClaimStatus,
) -> Drawn {
    let now = ground.world.now;
    // From now on it has something to lose, also before it is served.
    status.db_created_at =
        status.db_created_at.or_else(|| Some(Time(Timestamp::from_second(now.as_second()).unwrap_or(now))));
    let title = Title::to_own(&ground.title.mark);
    let mut steps: Vec<Do<Step>> = Vec::new();
    let mut act = |act| steps.push(Do::Outside(Step::act(ground.server, act)));
    for (from, to) in renamed(kept.stem(), &ground.world.names.stem) {
        act(Act::RenameRole { from, to, title: title.clone() });
    }
    let (held, database) = (kept.held.clone(), ground.database().to_owned());
    act(Act::Release { held, database, title });
    steps.push(Do::Delete(Address::new::<DatabaseClaim>(&record.namespace, &record.name), None));
    let words = format!("database {} was kept, and is taken back", ground.database());
    let mut plan = waits(status, Reason::Provisioning, words, MAKING);
    plan.steps = steps;
    plan
}

/// Puts the database and the roles of a claim that goes aside, and leaves somebody who keeps them.
pub(super) fn put_aside(ground: &Ground<'_>) -> Vec<Do<Step>> {
    let title = Title::to_own(&ground.title.mark);
    let held = held_name(ground.claim);
    let mut steps: Vec<Do<Step>> = Vec::new();
    let mut act = |act| steps.push(Do::Outside(Step::act(ground.server, act)));
    let database = ground.database().to_owned();
    act(Act::Hold { database, held: held.clone(), title });
    for renamed in set_aside(ground, held.parse().ok()) {
        act(renamed);
    }
    steps.push(Do::Create(Box::new(record(ground, &held))));
    steps
}

/// Puts the roles of a database that is still kept where it is: a claim came back for it, and went before it had it.
pub(super) fn put_back(ground: &Ground<'_>, kept: &Kept) -> Vec<Do<Step>> {
    let acts = set_aside(ground, kept.stem()).into_iter();
    acts.map(|act| Do::Outside(Step::act(ground.server, act))).collect()
}

/// Gives the claim's roles other names, but for those that it adopted.
fn set_aside(ground: &Ground<'_>, aside: Option<RoleName>) -> Vec<Act> {
    let title = Title::to_own(&ground.title.mark);
    let ours = |role: &str| {
        let found = ground.seen.roles.get(role);
        found.is_none_or(|found| ground.title.owns(found.mark.as_deref()))
    };
    let all = renamed(aside, &ground.world.names.stem).into_iter().filter(|(_, own)| ours(own));
    all.map(|(to, from)| Act::RenameRole { from, to, title: title.clone() }).collect()
}

/// Drops what was kept.
pub(super) fn drop_kept(ground: &Ground<'_>, kept: &Kept) -> Vec<Do<Step>> {
    let title = Title::to_own(&mark(&ground.world.identity));
    let mut acts = vec![Act::DropDatabase { database: kept.held.clone(), title: title.clone() }];
    if let Some(stem) = kept.stem() {
        let logins = [Side::A, Side::B].map(|side| stem.login(side).to_string());
        for role in logins.into_iter().chain([stem.to_string()]) {
            acts.push(Act::DropRole { role, heir: None, title: title.clone() });
        }
    }
    acts.into_iter().map(|act| Do::Outside(Step::act(ground.server, act))).collect()
}

/// A name that no claim has, and no other deletion.
fn held_name(claim: &DatabaseClaim) -> String {
    let digest = Sha256::digest(claim.metadata.uid.as_deref().unwrap_or_default());
    let digits: String = digest.iter().take(10).map(|byte| format!("{byte:02x}")).collect();
    format!("terrace-held-{digits}")
}

/// Pairs of role names, aside and own.
fn renamed(aside: Option<RoleName>, own: &RoleName) -> Vec<(String, String)> {
    let Some(aside) = aside else { return Vec::new() };
    let login = |side| (aside.login(side).to_string(), own.login(side).to_string());
    vec![login(Side::A), login(Side::B), (aside.to_string(), own.to_string())]
}

/// The object that keeps them. It says all that is needed to find the server again.
fn record(ground: &Ground<'_>, held: &str) -> Child {
    let (claim, world) = (ground.claim, ground.world);
    let mut spec = claim.spec.clone();
    spec.instance_label.clone_from(&ground.target.label);
    (spec.host, spec.port) = match &ground.target.place {
        Place::Known(known) => (Some(known.host.clone()), Some(IntOrString::Int(known.port.into()))),
        Place::Made(_) | Place::Source(_) => (None, None),
    };
    let deleted = claim.metadata.deletion_timestamp.as_ref().map_or(world.now, |time| time.0);
    let hold = SignedDuration::from_mins(i64::from(world.config.hold_minutes));
    let until = deleted.checked_add(hold).unwrap_or(Timestamp::MAX);
    let notes = [
        (HELD_FOR.to_owned(), world.identity.to_string()),
        (HELD_AS.to_owned(), held.to_owned()),
        (KEPT_UNTIL.to_owned(), seconds(until)),
    ];
    let metadata = ObjectMeta {
        name: Some(held.to_owned()),
        namespace: Some(world.namespace.clone()),
        annotations: Some(notes.into()),
        labels: Some([(MANAGED_BY.to_owned(), MANAGER.to_owned())].into()),
        finalizers: Some(vec![DATABASE_CLAIM_FINALIZER.to_owned()]),
        ..ObjectMeta::default()
    };
    Child::of(&DatabaseClaim { metadata, spec, status: None }).unowned()
}
