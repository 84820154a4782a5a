//! What a cluster's plan needs to know.

use std::collections::BTreeMap;

use api::annotations::KEPT_UNTIL;
use api::foreign::LocalRef;
use api::foreign::cnpg::{Backup, Cluster};
use api::secret::Sealed;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Namespace, Secret, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kit::{Dice, Fault, Reader};
use kube::ResourceExt;
use ports::authority::{Authority, Facts};
use ports::postgres::{Instance, Lsn, Number, Postgres, Run, Seen, There};

use super::super::service::REACHABLE;
use super::plan::{Door, Given, Held, Origin, World, app_secret, kept_name, named_roles, superuser_secret};
use super::{Clusters, key};

/// Letters of a password: they mean nothing in a URL, a file or a shell.
const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Letters that one throw gives: 62¹⁰ is a little less than 2⁶⁴.
const LETTERS_A_THROW: usize = 10;
/// Throws for a password: together more than 170 bits.
const THROWS: usize = 3;

pub(super) async fn observe<P: Postgres, A: Authority>(
    room: &Clusters<P, A>,
    cluster: &Cluster,
    reader: &Reader,
) -> Result<World, Fault> {
    let namespace = cluster.namespace().unwrap_or_default();
    let deleting = cluster.metadata.deletion_timestamp.is_some();
    let seen = room.postgres.look(&key(cluster)).await?;
    let now = reader.now();
    let silent = silent(room, cluster, &seen, now);
    let certificate = certificate(&*room.authority, &seen);
    let backups = reader.list::<Backup>(Some(&namespace)).await?;
    let (name, kept) = (cluster.name_any(), kept_name(cluster));
    let named = |name: &str| backups.iter().find(|backup| backup.name_any() == name);
    let archive = backups
        .iter()
        .any(|backup| backup.spec.cluster.name == name && !backup.annotations().contains_key(KEPT_UNTIL));
    Ok(World {
        now,
        builds: room.postgres.builds().into_iter().map(|(major, build)| (major, build.version)).collect(),
        certificate,
        root_pem: room.authority.root_pem().to_owned(),
        addresses: addresses(cluster, reader).await?,
        unreachable: unreachable(cluster, reader).await?,
        slices: slices(cluster, reader).await?,
        app: held(cluster, reader, &app_secret(cluster)).await?,
        given: given(cluster, reader, owner_secret(cluster)).await?,
        superuser: held(cluster, reader, &superuser_secret(cluster)).await?,
        given_superuser: given(cluster, reader, cluster.spec.superuser_secret.as_ref()).await?,
        given_roles: given_roles(cluster, reader).await?,
        archive,
        origin: recovery(cluster).and_then(named).map(|backup| origin(backup)),
        kept: named(&kept).and_then(|backup| backup.uid()),
        namespace_goes: deleting && goes(&namespace, reader).await?,
        spare: password(reader.dice()),
        spare_superuser: password(reader.dice()),
        silent,
        seen,
    })
}

/// Since when each standby that is up receives nothing. A restart of the platform forgets it, and waits anew.
fn silent<P, A>(
    room: &Clusters<P, A>,
    cluster: &Cluster,
    seen: &Seen,
    now: Timestamp,
) -> BTreeMap<Number, Timestamp> {
    let mut all = room.silent.lock();
    let uid = cluster.metadata.uid.clone().unwrap_or_default();
    let before = all.remove(&uid).unwrap_or_default();
    let up = |instance: &Instance| match instance {
        Instance::There(There { run: Run::Up(facts), .. }) => Some(facts.clone()),
        Instance::There(_) | Instance::Coming { .. } | Instance::Broken { .. } => None,
    };
    let standbys = seen.instances.iter().filter_map(|(number, instance)| Some((*number, up(instance)?)));
    let standbys: Vec<_> = standbys.filter(|(_, facts)| facts.in_recovery).collect();
    // One that has strayed begins to receive again and again, and gets nothing: only the primary knows better.
    let served = |number: &Number| {
        seen.instances.values().filter_map(up).any(|facts| facts.serves.contains_key(number))
    };
    let quiet = standbys.into_iter().filter(|(number, facts)| !(facts.streaming && served(number)));
    let held: BTreeMap<Number, (Timestamp, Lsn)> = quiet
        .map(|(number, facts)| match before.get(&number) {
            Some((since, reached)) if facts.lsn <= *reached => (number, (*since, *reached)),
            _ => (number, (now, facts.lsn)),
        })
        .collect();
    let since = held.iter().map(|(number, (since, _))| (*number, *since)).collect();
    if !held.is_empty() {
        all.insert(uid, held);
    }
    since
}

/// What the certificate says that the servers show, if clients of today trust it.
fn certificate<A: Authority>(authority: &A, seen: &Seen) -> Option<Facts> {
    let held = seen.certificate.as_ref().filter(|held| held.root_pem == authority.root_pem())?;
    authority.read(&held.chain_pem, &held.key_pem)
}

