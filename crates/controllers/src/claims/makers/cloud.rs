//! Servers as `CloudDatabaseClaim`s, which a composition of Crossplane makes in some cloud.

use api::claims::DatabaseType;
use api::foreign::LocalRef;
use api::foreign::cloud_database::{CloudDatabaseClaim, CloudDatabaseClaimSpec, CloudDatabaseParameters};
use k8s_openapi::api::core::v1::Secret;
use kit::Child;

use super::{Found, Order, login, meta};
use crate::claims::config::Config;
use crate::claims::target::Made;

/// The composition that the seed names.
const COMPOSITION: &str = "cloud.database.infobloxopen.github.com";

pub(super) fn wanted(order: &Order<'_>) -> Child {
    let made = order.made;
    let type_ = match made.type_ {
        DatabaseType::Postgres => "postgres",
        DatabaseType::AuroraPostgresql => "aurora-postgresql",
    };
    let spec = CloudDatabaseClaimSpec {
        parameters: CloudDatabaseParameters {
            type_: type_.to_owned(),
            min_storage: made.storage_gb.map(|size| format!("{size}GB")),
            shape: made.shape.clone(),
            engine_version: made.version.clone(),
            region: order.config.region.clone(),
        },
        composition_ref: Some(LocalRef { name: COMPOSITION.to_owned() }),
        write_connection_secret_to_ref: Some(LocalRef { name: secret(&made.name) }),
        deletion_policy: Some(if order.orphan { "Orphan" } else { "Delete" }.to_owned()),
    };
    let claim = CloudDatabaseClaim { metadata: meta(order, made.name.clone()), spec, status: None };
    Child::of(&claim).unowned()
}

/// The Secret with the administrator's login.
pub(super) fn secret(name: &str) -> String {
    format!("{name}-connection")
}

pub(super) fn judged(
    claim: &CloudDatabaseClaim,
    secret: Option<&Secret>,
    made: &Made,
    config: &Config,
) -> Found {
    let conditions = claim.status.clone().unwrap_or_default().conditions;
    let ready = conditions.iter().find(|condition| condition.type_ == "Ready");
    let server = login(secret, ["endpoint", "port"], made, Some(&config.defaults.username));
    match (ready.is_some_and(|ready| ready.status == "True"), server) {
        (true, Some(server)) => Found::Ready(server.into()),
        (true, None) => {
            Found::Making(format!("CloudDatabaseClaim {} has not published its login yet", made.name))
        }
        (false, _) => {
            let synced = conditions.iter().find(|condition| condition.type_ == "Synced");
            let failed =
                synced.filter(|synced| synced.status == "False").and_then(|synced| synced.message.clone());
            let words = failed.or_else(|| ready.and_then(|ready| ready.message.clone()));
            let words = words.map(|words| format!(": {words}")).unwrap_or_default();
            Found::Making(format!("CloudDatabaseClaim {} is not ready yet{words}", made.name))
        }
    }
}
