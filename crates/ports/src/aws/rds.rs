//! RDS: database servers.

use std::fmt;

use api::secret::Sealed;
use aws_sdk_rds::types::{DbInstance, Tag};

use super::error::told;
use super::{Account, Aws, Error, Tags};

/// What RDS says of a server that is not there.
const ABSENT: [&str; 2] = ["DBInstanceNotFound", "DBInstanceNotFoundFault"];
/// Servers of an account are read in pages of this size, the largest that AWS allows.
const PAGE: i32 = 100;

/// A server that is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Database {
    /// Its name, in small letters.
    pub id: String,
    /// Its ARN.
    pub arn: String,
    /// How it stands, in AWS's words.
    pub status: String,
    /// The database system.
    pub engine: String,
    /// The administrator.
    pub master_username: String,
    /// The database that it was made with.
    pub db_name: Option<String>,
    /// Whether its storage is encrypted.
    pub storage_encrypted: bool,
    /// Whether AWS refuses to delete it.
    pub deletion_protection: bool,
    /// Whether AWS changes to newer minor versions on its own.
    pub minor_upgrades: bool,
    /// Whether it is part of a cluster of Aurora, which has most of its settings.
    pub clustered: bool,
    /// Host that it is reached under, once it has one.
    pub host: Option<String>,
    /// Its settings.
    pub settings: DatabaseSettings,
    /// Settings that it is to have soon: AWS has been asked for them.
    pub pending: DatabaseSettings,
    /// Whether it is to have another password soon.
    pub password_pending: bool,
    /// Its tags.
    pub tags: Tags,
}

/// Settings of a server that can change. Those that are not said are left alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatabaseSettings {
    /// Version of the database system.
    pub engine_version: Option<String>,
    /// Size of the server.
    pub class: Option<String>,
    /// Storage in GiB.
    pub storage_gib: Option<i32>,
    /// Port that it listens on.
    pub port: Option<i32>,
    /// Whether a standby in another zone takes over.
    pub multi_az: Option<bool>,
    /// Whether it has a public address.
    pub public: Option<bool>,
    /// Days that backups are kept.
    pub backup_days: Option<i32>,
    /// Daily window for backups.
    pub backup_window: Option<String>,
}

/// A server that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDatabase {
    /// Its name, in small letters.
    pub id: String,
    /// The database system.
    pub engine: String,
    /// The administrator.
    pub master_username: String,
    /// The administrator's password.
    pub password: Sealed<String>,
    /// A database to make in it.
    pub db_name: Option<String>,
    /// Whether its storage is encrypted.
    pub storage_encrypted: bool,
    /// Its settings.
    pub settings: DatabaseSettings,
    /// Its tags.
    pub tags: Tags,
}

/// What changes of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatabaseChange {
    /// Settings that become otherwise.
    pub settings: DatabaseSettings,
    /// Whether the version may be another major one.
    pub major: bool,
    /// The administrator's new password.
    pub password: Option<Sealed<String>>,
}

impl fmt::Display for DatabaseChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DatabaseSettings {
            engine_version,
            class,
            storage_gib,
            port,
            multi_az,
            public,
            backup_days,
            backup_window,
        } = &self.settings;
        let told = [
            ("engineVersion", engine_version.is_some()),
            ("dbInstanceClass", class.is_some()),
            ("allocatedStorage", storage_gib.is_some()),
            ("port", port.is_some()),
            ("multiAZ", multi_az.is_some()),
            ("publiclyAccessible", public.is_some()),
            ("backupRetentionPeriod", backup_days.is_some()),
            ("preferredBackupWindow", backup_window.is_some()),
            ("the password", self.password.is_some()),
        ];
        let named: Vec<&str> = told.iter().filter(|(_, said)| *said).map(|(name, _)| *name).collect();
        f.write_str(&named.join(", "))
    }
}

