//! The Cluster that a service comes to.

use std::collections::BTreeMap;

use api::annotations::{RESTORE_BACKUP, RESTORE_TIME, SERVICE_SPEC};
use api::conditions::Reason;
use api::foreign::LocalRef;
use api::foreign::cnpg::{
    Bootstrap, Cluster, ClusterSpec, InitDb, PostgresqlSettings, Recovery, RecoveryTarget, Resources,
    SERVER_IMAGE, Storage, Synchronous, major, version_of,
};
use api::services::{ManagedService, ManagedServiceSpec, Size};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kit::Refusal;
use kube::ResourceExt;

use crate::services::Config;

/// The role that owns the database (seed 000, `BuildCNPGCluster`).
const OWNER: &str = "app";

/// The Cluster, beside the one that is there. What cannot be changed in place is refused.
pub(super) fn cluster(
    service: &ManagedService,
    there: Option<&Cluster>,
    config: &Config,
) -> Result<Cluster, Refusal> {
    let size = service.spec.plan.size();
    let version = version(service, there, config)?;
    grows(service, there, size)?;
    let bootstrap = match there {
        // A server is made once: another beginning would mean nothing, or its end.
        Some(there) => there.spec.bootstrap.clone(),
        None => Some(bootstrap(service)?),
    };
    let spec = ClusterSpec {
        instances: size.instances,
        image_name: Some(format!("{SERVER_IMAGE}:{version}")),
        bootstrap,
        storage: Storage { size: Some(format!("{}Gi", size.storage_gib)), storage_class: None },
        resources: Some(resources(size)),
        postgresql: (size.instances > 1).then(synchronous),
        ..ClusterSpec::default()
    };
    let mut cluster = Cluster::new(&service.name_any(), spec);
    cluster.metadata.namespace = service.namespace();
    let described = ManagedServiceSpec { version: Some(version), ..service.spec.clone() };
    // Our kinds are plain data: they always have a JSON form.
    let described = serde_json::to_string(&described).unwrap_or_default();
    cluster.metadata.annotations = Some(BTreeMap::from([(SERVICE_SPEC.to_owned(), described)]));
    Ok(cluster)
}

/// The version to run: what is asked for, else what runs, else what the platform takes. Data of one major version is
/// never given to another.
fn version(service: &ManagedService, there: Option<&Cluster>, config: &Config) -> Result<String, Refusal> {
    let runs = there.and_then(|there| there.spec.image_name.as_deref()).and_then(version_of);
    let Some(asked) = service.spec.version.as_deref() else {
        return Ok(runs.unwrap_or(&config.default_version).to_owned());
    };
    match runs {
        Some(runs) if major(runs) != major(asked) => {
            let name = service.name_any();
            let message = format!(
                "{name} runs version {runs}, which cannot be changed to {asked} in place: provision a second service of the new version, copy the data, and bind the applications to it"
            );
            Err(Refusal::new(Reason::InvalidSpec, message))
        }
        _ => Ok(asked.to_owned()),
    }
}

/// Refuses a disk that is smaller than the one that is there.
fn grows(service: &ManagedService, there: Option<&Cluster>, size: Size) -> Result<(), Refusal> {
    let Some(held) = there.and_then(|there| there.spec.storage.size.as_deref()) else { return Ok(()) };
    let wanted = u128::from(size.storage_gib) << 30;
    if bytes(held).is_none_or(|held| held <= wanted) {
        return Ok(());
    }
    let message = format!(
        "{} has {held} of storage, and plan {} has {}Gi: storage cannot shrink in place; take a larger plan, or provision a second service and copy the data",
        service.name_any(),
        service.spec.plan.as_str(),
        size.storage_gib,
    );
    Err(Refusal::new(Reason::WouldLoseData, message))
}

/// The size of a disk in bytes. One that cannot be read is the server's matter.
fn bytes(quantity: &str) -> Option<u128> {
    let end = quantity.find(|c: char| !c.is_ascii_digit()).unwrap_or(quantity.len());
    let (number, unit) = quantity.split_at(end);
    let factor: u128 = match unit {
        "" => 1,
        "k" => 1000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        _ => return None,
    };
    number.parse::<u128>().ok()?.checked_mul(factor)
}

/// How the first server comes about: anew, or from a backup.
fn bootstrap(service: &ManagedService) -> Result<Bootstrap, Refusal> {
    let database = Some(service.spec.database.to_string());
    let owner = Some(OWNER.to_owned());
    let annotations = service.annotations();
    let at = annotations.get(RESTORE_TIME);
    let Some(backup) = annotations.get(RESTORE_BACKUP) else {
        if at.is_some() {
            let message =
                format!("{RESTORE_TIME} says when, and {RESTORE_BACKUP} does not say from which Backup");
            return Err(Refusal::new(Reason::InvalidSpec, message));
        }
        let initdb = InitDb { database, owner, secret: None };
        return Ok(Bootstrap { initdb: Some(initdb), recovery: None });
    };
    if let Some(at) = at.filter(|at| at.parse::<Timestamp>().is_err()) {
        let message = format!("{at:?} in {RESTORE_TIME} is not a time such as 2026-01-31T12:00:00Z");
        return Err(Refusal::new(Reason::InvalidSpec, message));
    }
    let recovery = Recovery {
        backup: Some(LocalRef { name: backup.clone() }),
        recovery_target: at.map(|at| RecoveryTarget { target_time: Some(at.clone()) }),
        database,
        owner,
    };
    Ok(Bootstrap { initdb: None, recovery: Some(recovery) })
}

fn resources(size: Size) -> Resources {
    let quantity = |name: &str, amount: &str| (name.to_owned(), Quantity(amount.to_owned()));
    Resources {
        requests: BTreeMap::from([quantity("cpu", size.cpu), quantity("memory", size.memory)]),
        limits: BTreeMap::from([quantity("memory", size.memory)]),
    }
}

/// A commit waits for one standby, so that a failover loses nothing; but not for standbys that are not there, so that
/// the loss of two does not stop the third.
fn synchronous() -> PostgresqlSettings {
    let synchronous =
        Synchronous { method: "any".into(), number: 1, data_durability: Some("preferred".into()) };
    PostgresqlSettings { parameters: BTreeMap::new(), synchronous: Some(synchronous) }
}
