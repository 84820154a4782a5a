//! What on the server is not as it should be, and the steps that mend it.

use std::collections::{BTreeMap, BTreeSet};

use api::claims::RoleType;
use api::drift::{Drift, Severity};
use ports::admin::{Act, Powers};

use super::Ground;
use crate::claims::logins::differs;
use crate::claims::step::Step;

/// What is mended.
#[derive(Default)]
pub(super) struct Mended {
    pub(super) steps: Vec<Step>,
    pub(super) drift: Vec<Drift>,
    /// Whether rights change.
    pub(super) rights: bool,
}

impl Mended {
    fn add(&mut self, ground: &Ground<'_>, act: Act) {
        self.steps.push(Step::act(ground.server, act));
    }
}

/// The steps, and what they are for.
pub(super) fn mend(ground: &Ground<'_>) -> Mended {
    let mut mended = Mended::default();
    holder(ground, &mut mended);
    let (steps, drift) = ground.pair().mend(ground.seen);
    mended.steps.extend(steps);
    mended.drift.extend(drift);
    schemas(ground, &mut mended);
    rights(ground, &mut mended);
    mended
}

fn holder(ground: &Ground<'_>, mended: &mut Mended) {
    let (role, powers) = (ground.site.guest.holder.to_string(), Powers::default());
    let found = ground.seen.roles.get(&role);
    let differences = differs(found, powers, None);
    let (differs, of) = (!differences.is_empty(), format!("role {role}"));
    mended.drift.extend(differences.into_iter().map(|difference| difference.drift(&of)));
    // Whoever made it a member of another role has to say so again: it is told, and left.
    for other in found.into_iter().flat_map(|found| found.member_of.keys()) {
        mended.drift.push(differing(format!("{of}: member of"), "", other));
    }
    if differs {
        mended.add(ground, Act::EnsureOwner { role, powers, title: ground.title.clone() });
    }
}

/// Schemas that are not there belong to the source.
fn schemas(ground: &Ground<'_>, mended: &mut Mended) {
    let wanted = ground.claim.spec.schema_role_map.keys().map(ToString::to_string);
    for schema in wanted.filter(|schema| !ground.content.schemas.contains_key(schema)) {
        mended.rights = true;
        mended.drift.push(differing(format!("schema {schema}"), "there", "missing"));
        let (database, owner) = (ground.site.database.clone(), ground.site.owner.clone());
        mended.add(ground, Act::EnsureSchema { database, schema, owner });
    }
}

/// Exactly these rights for the holder, and none for the logins themselves.
fn rights(ground: &Ground<'_>, mended: &mut Mended) {
    let none = BTreeMap::new();
    let rights: BTreeMap<String, RoleType> = ground
        .claim
        .spec
        .schema_role_map
        .iter()
        .map(|(schema, right)| (schema.to_string(), *right))
        .collect();
    let creators = creators(ground);
    let holder = ground.site.guest.holder.to_string();
    let found = ground.content.grants.get(&holder).unwrap_or(&none);
    let schemas: BTreeSet<&String> = rights.keys().chain(found.keys()).collect();
    for schema in schemas {
        let right = |right| found.get(schema).is_some_and(|grants| grants.is(right, &creators));
        let actual = RIGHTS.into_iter().find(|known| right(*known)).map(word);
        let actual = actual.or_else(|| found.contains_key(schema).then_some("others")).unwrap_or("none");
        let expected = rights.get(schema).copied().map_or("none", word);
        if actual != expected {
            mended.drift.push(differing(format!("rights of {holder} in schema {schema}"), expected, actual));
        }
    }
    let grant = |role: String, rights, creators| Act::Grant {
        database: ground.site.database.clone(),
        role,
        creators,
        rights,
        title: ground.title.clone(),
    };
    // Who is not let in may have lost the right to enter, which is given with the others.
    let refused = ground.gets_in == Some(false);
    let differs = !ground.content.grants_are(&holder, &rights, &creators);
    mended.rights |= differs;
    if refused || differs {
        mended.add(ground, grant(holder, rights, creators));
    }
    for login in ground.site.guest.logins() {
        if ground.content.grants.get(&login).is_some_and(|found| !found.is_empty()) {
            mended.drift.push(differing(format!("rights of {login}"), "none", "others"));
            mended.add(ground, grant(login, BTreeMap::new(), BTreeSet::new()));
        }
    }
}

/// Whose later tables count.
fn creators(ground: &Ground<'_>) -> BTreeSet<String> {
    let lord =
        ground.seen.database.as_ref().filter(|_| ground.site.is_found()).map(|found| found.owner.clone());
    lord.into_iter().chain([ground.site.owner.clone()]).collect()
}

const RIGHTS: [RoleType; 3] = [RoleType::ReadOnly, RoleType::Regular, RoleType::Admin];

/// A kind of right, as the spec writes it.
pub(super) fn word(right: RoleType) -> &'static str {
    match right {
        RoleType::ReadOnly => "readonly",
        RoleType::Regular => "regular",
        RoleType::Admin => "admin",
    }
}

fn differing(field: String, expected: &str, actual: &str) -> Drift {
    let (expected, actual) = (expected.to_owned(), actual.to_owned());
    Drift { field, expected, actual, severity: Some(Severity::High) }
}
