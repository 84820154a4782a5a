//! Database servers.

use api::infra::{AwsDeletionPolicy, ProviderRef, RDSInstance, RDSInstanceSpec};
use ports::aws::{Account, Aws, Database, Error};

use super::{Seen, name, tags};

/// The database servers of an account, each as the object that asks for what is there. Those in clusters of Aurora are left
/// out: their clusters have most of their settings.
pub(super) async fn found(
    aws: &Aws,
    account: &Account,
    provider: &ProviderRef,
) -> Result<Vec<Seen<RDSInstance>>, Error> {
    let all = aws.databases(account).await?;
    let alone = all.into_iter().filter(|live| !live.clustered);
    let seen = alone.filter_map(|live| {
        let object = RDSInstance::new(&name(&live.id), spec(&live, provider)?);
        Some(Seen { resource: live.id, tags: live.tags, object })
    });
    Ok(seen.collect())
}

/// What is there. Its password is not: AWS does not tell it.
fn spec(live: &Database, provider: &ProviderRef) -> Option<RDSInstanceSpec> {
    let settings = &live.settings;
    Some(RDSInstanceSpec {
        provider_ref: provider.clone(),
        db_instance_identifier: live.id.clone(),
        engine: live.engine.clone(),
        engine_version: settings.engine_version.clone(),
        // One that is still being made may lack these.
        db_instance_class: settings.class.clone()?,
        allocated_storage: settings.storage_gib?,
        master_username: Some(live.master_username.clone()).filter(|name| !name.is_empty())?,
        master_user_password_secret_ref: None,
        master_user_password: None,
        db_name: live.db_name.clone(),
        port: settings.port,
        multi_az: settings.multi_az.unwrap_or_default(),
        publicly_accessible: settings.public.unwrap_or_default(),
        storage_encrypted: live.storage_encrypted,
        backup_retention_period: settings.backup_days,
        preferred_backup_window: settings.backup_window.clone(),
        tags: tags(&live.tags),
        // What somebody else made is not deleted because an object of ours is.
        deletion_policy: AwsDeletionPolicy::Retain,
        skip_final_snapshot: false,
    })
}
