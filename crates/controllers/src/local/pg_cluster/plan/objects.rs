//! What clients see: Services, their slices, and the Secrets.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use api::foreign::cnpg::Cluster;
use api::secret::Sealed;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Secret, Service, ServicePort, ServiceSpec};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointPort, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kit::{Address, Child, Do, Object};
use kube::ResourceExt;
use ports::postgres::{Login, Number};
use serde_json::json;

use super::failover::{Lead, facts};
use super::settings::mark;
use super::{Door, Held, Step, World, app_secret, instance_name, there};

/// PostgreSQL's own port, on which every Service listens.
const PORT: i32 = 5432;
/// What the port of every Service is called.
const PORT_NAME: &str = "postgres";
/// CloudNativePG's label on everything that it makes for a cluster.
const CLUSTER: &str = "cnpg.io/cluster";
/// On a slice: the Service that it belongs to.
const SERVICE_NAME: &str = "kubernetes.io/service-name";
/// Role and database if nobody says otherwise, as CloudNativePG has it.
const DEFAULT: &str = "app";
/// Any database.
pub(super) const ANY: &str = "*";

/// The Services, and the Secret that tells clients whom to trust.
pub(super) fn doors(cluster: &Cluster, world: &World) -> Vec<Do<Step>> {
    let port = ServicePort {
        name: Some(PORT_NAME.into()),
        port: PORT,
        protocol: Some("TCP".into()),
        ..ServicePort::default()
    };
    let service = |door: Door| Service {
        metadata: meta(cluster, door.service(cluster)),
        spec: Some(ServiceSpec {
            type_: Some("ClusterIP".into()),
            ports: Some(vec![port.clone()]),
            ..ServiceSpec::default()
        }),
        status: None,
    };
    let root = Secret {
        metadata: meta(cluster, format!("{}-ca", cluster.name_any())),
        data: Some([("ca.crt".to_owned(), ByteString(world.root_pem.clone().into_bytes()))].into()),
        ..Secret::default()
    };
    Door::ALL.into_iter().map(|door| apply(&service(door))).chain([apply(&root)]).collect()
}

fn meta(cluster: &Cluster, name: String) -> ObjectMeta {
    ObjectMeta {
        name: Some(name),
        namespace: cluster.namespace(),
        labels: Some([(CLUSTER.to_owned(), cluster.name_any())].into()),
        ..ObjectMeta::default()
    }
}

fn apply<K: Object>(object: &K) -> Do<Step> {
    Do::Apply(Box::new(Child::of(object)))
}

/// The login of the database's owner, or why there is none yet.
pub(super) fn login(cluster: &Cluster, world: &World) -> Result<Login, String> {
    let bootstrap = cluster.spec.bootstrap.clone().unwrap_or_default();
    let (initdb, recovery) = (bootstrap.initdb.unwrap_or_default(), bootstrap.recovery.unwrap_or_default());
    let database = initdb.database.or(recovery.database).unwrap_or_else(|| DEFAULT.into());
    let owner = initdb.owner.or(recovery.owner).unwrap_or_else(|| DEFAULT.into());
    let held = match &world.app {
        Held::Nothing => None,
        Held::Ours { data, .. } => data.open().get("password").filter(|password| !password.is_empty()),
        Held::Foreign => {
            let name = app_secret(cluster);
            return Err(format!(
                "Secret {name} exists and was not made for this cluster; rename or delete it"
            ));
        }
    };
    if !world.addresses.contains_key(&Door::Write) {
        return Err(format!("Service {} has no address yet", Door::Write.service(cluster)));
    }
    let (owner, password) = match (initdb.secret, &world.given) {
        (Some(_), Some(given)) => (given.username.clone(), given.password.clone()),
        (Some(named), None) => {
            return Err(format!("Secret {} has no username and password, or does not exist", named.name));
        }
        (None, _) => (owner, held.map_or_else(|| world.spare.clone(), |held| Sealed::new(held.clone()))),
    };
    let uid = cluster.metadata.uid.as_deref().unwrap_or_default();
    let mark = mark(&[uid, &owner, &database, password.open()]);
    Ok(Login { owner, database, password, mark })
}

/// The Secret with the login of the database's owner.
pub(super) fn secrets(cluster: &Cluster, world: &World, login: Option<&Login>) -> Option<Do<Step>> {
    let (login, host) = (login?, world.addresses.get(&Door::Write)?);
    secret(cluster, &world.app, app_secret(cluster), &connection(login, host))
}

/// A Secret with a login: made once, and only corrected later.
pub(super) fn secret(
    cluster: &Cluster,
    held: &Held,
    name: String,
    wanted: &Sealed<BTreeMap<String, String>>,
) -> Option<Do<Step>> {
    let bytes = |text: &String| ByteString(text.clone().into_bytes());
    let data: BTreeMap<String, ByteString> =
        wanted.open().iter().map(|(key, value)| (key.clone(), bytes(value))).collect();
    match held {
        Held::Nothing => {
            let secret = Secret {
                metadata: meta(cluster, name),
                type_: Some("kubernetes.io/basic-auth".into()),
                data: Some(data),
                ..Secret::default()
            };
            Some(Do::Create(Box::new(Child::of(&secret))))
        }
        Held::Ours { data: held, .. } => {
            let met = wanted.open().iter().all(|(key, value)| held.open().get(key) == Some(value));
            let address = Address::new::<Secret>(&cluster.namespace().unwrap_or_default(), &name);
            (!met).then(|| Do::Patch(address, json!({ "data": data })))
        }
        Held::Foreign => None,
    }
}

