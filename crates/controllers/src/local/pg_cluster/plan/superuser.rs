//! The superuser: let in where the spec says so, and shut out everywhere else.

use api::foreign::cnpg::Cluster;
use api::secret::Sealed;
use k8s_openapi::api::core::v1::Secret;
use kit::{Address, Do};
use kube::ResourceExt;
use ports::postgres::{Login, Superuser};

use super::failover::Lead;
use super::settings::mark;
use super::{Door, Given, Held, Step, World, objects, superuser_secret};

/// The superuser of every server.
const NAME: &str = "postgres";

/// What is done about the superuser.
#[derive(Debug, Default)]
pub(super) struct Access {
    pub(super) step: Option<Step>,
    pub(super) secret: Option<Do<Step>>,
    /// Why it is not as the spec asks, if it is not.
    pub(super) trouble: Option<String>,
}

/// Whether the superuser's login is to be in a Secret of our own.
pub(super) fn own_secret(cluster: &Cluster) -> bool {
    let spec = &cluster.spec;
    spec.enable_superuser_access == Some(true) && spec.superuser_secret.is_none()
}

/// What is done about the superuser, who is changed only where somebody takes writes.
pub(super) fn access(cluster: &Cluster, world: &World, lead: &Lead<'_>) -> Access {
    let wanted = match wanted(cluster, world) {
        Ok(wanted) => wanted,
        Err(trouble) => return Access { trouble: Some(trouble), ..Access::default() },
    };
    let mark = wanted.as_ref().map(|login| login.mark.clone());
    let met = world.seen.superuser == mark;
    let step = match lead {
        Lead::Up(primary, _) if !met => {
            let login = wanted.clone().map(|login| Superuser { password: login.password, mark: login.mark });
            Some(Step::Superuser { primary: *primary, login })
        }
        _ => None,
    };
    // A Secret never names a login that does not exist, and goes only after the login that it names.
    let secret = (met || step.is_some()).then(|| secret(cluster, world, wanted.as_ref())).flatten();
    Access { step, secret, trouble: None }
}

/// The login that the superuser is to have: none, where the spec does not ask for one. Or why it cannot have it yet.
fn wanted(cluster: &Cluster, world: &World) -> Result<Option<Login>, String> {
    if cluster.spec.enable_superuser_access != Some(true) {
        return Ok(None);
    }
    let password = match (&cluster.spec.superuser_secret, &world.given_superuser) {
        (Some(_), Some(Given { username, password, .. })) if username == NAME => password.clone(),
        (Some(named), Some(given)) => {
            return Err(format!(
                "Secret {} is the login of {:?}, and the superuser is called {NAME}; write that as its username",
                named.name, given.username
            ));
        }
        (Some(named), None) => {
            return Err(format!("Secret {} has no username and password, or does not exist", named.name));
        }
        (None, _) => held(cluster, world)?,
    };
    if !world.addresses.contains_key(&Door::Write) {
        return Err(format!("Service {} has no address yet", Door::Write.service(cluster)));
    }
    let uid = cluster.metadata.uid.as_deref().unwrap_or_default();
    let mark = mark(&[uid, NAME, password.open()]);
    Ok(Some(Login { owner: NAME.into(), database: objects::ANY.into(), password, mark }))
}

/// The password in our own Secret, or one that nobody has yet.
fn held(cluster: &Cluster, world: &World) -> Result<Sealed<String>, String> {
    match &world.superuser {
        Held::Foreign => Err(format!(
            "Secret {} exists and was not made for this cluster; rename or delete it",
            superuser_secret(cluster)
        )),
        Held::Nothing => Ok(world.spare_superuser.clone()),
        Held::Ours { data, .. } => {
            let password = data.open().get("password").filter(|password| !password.is_empty());
            Ok(password.map_or_else(|| world.spare_superuser.clone(), |held| Sealed::new(held.clone())))
        }
    }
}

/// Our own Secret: as wanted, or gone where none is wanted.
fn secret(cluster: &Cluster, world: &World, login: Option<&Login>) -> Option<Do<Step>> {
    let name = superuser_secret(cluster);
    match login.filter(|_| own_secret(cluster)) {
        Some(login) => {
            let host = world.addresses.get(&Door::Write)?;
            objects::secret(cluster, &world.superuser, name, &objects::connection(login, host))
        }
        None => match &world.superuser {
            Held::Ours { .. } => {
                let namespace = cluster.namespace().unwrap_or_default();
                Some(Do::Delete(Address::new::<Secret>(&namespace, &name), None))
            }
            Held::Nothing | Held::Foreign => None,
        },
    }
}
