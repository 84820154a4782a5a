//! How a claim goes, as the diagram of seed 001 has it.

use api::claims::{DatabaseClaim, DatabaseClaimStatus, DeletePolicy};
use api::conditions::Reason;
use api::names::Side;
use k8s_openapi::api::core::v1::Secret;
use kit::{Address, Do, Plan};
use ports::admin::{Act, Title};

use super::ground::Ground;
use super::{Drawn, MAKING, WAITING, World, held, waits};
use crate::claims::config::Maker;
use crate::claims::guests::Guest;
use crate::claims::makers::{self, Found};
use crate::claims::step::Step;
use crate::claims::target::{Place, Target};

/// The plan for a claim that goes.
pub(super) fn plan(claim: &DatabaseClaim, world: &World, status: DatabaseClaimStatus) -> Drawn {
    let served = claim.status.as_ref().is_some_and(|status| status.active_db.is_some());
    let recycles = claim.spec.delete_policy == DeletePolicy::Recycle;
    // The Secret goes first: none is ever there that does not get in.
    let secret = Do::Delete(Address::new::<Secret>(&world.secret.namespace, &world.secret.name), None);
    let mut steps: Vec<Do<Step>> = world.held.ours().map(|_| secret).into_iter().collect();
    let (target, server, seen) = match (&world.target, &world.found, &world.seen) {
        (Ok(target), Found::Ready(server), Some(seen)) => (target, server, seen),
        // The server is gone, and all that was on it.
        (Ok(_), Found::Absent, _) => return Plan::release(steps, status),
        // Nothing was made yet, or all of it stays.
        (Ok(target), _, _) if recycles || !served && world.kept.is_none() => {
            steps.extend(reclaimed(claim, world, target, recycles));
            return Plan::release(steps, status);
        }
        (Err(_), _, _) if recycles || !served && world.kept.is_none() => return Plan::release(steps, status),
        (target, found, _) => {
            let words = match (target, found) {
                (Err(refusal), _) => refusal.message.clone(),
                (_, Found::Wrong(_, words) | Found::Making(words)) => words.clone(),
                _ => "the server cannot be spoken to".to_owned(),
            };
            let words = format!(
                "{words}; the claim goes when its database has been put aside, or at once with deletePolicy: recycle"
            );
            let mut plan = waits(status, Reason::Deleting, words, WAITING);
            plan.steps = steps;
            return plan;
        }
    };
    let ground = Ground::new(claim, world, target, server, seen);
    if let Some(kept) = &world.kept {
        steps.extend(held::drop_kept(&ground, kept));
        steps.extend(reclaimed(claim, world, target, false));
        return Plan::release(steps, status);
    }
    steps.extend(locked(&ground));
    steps.extend(world.guests.iter().flat_map(|guest| guest.locked(server, seen)));
    let ours = seen.database.as_ref().is_none_or(|found| ground.title.owns(found.mark.as_deref()));
    if recycles || !ours && !ground.is_source() {
        return Plan::release(steps, status);
    }
    if ground.is_source() {
        return leave(&ground, steps, status);
    }
    if world.config.hold_minutes > 0 && served {
        steps.extend(shown_out(&ground));
        steps.extend(held::put_aside(&ground));
        return Plan::release(steps, status);
    }
    let title = Title::to_own(&ground.title.mark);
    let database = Act::DropDatabase { database: ground.database().to_owned(), title };
    steps.push(Do::Outside(Step::act(server, database)));
    steps.extend(world.guests.iter().flat_map(|guest| guest.dropped(server, seen, None)));
    steps.extend(dropped(&ground, None));
    steps.extend(reclaimed(claim, world, target, false));
    Plan::release(steps, status)
}

