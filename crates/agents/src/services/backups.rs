//! `list_backups`: what a database can be brought back from.

use api::annotations::KEPT_UNTIL;
use api::foreign::cnpg::Backup;
use jiff::Timestamp;
use kube::api::{Api, ListParams};
use kube::{Client, ResourceExt};
use serde::{Deserialize, Serialize};

use super::Error;
use super::provision::available;

/// The tool's name.
pub const NAME: &str = "list_backups";
/// The phase of a backup that can be used.
pub(super) const COMPLETED: &str = "completed";

/// Whose backups.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Input {
    /// The service. It may be gone.
    pub name: String,
}

/// The backups, the newest first.
pub type Output = Vec<Listed>;

/// One backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// The service that it is of.
    pub service: String,
    /// `pending`, `started`, `running`, `completed` or `failed`.
    pub phase: String,
    /// When it was asked for.
    pub created: Option<Timestamp>,
    /// When it ended: the first moment that can be gone back to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed: Option<Timestamp>,
    /// Of a service that was deleted: until when it is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_until: Option<String>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Lists the backups of a service.
pub async fn run(client: &Client, namespace: &str, input: Input) -> Result<Output, Error> {
    let found = of(client, namespace, &input.name).await?;
    Ok(found.iter().map(listed).collect())
}

/// The backups of a service that are not on their way out, the newest first.
pub(super) async fn of(client: &Client, namespace: &str, service: &str) -> Result<Vec<Backup>, Error> {
    available(client).await?;
    let backups: Api<Backup> = Api::namespaced(client.clone(), namespace);
    let mut found = backups.list(&ListParams::default()).await?.items;
    found
        .retain(|backup| backup.spec.cluster.name == service && backup.metadata.deletion_timestamp.is_none());
    found.sort_by_key(|backup| std::cmp::Reverse((ended(backup), created(backup), backup.name_any())));
    Ok(found)
}

/// When a backup ended; one that did not say so ended when it was asked for.
pub(super) fn ended(backup: &Backup) -> Option<Timestamp> {
    let stopped = backup.status.as_ref().and_then(|status| status.stopped_at.as_ref());
    stopped.map(|time| time.0).or_else(|| created(backup))
}

fn created(backup: &Backup) -> Option<Timestamp> {
    backup.metadata.creation_timestamp.as_ref().map(|time| time.0)
}

fn listed(backup: &Backup) -> Listed {
    let status = backup.status.clone().unwrap_or_default();
    let phase = status.phase.unwrap_or_else(|| "pending".into());
    Listed {
        name: backup.name_any(),
        service: backup.spec.cluster.name.clone(),
        completed: ended(backup).filter(|_| phase == COMPLETED),
        phase,
        created: created(backup),
        kept_until: backup.annotations().get(KEPT_UNTIL).cloned(),
        error: status.error,
    }
}
