//! Further roles, which the spec asks to look after.

use std::collections::BTreeMap;

use api::foreign::cnpg::{Cluster, ManagedRole, ManagedRolesStatus, PasswordState, RECONCILED};
use ports::postgres::Role;

use super::failover::Lead;
use super::settings::mark;
use super::{Given, Step, World};

/// What CloudNativePG says of a role that is not as asked yet.
const PENDING: &str = "pending-reconciliation";

/// What is done about the roles.
#[derive(Debug, Default)]
pub(super) struct Care {
    pub(super) steps: Vec<Step>,
    /// Why one of them is not as the spec asks, if it is not.
    pub(super) trouble: Option<String>,
}

/// The roles that the spec asks to look after.
pub(in super::super) fn named(cluster: &Cluster) -> impl Iterator<Item = &ManagedRole> {
    cluster.spec.managed.iter().flat_map(|managed| &managed.roles)
}

/// What is done about the roles, which are changed only where somebody takes writes.
pub(super) fn care(cluster: &Cluster, world: &World, lead: &Lead<'_>) -> Care {
    let mut care = Care::default();
    for asked in named(cluster) {
        match (wanted(cluster, asked, world), lead) {
            (Ok(role), Lead::Up(primary, _)) if !met(world, &role) => {
                care.steps.push(Step::Role { primary: *primary, role });
            }
            (Ok(_), _) => {}
            (Err(why), _) => care.trouble = care.trouble.or(Some(why)),
        }
    }
    care
}

/// What is said of the roles.
pub(super) fn told(cluster: &Cluster, world: &World) -> Option<ManagedRolesStatus> {
    let mut told = ManagedRolesStatus::default();
    for asked in named(cluster) {
        let role = wanted(cluster, asked, world).ok().filter(|role| met(world, role));
        let word = if role.is_some() { RECONCILED } else { PENDING };
        told.by_status.entry(word.to_owned()).or_default().push(asked.name.clone());
        let version = world.given_roles.get(&asked.name).map(|given| given.version.clone());
        if let (Some(_), Some(version)) = (role, version) {
            let state = PasswordState { resource_version: Some(version) };
            told.password_status.insert(asked.name.clone(), state);
        }
    }
    (told != ManagedRolesStatus::default()).then_some(told)
}

fn met(world: &World, role: &Role) -> bool {
    world.seen.roles.get(&role.name) == Some(&role.mark)
}

/// The role as it is to be, or why it cannot be so yet.
fn wanted(cluster: &Cluster, asked: &ManagedRole, world: &World) -> Result<Role, String> {
    let ManagedRole { name, login, createdb, createrole, password_secret } = asked;
    let Some(secret) = password_secret.as_ref().filter(|_| *login) else {
        return Err(format!("role {name} has no login and no passwordSecret; such roles are not made here"));
    };
    let given: &BTreeMap<_, Given> = &world.given_roles;
    let Some(Given { username, password, .. }) = given.get(name) else {
        return Err(format!("Secret {} has no username and password, or does not exist", secret.name));
    };
    if username != name {
        return Err(format!("Secret {} is the login of {username:?}, and the role is {name:?}", secret.name));
    }
    let uid = cluster.metadata.uid.as_deref().unwrap_or_default();
    let rights = format!("{createdb} {createrole}");
    Ok(Role {
        name: name.clone(),
        password: password.clone(),
        creates_databases: *createdb,
        creates_roles: *createrole,
        mark: mark(&[uid, name, &rights, password.open()]),
    })
}
