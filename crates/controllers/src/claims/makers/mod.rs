//! Who makes servers: each maker is an object that says what is wanted, and another that says how to get in.
//!
//! A server's object is made once and never changed: what would change it is a migration.

mod cloud;
mod cluster;
mod rds;

use std::collections::BTreeMap;
use std::sync::Arc;

use api::conditions::Reason;
use api::foreign::cloud_database::CloudDatabaseClaim;
use api::foreign::cnpg::Cluster;
use api::infra::RDSInstance;
use api::secret::Sealed;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kit::{Address, Child, Fault, Object, Reader, Refusal};
use kube::ResourceExt;
use ports::admin::Server;

use super::config::{Config, Maker};
use super::secret::text;
use super::target::Made;

/// The database that administrators log in to.
pub(super) const ADMINISTRATION: &str = "postgres";

/// How a server stands.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// It can be spoken to.
    Ready(Arc<Server>),
    /// Nobody asked for it yet.
    Absent,
    /// It is being made, or on its way out.
    Making(String),
    /// It cannot be made, or nobody can log in to it.
    Wrong(Reason, String),
}

/// What is asked of a maker.
pub(super) struct Order<'a> {
    pub(super) made: &'a Made,
    pub(super) namespace: &'a str,
    pub(super) config: &'a Config,
    pub(super) orphan: bool,
    /// A password that nobody has seen, for an administrator.
    pub(super) fresh: &'a Sealed<String>,
}

/// The objects that ask for a server.
pub(super) fn order(order: &Order<'_>) -> Result<Vec<Child>, Refusal> {
    let unsupported = |what: &str| {
        Refusal::new(
            Reason::InvalidSpec,
            format!("restoreFrom is not supported for servers that {what} makes; take it out"),
        )
    };
    let restores = order.made.restore_from.is_some();
    match order.config.maker {
        Maker::Cluster => Ok(vec![cluster::wanted(order)]),
        Maker::CloudDatabaseClaim if restores => Err(unsupported("a CloudDatabaseClaim")),
        Maker::CloudDatabaseClaim => Ok(vec![cloud::wanted(order)]),
        Maker::RdsInstance if restores => Err(unsupported("an RDSInstance")),
        Maker::RdsInstance => rds::wanted(order),
    }
}

/// The object of a server; what else there is of it goes with that.
pub(super) fn address(maker: Maker, namespace: &str, name: &str) -> Address {
    match maker {
        Maker::Cluster => Address::new::<Cluster>(namespace, name),
        Maker::CloudDatabaseClaim => Address::new::<CloudDatabaseClaim>(namespace, name),
        Maker::RdsInstance => Address::new::<RDSInstance>(namespace, name),
    }
}

/// The Secret with the administrator's password, where that is ours to make and to remove.
pub(super) fn password(maker: Maker, namespace: &str, name: &str) -> Option<Address> {
    match maker {
        Maker::RdsInstance => Some(Address::new::<Secret>(namespace, &rds::secret(name))),
        Maker::Cluster | Maker::CloudDatabaseClaim => None,
    }
}

/// The object of a server.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stand {
    /// Who made it, or is to make it.
    pub(super) maker: Maker,
    /// The notes on it.
    pub(super) notes: BTreeMap<String, String>,
    /// How the server stands.
    pub(super) found: Found,
}

/// Looks how a server stands. One that is there stays with its maker, whatever the configuration says since.
pub(super) async fn find(
    reader: &Reader,
    made: &Made,
    namespace: &str,
    config: &Config,
) -> Result<Stand, Fault> {
    let all = [Maker::Cluster, Maker::CloudDatabaseClaim, Maker::RdsInstance];
    for maker in [config.maker].into_iter().chain(all.into_iter().filter(|maker| *maker != config.maker)) {
        if let Some((notes, found)) = stands(reader, maker, (made, namespace), config).await? {
            return Ok(Stand { maker, notes, found });
        }
    }
    let found = match config.maker {
        Maker::Cluster => absent::<Cluster>(reader).await?,
        Maker::CloudDatabaseClaim => absent::<CloudDatabaseClaim>(reader).await?,
        Maker::RdsInstance => absent::<RDSInstance>(reader).await?,
    };
    Ok(Stand { maker: config.maker, notes: BTreeMap::new(), found })
}

/// How the object of one maker stands, with its notes, if it is there.
async fn stands(
    reader: &Reader,
    maker: Maker,
    (made, namespace): (&Made, &str),
    config: &Config,
) -> Result<Option<(BTreeMap<String, String>, Found)>, Fault> {
    let name = made.name.as_str();
    let secret = async |name: String| reader.get::<Secret>(namespace, &name).await;
    let found = match maker {
        Maker::Cluster => {
            let Some(object) = reader.get::<Cluster>(namespace, name).await? else { return Ok(None) };
            let secret = secret(cluster::secret(name)).await?;
            let judged = cluster::judged(&object, secret.as_deref(), made);
            (object.annotations().clone(), going(&*object).unwrap_or(judged))
        }
        Maker::CloudDatabaseClaim => {
            let Some(object) = reader.get::<CloudDatabaseClaim>(namespace, name).await? else {
                return Ok(None);
            };
            let secret = secret(cloud::secret(name)).await?;
            let judged = cloud::judged(&object, secret.as_deref(), made, config);
            (object.annotations().clone(), going(&*object).unwrap_or(judged))
        }
        Maker::RdsInstance => {
            let Some(object) = reader.get::<RDSInstance>(namespace, name).await? else { return Ok(None) };
            let secret = secret(rds::secret(name)).await?;
            let judged = rds::judged(&object, secret.as_deref(), made);
            (object.annotations().clone(), going(&*object).unwrap_or(judged))
        }
    };
    Ok(Some(found))
}

/// Nobody asked for it; or nobody could.
async fn absent<K: Object>(reader: &Reader) -> Result<Found, Fault> {
    if reader.served::<K>().await? {
        return Ok(Found::Absent);
    }
    let kind = K::kind(&());
    let message = format!(
        "servers are made as {kind}, and that kind is not installed; install it, or set serverMaker to another"
    );
    Ok(Found::Wrong(Reason::KindMissing, message))
}

fn going<K: Object>(object: &K) -> Option<Found> {
    let kind = K::kind(&());
    let told =
        format!("{kind} {} is being deleted; the server is made anew when it is gone", object.name_any());
    object.meta().deletion_timestamp.is_some().then_some(Found::Making(told))
}

/// The head of an object that asks for a server.
fn meta(order: &Order<'_>, name: String) -> ObjectMeta {
    let labels = BTreeMap::from([(api::annotations::MANAGED_BY.to_owned(), kit::MANAGER.to_owned())]);
    ObjectMeta {
        name: Some(name),
        namespace: Some(order.namespace.to_owned()),
        labels: Some(labels),
        ..ObjectMeta::default()
    }
}

/// The administrator's login, from a Secret with these keys; one that names no user is of this one.
fn login(
    secret: Option<&Secret>,
    [host, port]: [&str; 2],
    made: &Made,
    user: Option<&str>,
) -> Option<Server> {
    let secret = secret?;
    Some(Server {
        host: text(secret, host)?,
        port: text(secret, port).and_then(|port| port.parse().ok()).unwrap_or(5432),
        user: text(secret, "username").or_else(|| user.map(str::to_owned))?,
        password: Sealed::new(text(secret, "password")?),
        ssl_mode: made.ssl_mode,
        ca: text(secret, "ca.crt"),
        database: ADMINISTRATION.to_owned(),
    })
}