/// The data of the Secret, as CloudNativePG writes it. The host is an address: there is no DNS on one machine.
pub(super) fn connection(login: &Login, host: &str) -> Sealed<BTreeMap<String, String>> {
    let Login { owner, database, password, mark: _ } = login;
    let password = password.open();
    let (user_part, password_part) = (encoded(owner), encoded(password));
    // Any database is a star, which a URI need not escape and CloudNativePG does not.
    let database_part = if database == ANY { ANY.to_owned() } else { encoded(database) };
    let pgpass = [host, &PORT.to_string(), database, owner, password].map(|field| {
        // https://www.postgresql.org/docs/current/libpq-pgpass.html
        field.replace('\\', r"\\").replace(':', r"\:")
    });
    let data = [
        ("username", owner.clone()),
        ("user", owner.clone()),
        ("password", password.clone()),
        ("dbname", database.clone()),
        ("host", host.to_owned()),
        ("port", PORT.to_string()),
        ("uri", format!("postgresql://{user_part}:{password_part}@{host}:{PORT}/{database_part}")),
        (
            "jdbc-uri",
            format!(
                "jdbc:postgresql://{host}:{PORT}/{database_part}?password={password_part}&user={user_part}"
            ),
        ),
        ("pgpass", format!("{}\n", pgpass.join(":"))),
    ];
    Sealed::new(data.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// A part of a URI: everything but RFC 3986's unreserved characters is percent-encoded.
fn encoded(value: &str) -> String {
    value.bytes().fold(String::with_capacity(value.len()), |mut text, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
        text
    })
}

/// Who is behind each Service, with the port it listens on.
#[derive(Debug, Default)]
pub(super) struct Shown(BTreeMap<Door, Vec<(Number, u16)>>);

impl Shown {
    /// What clients are to see when the steps of the lead are done.
    pub(super) fn new(world: &World, lead: &Lead<'_>) -> Self {
        let (leader, aside) = match lead {
            Lead::Up(number, facts) => (Some((*number, facts.port)), Vec::new()),
            Lead::Over { old, new, port, .. } => (Some((*new, *port)), old.iter().copied().collect()),
            Lead::Double { go, .. } => (None, go.clone()),
            Lead::Back(_) | Lead::Start(..) | Lead::Restart(..) | Lead::Wait(..) | Lead::Lost(_) => {
                (None, Vec::new())
            }
        };
        let up = there(&world.seen).filter(|(number, _)| !aside.contains(number));
        let up: Vec<_> = up.filter_map(|(number, there)| Some((number, facts(there)?))).collect();
        // While nobody leads, nobody receives: readers keep what they have.
        let led = matches!(lead, Lead::Up(..));
        let reads = up.iter().filter(|(number, facts)| {
            leader.is_none_or(|(leads, _)| leads != *number) && facts.in_recovery && (facts.streaming || !led)
        });
        let ports = |all: &mut dyn Iterator<Item = &(Number, &ports::postgres::Facts)>| {
            all.map(|(number, facts)| (*number, facts.port)).collect::<Vec<_>>()
        };
        Self(BTreeMap::from([
            (Door::Write, leader.into_iter().collect()),
            (Door::Read, ports(&mut reads.into_iter())),
            (Door::Any, ports(&mut up.iter())),
        ]))
    }
}

/// A slice for each instance behind each Service, because each has a port of its own; others go.
pub(super) fn slices(cluster: &Cluster, world: &World, shown: &Shown) -> Vec<Do<Step>> {
    let wanted: Vec<EndpointSlice> = shown
        .0
        .iter()
        .flat_map(|(door, instances)| instances.iter().map(|instance| slice(cluster, *door, *instance)))
        .collect();
    let strays = world.slices.iter().filter(|held| !wanted.iter().any(|slice| slice.name_any() == **held));
    let namespace = cluster.namespace().unwrap_or_default();
    let gone = strays.map(|name| Do::Delete(Address::new::<EndpointSlice>(&namespace, name), None));
    wanted.iter().map(apply).chain(gone).collect()
}

fn slice(cluster: &Cluster, door: Door, (number, port): (Number, u16)) -> EndpointSlice {
    let service = door.service(cluster);
    let mut metadata = meta(cluster, format!("{service}-{number}"));
    metadata.labels.get_or_insert_default().insert(SERVICE_NAME.into(), service);
    EndpointSlice {
        metadata,
        address_type: "IPv4".into(),
        endpoints: Some(vec![Endpoint {
            addresses: vec!["127.0.0.1".into()],
            conditions: Some(EndpointConditions {
                ready: Some(true),
                serving: Some(true),
                terminating: Some(false),
            }),
            hostname: Some(instance_name(cluster, number)),
            ..Endpoint::default()
        }]),
        ports: Some(vec![EndpointPort {
            name: Some(PORT_NAME.into()),
            port: Some(i32::from(port)),
            protocol: Some("TCP".into()),
            app_protocol: None,
        }]),
    }
}
