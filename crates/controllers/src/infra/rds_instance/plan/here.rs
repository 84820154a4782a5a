//! A server beside its object: a `Cluster` of CloudNativePG, with the same Secret and the same status as one in AWS.
//!
//! It is a matter of the provider, not of the machine: a cluster with CloudNativePG serves it in the same way.

use api::conditions::{READY, Reason, Standing};
use api::foreign::cnpg::{
    Backup, BackupSpec, Bootstrap, Cluster, ClusterSpec, InitDb, Managed, ManagedRole, SERVER_IMAGE, Storage,
    major, version_of,
};
use api::foreign::{LocalRef, find};
use api::infra::{AwsDeletionPolicy, RDSInstance, RDSInstanceStatus};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kit::{Address, Child, Do, Name, Next, Plan, Refusal};
use kube::ResourceExt;
use serde_json::json;

use super::farewell::{Hindrance, final_snapshot, last_words, waits};
use super::settings::adopts;
use super::{
    Call, Here, POLL, Password, Planned, World, connection_secret, forget, identifier, login_secret, objects,
    password, what,
};
use crate::infra::course::{Waiting, observes};
use crate::infra::desk::{RESYNC, RETRY};
use crate::infra::report::Report;
use crate::infra::step::Step;
use crate::infra::tags::OWNER;

/// The database system that there is here.
const ENGINE: &str = "postgres";
/// The superuser of every Cluster, who is let in instead of a role being made.
const SUPERUSER: &str = "postgres";
/// The database of a Cluster for which nobody names one, as CloudNativePG has it.
const DATABASE: &str = "app";
/// Names of roles that a Cluster has for itself, or that PostgreSQL keeps.
const RESERVED: [&str; 3] = ["streaming_replica", "terrace_admin", "terrace_replica"];
/// Longest name of a Cluster.
const NAME_MAX: usize = 50;
/// PostgreSQL's own port, on which every Cluster listens.
const PORT: u16 = 5432;
/// AWS's word for a server that takes connections.
const AVAILABLE: &str = "available";
/// AWS's word for one that does not yet.
const CREATING: &str = "creating";

/// The plan for a server beside its object.
pub(super) fn plan(instance: &RDSInstance, world: &World, here: &Here) -> Result<Planned, Refusal> {
    let mut status = instance.status.clone().unwrap_or_default();
    if instance.metadata.deletion_timestamp.is_some() {
        return Ok(leave(instance, world, here, status));
    }
    if !here.served {
        let message = "AWSProvider is this place, and Clusters of CloudNativePG are not installed here";
        status.out_of_sync(Reason::KindMissing, message.to_owned());
        return Ok(Plan::part(Vec::new(), status, Next::After(RETRY)));
    }
    let there = here.cluster.as_deref();
    let wanted = cluster(instance, there)?;
    if let Some(there) = there.filter(|there| !ours(instance, there)) {
        let message = format!(
            "Cluster {} exists and was not made by this object; rename one of the two, or, if nothing else owns it, let Terrace have it with the annotation {}: \"true\"",
            there.name_any(),
            api::annotations::ADOPT
        );
        status.out_of_sync(Reason::NotOurs, message);
        return Ok(Plan::part(Vec::new(), status, Next::After(RESYNC)));
    }
    if there.is_none() {
        forget(&mut status);
    }
    if observes(&instance.metadata) {
        return Ok(reported(instance, world, here, (Vec::new(), status)));
    }
    if there.is_some_and(|there| there.metadata.deletion_timestamp.is_some()) {
        let message = format!("{} is being deleted, and is made anew when it is gone", what(instance));
        return Ok(Plan::wait(status, Reason::Provisioning, message, POLL));
    }
    if let Some(plan) = password::awaited(instance, world, &status) {
        return Ok(plan);
    }
    let Password::Known(password) = &world.password else {
        return Ok(Plan::part(Vec::new(), status, Next::OnChange));
    };
    // The login first: the Cluster is made with it.
    let mut steps = vec![objects::login(instance, password)];
    steps.push(Do::Apply(Box::new(Child::of(&wanted).unowned())));
    if let (Some(address), true) = (&here.address, serves(instance, here)) {
        let secret = objects::published(instance, (address.clone(), PORT), password);
        steps.push(Do::Apply(Box::new(Child::of(&secret))));
        status.connection_secret_ref = connection_secret(instance).parse().ok();
    }
    Ok(reported(instance, world, here, (steps, status)))
}

