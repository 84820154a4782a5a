//! A stage for claims: the room, servers in memory, and whoever makes servers.

mod drift;
mod faults;
mod going;
mod held;
mod makers;
mod moved;
mod rotation;
mod shared;
mod source;
mod sweeps;
mod taken;
mod target;

use std::sync::Arc;
use std::time::Duration;

use api::claims::{DatabaseClaim, DatabaseClaimStatus};
use api::conditions::{READY, SYNCED, find};
use api::connection::SslMode;
use api::foreign::cloud_database::CloudDatabaseClaim;
use api::foreign::cnpg::Cluster;
use api::infra::RDSInstance;
use api::secret::Sealed;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::Secret;
use kit::testing::{Bench, Gate};
use kit::{Fault, Name, Object, Outcome};
use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams, PostParams};
use ports::admin::{Admin, Asked, Fake, Login, Seen, Server, Title};
use serde_json::{Value, json};

use super::DatabaseClaims;
use super::plan::mark;
use crate::claims::book::Book;
use crate::claims::config::Config;
use crate::claims::gated::Gated;
use crate::claims::secret::text;
use crate::claims::{Office, Settings};

/// One server that is there.
const STATIC: &str = "
deletionHoldPeriod: 0
athena:
  host: db.example
  passwordSecretRef: athena-master
";
/// Servers that are made, and go with their last claims.
const DYNAMIC: &str = "
deletionHoldPeriod: 0
serverMaker: cluster
defaultReclaimPolicy: delete
shared:
  sslMode: require
";
/// Where the platform's own objects are.
const SYSTEM: &str = "terrace-system";
/// How long a password is good, in the configurations above.
const PERIOD: Duration = Duration::from_secs(60 * 60);

fn config(text: &str) -> Config {
    if text.is_empty() {
        return Config::unconfigured();
    }
    Config::parse("test", text).unwrap_or_else(|problems| panic!("{problems}"))
}

fn server(host: &str) -> Server {
    Server {
        host: host.into(),
        port: 5432,
        user: "root".into(),
        password: Sealed::new("t0p-Secr3t!@".into()),
        ssl_mode: SslMode::Require,
        ca: None,
        database: "postgres".into(),
    }
}

fn master() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": "athena-master", "namespace": SYSTEM },
        "stringData": { "password": "t0p-Secr3t!@" },
    })
}