/// Others with logins in the database lose them before it is put aside: while it lets nobody in, what they may do in it
/// cannot be taken from them.
fn shown_out(ground: &Ground<'_>) -> Vec<Do<Step>> {
    let (server, seen) = (ground.server, ground.seen);
    let gone = |guest: &Guest| guest.dropped(server, seen, Some(ground.owner()));
    let gone: Vec<Do<Step>> = ground.world.guests.iter().flat_map(gone).collect();
    let (database, title) = (ground.database().to_owned(), Title::to_own(&ground.title.mark));
    let close = (!gone.is_empty()).then(|| Do::Outside(Step::act(server, Act::Close { database, title })));
    close.into_iter().chain(gone).collect()
}

/// Nobody gets in any more.
fn locked(ground: &Ground<'_>) -> Vec<Do<Step>> {
    let ours = logins(ground).into_iter().filter(|role| {
        let found = ground.seen.roles.get(role);
        found.is_some_and(|found| ground.title.owns(found.mark.as_deref()))
    });
    let lock = |role| Act::Lock { role, title: Title::to_own(&ground.title.mark) };
    ours.map(|role| Do::Outside(Step::act(ground.server, lock(role)))).collect()
}

fn logins(ground: &Ground<'_>) -> [String; 2] {
    [Side::A, Side::B].map(|side| ground.world.names.stem.login(side).to_string())
}

/// The roles go, as far as they were made for the claim. What they own goes to the heir.
fn dropped(ground: &Ground<'_>, heir: Option<&str>) -> Vec<Do<Step>> {
    let roles = logins(ground).into_iter().chain([ground.owner().to_owned()]);
    let ours = roles.filter(|role| {
        // One that is not there yet may be there by now; a foreign one was seen.
        ground.seen.roles.get(role).is_none_or(|found| ground.title.owns(found.mark.as_deref()))
    });
    let title = Title::to_own(&ground.title.mark);
    ours.map(|role| {
        let act = Act::DropRole { role, heir: heir.map(str::to_owned), title: title.clone() };
        Do::Outside(Step::act(ground.server, act))
    })
    .collect()
}

/// A database that somebody else made stays; the users that were made in it go when they have left.
fn leave(ground: &Ground<'_>, mut steps: Vec<Do<Step>>, status: DatabaseClaimStatus) -> Drawn {
    let roles = logins(ground);
    let guests = &ground.world.guests;
    let sessions: u32 =
        roles.iter().filter_map(|role| ground.seen.roles.get(role)).map(|role| role.sessions).sum();
    let sessions = sessions + guests.iter().map(|guest| guest.sessions(ground.seen)).sum::<u32>();
    if sessions > 0 {
        let words = format!(
            "{sessions} sessions of {} are still open; its logins go when they have ended",
            ground.owner()
        );
        let mut plan = waits(status, Reason::StillBound, words, MAKING);
        plan.steps = steps;
        return plan;
    }
    let heir = ground.seen.database.as_ref().map(|found| found.owner.as_str());
    steps.extend(guests.iter().flat_map(|guest| guest.dropped(ground.server, ground.seen, heir)));
    steps.extend(dropped(ground, heir));
    Plan::release(steps, status)
}

/// A server that was made goes with its last claim, if that is the policy.
fn reclaimed(claim: &DatabaseClaim, world: &World, target: &Target, recycles: bool) -> Vec<Do<Step>> {
    let Place::Made(made) = &target.place else { return Vec::new() };
    let maker = world.config.maker;
    // What is behind a Cluster goes with it, so whoever wants to keep that keeps the Cluster.
    let keeps = target.terms.orphan && maker == Maker::Cluster;
    let named = claim.spec.host.as_deref().is_some_and(|host| !host.is_empty());
    if named || recycles || keeps || !target.terms.reclaim || !world.others.is_empty() {
        return Vec::new();
    }
    let mut steps = vec![Do::Delete(makers::address(maker, &world.namespace, &made.name), None)];
    steps
        .extend(makers::password(maker, &world.namespace, &made.name).map(|secret| Do::Delete(secret, None)));
    steps
}
