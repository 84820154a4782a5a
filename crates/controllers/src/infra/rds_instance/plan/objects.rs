//! The Secrets of a server: the one with its connection, and the one that its password was drawn into.

use std::collections::BTreeMap;

use api::conditions::Reason;
use api::connection::{Connection, DSN, SslMode};
use api::infra::RDSInstance;
use api::names::ObjectName;
use api::secret::Sealed;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kit::{Child, Do, Name, Object, Refusal};
use kube::ResourceExt;
use ports::aws::Database;

use super::{Call, identifier};
use crate::infra::step::Step;
use crate::infra::tags::OWNER;

/// The database that every server of PostgreSQL has.
const POSTGRES: &str = "postgres";
/// Longest suffix of a name: what comes before it must leave room.
const SUFFIXES: [&str; 2] = ["-connection", "-master-password"];

/// The Secret with the connection.
pub(in super::super) fn connection_secret(instance: &RDSInstance) -> String {
    format!("{}-connection", instance.name_any())
}

/// The Secret that a password is drawn into.
pub(in super::super) fn generated_secret(instance: &RDSInstance) -> String {
    format!("{}-master-password", instance.name_any())
}

/// The Secret that a Cluster takes the administrator's login from.
pub(in super::super) fn login_secret(instance: &RDSInstance) -> String {
    format!("{}-login", identifier(instance))
}

/// Refuses a name that leaves no room for those of the Secrets.
pub(super) fn check_names(instance: &RDSInstance) -> Result<(), Refusal> {
    let name = instance.name_any();
    let fits = |suffix: &str| format!("{name}{suffix}").parse::<ObjectName>().is_ok();
    match SUFFIXES.into_iter().all(fits) {
        true => Ok(()),
        false => {
            let message = "the object's name is too long: Secrets are named after it; choose a shorter one";
            Err(Refusal::new(Reason::InvalidSpec, message))
        }
    }
}

/// Whether something carries the mark of this object.
pub(in super::super) fn marked<K: Object>(found: &K, instance: &RDSInstance) -> bool {
    found.annotations().get(OWNER).is_some_and(|owner| *owner == Name::of(instance).to_string())
}

/// The mark on what stays where the server stays.
pub(super) fn mark(instance: &RDSInstance) -> BTreeMap<String, String> {
    BTreeMap::from([(OWNER.to_owned(), Name::of(instance).to_string())])
}

/// The Secret that a password is drawn into: made once, and never changed.
pub(super) fn generated(instance: &RDSInstance, password: &Sealed<String>) -> Do<Step<Call>> {
    let data = BTreeMap::from([("password".to_owned(), password.clone())]);
    let mut secret = secret(instance, generated_secret(instance), data);
    secret.metadata.annotations = Some(mark(instance));
    let labels = BTreeMap::from([(api::annotations::MANAGED_BY.to_owned(), kit::MANAGER.to_owned())]);
    secret.metadata.labels = Some(labels);
    Do::Create(Box::new(Child::of(&secret).unowned()))
}

/// The login that a Cluster gives the administrator.
pub(super) fn login(instance: &RDSInstance, password: &Sealed<String>) -> Do<Step<Call>> {
    let mut secret = secret(instance, login_secret(instance), begun_data(instance, password));
    secret.metadata.annotations = Some(mark(instance));
    secret.type_ = Some("kubernetes.io/basic-auth".to_owned());
    Do::Apply(Box::new(Child::of(&secret).unowned()))
}

/// The Secret with the connection of a server that is not there yet: it keeps the password that it is made with.
pub(super) fn begun(instance: &RDSInstance, password: &Sealed<String>) -> Do<Step<Call>> {
    let secret = secret(instance, connection_secret(instance), begun_data(instance, password));
    Do::Apply(Box::new(Child::of(&secret)))
}

fn begun_data(instance: &RDSInstance, password: &Sealed<String>) -> BTreeMap<String, Sealed<String>> {
    let username = Sealed::new(instance.spec.master_username.clone());
    BTreeMap::from([("username".to_owned(), username), ("password".to_owned(), password.clone())])
}

/// The Secret with the connection.
pub(super) fn connection(
    instance: &RDSInstance,
    live: &Database,
    password: &Sealed<String>,
) -> Do<Step<Call>> {
    let host = live.host.clone().unwrap_or_default();
    let port = live.settings.port.and_then(|port| u16::try_from(port).ok()).unwrap_or_default();
    Do::Apply(Box::new(Child::of(&published(instance, (host, port), password))))
}

/// The Secret with a connection, under the keys of claims and of services. Those that only PostgreSQL's clients can read
/// are left out for others.
pub(super) fn published(
    instance: &RDSInstance,
    (host, port): (String, u16),
    password: &Sealed<String>,
) -> Secret {
    let spec = &instance.spec;
    let postgres = spec.engine.contains(POSTGRES);
    let database = spec.db_name.clone().or_else(|| postgres.then(|| POSTGRES.to_owned()));
    let connection = Connection {
        host: host.clone(),
        read_only_host: None,
        port,
        database: database.clone().unwrap_or_default(),
        username: spec.master_username.clone(),
        password: password.clone(),
        ssl_mode: SslMode::Require,
    };
    let mut data = connection.secret_data(DSN);
    data.insert("uri".to_owned(), connection.uri());
    if !postgres {
        let plain = ["hostname", "port", "database", "username", "password"];
        data.retain(|key, _| plain.contains(&key.as_str()) && (key != "database" || database.is_some()));
    }
    data.insert("host".to_owned(), Sealed::new(host));
    data.extend(database.map(|database| ("dbname".to_owned(), Sealed::new(database))));
    secret(instance, connection_secret(instance), data)
}

fn secret(instance: &RDSInstance, name: String, data: BTreeMap<String, Sealed<String>>) -> Secret {
    let bytes = |(key, value): (String, Sealed<String>)| (key, ByteString(value.into_open().into_bytes()));
    Secret {
        metadata: ObjectMeta { name: Some(name), namespace: instance.namespace(), ..ObjectMeta::default() },
        data: Some(data.into_iter().map(bytes).collect()),
        ..Secret::default()
    }
}
