//! `backup_service`: copies a database, so that it can be brought back.

use std::collections::BTreeMap;

use api::annotations::SERVICE_SPEC;
use api::foreign::LocalRef;
use api::foreign::cnpg::{Backup, BackupSpec, Cluster};
use api::services::ManagedService;
use jiff::Timestamp;
use kube::Client;
use kube::ResourceExt;
use kube::api::{Api, PostParams};
use serde::{Deserialize, Serialize};

use super::provision::available;
use super::{Error, WRITER, message, phase, service};

/// The tool's name.
pub const NAME: &str = "backup_service";

/// Which service.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Input {
    /// Its name.
    pub name: String,
}

/// What was begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Output {
    /// The service.
    pub name: String,
    /// The backup.
    pub backup: String,
    /// What comes next.
    pub message: String,
}

/// Asks for a backup. It is not complete yet when this returns.
pub async fn run(client: &Client, namespace: &str, input: Input) -> Result<Output, Error> {
    available(client).await?;
    let found = service(client, namespace, &input.name).await?;
    let made = found.status.as_ref().is_some_and(|status| status.connection_secret_ref.is_some());
    if !made || found.metadata.deletion_timestamp.is_some() {
        return Err(Error::NotReady { name: input.name, phase: phase(&found), message: message(&found) });
    }
    let name = format!("{}-{}", input.name, Timestamp::now().strftime("%Y%m%d%H%M%S"));
    let cluster = LocalRef { name: input.name.clone() };
    let mut backup = Backup::new(&name, BackupSpec { cluster, method: None });
    let described = described(client, namespace, &found).await;
    backup.metadata.annotations = Some(BTreeMap::from([(SERVICE_SPEC.to_owned(), described)]));
    let backups: Api<Backup> = Api::namespaced(client.clone(), namespace);
    let params = PostParams { field_manager: Some(WRITER.into()), ..PostParams::default() };
    match backups.create(&params, &backup).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {
            return Err(Error::Exists { what: "backup", name, namespace: namespace.into() });
        }
        Err(error) => return Err(error.into()),
    }
    Ok(Output { name: input.name, backup: name, message: "the backup has begun".into() })
}

/// What the service is, as JSON: what its Cluster says knows the version, too. Who may not see that tells what was
/// asked for.
async fn described(client: &Client, namespace: &str, service: &ManagedService) -> String {
    let clusters: Api<Cluster> = Api::namespaced(client.clone(), namespace);
    let cluster = clusters.get_opt(&service.name_any()).await.ok().flatten();
    let told = cluster.and_then(|cluster| cluster.annotations().get(SERVICE_SPEC).cloned());
    // Our kinds are plain data: they always have a JSON form.
    told.unwrap_or_else(|| serde_json::to_string(&service.spec).unwrap_or_default())
}
