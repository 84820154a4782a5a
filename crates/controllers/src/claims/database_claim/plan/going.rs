//! How a claim goes, as the diagram of seed 001 has it.

use api::annotations::RECYCLED;
use api::claims::{DatabaseClaim, DatabaseClaimStatus, DeletePolicy};
use api::conditions::Reason;
use api::names::Side;
use k8s_openapi::api::core::v1::Secret;
use kit::{Address, Do, Plan};
use ports::admin::{Act, Title};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::ground::Ground;
use super::{Drawn, MAKING, WAITING, World, had, held, waits};
use crate::claims::config::Maker;
use crate::claims::guests::Guest;
use crate::claims::makers::{self, Found};
use crate::claims::step::Step;
use crate::claims::target::{Place, Target};

/// The plan for a claim that goes.
pub(super) fn plan(claim: &DatabaseClaim, world: &World, status: DatabaseClaimStatus) -> Drawn {
    let recycles = claim.spec.delete_policy == DeletePolicy::Recycle;
    let stays = had(claim) || world.kept.is_some();
    // The Secret goes first: none is ever there that does not get in.
    let secret = Do::Delete(Address::new::<Secret>(&world.secret.namespace, &world.secret.name), None);
    let mut steps: Vec<Do<Step>> = world.held.ours().map(|_| secret).into_iter().collect();
    match (&world.target, &world.found, &world.seen) {
        (Ok(target), Found::Ready(server), Some(seen)) => {
            part(&Ground::new(claim, world, target, server, seen), steps, status)
        }
        // The server is gone, and all that was on it; or nothing was made on it yet.
        (Ok(target), Found::Absent, _) => part_with_server(claim, world, target, (steps, status)),
        (Ok(target), _, _) if !stays && !recycles => part_with_server(claim, world, target, (steps, status)),
        (Ok(target), _, _) if recycles => {
            steps.extend(noted(world, target, stays.then(|| world.identity.to_string())));
            Plan::release(steps, status)
        }
        (Err(_), _, _) if recycles || !stays => Plan::release(steps, status),
        (target, found, _) => {
            let (words, delay) = match (target, found) {
                (Err(refusal), _) => (refusal.message.clone(), WAITING),
                (_, Found::Wrong(_, words)) => (words.clone(), WAITING),
                // One that another claim takes along is gone soon.
                (_, Found::Making(words)) => (words.clone(), MAKING),
                (_, Found::Ready(_) | Found::Absent) => ("the server cannot be spoken to".to_owned(), MAKING),
            };
            let words = format!(
                "{words}; the claim goes when its database has been put aside, or at once with deletePolicy: recycle"
            );
            let mut plan = waits(status, Reason::Deleting, words, delay);
            plan.steps = steps;
            plan
        }
    }
}

/// The plan for one whose server can be spoken to.
fn part(ground: &Ground<'_>, mut steps: Vec<Do<Step>>, status: DatabaseClaimStatus) -> Drawn {
    let Ground { claim, world, target, server, seen, .. } = ground;
    let identity = world.identity.to_string();
    if let Some(kept) = &world.kept {
        steps.extend(held::drop_kept(ground, kept));
        return part_with_server(claim, world, target, (steps, status));
    }
    steps.extend(locked(ground));
    if let (Some((_, kept)), None) = (&world.record, &seen.database) {
        // It came back, and goes before it had its database.
        steps.extend(held::put_back(ground, kept));
        return Plan::release(steps, status);
    }
    steps.extend(world.guests.iter().flat_map(|guest| guest.locked(server, seen)));
    let ours = seen.database.as_ref().is_none_or(|found| ground.title.owns(found.mark.as_deref()));
    if claim.spec.delete_policy == DeletePolicy::Recycle {
        let stays = had(claim) || ours && seen.database.is_some();
        steps.extend(noted(world, target, stays.then_some(identity)));
        return Plan::release(steps, status);
    }
    if ground.is_source() {
        return leave(ground, steps, status);
    }
    if !ours {
        return Plan::release(steps, status);
    }
    steps.extend(noted(world, target, None));
    if world.config.hold_minutes > 0 && (had(claim) || seen.database.is_some()) {
        steps.extend(shown_out(ground));
        steps.extend(held::put_aside(ground));
        return Plan::release(steps, status);
    }
    let title = Title::to_own(&ground.title.mark);
    let database = Act::DropDatabase { database: ground.database().to_owned(), title };
    steps.push(Do::Outside(Step::act(server, database)));
    steps.extend(world.guests.iter().flat_map(|guest| guest.dropped(server, seen, None)));
    steps.extend(dropped(ground, None));
    part_with_server(claim, world, target, (steps, status))
}

/// Notes on a server that was made whose database on it is to stay, or that this claim's is not.
fn noted(world: &World, target: &Target, stays: Option<String>) -> Vec<Do<Step>> {
    let Place::Made(made) = &target.place else { return Vec::new() };
    let digest = Sha256::digest(world.identity.to_string());
    let digits: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let note = format!("{RECYCLED}{digits}");
    if stays.is_none() && !world.notes.contains_key(&note) {
        return Vec::new();
    }
    let patch = json!({ "metadata": { "annotations": { note: stays } } });
    vec![Do::Patch(makers::address(world.maker, &world.namespace, &made.name), patch)]
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

/// A claim whose own things are gone goes, and takes the server along if it is the last.
fn part_with_server(
    claim: &DatabaseClaim,
    world: &World,
    target: &Target,
    (mut steps, status): (Vec<Do<Step>>, DatabaseClaimStatus),
) -> Drawn {
    let reclaimed = reclaimed(claim, world, target);
    if !reclaimed.is_empty() && !world.ahead.is_empty() {
        // Who is ahead may have decided when this one was not going yet, and so leave the server.
        let ahead: Vec<&str> = world.ahead.iter().map(String::as_str).collect();
        let words = format!("the server goes with its last claim; {} goes before this one", ahead.join(", "));
        let mut plan = waits(status, Reason::Deleting, words, MAKING);
        plan.steps = steps;
        return plan;
    }
    steps.extend(reclaimed);
    Plan::release(steps, status)
}

/// A server that was made goes with its last claim, if that is the policy.
fn reclaimed(claim: &DatabaseClaim, world: &World, target: &Target) -> Vec<Do<Step>> {
    let Place::Made(made) = &target.place else { return Vec::new() };
    let (maker, orphan) = (world.maker, target.terms.orphan);
    // What is behind a Cluster goes with it, so whoever wants to keep that keeps the Cluster.
    let keeps = orphan && maker == Maker::Cluster;
    let named = claim.spec.host.as_deref().is_some_and(|host| !host.is_empty());
    if named || keeps || !target.terms.reclaim || !world.others.is_empty() {
        return Vec::new();
    }
    let object = makers::address(maker, &world.namespace, &made.name);
    // It was made on the terms of whoever came first; those of whoever goes last hold.
    let terms = orphan.then(|| Do::Patch(object.clone(), json!({ "spec": { "deletionPolicy": "Orphan" } })));
    let password = makers::password(maker, &world.namespace, &made.name);
    let gone = [Some(object), password].into_iter().flatten().map(|object| Do::Delete(object, None));
    terms.into_iter().chain(gone).collect()
}