/// Whether a Cluster is this object's: it carries its mark, or none and may be taken over. One that something else owns is
/// never.
fn ours(instance: &RDSInstance, there: &Cluster) -> bool {
    let owned = there.owner_references().iter().any(|owner| owner.controller == Some(true));
    match there.annotations().get(OWNER) {
        _ if owned => false,
        Some(owner) => *owner == Name::of(instance).to_string(),
        None => adopts(&instance.metadata) || observes(&instance.metadata),
    }
}

/// Whether the server takes connections, and the administrator has the rights and the password that it is to have.
fn serves(instance: &RDSInstance, here: &Here) -> bool {
    let Some(status) = here.cluster.as_ref().and_then(|there| there.status.as_ref()) else { return false };
    let ready = find(&status.conditions, READY).is_some_and(|ready| ready.status == "True");
    let name = &instance.spec.master_username;
    let version = here.login_version.as_deref();
    ready && (name == SUPERUSER || version.is_some_and(|version| status.holds_role(name, version)))
}

/// The plan with what the status says.
fn reported(
    instance: &RDSInstance,
    world: &World,
    here: &Here,
    (steps, mut status): (Vec<Do<Step<Call>>>, RDSInstanceStatus),
) -> Planned {
    let there = here.cluster.as_deref();
    let serves = serves(instance, here) && here.address.is_some();
    status.endpoint.clone_from(&here.address);
    status.port = here.address.as_ref().map(|_| i32::from(PORT));
    status.status = there.map(|_| if serves { AVAILABLE } else { CREATING }.to_owned());
    let image = there.and_then(|there| there.spec.image_name.as_deref());
    status.engine_version = image.and_then(version_of).map(str::to_owned);
    status.allocated_storage = there.map(|_| instance.spec.allocated_storage);
    let words = there.map(|there| there.status.clone().unwrap_or_default().words());
    let waiting = (!serves).then(|| Waiting {
        reason: Reason::Provisioning,
        message: words.map_or_else(
            || format!("{} is being made", what(instance)),
            |words| format!("{} is not ready: {words}", what(instance)),
        ),
        delay: POLL,
    });
    status.in_sync(waiting.as_ref());
    if serves {
        status.observed_generation = instance.metadata.generation;
        let last = status.last_sync_time.as_ref().map(|Time(last)| *last);
        let half = (RESYNC / 2).try_into().unwrap_or_default();
        // Passes soon after one another would only write the time.
        if last.is_none_or(|last| world.now.duration_since(last) >= half) {
            status.last_sync_time = Some(Time(world.now));
        }
        if password::plain(instance) {
            status.ready(Reason::Available, password::PLAIN);
        }
    }
    Plan::part(steps, status, Next::After(waiting.map_or(RESYNC, |waiting| waiting.delay)))
}

/// The Cluster, beside the one that is there. What cannot be had here is refused.
fn cluster(instance: &RDSInstance, there: Option<&Cluster>) -> Result<Cluster, Refusal> {
    let spec = &instance.spec;
    let refused = |message: String| Err(Refusal::new(Reason::InvalidSpec, message));
    let (id, user) = (identifier(instance), &spec.master_username);
    if spec.engine != ENGINE {
        let engine = &spec.engine;
        return refused(format!(
            "there are servers of {ENGINE} only where the provider's endpoint is local, and the engine is {engine}"
        ));
    }
    if id.len() > NAME_MAX {
        return refused(format!(
            "dbInstanceIdentifier has more than {NAME_MAX} characters, and a Cluster is named after it"
        ));
    }
    if user.starts_with("pg_") || RESERVED.contains(&user.as_str()) {
        return refused(format!("masterUsername {user} is kept for the server itself; choose another"));
    }
    let runs = there.and_then(|there| there.spec.image_name.as_deref()).and_then(version_of);
    let asked = spec.engine_version.as_deref();
    if let (Some(runs), Some(asked)) = (runs, asked)
        && major(runs) != major(asked)
    {
        return refused(format!(
            "the server runs version {runs}, which cannot be changed to {asked} in place; make another server and move the data"
        ));
    }
    let login = LocalRef { name: login_secret(instance) };
    let superuser = user == SUPERUSER;
    let initdb = InitDb {
        database: Some(spec.db_name.clone().unwrap_or_else(|| DATABASE.to_owned())),
        owner: Some(if superuser { DATABASE } else { user }.to_owned()),
        secret: (!superuser).then(|| login.clone()),
    };
    let master = ManagedRole {
        name: user.clone(),
        login: true,
        createdb: true,
        createrole: true,
        password_secret: Some(login.clone()),
    };
    let wanted = ClusterSpec {
        instances: if spec.multi_az { 2 } else { 1 },
        image_name: asked.or(runs).map(|version| format!("{SERVER_IMAGE}:{version}")),
        bootstrap: Some(Bootstrap { initdb: Some(initdb), ..Bootstrap::default() }),
        storage: Storage { size: Some(format!("{}Gi", spec.allocated_storage)), ..Storage::default() },
        enable_superuser_access: superuser.then_some(true),
        superuser_secret: superuser.then(|| login.clone()),
        managed: (!superuser).then(|| Managed { roles: vec![master] }),
        ..ClusterSpec::default()
    };
    let mut cluster = Cluster::new(&id, wanted);
    cluster.metadata.namespace = instance.namespace();
    cluster.metadata.annotations = Some(objects::mark(instance));
    Ok(cluster)
}