/// A claim of a name, whose database and roles have it, too.
fn claim(name: &str, more: Value) -> Value {
    let mut claim = json!({
        "apiVersion": "persistance.atlas.infoblox.com/v1", "kind": "DatabaseClaim",
        "metadata": { "name": name, "namespace": "default" },
        "spec": { "userName": name, "databaseName": name },
    });
    merge(&mut claim, more);
    claim
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

/// A claim in the words of its spec.
fn with(spec: Value) -> Value {
    json!({ "spec": spec })
}

type Room = DatabaseClaims<Gated<Fake>>;

fn room(fake: &Fake, gate: &Gate, book: Book) -> Room {
    let admin = Arc::new(Gated { admin: fake.clone(), gate: gate.clone() });
    DatabaseClaims::new(Office::new(admin, book, Settings::default()))
}

/// A kind whose objects lie in namespaces.
trait Placed: Object + kube::Resource<Scope = NamespaceResourceScope> {}

impl<K: Object + kube::Resource<Scope = NamespaceResourceScope>> Placed for K {}

/// A room on a bench, with servers in memory.
struct Stage {
    bench: Bench,
    fake: Fake,
    room: Room,
}

impl Stage {
    async fn new(text: &str) -> Self {
        let (bench, fake) = (Bench::start().await, Fake::default());
        bench.create(master()).await;
        let room = room(&fake, bench.gate(), Book::fixed(config(text)));
        Self { bench, fake, room }
    }

    /// From now on another configuration is in force.
    fn configure(&mut self, text: &str) {
        self.room = room(&self.fake, self.bench.gate(), Book::fixed(config(text)));
    }

    async fn make(&self, name: &str, more: Value) -> Name {
        let made = self.bench.create(claim(name, more)).await;
        Name::new(made["metadata"]["namespace"].as_str().unwrap_or_default(), name)
    }

    /// One pass, after whoever makes servers has done what is to be done.
    async fn pass(&self, name: &Name) -> Result<Outcome, Fault> {
        servers_come_up(self.bench.client().clone()).await;
        self.bench.pass(&self.room, name).await
    }

    /// Passes until nothing is left to be done soon.
    async fn settle(&self, name: &Name) -> Option<DatabaseClaim> {
        for _ in 0..12 {
            match self.pass(name).await {
                Ok(Outcome::After(delay)) if delay <= Duration::from_secs(60) => {
                    self.bench.clock().advance(delay)
                }
                Ok(_) => break,
                Err(_) => self.bench.clock().advance(Duration::from_secs(1)),
            }
        }
        self.get(name).await
    }

    /// A claim that is made and served.
    async fn served(&self, name: &str, more: Value) -> Name {
        let name = self.make(name, more).await;
        self.settle(&name).await;
        assert_eq!(self.told(&name, READY).await, "True Available", "{}", self.words(&name, READY).await);
        name
    }

    async fn get(&self, name: &Name) -> Option<DatabaseClaim> {
        self.bench.get(&name.namespace, &name.name).await
    }

    async fn status(&self, name: &Name) -> DatabaseClaimStatus {
        self.get(name).await.expect("the claim is there").status.unwrap_or_default()
    }

    /// Status and reason of a condition.
    async fn told(&self, name: &Name, type_: &str) -> String {
        let status = self.status(name).await;
        let found = find(&status.conditions, type_);
        found.map_or_else(String::new, |found| format!("{} {}", found.status, found.reason))
    }

    /// The words of a condition.
    async fn words(&self, name: &Name, type_: &str) -> String {
        let status = self.status(name).await;
        find(&status.conditions, type_).map_or_else(String::new, |found| found.message.clone())
    }

    async fn patch(&self, name: &Name, patch: Value) {
        self.bench.patch::<DatabaseClaim>(name, patch).await;
    }

    /// Deletes a claim and lets it go.
    async fn gone(&self, name: &Name) {
        self.bench.delete::<DatabaseClaim>(name).await;
        let left = self.settle(name).await;
        assert_eq!(left.map(|left| left.status), None, "{name} is still there");
    }

    async fn secret(&self, name: &Name) -> Secret {
        let found = self.bench.get::<Secret>(&name.namespace, &name.name).await;
        found.unwrap_or_else(|| panic!("{name} has its Secret"))
    }

    /// The login that is published.
    async fn login(&self, name: &Name) -> Login {
        login(&self.secret(name).await)
    }

    async fn gets_in(&self, host: &str, login: &Login) -> bool {
        self.fake.prove(&server(host), login).await.is_ok()
    }

    async fn seen(&self, host: &str, name: &str) -> Seen {
        let roles = [name.to_owned(), format!("{name}_a"), format!("{name}_b")].into();
        let asked = Asked { database: Some(name.to_owned()), content: true, roles };
        self.fake.look(&server(host), &asked).await.expect("it can be seen")
    }

    /// The names of all objects of a kind in the platform's namespace.
    async fn names<K: Placed>(&self) -> Vec<String> {
        let api: Api<K> = Api::namespaced(self.bench.client().clone(), SYSTEM);
        let list = api.list(&Default::default()).await.expect("a list");
        list.iter().map(|object| object.meta().name.clone().unwrap_or_default()).collect()
    }

    /// The host of the only server that was made.
    async fn only_host(&self) -> String {
        match self.names::<Cluster>().await.as_slice() {
            [name] => format!("{name}.example"),
            other => panic!("there is not one Cluster, but {other:?}"),
        }
    }
}

fn title(name: &Name) -> Title {
    Title::to_own(&mark(name))
}

fn value(secret: &Secret, key: &str) -> String {
    text(secret, key).unwrap_or_else(|| panic!("{key} is in the Secret"))
}

fn login(secret: &Secret) -> Login {
    Login {
        database: value(secret, "database"),
        role: value(secret, "username"),
        password: Sealed::new(value(secret, "password")),
    }
}

/// Plays whoever makes servers: each becomes ready, and its login is published.
async fn servers_come_up(client: kube::Client) {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), SYSTEM);
    let publish = async |name: String, owner: Value, words: Value| {
        let secret = json!({ "metadata": { "name": name, "ownerReferences": [owner] }, "stringData": words });
        let secret: Secret = serde_json::from_value(secret).expect("a Secret");
        // It is there already, mostly.
        let _ = secrets.create(&PostParams::default(), &secret).await;
    };
    for cluster in waiting::<Cluster>(&client, |cluster| cluster.status.is_none()).await {
        let name = cluster.name_any();
        let words = json!({ "username": "root", "password": "t0p-Secr3t!@", "host": format!("{name}.example"), "port": "5432" });
        publish(format!("{name}-superuser"), owner(&cluster), words).await;
        tell::<Cluster>(&client, &name, json!({ "phase": "Cluster in healthy state", "readyInstances": 1 }))
            .await;
    }
    for cloud in waiting::<CloudDatabaseClaim>(&client, |cloud| cloud.status.is_none()).await {
        let name = cloud.name_any();
        let words = json!({ "username": "root", "password": "t0p-Secr3t!@", "endpoint": format!("{name}.example"), "port": "5432" });
        publish(format!("{name}-connection"), owner(&cloud), words).await;
        tell::<CloudDatabaseClaim>(
            &client,
            &name,
            json!({ "conditions": [{ "type": "Ready", "status": "True" }] }),
        )
        .await;
    }
    for instance in waiting::<RDSInstance>(&client, |instance| instance.status.is_none()).await {
        let name = instance.name_any();
        let endpoint = format!("{name}.example");
        tell::<RDSInstance>(&client, &name, json!({ "ready": true, "endpoint": endpoint, "port": 5432 }))
            .await;
    }
}

async fn waiting<K: Placed>(client: &kube::Client, waits: impl Fn(&K) -> bool) -> Vec<K> {
    let api: Api<K> = Api::namespaced(client.clone(), SYSTEM);
    // A kind that is not installed has none.
    let all = api.list(&Default::default()).await.map(|list| list.items).unwrap_or_default();
    all.into_iter().filter(waits).collect()
}

async fn tell<K: Placed>(client: &kube::Client, name: &str, status: Value) {
    let api: Api<K> = Api::namespaced(client.clone(), SYSTEM);
    let patch = Patch::Merge(json!({ "status": status }));
    api.patch_status(name, &PatchParams::default(), &patch).await.expect("a status");
}

fn owner<K: Object>(object: &K) -> Value {
    let resource = kube::core::ApiResource::erase::<K>(&());
    let meta = object.meta();
    json!({ "apiVersion": resource.api_version, "kind": resource.kind, "name": meta.name, "uid": meta.uid })
}

/// Whether a claim is served and as it should be.
async fn well(stage: &Stage, name: &Name) -> (String, String) {
    (stage.told(name, READY).await, stage.told(name, SYNCED).await)
}
