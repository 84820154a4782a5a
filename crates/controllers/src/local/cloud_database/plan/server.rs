//! The Cluster that a claim comes to, and whose it is.

use std::collections::BTreeMap;
use std::convert::Infallible;

use api::conditions::Reason;
use api::foreign::cloud_database::CloudDatabaseClaim;
use api::foreign::cnpg::{Cluster, ClusterSpec, SERVER_IMAGE, Storage, major, version_of};
use api::services::ServicePlan;
use kit::{Address, Do, Refusal};
use kube::{Resource, ResourceExt};
use serde_json::json;

use super::super::super::quantity::units;
use crate::services::Config;

/// On a Cluster: the claim that it was made for. One that was left to itself is known by it.
const CLAIM: &str = "database.infobloxopen.github.com/claim";
/// The types of servers that are PostgreSQL.
const TYPES: [&str; 2] = ["postgres", "aurora-postgresql"];
/// Units of sizes as claims write them, and as Kubernetes does.
const UNITS: [(&str, &str); 12] = [
    ("MB", "M"),
    ("GB", "G"),
    ("TB", "T"),
    ("MiB", "Mi"),
    ("GiB", "Gi"),
    ("TiB", "Ti"),
    ("M", "M"),
    ("G", "G"),
    ("T", "T"),
    ("Mi", "Mi"),
    ("Gi", "Gi"),
    ("Ti", "Ti"),
];

/// What becomes of a server whose claim goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    Delete,
    Orphan,
}

fn invalid(message: String) -> Refusal {
    Refusal::new(Reason::InvalidSpec, message)
}

/// What is to become of the server when the claim goes.
pub(super) fn policy(claim: &CloudDatabaseClaim) -> Result<Policy, Refusal> {
    let written = claim.spec.deletion_policy.as_deref().unwrap_or("Delete");
    match written.to_ascii_lowercase().as_str() {
        "delete" => Ok(Policy::Delete),
        "orphan" => Ok(Policy::Orphan),
        _ => Err(invalid(format!("spec.deletionPolicy is `{written}`; write Delete or Orphan"))),
    }
}

/// The Cluster, beside the one that is there. What cannot be changed in place is refused.
pub(super) fn cluster(
    claim: &CloudDatabaseClaim,
    there: Option<&Cluster>,
    config: &Config,
) -> Result<Cluster, Refusal> {
    let asked = claim.spec.parameters.type_.as_str();
    if !TYPES.contains(&asked) {
        let known = TYPES.join(" or ");
        return Err(invalid(format!(
            "spec.parameters.type is `{asked}`, and there are no such servers here; write {known}"
        )));
    }
    let spec = ClusterSpec {
        instances: 1,
        image_name: Some(format!("{SERVER_IMAGE}:{}", version(claim, there, config)?)),
        storage: Storage { size: Some(size(claim, there)?), storage_class: None },
        enable_superuser_access: Some(true),
        ..ClusterSpec::default()
    };
    let mut cluster = Cluster::new(&claim.name_any(), spec);
    cluster.metadata.namespace = claim.namespace();
    cluster.metadata.annotations = Some(BTreeMap::from([(CLAIM.to_owned(), claim.name_any())]));
    Ok(cluster)
}

/// The version to run: what is asked for, else what runs, else what the platform takes. Data of one major version is
/// never given to another.
fn version(claim: &CloudDatabaseClaim, there: Option<&Cluster>, config: &Config) -> Result<String, Refusal> {
    let runs = there.and_then(|there| there.spec.image_name.as_deref()).and_then(version_of);
    let Some(asked) = claim.spec.parameters.engine_version.as_deref().filter(|asked| !asked.is_empty())
    else {
        return Ok(runs.unwrap_or(&config.default_version).to_owned());
    };
    let numbers = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !asked.split('.').all(numbers) {
        return Err(invalid(format!(
            "spec.parameters.engineVersion is `{asked}`; write a version such as 15 or 15.3"
        )));
    }
    match runs {
        Some(runs) if major(runs) != major(asked) => Err(invalid(format!(
            "the server runs version {runs}, which cannot be changed to {asked} in place; make a claim of another name for {asked} and copy the data"
        ))),
        _ => Ok(asked.to_owned()),
    }
}

/// The size of the disk: what is asked for is the least, so one that is larger stays as it is.
fn size(claim: &CloudDatabaseClaim, there: Option<&Cluster>) -> Result<String, Refusal> {
    let least = || format!("{}Gi", ServicePlan::Micro.size().storage_gib);
    let written = claim.spec.parameters.min_storage.as_deref().map(str::trim).unwrap_or_default();
    let wanted = match written {
        "" => least(),
        written => quantity(written)
            .ok_or_else(|| {
                invalid(format!("spec.parameters.minStorage is `{written}`; write a size such as 20GB"))
            })?
            .unwrap_or_else(least),
    };
    let held = there.and_then(|there| there.spec.storage.size.clone());
    let larger = held.filter(|held| units(held) > units(&wanted));
    Ok(larger.unwrap_or(wanted))
}

/// A size as Kubernetes writes it. Nothing is a size that says nothing; one that cannot be read is none at all.
fn quantity(written: &str) -> Option<Option<String>> {
    let end = written.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = written.split_at(end);
    let (_, unit) = UNITS.iter().find(|(written, _)| *written == unit.trim())?;
    let number: u32 = number.parse().ok()?;
    Some((number > 0).then(|| format!("{number}{unit}")))
}

/// Whether a Cluster is the claim's server: it belongs to it, or to nobody since a claim of that name left it.
pub(super) fn ours(claim: &CloudDatabaseClaim, there: &Cluster) -> bool {
    match there.owner_references().iter().find(|owner| owner.controller == Some(true)) {
        Some(owner) => Some(&owner.uid) == claim.metadata.uid.as_ref(),
        None => there.annotations().get(CLAIM) == Some(&claim.name_any()),
    }
}

/// What makes a Cluster that is there belong to the claim, or to nobody, if that is otherwise.
pub(super) fn belongs(
    claim: &CloudDatabaseClaim,
    there: Option<&Cluster>,
    policy: Policy,
) -> Option<Do<Infallible>> {
    let there = there?;
    let owned = there.owner_references().iter().any(|owner| owner.controller == Some(true));
    let owners = match (policy, owned) {
        (Policy::Delete, true) | (Policy::Orphan, false) => return None,
        (Policy::Delete, false) => json!(claim.controller_owner_ref(&()).map(|owner| vec![owner])),
        (Policy::Orphan, true) => json!(null),
    };
    Some(Do::Patch(Address::of(there), json!({ "metadata": { "ownerReferences": owners } })))
}