async fn addresses(cluster: &Cluster, reader: &Reader) -> Result<BTreeMap<Door, String>, Fault> {
    let services = reader.children::<Service, _>(cluster).await?;
    let address = |door: Door| {
        let service = services.iter().find(|service| service.name_any() == door.service(cluster))?;
        let address = service.spec.as_ref()?.cluster_ip.clone()?;
        Some((door, address)).filter(|(_, address)| !address.is_empty() && address != "None")
    };
    Ok(Door::ALL.into_iter().filter_map(address).collect())
}

/// What the Service that leads to the primary says if its address cannot be listened on.
async fn unreachable(cluster: &Cluster, reader: &Reader) -> Result<Option<String>, Fault> {
    let namespace = cluster.namespace().unwrap_or_default();
    let service = reader.get::<Service>(&namespace, &Door::Write.service(cluster)).await?;
    let conditions = service.and_then(|service| service.status.clone()?.conditions).unwrap_or_default();
    let told = conditions.into_iter().find(|told| told.type_ == REACHABLE && told.status == "False");
    Ok(told.map(|told| told.message))
}

async fn slices(cluster: &Cluster, reader: &Reader) -> Result<Vec<String>, Fault> {
    let slices = reader.children::<EndpointSlice, _>(cluster).await?;
    Ok(slices.iter().map(|slice| slice.name_any()).collect())
}

/// What lies under the name of a login's Secret.
async fn held(cluster: &Cluster, reader: &Reader, name: &str) -> Result<Held, Fault> {
    let namespace = cluster.namespace().unwrap_or_default();
    let Some(secret) = reader.get::<Secret>(&namespace, name).await? else {
        return Ok(Held::Nothing);
    };
    let controller = secret.owner_references().iter().find(|owner| owner.controller == Some(true));
    if controller.is_none_or(|owner| Some(&owner.uid) != cluster.metadata.uid.as_ref()) {
        return Ok(Held::Foreign);
    }
    let data = secret.data.iter().flatten();
    let text = data.map(|(key, value)| (key.clone(), String::from_utf8_lossy(&value.0).into_owned()));
    Ok(Held::Ours {
        data: Sealed::new(text.collect()),
        version: secret.resource_version().unwrap_or_default(),
    })
}

/// The Secret that the owner's login is taken from, if the spec names one.
fn owner_secret(cluster: &Cluster) -> Option<&LocalRef> {
    cluster.spec.bootstrap.as_ref()?.initdb.as_ref()?.secret.as_ref()
}

async fn given(cluster: &Cluster, reader: &Reader, named: Option<&LocalRef>) -> Result<Option<Given>, Fault> {
    let Some(named) = named else { return Ok(None) };
    let namespace = cluster.namespace().unwrap_or_default();
    let Some(secret) = reader.get::<Secret>(&namespace, &named.name).await? else { return Ok(None) };
    let text = |key: &str| {
        let value = secret.data.as_ref().and_then(|data| data.get(key));
        value.and_then(|value| String::from_utf8(value.0.clone()).ok()).filter(|text| !text.is_empty())
    };
    let login = text("username").zip(text("password"));
    let version = secret.resource_version().unwrap_or_default();
    Ok(login.map(|(username, password)| Given { username, password: Sealed::new(password), version }))
}

/// The logins of the roles that the spec asks to look after.
async fn given_roles(cluster: &Cluster, reader: &Reader) -> Result<BTreeMap<String, Given>, Fault> {
    let mut all = BTreeMap::new();
    for role in named_roles(cluster) {
        if let Some(login) = given(cluster, reader, role.password_secret.as_ref()).await? {
            all.insert(role.name.clone(), login);
        }
    }
    Ok(all)
}

fn recovery(cluster: &Cluster) -> Option<&str> {
    let recovery = cluster.spec.bootstrap.as_ref()?.recovery.as_ref()?;
    recovery.backup.as_ref().map(|backup| backup.name.as_str())
}

fn origin(backup: &Backup) -> Origin {
    let phase = backup.status.as_ref().and_then(|status| status.phase.clone());
    Origin { uid: backup.uid().unwrap_or_default(), phase: phase.unwrap_or_else(|| "pending".into()) }
}

async fn goes(namespace: &str, reader: &Reader) -> Result<bool, Fault> {
    let found = reader.get::<Namespace>("", namespace).await?;
    Ok(found.is_none_or(|found| found.metadata.deletion_timestamp.is_some()))
}

/// A password that nobody guesses.
fn password(dice: &Dice) -> Sealed<String> {
    let mut text = String::with_capacity(THROWS * LETTERS_A_THROW);
    for _ in 0..THROWS {
        let mut throw = dice.roll();
        for _ in 0..LETTERS_A_THROW {
            let at = usize::try_from(throw % LETTERS.len() as u64).unwrap_or_default();
            text.push(char::from(LETTERS[at]));
            throw /= LETTERS.len() as u64;
        }
    }
    Sealed::new(text)
}