/// The end of a server beside its object.
fn leave(instance: &RDSInstance, world: &World, here: &Here, status: RDSInstanceStatus) -> Planned {
    let there = here.cluster.as_deref();
    let there = there.filter(|there| there.annotations().contains_key(OWNER) && ours(instance, there));
    let policy =
        if observes(&instance.metadata) { AwsDeletionPolicy::Retain } else { instance.spec.deletion_policy };
    match (policy, there) {
        (AwsDeletionPolicy::Retain, _) => Plan::release(Vec::new(), status),
        (AwsDeletionPolicy::Orphan, there) => {
            let unmark = json!({ "metadata": { "annotations": { OWNER: null } } });
            let steps = there.map(|there| Do::Patch(Address::of(there), unmark));
            Plan::release(steps.into_iter().collect(), status)
        }
        (AwsDeletionPolicy::Delete, None) => {
            let mut steps = last_words(instance, world);
            if here.login_version.is_some() && here.cluster.is_none() {
                let namespace = Name::of(instance).namespace;
                steps.push(Do::Delete(Address::new::<Secret>(&namespace, &login_secret(instance)), None));
            }
            Plan::release(steps, status)
        }
        (AwsDeletionPolicy::Delete, Some(there)) => delete(instance, here, there, status),
    }
}

/// Deletes a Cluster, after its last snapshot. One that goes already, or never had data, needs none.
fn delete(instance: &RDSInstance, here: &Here, there: &Cluster, status: RDSInstanceStatus) -> Planned {
    let goes = there.metadata.deletion_timestamp.is_some();
    let began = there.status.as_ref().is_some_and(|status| status.current_primary.is_some());
    let phase = here.backup.as_ref().and_then(|backup| backup.status.clone()).unwrap_or_default();
    let snapshot = final_snapshot(instance).filter(|_| began && !goes);
    let what = what(instance);
    match (snapshot, phase.phase.as_deref()) {
        _ if goes => waits(status, format!("{what} is being deleted")),
        (None, _) | (Some(_), Some("completed")) => {
            let plan = waits(status, format!("{what} goes"));
            Plan { steps: vec![Do::Delete(Address::of(there), None)], ..plan }
        }
        (Some(name), Some("failed")) => {
            let why = phase.error.unwrap_or_else(|| "nobody says why".to_owned());
            let message = format!(
                "the last snapshot of {what}, Backup {name}, failed: {why}; set skipFinalSnapshot: true to delete it with its data, or keep it with deletionPolicy: Retain"
            );
            Hindrance::Blocked(Reason::WouldLoseData, message).told(status)
        }
        (Some(name), _) => {
            let plan = waits(status, format!("{what} goes after its last snapshot, Backup {name}"));
            let begin = here.backup.is_none().then(|| backup(instance, &name));
            Plan { steps: begin.into_iter().collect(), ..plan }
        }
    }
}

fn backup(instance: &RDSInstance, name: &str) -> Do<Step<Call>> {
    let backup = Backup {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: instance.namespace(),
            ..ObjectMeta::default()
        },
        spec: BackupSpec { cluster: LocalRef { name: identifier(instance) }, method: None },
        status: None,
    };
    Do::Create(Box::new(Child::of(&backup).unowned()))
}
