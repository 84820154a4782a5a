//! The end: the data stays for a while, as a Backup that nobody owns.

use std::collections::BTreeMap;
use std::time::Duration;

use api::annotations::KEPT_UNTIL;
use api::foreign::LocalRef;
use api::foreign::cnpg::{Backup, BackupSpec, Cluster, ClusterStatus};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kit::{Child, Do, Next, Plan};
use kube::ResourceExt;

use super::{SOON, Step, World, there};
use api::annotations::SERVICE_SPEC;

/// Letters of the uid that tell one deleted cluster from the next of its name.
const UID_LETTERS: usize = 5;
/// How the data was copied: by leaving it where it is.
const METHOD: &str = "terrace";

/// The name of the Backup that keeps the data of a deleted cluster.
pub(in super::super) fn kept_name(cluster: &Cluster) -> String {
    let uid = cluster.metadata.uid.as_deref().unwrap_or_default();
    let code: String = uid.chars().take(UID_LETTERS).collect();
    format!("{}{code}", prefix(cluster))
}

fn prefix(cluster: &Cluster) -> String {
    format!("{}-deleted-", cluster.name_any())
}

/// The last steps of a cluster that goes.
pub(super) fn farewell(keep: Duration, cluster: &Cluster, world: &World) -> Plan<Step, ClusterStatus> {
    let status = cluster.status.clone().unwrap_or_default();
    let retire = |uid: &str| vec![Do::Outside(Step::Retire(uid.to_owned()))];
    let own = cluster.metadata.uid.as_deref().unwrap_or_default();
    let has_data = there(&world.seen).next().is_some();
    match &world.kept {
        // Nothing can be created in a namespace that goes, and nothing would stay in it.
        _ if world.namespace_goes || !has_data => Plan::release(retire(own), status),
        Some(uid) => Plan::release(retire(uid), status),
        // Its uid is needed first: the next pass knows it.
        None => Plan::part(vec![Do::Create(Box::new(kept(keep, cluster, world)))], status, Next::After(SOON)),
    }
}

fn kept(keep: Duration, cluster: &Cluster, world: &World) -> Child {
    let until = world.now.saturating_add(keep).unwrap_or(Timestamp::MAX);
    let until = Timestamp::from_second(until.as_second()).unwrap_or(until);
    let mut annotations = BTreeMap::from([(KEPT_UNTIL.to_owned(), until.to_string())]);
    let wanted = cluster.annotations().get(SERVICE_SPEC);
    annotations.extend(wanted.map(|spec| (SERVICE_SPEC.to_owned(), spec.clone())));
    let backup = Backup {
        metadata: ObjectMeta {
            name: Some(kept_name(cluster)),
            // What its name begins with; the rest is of the cluster's uid.
            generate_name: Some(prefix(cluster)),
            namespace: cluster.namespace(),
            annotations: Some(annotations),
            ..ObjectMeta::default()
        },
        spec: BackupSpec { cluster: LocalRef { name: cluster.name_any() }, method: Some(METHOD.to_owned()) },
        status: None,
    };
    Child::of(&backup).unowned()
}
