//! A room with a real server behind it: what is configured, how passes are run, and what is looked at after each.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use api::claims::DatabaseClaim;
use api::conditions::{READY, find};
use api::connection::SslMode;
use api::secret::Sealed;
use controllers::claims::book::Book;
use controllers::claims::config::Config;
use controllers::claims::{DatabaseClaims, Office, Settings};
use k8s_openapi::api::core::v1::Secret;
use kit::testing::Bench;
use kit::{Fault, Name, Outcome};
use kube::ResourceExt as _;
use kube::api::Api;
use ports::admin::{Admin, Live, Login, Server};
use serde_json::{Value, json};
use tokio_postgres::{Client, NoTls};

use crate::ground::{DEADLINE, Ground, chief, client};

/// A claim that asks to be looked at again no sooner has nothing left to do.
const CALM: Duration = Duration::from_secs(300);
/// How often passwords change here: as often as the configuration permits.
pub const PERIOD: Duration = Duration::from_secs(60 * 60);
/// The platform's own namespace.
pub const SYSTEM: &str = "terrace-system";

/// A room, the plane it works on, and the server that its claims are on.
pub struct Stage<'a, A: Admin = Live> {
    pub ground: &'a Ground,
    pub bench: Bench,
    pub room: DatabaseClaims<A>,
    /// The administrator, who looks at what is really there.
    pub chief: Client,
    /// What is going on, for whoever has to find out why it failed.
    pub doing: String,
    before: BTreeSet<String>,
}

impl<'a> Stage<'a> {
    /// A stage whose claims are on this server.
    pub async fn new(ground: &'a Ground, server: &Server, hold_minutes: u32) -> Self {
        Self::with(ground, server, hold_minutes, Bench::start().await, Live::default()).await
    }
}

impl<'a, A: Admin> Stage<'a, A> {
    /// A stage on a bench that is there, whose room speaks to servers like this.
    pub async fn with(ground: &'a Ground, server: &Server, hold: u32, bench: Bench, admin: A) -> Self {
        for secret in secrets(server) {
            bench.create(secret).await;
        }
        let chief = client(ground.port, &chief("postgres")).await.expect("the administrator gets in");
        let before = inventory(&chief).await;
        Self { ground, bench, room: room(admin, server, hold), chief, doing: "undisturbed".into(), before }
    }

    /// One pass over a claim. Whatever came of it, every Secret that is there then gets in.
    pub async fn pass(&self, name: &Name) -> Option<Result<Outcome, Fault>> {
        let ended = self.bench.attempt(&self.room, name).await;
        self.every_secret_gets_in(&format!("after a pass over {name} that came to {ended:?}")).await;
        ended
    }

    /// Passes over all claims until none has anything left to do.
    pub async fn settle(&mut self) {
        self.settle_with(|_| false).await;
    }

    /// The same, where somebody looks after each pass, and says whether it was disturbed.
    pub async fn settle_with(&mut self, mut after: impl FnMut(&mut Self) -> bool) {
        let begun = Instant::now();
        loop {
            let (mut calm, mut story) = (true, String::new());
            for name in self.claims().await {
                let ended = self.pass(&name).await;
                let (pause, settled) = verdict(&ended);
                self.bench.clock().advance(pause);
                let disturbed = after(self);
                calm &= settled && !disturbed;
                story = format!("{name}: {ended:?}");
            }
            if calm {
                return;
            }
            assert!(
                begun.elapsed() < DEADLINE,
                "{}: the claims do not settle; the last was {story}",
                self.doing
            );
        }
    }

    /// Creates a claim, and lets it settle.
    pub async fn claim(&mut self, manifest: Value) -> DatabaseClaim {
        let made = self.bench.create(manifest).await;
        self.settle().await;
        let text = |field: &str| made["metadata"][field].as_str().unwrap_or_default().to_owned();
        self.bench.get(&text("namespace"), &text("name")).await.expect("the claim is there")
    }

    /// Deletes a claim, and lets it go.
    pub async fn forget(&mut self, claim: &DatabaseClaim) {
        self.bench.delete::<DatabaseClaim>(&Name::of(claim)).await;
        self.settle().await;
        let left = self.bench.get::<DatabaseClaim>(&namespace(claim), &claim.name_any()).await;
        assert!(left.is_none(), "{left:?}");
    }

    /// All claims, those that keep a database included.
    pub async fn claims(&self) -> Vec<Name> {
        let all: Api<DatabaseClaim> = Api::all(self.bench.client().clone());
        all.list(&Default::default()).await.expect("a list").iter().map(Name::of).collect()
    }

    /// What is published for a claim.
    pub async fn secret(&self, claim: &DatabaseClaim) -> Option<Secret> {
        self.bench.get(&namespace(claim), &claim.name_any()).await
    }

    /// A connection as a claim's program makes it, but directly to the server.
    pub async fn as_program(&self, claim: &DatabaseClaim) -> Client {
        let secret = self.secret(claim).await.expect("a Secret");
        client(self.ground.port, &login(&secret)).await.expect("what is published gets in")
    }

    /// Everything on the server is as it was before.
    pub async fn nothing_is_left(&self) {
        let now = inventory(&self.chief).await;
        assert_eq!(now, self.before, "something was left behind, or taken: {}", self.doing);
        assert_eq!(self.claims().await, [], "a claim was left behind: {}", self.doing);
        let left = self.published().await;
        assert!(left.is_empty(), "a Secret was left behind: {left:?}");
    }

    /// What is on the server beyond what was there before.
    pub async fn made(&self) -> BTreeSet<String> {
        inventory(&self.chief).await.difference(&self.before).cloned().collect()
    }

