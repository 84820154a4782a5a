//! How logins go: the source takes its consent back, or goes; or the claim goes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::claims::DbRoleClaimStatus;
use api::conditions::Reason;
use k8s_openapi::api::core::v1::Secret;
use kit::{Address, Do, Next, Plan};
use ports::admin::{Act, Seen, Server};

use super::{Drawn, RESYNC, SOON, Sight, Site, Source, WAITING, World, closed, waits};
use crate::claims::makers::Found;
use crate::claims::step::Step;

/// What is taken away, and who still uses it.
#[derive(Default)]
pub(super) struct Removed {
    pub(super) steps: Vec<Do<Step>>,
    pub(super) sessions: u32,
}

/// Nobody gets in any more; when the last session has ended, the roles go, and what they own goes to the source.
pub(super) fn removed(site: &Site, server: &Arc<Server>, seen: &Seen) -> Removed {
    let (guest, sessions) = (&site.guest, site.guest.sessions(seen));
    let mut steps = guest.locked(server, seen);
    if sessions == 0 {
        let heir = seen.roles.contains_key(&site.owner).then_some(site.owner.as_str());
        steps.extend(guest.dropped(server, seen, heir));
    }
    Removed { steps, sessions }
}

/// Nobody gets in any more, and whoever is in may do nothing any more.
fn suspended(site: &Site, server: &Arc<Server>, seen: &Seen) -> Removed {
    let mut steps = site.guest.locked(server, seen);
    let content = seen.database.as_ref().and_then(|found| found.content.as_ref());
    let holds = |role: &String| {
        content.and_then(|content| content.grants.get(role)).is_some_and(|all| !all.is_empty())
    };
    for role in site.guest.roles().into_iter().filter(holds) {
        let act = Act::Grant {
            database: site.database.clone(),
            role,
            creators: BTreeSet::new(),
            rights: BTreeMap::new(),
            title: site.guest.title(),
        };
        steps.push(Do::Outside(Step::act(server, act)));
    }
    Removed { steps, sessions: 0 }
}

/// The Secret goes first: none is ever there that does not get in.
fn secret(world: &World) -> Vec<Do<Step>> {
    let address = Address::new::<Secret>(&world.secret.namespace, &world.secret.name);
    world.held.ours().map(|_| Do::Delete(address, None)).into_iter().collect()
}

/// Nothing is served any more. Where the roles are is kept, until they are gone.
fn emptied(status: DbRoleClaimStatus) -> DbRoleClaimStatus {
    let DbRoleClaimStatus { source_db, observed_generation, conditions, .. } = status;
    DbRoleClaimStatus { source_db, observed_generation, conditions, ..DbRoleClaimStatus::default() }
}

/// The source does not agree. What is said does not depend on whether it exists.
pub(super) fn denied(world: &World, status: DbRoleClaimStatus, gone: bool, words: String) -> Drawn {
    let Removed { steps, sessions } = match (&world.site, &world.sight) {
        (Some(site), Sight::Open { server, seen, .. }) if gone => removed(site, server, seen),
        (Some(site), Sight::Open { server, seen, .. }) => suspended(site, server, seen),
        (_, Sight::Unknown | Sight::Closed(_) | Sight::Parked | Sight::Open { .. }) => Removed::default(),
    };
    let first = secret(world);
    let soon = !first.is_empty() || sessions > 0;
    let delay = if soon { SOON } else { RESYNC };
    let mut plan = waits(emptied(status), Reason::ConsentMissing, words, delay);
    plan.steps = first.into_iter().chain(steps).collect();
    plan
}

/// The source is gone, or goes.
pub(super) fn orphaned(world: &World, status: DbRoleClaimStatus, how: &str) -> Drawn {
    let known = status.source_db.is_some();
    let mut words = format!("DatabaseClaim {} {how}", world.origin);
    let (mut first, mut delay) = (secret(world), WAITING);
    let mut status = emptied(status);
    match (&world.site, &world.sight) {
        (Some(site), Sight::Open { server, seen, .. }) => {
            let Removed { steps, sessions } = removed(site, server, seen);
            first.extend(steps);
            if sessions > 0 {
                words += &format!("; the logins of this claim go when their {sessions} sessions have ended");
                delay = SOON;
            } else {
                words += "; the logins of this claim in its database are removed";
                status.source_db = None;
            }
        }
        (_, Sight::Closed(Found::Absent)) => {
            words += ", and its server is gone with all that was on it";
            status.source_db = None;
        }
        (_, Sight::Closed(found)) => {
            words += &format!("; the logins of this claim cannot be removed: {}", closed(found));
        }
        (_, Sight::Unknown | Sight::Parked | Sight::Open { .. }) if known => delay = SOON,
        (_, Sight::Unknown | Sight::Parked | Sight::Open { .. }) => words += "; make it first",
    }
    let mut plan = waits(status, Reason::DependencyNotReady, words, delay);
    plan.steps = first;
    plan
}

/// The claim goes.
pub(super) fn going(world: &World, status: DbRoleClaimStatus) -> Drawn {
    let first = secret(world);
    if !first.is_empty() {
        let mut plan =
            waits(status, Reason::Deleting, "the Secret is removed, then the logins".to_owned(), SOON);
        plan.steps = first;
        plan.next = Next::After(SOON);
        return plan;
    }
    let gone = matches!(world.source, Source::Gone | Source::Denied { gone: true });
    match (&world.site, &world.sight) {
        (Some(site), Sight::Open { server, seen, .. }) => {
            let Removed { steps, sessions } = removed(site, server, seen);
            if sessions == 0 {
                return Plan::release(steps, status);
            }
            let holder = &site.guest.holder;
            let words =
                format!("{sessions} sessions of {holder} are still open; its logins go when they have ended");
            let mut plan = waits(status, Reason::StillBound, words, SOON);
            plan.steps = steps;
            plan
        }
        // Nobody is left who could say how to get in, or there is nothing to get into.
        (_, Sight::Closed(found)) if !gone && *found != Found::Absent && status.source_db.is_some() => {
            let words = format!("the logins cannot be removed yet: {}", closed(found));
            waits(status, Reason::Deleting, words, WAITING)
        }
        (_, Sight::Unknown | Sight::Closed(_) | Sight::Parked | Sight::Open { .. }) => {
            Plan::release(Vec::new(), status)
        }
    }
}