impl Aws {
    /// A server, if it is there.
    pub async fn database(&self, account: &Account, id: &str) -> Result<Option<Database>, Error> {
        const ASKED: &str = "DescribeDBInstances";
        let clients = self.clients(account);
        let asked = clients.rds().describe_db_instances().db_instance_identifier(id);
        match asked.send().await.map_err(|error| told(ASKED, error)) {
            Ok(answer) => Ok(answer.db_instances.unwrap_or_default().into_iter().next().map(read)),
            Err(error) if error.is(&ABSENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All servers of an account and region.
    pub async fn databases(&self, account: &Account) -> Result<Vec<Database>, Error> {
        let clients = self.clients(account);
        let mut pages = clients.rds().describe_db_instances().into_paginator().page_size(PAGE).send();
        let mut found = Vec::new();
        while let Some(page) = pages.next().await {
            let page = page.map_err(|error| told("DescribeDBInstances", error))?;
            found.extend(page.db_instances.unwrap_or_default().into_iter().map(read));
        }
        found.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(found)
    }

    /// Makes a server, with its tags. One of that name that is there already is an error.
    pub async fn create_database(&self, account: &Account, new: &NewDatabase) -> Result<(), Error> {
        let NewDatabase { id, engine, master_username, password, db_name, storage_encrypted, settings, tags } =
            new;
        let clients = self.clients(account);
        let asked = clients.rds().create_db_instance().db_instance_identifier(id).engine(engine);
        let asked = asked.master_username(master_username).master_user_password(password.open());
        let asked = asked.set_db_name(db_name.clone()).storage_encrypted(*storage_encrypted);
        let asked = asked
            .set_engine_version(settings.engine_version.clone())
            .set_db_instance_class(settings.class.clone())
            .set_allocated_storage(settings.storage_gib)
            .set_port(settings.port)
            .set_multi_az(settings.multi_az)
            .set_publicly_accessible(settings.public)
            .set_backup_retention_period(settings.backup_days)
            .set_preferred_backup_window(settings.backup_window.clone())
            .set_tags(Some(written(tags)));
        asked.send().await.map_err(|error| told("CreateDBInstance", error)).map(drop)
    }

    /// Changes a server at once, not in its next window for maintenance.
    pub async fn modify_database(
        &self,
        account: &Account,
        id: &str,
        change: &DatabaseChange,
    ) -> Result<(), Error> {
        let DatabaseChange { settings, major, password } = change;
        let clients = self.clients(account);
        let asked = clients.rds().modify_db_instance().db_instance_identifier(id).apply_immediately(true);
        let asked = asked
            .set_engine_version(settings.engine_version.clone())
            .set_allow_major_version_upgrade(major.then_some(true))
            .set_db_instance_class(settings.class.clone())
            .set_allocated_storage(settings.storage_gib)
            .set_db_port_number(settings.port)
            .set_multi_az(settings.multi_az)
            .set_publicly_accessible(settings.public)
            .set_backup_retention_period(settings.backup_days)
            .set_preferred_backup_window(settings.backup_window.clone())
            .set_master_user_password(password.as_ref().map(|password| password.open().clone()));
        asked.send().await.map_err(|error| told("ModifyDBInstance", error)).map(drop)
    }

    /// Sets tags of a server; others stay.
    pub async fn tag_database(&self, account: &Account, arn: &str, tags: &Tags) -> Result<(), Error> {
        let clients = self.clients(account);
        let asked = clients.rds().add_tags_to_resource().resource_name(arn).set_tags(Some(written(tags)));
        asked.send().await.map_err(|error| told("AddTagsToResource", error)).map(drop)
    }

    /// Takes tags off a server.
    pub async fn untag_database(&self, account: &Account, arn: &str, keys: &[String]) -> Result<(), Error> {
        let clients = self.clients(account);
        let asked = clients.rds().remove_tags_from_resource().resource_name(arn);
        let asked = asked.set_tag_keys(Some(keys.to_vec()));
        asked.send().await.map_err(|error| told("RemoveTagsFromResource", error)).map(drop)
    }

    /// Begins to delete a server, after a last snapshot of this name; without one, its data is gone for ever. One that is
    /// not there is deleted.
    pub async fn delete_database(
        &self,
        account: &Account,
        id: &str,
        snapshot: Option<&str>,
    ) -> Result<(), Error> {
        let clients = self.clients(account);
        let asked = clients.rds().delete_db_instance().db_instance_identifier(id);
        let asked = asked
            .skip_final_snapshot(snapshot.is_none())
            .set_final_db_snapshot_identifier(snapshot.map(str::to_owned));
        match asked.send().await.map_err(|error| told("DeleteDBInstance", error)) {
            Err(error) if !error.is(&ABSENT) => Err(error),
            _ => Ok(()),
        }
    }
}

fn written(tags: &Tags) -> Vec<Tag> {
    tags.iter().map(|(key, value)| Tag::builder().key(key).value(value).build()).collect()
}

fn read(found: DbInstance) -> Database {
    let (host, port) = found.endpoint.map_or((None, None), |endpoint| (endpoint.address, endpoint.port));
    let pending = found.pending_modified_values;
    let password_pending = pending.as_ref().is_some_and(|pending| pending.master_user_password.is_some());
    let pending = pending.map(|pending| DatabaseSettings {
        engine_version: pending.engine_version,
        class: pending.db_instance_class,
        storage_gib: pending.allocated_storage,
        port: pending.port,
        multi_az: pending.multi_az,
        public: None,
        backup_days: pending.backup_retention_period,
        backup_window: None,
    });
    let tags = found.tag_list.unwrap_or_default().into_iter();
    let tags = tags.filter_map(|tag| Some((tag.key?, tag.value.unwrap_or_default()))).collect();
    Database {
        id: found.db_instance_identifier.unwrap_or_default(),
        arn: found.db_instance_arn.unwrap_or_default(),
        status: found.db_instance_status.unwrap_or_default(),
        engine: found.engine.unwrap_or_default(),
        master_username: found.master_username.unwrap_or_default(),
        db_name: found.db_name,
        storage_encrypted: found.storage_encrypted.unwrap_or_default(),
        deletion_protection: found.deletion_protection.unwrap_or_default(),
        minor_upgrades: found.auto_minor_version_upgrade.unwrap_or_default(),
        clustered: found.db_cluster_identifier.is_some(),
        host,
        settings: DatabaseSettings {
            engine_version: found.engine_version,
            class: found.db_instance_class,
            storage_gib: found.allocated_storage,
            // Servers that are being made have no endpoint yet, and a zero here.
            port: port.or(found.db_instance_port.filter(|port| *port > 0)),
            multi_az: found.multi_az,
            public: found.publicly_accessible,
            backup_days: found.backup_retention_period,
            backup_window: found.preferred_backup_window,
        },
        pending: pending.unwrap_or_default(),
        password_pending,
        tags,
    }
}
