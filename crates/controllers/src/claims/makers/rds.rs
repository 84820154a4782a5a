//! Servers as our own `RDSInstance`s.

use api::claims::DatabaseType;
use api::conditions::{READY, Reason, find};
use api::infra::{AwsDeletionPolicy, PasswordSecretRef, ProviderRef, RDSInstance, RDSInstanceSpec};
use api::names::ObjectName;
use api::secret::Sealed;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kit::{Child, Refusal};
use ports::admin::Server;

use super::{ADMINISTRATION, Found, Order, meta};
use crate::claims::secret::text;
use crate::claims::target::Made;

/// Size of a server for which nobody says which.
const SHAPE: &str = "db.t4g.medium";
/// Storage of a server for which nobody says how much, in GiB: the least that RDS has for PostgreSQL.
const STORAGE_GB: u32 = 20;
/// Key of the password.
const PASSWORD: &str = "password";

pub(super) fn wanted(order: &Order<'_>) -> Result<Vec<Child>, Refusal> {
    let made = order.made;
    let broken = |message: &str| Refusal::new(Reason::InvalidConfiguration, message);
    let provider = order.config.aws_provider.clone();
    let name = provider.ok_or_else(|| {
        broken("servers are made as RDSInstance, and the configuration names no awsProvider; set it to the name of an AWSProvider")
    })?;
    let secret_name: ObjectName =
        secret(&made.name).parse().map_err(|_| broken("the server's name is too long"))?;
    let password = Secret {
        metadata: meta(order, secret_name.to_string()),
        data: Some([(PASSWORD.to_owned(), ByteString(order.fresh.open().clone().into_bytes()))].into()),
        ..Secret::default()
    };
    let engine = match made.type_ {
        DatabaseType::Postgres => "postgres",
        DatabaseType::AuroraPostgresql => "aurora-postgresql",
    };
    let spec = RDSInstanceSpec {
        provider_ref: ProviderRef { name, namespace: None },
        db_instance_identifier: made.name.clone(),
        engine: engine.to_owned(),
        engine_version: made.version.clone(),
        db_instance_class: made.shape.clone().unwrap_or_else(|| SHAPE.to_owned()),
        allocated_storage: i32::try_from(made.storage_gb.unwrap_or(STORAGE_GB)).unwrap_or(i32::MAX),
        master_username: order.config.defaults.username.clone(),
        master_user_password_secret_ref: Some(PasswordSecretRef {
            name: secret_name,
            key: PASSWORD.parse().map_err(|_| broken("`password` is no key of a Secret"))?,
        }),
        master_user_password: None,
        db_name: None,
        port: None,
        multi_az: false,
        publicly_accessible: false,
        storage_encrypted: true,
        backup_retention_period: None,
        preferred_backup_window: None,
        tags: made.tags.iter().map(|tag| (tag.key.clone(), tag.value.clone())).collect(),
        deletion_policy: if order.orphan { AwsDeletionPolicy::Orphan } else { AwsDeletionPolicy::Delete },
        skip_final_snapshot: false,
    };
    let instance = RDSInstance { metadata: meta(order, made.name.clone()), spec, status: None };
    // The password first: the server is made with it.
    Ok(vec![Child::of(&password).unowned(), Child::of(&instance).unowned()])
}

/// The Secret with the administrator's password.
pub(super) fn secret(name: &str) -> String {
    format!("{name}-master")
}

pub(super) fn judged(instance: &RDSInstance, secret: Option<&Secret>, made: &Made) -> Found {
    let status = instance.status.clone().unwrap_or_default();
    let word = status.status.unwrap_or_else(|| "not begun".to_owned());
    let (true, Some(endpoint)) = (status.ready, status.endpoint) else {
        let why = find(&status.conditions, READY)
            .filter(|ready| ready.status != "True" && !ready.message.is_empty());
        let why = why.map(|ready| format!(": {}", ready.message)).unwrap_or_default();
        return Found::Making(format!("RDSInstance {} is {word}{why}", made.name));
    };
    let Some(password) = secret.and_then(|secret| text(secret, PASSWORD)) else {
        let message =
            format!("Secret {} with the administrator's password is missing", self::secret(&made.name));
        return Found::Wrong(Reason::CredentialsMissing, message);
    };
    let server = Server {
        host: endpoint,
        port: status.port.and_then(|port| u16::try_from(port).ok()).unwrap_or(5432),
        user: instance.spec.master_username.clone(),
        password: Sealed::new(password),
        ssl_mode: made.ssl_mode,
        ca: None,
        database: ADMINISTRATION.to_owned(),
    };
    Found::Ready(server.into())
}