    async fn published(&self) -> Vec<Secret> {
        let all: Api<Secret> = Api::all(self.bench.client().clone());
        let all = all.list(&Default::default()).await.expect("a list");
        all.items.into_iter().filter(|secret| text(secret, "dsn.txt").is_some()).collect()
    }

    async fn every_secret_gets_in(&self, when: &str) {
        for secret in self.published().await {
            let got_in = through(self.ground.port, &word(&secret, "dsn.txt")).await;
            let name = secret.name_any();
            assert!(got_in.is_ok(), "{}: {name} does not get in {when}: {:?}", self.doing, got_in.err());
        }
    }
}

/// How long to wait after a pass, and whether nothing is left to do.
fn verdict(ended: &Option<Result<Outcome, Fault>>) -> (Duration, bool) {
    match ended {
        Some(Ok(Outcome::After(delay))) if *delay < CALM => (*delay, false),
        Some(Ok(_)) => (Duration::ZERO, true),
        Some(Err(_)) | None => (Duration::from_secs(1), false),
    }
}

/// The room, as it is after a start.
pub fn room<A: Admin>(admin: A, server: &Server, hold_minutes: u32) -> DatabaseClaims<A> {
    let ca = server.ca.as_ref().map_or("", |_| "  caSecretRef: athena-ca\n");
    let Server { host, port, user, ssl_mode, .. } = server;
    let text = format!(
        "deletionHoldPeriod: {hold_minutes}\nathena:\n  username: {user}\n  host: {host}\n  port: {port}\n  \
         sslMode: {}\n  passwordSecretRef: athena-master\n{ca}",
        ssl_mode.as_str()
    );
    let config = Config::parse("test", &text).unwrap_or_else(|problems| panic!("{problems}"));
    DatabaseClaims::new(Office::new(Arc::new(admin), Book::fixed(config), Settings::default()))
}

/// The Secrets of the platform that the configuration names.
pub fn secrets(server: &Server) -> Vec<Value> {
    let secret = |name: &str, key: &str, value: &str| {
        json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name, "namespace": SYSTEM },
            "stringData": { key: value },
        })
    };
    let ca = server.ca.as_ref().map(|ca| secret("athena-ca", "ca.crt", ca));
    ca.into_iter().chain([secret("athena-master", "password", server.password.open())]).collect()
}

/// The server without encryption, at a port of its own or of somebody in between.
pub fn plain(ground: &Ground, port: u16) -> Server {
    Server { host: "127.0.0.1".into(), port, ssl_mode: SslMode::Disable, ca: None, ..ground.server() }
}

/// The manifest of a claim.
pub fn manifest(name: &str, database: &str, user: &str) -> Value {
    json!({
        "apiVersion": "persistance.atlas.infoblox.com/v1", "kind": "DatabaseClaim",
        "metadata": { "name": name, "namespace": "default" },
        "spec": { "instanceLabel": "athena", "databaseName": database, "userName": user },
    })
}

/// Panics with what a claim says of itself unless that is `Ready`.
pub fn assert_ready(claim: &DatabaseClaim) {
    let status = claim.status.clone().unwrap_or_default();
    let ready = find(&status.conditions, READY).expect("it says how it stands");
    assert_eq!(ready.status, "True", "{}: {}", ready.reason, ready.message);
}

pub fn namespace(claim: &DatabaseClaim) -> String {
    claim.namespace().unwrap_or_default()
}

/// A value of a Secret, if it is there.
pub fn text(secret: &Secret, key: &str) -> Option<String> {
    String::from_utf8(secret.data.as_ref()?.get(key)?.0.clone()).ok()
}

/// A value of a Secret, which has to be there.
pub fn word(secret: &Secret, key: &str) -> String {
    text(secret, key).unwrap_or_else(|| panic!("{key} is in the Secret"))
}

pub fn login(secret: &Secret) -> Login {
    Login {
        database: word(secret, "database"),
        role: word(secret, "username"),
        password: Sealed::new(word(secret, "password")),
    }
}

/// Logs in with a DSN or URI as it is written, but for the port and the encryption.
pub async fn through(port: u16, dsn: &str) -> Result<Client, tokio_postgres::Error> {
    // The driver does not know the modes that check certificates, and there is none to check on this way.
    let plain = ["require", "verify-ca", "verify-full"]
        .iter()
        .fold(dsn.to_owned(), |dsn, mode| dsn.replace(&format!("sslmode='{mode}'"), ""));
    let parsed: tokio_postgres::Config = plain.parse()?;
    let mut config = tokio_postgres::Config::new();
    config.host("127.0.0.1").port(port);
    config.user(parsed.get_user().unwrap_or_default()).dbname(parsed.get_dbname().unwrap_or_default());
    let (client, connection) =
        config.password(parsed.get_password().unwrap_or_default()).connect(NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// Databases and roles by name.
async fn inventory(chief: &Client) -> BTreeSet<String> {
    let sql =
        "SELECT 'database ' || datname FROM pg_database UNION ALL SELECT 'role ' || rolname FROM pg_roles";
    let rows = chief.query(sql, &[]).await.expect("the administrator may");
    rows.iter().map(|row| row.get(0)).collect()
}

/// The one value that a question has.
pub async fn asked<T>(client: &Client, sql: &str) -> T
where
    T: for<'a> tokio_postgres::types::FromSql<'a>,
{
    client.query_one(sql, &[]).await.unwrap_or_else(|error| panic!("{sql}: {error:?}")).get(0)
}
