//! What on the server is not as it should be, and the steps that mend what is ours.

use std::collections::{BTreeMap, BTreeSet};

use api::claims::RoleType;
use api::drift::{Drift, Severity};
use api::names::Side;
use ports::admin::{Act, Content, Database};

use super::ground::Ground;
use crate::claims::logins::differs;
use crate::claims::step::Step;

/// The steps, and what they are for.
pub(super) fn mend(ground: &Ground<'_>) -> (Vec<Step>, Vec<Drift>) {
    let (mut steps, mut drift) = owner(ground);
    let (more, differences) = ground.pair().mend(ground.seen);
    steps.extend(more);
    drift.extend(differences);
    let found = ground.seen.database.as_ref();
    let parts = match (ground.is_source(), found) {
        (true, Some(found)) => [rights(ground, found)].to_vec(),
        (true, None) => Vec::new(),
        (false, None) => vec![database(ground), extensions(ground, &BTreeSet::new())],
        (false, Some(found)) => {
            let content = found.content.clone().unwrap_or_default();
            let there = content.extensions.keys().cloned().collect();
            vec![kept(ground, found), extensions(ground, &there), strays(ground, &content)]
        }
    };
    for (more, differences) in parts {
        steps.extend(more);
        drift.extend(differences);
    }
    (steps, drift)
}

type Part = (Vec<Step>, Vec<Drift>);

fn owner(ground: &Ground<'_>) -> Part {
    let (role, powers) = (ground.owner().to_owned(), ground.powers());
    let found = ground.seen.roles.get(&role);
    // A role that somebody else made may be somebody's login.
    let adopted = found.is_some_and(|found| found.mark.is_none());
    let differences = differs(found, powers, None);
    if differences.is_empty() || adopted {
        return Part::default();
    }
    let drift = differences.into_iter().map(|difference| difference.drift(&format!("role {role}"))).collect();
    let act = Act::EnsureOwner { role, powers, title: ground.title.clone() };
    (vec![Step::act(ground.server, act)], drift)
}

fn ensure(ground: &Ground<'_>) -> Step {
    let (database, owner) = (ground.database().to_owned(), ground.owner().to_owned());
    Step::act(ground.server, Act::EnsureDatabase { database, owner, title: ground.title.clone() })
}

fn database(ground: &Ground<'_>) -> Part {
    (vec![ensure(ground)], vec![differing(format!("database {}", ground.database()), "there", "missing")])
}

/// The database is there: whose is it, and who may enter?
fn kept(ground: &Ground<'_>, found: &Database) -> Part {
    let name = ground.database();
    let mut drift = Vec::new();
    if found.owner != ground.owner() {
        drift.push(differing(format!("database {name}: owner"), ground.owner(), &found.owner));
    }
    if found.public && found.mark.is_some() {
        drift.push(differing(format!("database {name}: open to the public"), "false", "true"));
    }
    (drift.first().map(|_| ensure(ground)).into_iter().collect(), drift)
}

fn extensions(ground: &Ground<'_>, there: &BTreeSet<String>) -> Part {
    let missing: BTreeSet<String> = ground.target.terms.extensions.difference(there).cloned().collect();
    if missing.is_empty() {
        return Part::default();
    }
    let told = |name: &String| differing(format!("extension {name}"), "installed", "missing");
    let drift = missing.iter().map(told).collect();
    let act = Act::EnsureExtensions { database: ground.database().to_owned(), extensions: missing };
    (vec![Step::act(ground.server, act)], drift)
}

/// What a login owns goes to the owner; what others own is only told.
fn strays(ground: &Ground<'_>, content: &Content) -> Part {
    let stem = &ground.world.names.stem;
    let logins: BTreeSet<String> = [Side::A, Side::B].map(|side| stem.login(side).to_string()).into();
    let from: BTreeSet<String> = content
        .strays
        .iter()
        .map(|stray| stray.owner.clone())
        .filter(|owner| logins.contains(owner))
        .collect();
    let told = |stray: &ports::admin::Stray| Drift {
        severity: Some(Severity::Medium),
        ..differing(format!("{}.{}: owner", stray.schema, stray.name), ground.owner(), &stray.owner)
    };
    let drift = content.strays.iter().map(told).collect();
    let act = Act::Reassign {
        database: ground.database().to_owned(),
        from: from.clone(),
        to: ground.owner().to_owned(),
        title: ground.title.clone(),
    };
    let steps = (!from.is_empty()).then(|| Step::act(ground.server, act));
    (steps.into_iter().collect(), drift)
}

/// In a database that somebody else made, the claim's role gets every right but that of the owner.
fn rights(ground: &Ground<'_>, found: &Database) -> Part {
    let (role, none) = (ground.owner(), Content::default());
    if found.owner == role {
        return Part::default();
    }
    let content = found.content.as_ref().unwrap_or(&none);
    let rights: BTreeMap<String, RoleType> =
        content.schemas.keys().map(|schema| (schema.clone(), RoleType::Admin)).collect();
    let creators = BTreeSet::from([found.owner.clone()]);
    if content.grants_are(role, &rights, &creators) {
        return Part::default();
    }
    let act = Act::Grant {
        database: ground.database().to_owned(),
        role: role.to_owned(),
        creators,
        rights,
        title: ground.title.clone(),
    };
    let told = differing(format!("rights of {role} in {}", ground.database()), "all", "others");
    (vec![Step::act(ground.server, act)], vec![told])
}

fn differing(field: String, expected: &str, actual: &str) -> Drift {
    let (expected, actual) = (expected.to_owned(), actual.to_owned());
    Drift { field, expected, actual, severity: Some(Severity::High) }
}
