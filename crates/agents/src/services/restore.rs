//! `restore_service`: makes a database from a backup of another, or of one that was deleted.

use std::collections::BTreeMap;

use api::annotations::{KEPT_UNTIL, RESTORE_BACKUP, RESTORE_TIME, SERVICE_SPEC};
use api::foreign::cnpg::Backup;
use api::services::{ManagedService, ManagedServiceSpec};
use jiff::Timestamp;
use kube::api::Api;
use kube::{Client, ResourceExt};
use serde::{Deserialize, Serialize};

use super::Error;
use super::backups::{self, COMPLETED, ended};
use super::provision::{checked_name, create};

/// The tool's name.
pub const NAME: &str = "restore_service";

/// What is brought back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Input {
    /// The service whose backup is used. It may be gone.
    pub name: String,
    /// The name of the new service. Default: that of a service that is gone.
    #[serde(default)]
    pub to: Option<String>,
    /// The moment to go back to, as RFC 3339. Default: the last that is known.
    #[serde(default)]
    pub at: Option<String>,
    /// The backup to use. Default: the newest that fits.
    #[serde(default)]
    pub backup: Option<String>,
}

/// What was begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Output {
    /// The new service.
    pub name: String,
    /// The backup that it is made from.
    pub backup: String,
    /// The moment that it goes back to, if one was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// What comes next.
    pub message: String,
}

/// Creates a service that is made from a backup. It never writes into one that is there.
pub async fn run(client: &Client, namespace: &str, input: Input) -> Result<Output, Error> {
    let at = input.at.as_deref().map(moment).transpose()?;
    let services: Api<ManagedService> = Api::namespaced(client.clone(), namespace);
    let live = services.get_opt(&input.name).await?;
    let target = match (&input.to, &live) {
        (Some(to), _) => to.clone(),
        (None, None) => input.name.clone(),
        (None, Some(_)) => {
            let why =
                format!("{} is there, and a restore overwrites nothing; name a new service", input.name);
            return Err(Error::invalid("to", why));
        }
    };
    checked_name(&target)?;
    let all = backups::of(client, namespace, &input.name).await?;
    let wish = Wish { service: &input.name, backup: input.backup.as_deref(), at, gone: live.is_none() };
    let backup = chosen(&all, &wish)?;
    let spec = spec(backup, live.as_ref())?;
    let mut service = ManagedService::new(&target, spec);
    let mut marks = BTreeMap::from([(RESTORE_BACKUP.to_owned(), backup.name_any())]);
    marks.extend(at.map(|at| (RESTORE_TIME.to_owned(), at.to_string())));
    service.metadata.annotations = Some(marks);
    create(client, namespace, service).await?;
    let message = "the restore has begun; poll service_status".to_owned();
    Ok(Output { name: target, backup: backup.name_any(), at: at.map(|at| at.to_string()), message })
}

fn moment(text: &str) -> Result<Timestamp, Error> {
    let at: Timestamp = text
        .parse()
        .map_err(|_| Error::invalid("at", format!("{text:?} is not a time such as 2026-01-31T12:00:00Z")))?;
    if at > Timestamp::now() {
        return Err(Error::invalid("at", format!("{text} is yet to come")));
    }
    Ok(at)
}

/// Which backup is wanted.
pub(super) struct Wish<'a> {
    pub(super) service: &'a str,
    /// The one that was named.
    pub(super) backup: Option<&'a str>,
    /// The moment to go back to.
    pub(super) at: Option<Timestamp>,
    /// Whether the service is not there any more.
    pub(super) gone: bool,
}

/// The backup to use, out of those of the service, the newest of which stands first.
pub(super) fn chosen<'a>(all: &'a [Backup], wish: &Wish<'_>) -> Result<&'a Backup, Error> {
    let Wish { service, backup, at, gone } = *wish;
    let none = |why: String| Error::NoBackup { why };
    if let Some(name) = backup {
        let found = all.iter().find(|backup| backup.name_any() == name);
        let found = found.ok_or_else(|| none(format!("{service} has no backup {name}")))?;
        let early = at.is_some_and(|at| !reaches(found, at));
        return match phase(found) {
            COMPLETED if early => Err(none(format!("backup {name} does not reach back to that moment"))),
            COMPLETED => Ok(found),
            other => Err(none(format!("backup {name} of {service} cannot be used: it is {other}"))),
        };
    }
    let usable = || all.iter().filter(|backup| phase(backup) == COMPLETED);
    // What was kept of a deleted service is its last state: the first choice to undo a deletion.
    let last = usable().find(|backup| gone && at.is_none() && kept(backup));
    let fits = |backup: &&Backup| !kept(backup) && at.is_none_or(|at| reaches(backup, at));
    if let Some(found) = last.or_else(|| usable().find(fits)) {
        return Ok(found);
    }
    let oldest = usable().filter(|backup| !kept(backup)).filter_map(ended).min();
    Err(none(match (at, oldest, usable().find(|backup| kept(backup))) {
        (Some(at), Some(oldest), _) => {
            format!("no backup of {service} reaches back to {at}; the oldest ended at {oldest}")
        }
        (_, _, Some(kept)) => format!(
            "{service} has no backup of its own that is complete; {} holds the last state of a deleted service of that name, and is used if it is named",
            kept.name_any()
        ),
        _ => format!("{service} has no backup that is complete"),
    }))
}

/// Whether a service can be brought to this moment from the backup: only forwards, and what was kept of a deleted
/// service holds its last moment alone.
fn reaches(backup: &Backup, at: Timestamp) -> bool {
    !kept(backup) && ended(backup).is_some_and(|ended| ended <= at)
}

fn kept(backup: &Backup) -> bool {
    backup.annotations().contains_key(KEPT_UNTIL)
}

fn phase(backup: &Backup) -> &str {
    backup.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("pending")
}

/// What the new service is to be: what the old one was when it was copied, and no smaller than it is now.
fn spec(backup: &Backup, live: Option<&ManagedService>) -> Result<ManagedServiceSpec, Error> {
    let told = backup.annotations().get(SERVICE_SPEC);
    let told = told.and_then(|json| serde_json::from_str::<ManagedServiceSpec>(json).ok());
    match (live.map(|live| &live.spec), told) {
        (Some(live), Some(told)) => {
            let larger = live.plan.size().storage_gib > told.plan.size().storage_gib;
            let plan = if larger { live.plan } else { told.plan };
            let version = told.version.or_else(|| live.version.clone());
            Ok(ManagedServiceSpec { plan, version, type_: told.type_, database: told.database })
        }
        (Some(live), None) => Ok(live.clone()),
        (None, Some(told)) => Ok(told),
        (None, None) => {
            let name = backup.name_any();
            let why = format!("backup {name} does not say which plan, version and database it is of");
            Err(Error::NoBackup { why })
        }
    }
}
