//! The settings of a server beside those that the spec asks for.

use std::fmt::Display;

use api::annotations::ADOPT;
use api::conditions::Reason;
use api::drift::Drift;
use api::infra::RDSInstanceSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kit::Refusal;
use ports::aws::{Database, DatabaseChange, DatabaseSettings};

use super::state::State;
use super::version;
use crate::infra::course::field;

/// The field of storage, which alone a full server takes.
const STORAGE: &str = "allocatedStorage";

/// How the settings of a server differ.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Comparison {
    change: DatabaseChange,
    fields: Vec<Drift>,
    /// Fields that are otherwise, and that AWS is about to change already, in words.
    pub(super) pending: Vec<String>,
}

impl Comparison {
    /// The change that a server in this state takes, and its fields.
    pub(super) fn within(&self, state: State) -> Option<(Vec<Drift>, DatabaseChange)> {
        let Self { change, fields, .. } = self.clone();
        let (fields, change) = match state {
            State::Full => {
                let storage_gib = change.settings.storage_gib;
                let settings = DatabaseSettings { storage_gib, ..DatabaseSettings::default() };
                let fields = fields.into_iter().filter(|drift| drift.field == STORAGE).collect();
                (fields, DatabaseChange { settings, ..DatabaseChange::default() })
            }
            State::Open | State::Serving | State::Busy | State::Going | State::Wrong(_) => (fields, change),
        };
        (!fields.is_empty()).then_some((fields, change))
    }
}

/// Whether the object may take over what it did not make.
pub(super) fn adopts(meta: &ObjectMeta) -> bool {
    meta.annotations.as_ref().and_then(|all| all.get(ADOPT)).is_some_and(|value| value == "true")
}

/// The settings that a spec asks for.
pub(super) fn wanted(spec: &RDSInstanceSpec) -> DatabaseSettings {
    DatabaseSettings {
        engine_version: spec.engine_version.clone(),
        class: Some(spec.db_instance_class.clone()),
        storage_gib: Some(spec.allocated_storage),
        port: spec.port,
        multi_az: Some(spec.multi_az),
        public: Some(spec.publicly_accessible),
        backup_days: spec.backup_retention_period,
        backup_window: spec.preferred_backup_window.clone(),
    }
}

/// How a server differs from its spec; `met` is whether it was as this spec asks before.
pub(super) fn compare(spec: &RDSInstanceSpec, live: &Database, met: bool) -> Result<Comparison, Refusal> {
    fixed(spec, live)?;
    let mut found = Comparison::default();
    let DatabaseSettings {
        engine_version,
        class,
        storage_gib,
        port,
        multi_az,
        public,
        backup_days,
        backup_window,
    } = wanted(spec);
    let (held, soon) = (&live.settings, &live.pending);
    let engine_version = upgrade(engine_version, live, met)?;
    found.change.major = engine_version
        .as_ref()
        .zip(held.engine_version.as_ref())
        .is_some_and(|(wanted, held)| version::other_major(&live.engine, wanted, held));
    let mut settings = DatabaseSettings::default();
    let versions = (&held.engine_version, &soon.engine_version);
    settings.engine_version =
        found.judge("engineVersion", engine_version, versions, |wanted, held| version::meets(wanted, held));
    settings.class = found.judge("dbInstanceClass", class, (&held.class, &soon.class), same);
    // It grows on its own where the account says so, and never shrinks.
    let sizes = (&held.storage_gib, &soon.storage_gib);
    settings.storage_gib = found.judge(STORAGE, storage_gib, sizes, |wanted, held| held >= wanted);
    settings.port = found.judge("port", port, (&held.port, &soon.port), same);
    settings.multi_az = found.judge("multiAZ", multi_az, (&held.multi_az, &soon.multi_az), same);
    settings.public = found.judge("publiclyAccessible", public, (&held.public, &soon.public), same);
    let days = (&held.backup_days, &soon.backup_days);
    settings.backup_days = found.judge("backupRetentionPeriod", backup_days, days, same);
    let windows = (&held.backup_window, &soon.backup_window);
    settings.backup_window = found.judge("preferredBackupWindow", backup_window, windows, same);
    found.change.settings = settings;
    Ok(found)
}

fn same<T: PartialEq>(wanted: &T, held: &T) -> bool {
    wanted == held
}

impl Comparison {
    /// The value that is to be set. None, if it is so, or about to be something else, or not known yet.
    fn judge<T: Display>(
        &mut self,
        name: &str,
        wanted: Option<T>,
        (held, soon): (&Option<T>, &Option<T>),
        meets: impl Fn(&T, &T) -> bool,
    ) -> Option<T> {
        let (wanted, held) = (wanted?, held.as_ref()?);
        if meets(&wanted, held) {
            return None;
        }
        if let Some(soon) = soon {
            self.pending.push(format!("{name} becomes {soon}"));
            return None;
        }
        self.fields.push(field(name, &wanted, held));
        Some(wanted)
    }
}

/// What cannot be changed must be as it is.
fn fixed(spec: &RDSInstanceSpec, live: &Database) -> Result<(), Refusal> {
    let encrypted = |encrypted: bool| if encrypted { "true" } else { "false" };
    let held = live.db_name.as_deref().unwrap_or_default();
    let rows = [
        ("engine", spec.engine.as_str(), live.engine.as_str()),
        ("masterUsername", &spec.master_username, &live.master_username),
        ("dbName", spec.db_name.as_deref().unwrap_or(held), held),
        ("storageEncrypted", encrypted(spec.storage_encrypted), encrypted(live.storage_encrypted)),
    ];
    let wrong = rows.iter().find(|(_, wanted, held)| wanted != held);
    wrong.map_or(Ok(()), |(name, wanted, held)| {
        let message = format!(
            "{name} of database server {} is {held:?} and cannot become {wanted:?}; write what it is, or make another server",
            live.id
        );
        Err(Refusal::new(Reason::InvalidSpec, message))
    })
}

/// The version that is asked for, unless it is older than the one that runs. That AWS changed to a newer minor version on
/// its own is no reason to refuse what was met before.
fn upgrade(wanted: Option<String>, live: &Database, met: bool) -> Result<Option<String>, Refusal> {
    let (Some(asked), Some(held)) = (&wanted, &live.settings.engine_version) else { return Ok(wanted) };
    if !version::older(asked, held) {
        return Ok(wanted);
    }
    if met && live.minor_upgrades && !version::other_major(&live.engine, asked, held) {
        return Ok(None);
    }
    let message = format!(
        "database server {} runs version {held}, and there is no way back to {asked}; write {held}, or restore a backup into another server",
        live.id
    );
    Err(Refusal::new(Reason::InvalidSpec, message))
}
