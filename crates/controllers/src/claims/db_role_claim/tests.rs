use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::annotations::{ALLOW_FROM, ROTATE};
use api::claims::{DatabaseClaim, DbRoleClaim, DbRoleClaimStatus, RoleType};
use api::conditions::{READY, find};
use api::connection::SslMode;
use api::names::RoleName;
use api::secret::Sealed;
use futures::executor::block_on;
use k8s_openapi::api::core::v1::Secret;
use kit::testing::{Bench, Gate, Scenario, converge, sweep};
use kit::{Bell, Do, Lanes, Name, Next, Outcome};
use kube::api::{Api, PostParams};
use ports::admin::{Act, Admin, Asked, Fake, Login, Powers, Seen, Server, Title};
use serde_json::{Value, json};

use super::DbRoleClaims;
use super::plan::{Copied, Sight, Site, Source, World, plan};
use crate::claims::book::Book;
use crate::claims::config::Config;
use crate::claims::database_claim::DatabaseClaims;
use crate::claims::gated::Gated;
use crate::claims::guests::Guest;
use crate::claims::makers::Found;
use crate::claims::secret::{Held, Issued, text};
use crate::claims::{Office, Settings};

const CONFIG: &str = "
athena:
  username: root
  host: db.example
  passwordSecretRef: athena-master
";
const NO_HOLD: &str = "
deletionHoldPeriod: 0
athena:
  username: root
  host: db.example
  passwordSecretRef: athena-master
";
/// The mark of the claim `team/shop`.
const SOURCE: &str = "made by Terrace for DatabaseClaim team/shop";

fn server() -> Server {
    Server {
        host: "db.example".into(),
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
        "metadata": { "name": "athena-master", "namespace": "terrace-system" },
        "stringData": { "password": "t0p-Secr3t!@" },
    })
}

/// The source `team/shop`, which is served.
fn source(allows: &str) -> Value {
    let info = json!({
        "userName": "shop_a", "hostName": "db.example", "port": "5432", "databaseName": "shop", "sslMode": "require",
    });
    json!({
        "apiVersion": "persistance.atlas.infoblox.com/v1", "kind": "DatabaseClaim",
        "metadata": { "name": "shop", "namespace": "team", "annotations": { ALLOW_FROM: allows } },
        "spec": { "instanceLabel": "athena", "userName": "shop", "databaseName": "shop" },
        "status": {
            "activeDB": { "DbState": "using-shared-host", "matchLabel": "athena", "type": "postgres", "connectionInfo": info },
            "conditions": [{
                "type": "Ready", "status": "True", "reason": "Available", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }],
        },
    })
}

fn claim(namespace: &str, rights: Value) -> Value {
    json!({
        "metadata": { "name": "reports", "namespace": namespace },
        "spec": { "sourceDatabaseClaim": { "namespace": "team", "name": "shop" }, "schemarolemap": rights },
    })
}

fn readonly() -> Value {
    json!({ "public": "readonly" })
}

/// A server with the source's database, in which there is a table.
fn with_source() -> Fake {
    let fake = Fake::default();
    let (title, powers) = (Title::to_own(SOURCE), Powers::default());
    let acts = [
        Act::EnsureOwner { role: "shop".into(), powers, title: title.clone() },
        Act::EnsureLogin { role: "shop_a".into(), owner: "shop".into(), powers, title: title.clone() },
        Act::SetPassword { role: "shop_a".into(), password: Sealed::new("app".into()), title: title.clone() },
        Act::EnsureDatabase { database: "shop".into(), owner: "shop".into(), title },
    ];
    acts.iter().for_each(|act| done(&fake, act));
    fake.create_table(&server(), &app(), ("public", "orders")).expect("the owner may");
    fake
}

fn done(fake: &Fake, act: &Act) {
    block_on(fake.act(&server(), act)).expect("the server does it");
}

/// The source's own program.
fn app() -> Login {
    Login { database: "shop".into(), role: "shop_a".into(), password: Sealed::new("app".into()) }
}

fn guest(namespace: &str) -> Guest {
    Guest::of(&Name::new(namespace, "reports"), &"shop".parse::<RoleName>().expect("a role name"))
}

fn looked(fake: &Fake, namespace: &str) -> Seen {
    let roles = guest(namespace).roles().into_iter().chain(["shop".to_owned()]).collect();
    let asked = Asked { database: Some("shop".into()), content: true, roles };
    block_on(fake.look(&server(), &asked)).expect("the server answers")
}

type Hands = Gated<Fake>;

fn office(fake: &Fake, gate: &Gate, text: &str) -> Office<Hands> {
    let config = Config::parse("test", text).unwrap_or_else(|problems| panic!("{problems}"));
    let admin = Arc::new(Gated { admin: fake.clone(), gate: gate.clone() });
    Office::new(admin, Book::fixed(config), Settings::default())
}

fn room(fake: &Fake, gate: &Gate) -> DbRoleClaims<Hands> {
    DbRoleClaims::new(office(fake, gate, CONFIG))
}

/// The Secret of the source, as its room would have made it.
async fn publish(client: kube::Client, password: &str) {
    let claims: Api<DatabaseClaim> = Api::namespaced(client.clone(), "team");
    let uid = claims.get("shop").await.expect("the source").metadata.uid;
    let secret = json!({
        "metadata": {
            "name": "shop",
            "annotations": { "terrace.dev/issued-at": "2026-01-01T00:00:00Z" },
            "ownerReferences": [{
                "apiVersion": "persistance.atlas.infoblox.com/v1", "kind": "DatabaseClaim", "name": "shop",
                "uid": uid, "controller": true,
            }],
        },
        "stringData": { "username": "shop_a", "password": password, "hostname": "db.example" },
    });
    let secret: Secret = serde_json::from_value(secret).expect("a Secret");
    // It may be there already.
    let _ = Api::namespaced(client, "team").create(&PostParams::default(), &secret).await;
}

fn scenario(gate: &Gate, namespace: &'static str, rights: Value) -> Scenario<DbRoleClaims<Hands>> {
    let fake = with_source();
    let seen = fake.clone();
    Scenario::new(room(&fake, gate), claim(namespace, rights))
        .given(master())
        .given(source("other"))
        .world(|client| async move { publish(client, "app").await })
        .draws_passwords()
        .patience(Duration::from_secs(60))
        .outside(move || format!("{:#?}", looked(&seen, namespace)))
        .keeps_something()
}

fn beside(gate: &Gate) -> Scenario<DbRoleClaims<Hands>> {
    scenario(gate, "team", json!({ "public": "readonly", "mine": "admin" }))
}

fn from_elsewhere(gate: &Gate) -> Scenario<DbRoleClaims<Hands>> {
    scenario(gate, "other", readonly())
}

fn as_a_copy(gate: &Gate) -> Scenario<DbRoleClaims<Hands>> {
    scenario(gate, "other", json!({}))
}

#[tokio::test]
async fn a_claim_beside_its_source_survives_any_broken_call() {
    sweep(beside).await;
}

#[tokio::test]
async fn a_claim_in_another_namespace_survives_any_broken_call() {
    sweep(from_elsewhere).await;
}

#[tokio::test]
async fn a_copy_survives_any_broken_call() {
    sweep(as_a_copy).await;
}

fn ready(status: &DbRoleClaimStatus) -> (&str, &str, &str) {
    let ready = find(&status.conditions, READY).expect("it says how it stands");
    (&ready.status, &ready.reason, &ready.message)
}

#[tokio::test]
async fn a_claim_converges_and_says_what_it_has() {
    let bench = converge(beside).await;
    let status =
        bench.get::<DbRoleClaim>("team", "reports").await.and_then(|claim| claim.status).expect("a status");
    assert_eq!(ready(&status).0, "True", "{status:#?}");
    let [a, b, holder] = guest("team").roles();
    assert_eq!(status.username.as_deref(), Some(a.as_str()));
    assert_eq!(status.matched_source_claim.as_deref(), Some("team/shop"));
    assert_eq!(status.source_secret.as_deref(), Some("team/shop"));
    assert!(status.user_updated_at.is_some() && status.secret_created_at.is_some());
    assert!(status.secret_updated_at.is_some() && status.schemas_roles_updated_at.is_some());
    let told = status.schemas_status.expect("schemas");
    let words = |pairs: [(&str, &str); 2]| pairs.map(|(key, word)| (key.to_owned(), word.to_owned())).into();
    assert_eq!(told.schemastatus, words([("public", "readonly"), ("mine", "admin")]));
    assert_eq!(told.rolestatus.get(&b).map(String::as_str), Some("idle"));
    assert_eq!(told.rolestatus.get(&holder).map(String::as_str), Some("holds the rights"));
    assert!(status.drift.is_empty() && status.error.is_none());
}

#[tokio::test]
async fn a_copy_holds_what_the_source_holds() {
    let bench = converge(as_a_copy).await;
    let status =
        bench.get::<DbRoleClaim>("other", "reports").await.and_then(|claim| claim.status).expect("a status");
    assert_eq!((ready(&status).0, status.username.as_deref()), ("True", Some("shop_a")));
    assert!(status.source_secret_resource_version.is_some() && status.schemas_status.is_none());
    let [theirs, ours] =
        [("team", "shop"), ("other", "reports")].map(|(of, name)| bench.get::<Secret>(of, name));
    assert_eq!(theirs.await.expect("theirs").data, ours.await.expect("ours").data);
}

/// A bench with the source and a claim in a namespace, and the claim's room.
struct Stage {
    bench: Bench,
    fake: Fake,
    room: DbRoleClaims<Hands>,
    name: Name,
}

impl Stage {
    async fn start(allows: &str, namespace: &str, rights: Value) -> Self {
        let (bench, fake) = (Bench::start().await, with_source());
        bench.create(master()).await;
        bench.create(source(allows)).await;
        publish(bench.client().clone(), "app").await;
        let mut manifest = claim(namespace, rights);
        manifest["apiVersion"] = "persistance.atlas.infoblox.com/v1".into();
        manifest["kind"] = "DbRoleClaim".into();
        bench.create(manifest).await;
        let room = room(&fake, bench.gate());
        Self { bench, fake, room, name: Name::new(namespace, "reports") }
    }

    /// Passes until nothing is left to do soon. Returns what is said then.
    async fn settle(&self) -> DbRoleClaimStatus {
        for _ in 0..20 {
            match self.bench.pass(&self.room, &self.name).await.expect("the pass is good") {
                Outcome::After(delay) if delay < Duration::from_secs(30) => self.bench.clock().advance(delay),
                Outcome::After(_) | Outcome::OnChange | Outcome::Refused | Outcome::Gone => {
                    return self.status().await;
                }
            }
        }
        panic!("it does not settle: {:#?}", self.status().await)
    }

    async fn status(&self) -> DbRoleClaimStatus {
        let claim = self.bench.get::<DbRoleClaim>(&self.name.namespace, &self.name.name).await;
        claim.and_then(|claim| claim.status).unwrap_or_default()
    }

    async fn secret(&self) -> Option<Secret> {
        self.bench.get::<Secret>(&self.name.namespace, "reports").await
    }

    /// The login that is published.
    async fn login(&self) -> Login {
        let secret = self.secret().await.expect("the Secret");
        let word = |key: &str| text(&secret, key).unwrap_or_else(|| panic!("{key} is in the Secret"));
        Login { database: word("database"), role: word("username"), password: Sealed::new(word("password")) }
    }

    async fn allow(&self, namespaces: &str) {
        let patch = json!({ "metadata": { "annotations": { ALLOW_FROM: namespaces } } });
        self.bench.patch::<DatabaseClaim>(&Name::new("team", "shop"), patch).await;
    }

    async fn ask(&self, patch: Value) {
        self.bench.patch::<DbRoleClaim>(&self.name, patch).await;
    }

    fn may(&self, login: &Login, table: (&str, &str), privilege: &str) -> bool {
        self.fake.use_table(&server(), login, table, privilege).is_ok()
    }

    fn seen(&self) -> Seen {
        looked(&self.fake, &self.name.namespace)
    }
}

#[tokio::test]
async fn consent_is_given_by_the_source_and_by_nobody_else() {
    let table = [
        ("team", "", true, "Available"),
        ("other", "other", true, "Available"),
        ("other", "a, other ,b", true, "Available"),
        ("other", "", true, "ConsentMissing"),
        ("other", "others,another", true, "ConsentMissing"),
        ("other", "*", true, "ConsentMissing"),
        ("other", "team", true, "ConsentMissing"),
        ("other", "", false, "ConsentMissing"),
        ("other", "other", false, "ConsentMissing"),
        ("team", "", false, "DependencyNotReady"),
    ];
    let mut refusals = std::collections::BTreeSet::new();
    for (rights, (namespace, allows, there, want)) in
        [readonly(), json!({})].into_iter().flat_map(|rights| table.map(|row| (rights.clone(), row)))
    {
        let stage = Stage::start(allows, namespace, rights).await;
        if !there {
            stage.bench.delete::<DatabaseClaim>(&Name::new("team", "shop")).await;
        }
        let status = stage.settle().await;
        let (_, reason, message) = ready(&status);
        assert_eq!(reason, want, "{namespace} {allows:?} {there}: {message}");
        assert_eq!(stage.secret().await.is_some(), want == "Available");
        if want == "ConsentMissing" {
            assert!(message.contains("terrace.dev/allow-from: other"), "{message}");
            assert_eq!(status.error.as_deref(), Some(message));
            let mut told = status.clone();
            told.conditions
                .iter_mut()
                .for_each(|told| told.last_transition_time.0 = jiff::Timestamp::UNIX_EPOCH);
            refusals.insert(serde_json::to_string(&told).expect("JSON"));
            assert_eq!(stage.seen().roles.len(), 1, "nothing was made");
        }
    }
    assert_eq!(refusals.len(), 1, "whether the source exists is told: {refusals:#?}");
}

#[tokio::test]
async fn consent_that_is_taken_back_ends_everything_and_given_again_brings_it_back() {
    let stage = Stage::start("other", "other", readonly()).await;
    stage.settle().await;
    let login = stage.login().await;
    let session = stage.fake.connect(&server(), &login).expect("it gets in");
    stage.allow("").await;
    let status = stage.settle().await;
    assert_eq!(ready(&status).1, "ConsentMissing");
    assert_eq!((status.username.clone(), status.matched_source_claim.clone()), (None, None));
    assert!(stage.secret().await.is_none());
    let seen = stage.seen();
    assert!(guest("other").logins().iter().all(|role| seen.roles.get(role).is_some_and(|role| !role.login)));
    assert_eq!(seen.roles.values().map(|role| role.sessions).sum::<u32>(), 1, "what is connected is not cut");
    let content = seen.database.and_then(|found| found.content).expect("a content");
    assert!(content.grants.is_empty(), "and may do nothing: {:?}", content.grants);
    let writes = stage.bench.gate().writes().len();
    stage.bench.pass(&stage.room, &stage.name).await.expect("the pass is good");
    assert_eq!(stage.bench.gate().writes().len(), writes, "all is done");
    drop(session);
    stage.allow("other").await;
    assert_eq!(ready(&stage.settle().await).1, "Available");
    let again = stage.login().await;
    assert!(stage.may(&again, ("public", "orders"), "SELECT"));
    assert!(stage.fake.connect(&server(), &login).is_err(), "the password of before is no good");
    // A source that went is told in the same words.
    stage.allow("").await;
    let withdrawn = stage.settle().await;
    stage.bench.delete::<DatabaseClaim>(&Name::new("team", "shop")).await;
    let gone = stage.settle().await;
    assert_eq!(withdrawn, gone, "nothing tells them apart");
    assert_eq!(stage.seen().roles.len(), 1, "the roles are gone");
}

#[tokio::test]
async fn rights_are_exactly_those_of_the_map_now_and_later() {
    let stage = Stage::start("", "team", json!({ "public": "readonly", "mine": "admin" })).await;
    stage.settle().await;
    let login = stage.login().await;
    let may = |table, privilege| stage.may(&login, table, privilege);
    assert!(may(("public", "orders"), "SELECT") && !may(("public", "orders"), "INSERT"));
    stage.fake.create_table(&server(), &app(), ("public", "later")).expect("the owner may");
    assert!(may(("public", "later"), "SELECT") && !may(("public", "later"), "DELETE"));
    stage.fake.create_table(&server(), &login, ("mine", "own")).expect("an admin may");
    let seen = stage.seen();
    let content = seen.database.and_then(|found| found.content).expect("a content");
    assert_eq!(content.schemas.get("mine").map(String::as_str), Some("shop"), "the source owns the schema");
    stage.ask(json!({ "spec": { "schemarolemap": { "mine": null, "public": "regular" } } })).await;
    let status = stage.settle().await;
    assert!(status.drift.is_empty(), "a wish is no drift: {:?}", status.drift);
    assert!(may(("public", "orders"), "INSERT"));
    let left = stage.fake.create_table(&server(), &login, ("mine", "more"));
    assert!(left.is_err(), "the schema is not in the map any more");
}

#[tokio::test]
async fn what_others_change_is_told_and_mended() {
    let stage = Stage::start("", "team", readonly()).await;
    stage.settle().await;
    let [login, _, holder] = guest("team").roles();
    let grant = |role: &str, right| Act::Grant {
        database: "shop".into(),
        role: role.to_owned(),
        creators: ["shop".to_owned()].into(),
        rights: BTreeMap::from([("public".to_owned(), right)]),
        title: guest("team").title(),
    };
    let rows = [
        (
            grant(&holder, RoleType::Admin),
            format!("rights of {holder} in schema public: readonly, not admin"),
        ),
        (grant(&login, RoleType::Admin), format!("rights of {login}: none, not others")),
        (
            Act::EnsureOwner {
                role: holder.clone(),
                powers: Powers { superuser: true, replication: false },
                title: guest("team").title(),
            },
            format!("role {holder}: SUPERUSER: false, not true"),
        ),
        (Act::Lock { role: login.clone(), title: guest("team").title() }, String::new()),
    ];
    for (act, want) in rows {
        done(&stage.fake, &act);
        let before = stage.login().await;
        let status = stage.settle().await;
        let told: Vec<String> = status
            .drift
            .iter()
            .map(|drift| format!("{}: {}, not {}", drift.field, drift.expected, drift.actual))
            .collect();
        assert_eq!(told.join("; "), want, "{act:?}");
        let again = stage.settle().await;
        assert!(again.drift.is_empty(), "it is mended: {:?}", again.drift);
        let login = stage.login().await;
        assert_eq!(
            before.role != login.role,
            want.is_empty(),
            "only a login that does not get in is changed"
        );
        assert!(stage.may(&login, ("public", "orders"), "SELECT"));
        assert!(!stage.may(&login, ("public", "orders"), "INSERT"));
    }
}

#[tokio::test]
async fn logins_rotate_by_the_clock_and_on_demand() {
    let stage = Stage::start("", "team", readonly()).await;
    stage.settle().await;
    let [a, b] = guest("team").logins();
    let first = stage.login().await;
    assert_eq!(first.role, a);
    stage.ask(json!({ "metadata": { "annotations": { ROTATE: "now" } } })).await;
    assert_eq!(stage.settle().await.username.as_deref(), Some(b.as_str()));
    let second = stage.login().await;
    assert!(stage.may(&first, ("public", "orders"), "SELECT"), "the one before works until the next");
    stage.settle().await;
    assert_eq!(stage.login().await, second, "one wish, one rotation");
    stage.bench.clock().advance(Duration::from_secs(61 * 60));
    assert_eq!(stage.settle().await.username.as_deref(), Some(a.as_str()));
    assert!(!stage.may(&first, ("public", "orders"), "SELECT"));
}

#[tokio::test]
async fn a_copy_follows_its_source_and_gives_way_to_logins_of_its_own() {
    let stage = Stage::start("", "team", json!({})).await;
    stage.settle().await;
    let password = async || stage.login_word("password").await;
    assert_eq!(password().await, "app");
    let newer = json!({ "stringData": { "password": "newer" } });
    stage.bench.patch::<Secret>(&Name::new("team", "shop"), newer).await;
    stage.settle().await;
    assert_eq!(password().await, "newer");
    assert_eq!(stage.seen().roles.len(), 1, "no roles are made");
    stage.ask(json!({ "spec": { "schemarolemap": { "public": "readonly" } } })).await;
    stage.settle().await;
    let [a, _] = guest("team").logins();
    assert_eq!(stage.login().await.role, a);
    stage.ask(json!({ "spec": { "schemarolemap": { "public": null } } })).await;
    stage.settle().await;
    assert_eq!((password().await.as_str(), stage.seen().roles.len()), ("newer", 1), "and back");
}

impl Stage {
    async fn login_word(&self, key: &str) -> String {
        text(&self.secret().await.expect("the Secret"), key).expect("it is in the Secret")
    }
}

#[tokio::test]
async fn a_claim_that_goes_waits_for_its_last_session_and_leaves_what_was_made_to_the_source() {
    let stage = Stage::start("", "team", json!({ "mine": "admin" })).await;
    stage.settle().await;
    let login = stage.login().await;
    stage.fake.create_table(&server(), &login, ("mine", "own")).expect("an admin may");
    let session = stage.fake.connect(&server(), &login).expect("it gets in");
    stage.bench.delete::<DbRoleClaim>(&stage.name).await;
    for _ in 0..3 {
        stage.bench.pass(&stage.room, &stage.name).await.expect("the pass is good");
    }
    let status = stage.status().await;
    assert_eq!(ready(&status).1, "StillBound", "{status:#?}");
    assert!(stage.secret().await.is_none());
    assert!(stage.fake.connect(&server(), &login).is_err(), "nobody gets in any more");
    drop(session);
    assert_eq!(stage.bench.pass(&stage.room, &stage.name).await.expect("the pass is good"), Outcome::Gone);
    assert_eq!(stage.seen().roles.len(), 1);
    assert!(stage.may(&app(), ("mine", "own"), "SELECT"), "the source's owner has it");
}

#[tokio::test]
async fn a_source_that_goes_takes_the_logins_of_its_guests_along() {
    for (config, held) in [(CONFIG, true), (NO_HOLD, false)] {
        let stage = Stage::start("", "team", json!({ "public": "admin" })).await;
        let name = Name::new("team", "shop");
        let sources = DatabaseClaims::new(office(&stage.fake, stage.bench.gate(), config));
        stage.bench.pass(&sources, &name).await.expect("the source is served");
        stage.settle().await;
        let login = stage.login().await;
        let _session = stage.fake.connect(&server(), &login).expect("it gets in");
        stage.bench.delete::<DatabaseClaim>(&name).await;
        let told = stage.bench.pass(&stage.room, &stage.name).await;
        told.expect("the guest sees it first");
        assert_eq!(stage.bench.pass(&sources, &name).await.expect("the source goes"), Outcome::Gone);
        let seen = stage.seen();
        assert!(seen.database.is_none() && seen.roles.is_empty(), "{seen:#?}");
        let records: Api<DatabaseClaim> = Api::namespaced(stage.bench.client().clone(), "terrace-system");
        assert_eq!(records.list(&Default::default()).await.expect("a list").items.len(), usize::from(held));
        let status = stage.settle().await;
        let (_, reason, message) = ready(&status);
        assert_eq!(reason, "DependencyNotReady");
        assert!(message.contains("team/shop does not exist"), "{message}");
        assert!(stage.secret().await.is_none());
        stage.bench.delete::<DbRoleClaim>(&stage.name).await;
        assert_eq!(stage.bench.pass(&stage.room, &stage.name).await.expect("it goes"), Outcome::Gone);
    }
}

const NOW: &str = "2026-01-01T12:00:00Z";

/// A server on which the claim `team/reports` has its roles, and both of them get in.
fn with_roles() -> Fake {
    let fake = with_source();
    let (of, powers) = (guest("team"), Powers::default());
    let [a, b, holder] = of.roles();
    let login = |role: &String| Act::EnsureLogin {
        role: role.clone(),
        owner: holder.clone(),
        powers,
        title: of.title(),
    };
    let password = |role: &String| Act::SetPassword {
        role: role.clone(),
        password: Sealed::new("p".into()),
        title: of.title(),
    };
    let grant = Act::Grant {
        database: "shop".into(),
        role: holder.clone(),
        creators: ["shop".to_owned()].into(),
        rights: BTreeMap::from([("public".to_owned(), RoleType::ReadOnly)]),
        title: of.title(),
    };
    let owner = Act::EnsureOwner { role: holder.clone(), powers, title: of.title() };
    [owner, login(&a), login(&b), password(&a), password(&b), grant].iter().for_each(|act| done(&fake, act));
    fake
}

fn open(fake: &Fake) -> Sight {
    let place = Lanes::default().enter("db.example:5432", ("test", &Name::new("a", "b")), &Bell::default());
    Sight::Open {
        server: Arc::new(server()),
        seen: Box::new(looked(fake, "team")),
        gets_in: None,
        _place: place.expect("there is a place"),
    }
}

/// The claim's own Secret, whose password was issued at this time.
fn held(at: &str) -> Held {
    let [username, _] = guest("team").logins();
    Held::Ours(Issued {
        username,
        password: Sealed::new("p".into()),
        at: at.parse().ok(),
        asked: None,
        ..Issued::default()
    })
}

fn fresh() -> Held {
    held("2026-01-01T11:55:00Z")
}

fn wrong() -> Sight {
    Sight::Closed(Found::Wrong(api::conditions::Reason::CredentialsMissing, "no Secret".into()))
}

/// What is planned for the claim `team/reports`, in one line. `how` holds the words `noted` and `goes`.
fn told(rights: Value, how: &str, source: Source, sight: Sight, held: Held) -> String {
    let noted = json!({ "connectionInfo": { "userName": "shop", "databaseName": "shop" } });
    let mut manifest = claim("team", rights);
    if how.contains("noted") {
        manifest["status"] = json!({ "sourceDB": noted });
    }
    if how.contains("goes") {
        manifest["metadata"]["deletionTimestamp"] = NOW.into();
    }
    let claim: DbRoleClaim = serde_json::from_value(manifest).expect("a claim");
    let copied = how.contains("published").then(|| Copied {
        name: Name::new("team", "shop"),
        secret: Arc::default(),
        issued: Issued { username: "shop_a".into(), ..Issued::default() },
    });
    let world = World {
        now: NOW.parse().expect("a time"),
        fresh: Sealed::new("fresh".into()),
        period: Duration::from_secs(3600),
        problem: None,
        origin: Name::new("team", "shop"),
        source,
        site: Some(Site {
            database: "shop".into(),
            owner: "shop".into(),
            guest: guest("team"),
            noted: serde_json::from_value(noted).expect("a status"),
        }),
        sight,
        secret: Name::new("team", "reports"),
        held,
        own: None,
        copied,
    };
    let plan = match plan(&claim, &world) {
        Ok(plan) => plan,
        Err(refusal) => return format!("refused: {}", refusal.message),
    };
    let words = |step: &Do<crate::claims::step::Step>| match step {
        Do::Apply(_) => "apply".to_owned(),
        Do::Delete(..) => "delete".to_owned(),
        other => {
            other.to_string().replace("on db.example:5432, ", "").replace(guest("team").holder.as_str(), "H")
        }
    };
    let next = match plan.next {
        Next::After(delay) => format!("{}s", delay.as_secs()),
        Next::OnChange => "on change".to_owned(),
        Next::Release => "release".to_owned(),
    };
    let ready = find(&plan.status.conditions, READY).map(|ready| ready.reason.clone());
    plan.steps.iter().map(words).chain(ready).chain([next]).collect::<Vec<_>>().join("; ")
}

#[test]
fn every_situation_of_a_source_that_is_served_has_its_plan() {
    let standby = with_source();
    standby.set_standby(&server(), true);
    let taken = with_source();
    taken.add_role(&server(), guest("team").holder.as_str());
    let (none, bare, full) = (|| Held::Nothing, with_source, with_roles);
    let make = "make role `H`; make login `H_a` for `H`; make login `H_b` for `H`";
    let rows = [
        (readonly(), "", open(&bare()), none(), "Provisioning; 0s".to_owned()),
        (
            readonly(),
            "noted",
            open(&bare()),
            none(),
            format!("{make}; set the rights of `H` in `shop`; give login `H_a` a new password; apply; Available; 600s"),
        ),
        (readonly(), "noted", open(&full()), fresh(), "apply; Available; 600s".into()),
        (
            readonly(),
            "noted",
            open(&full()),
            held("2026-01-01T11:00:00Z"),
            "give login `H_b` a new password; apply; Available; 600s".into(),
        ),
        (readonly(), "noted", open(&full()), held("2026-01-01T11:05:00Z"), "apply; Available; 300s".into()),
        (
            json!({ "public": "readonly", "new": "admin" }),
            "noted",
            open(&full()),
            fresh(),
            "make schema `new` in `shop`; set the rights of `H` in `shop`; apply; Available; 600s".into(),
        ),
        (
            json!({ "pg_catalog": "admin" }),
            "noted",
            open(&full()),
            fresh(),
            "refused: schema `pg_catalog` belongs to the server; take it out of schemarolemap".into(),
        ),
        (json!({}), "published", open(&bare()), none(), "apply; Available; 600s".into()),
        (
            json!({}),
            "noted published",
            open(&full()),
            none(),
            "apply; let `H_a` log in no more; let `H_b` log in no more; drop role `H_a`; drop role `H_b`; drop role `H`; Available; 600s".into(),
        ),
        (json!({}), "", open(&bare()), none(), "DependencyNotReady; 60s".into()),
        (readonly(), "noted", open(&full()), Held::Foreign, "NotOurs; 60s".into()),
        (readonly(), "noted", open(&taken), none(), "NotOurs; 60s".into()),
        (readonly(), "noted", open(&standby), fresh(), "ServerReadOnly; 60s".into()),
        (readonly(), "noted", wrong(), fresh(), "DependencyNotReady; 2s".into()),
        (readonly(), "noted", Sight::Parked, fresh(), "10s".into()),
    ];
    for (row, (rights, how, sight, held, want)) in rows.into_iter().enumerate() {
        assert_eq!(told(rights, how, Source::Served, sight, held), want, "row {row}");
    }
}

#[test]
fn every_way_to_lose_logins_has_its_plan() {
    let busy = with_roles();
    let [a, _] = guest("team").logins();
    let login = Login { database: "shop".into(), role: a, password: Sealed::new("p".into()) };
    let _session = busy.connect(&server(), &login).expect("it gets in");
    let (none, full) = (|| Held::Nothing, with_roles);
    let lock = "let `H_a` log in no more; let `H_b` log in no more";
    let all = format!("{lock}; drop role `H_a`; drop role `H_b`; drop role `H`");
    let denied = |gone| Source::Denied { gone };
    let rows = [
        ("", denied(false), Sight::Unknown, none(), "ConsentMissing; 600s".to_owned()),
        ("noted", denied(false), Sight::Unknown, fresh(), "delete; ConsentMissing; 2s".into()),
        (
            "noted",
            denied(false),
            open(&full()),
            none(),
            format!("{lock}; set the rights of `H` in `shop`; ConsentMissing; 600s"),
        ),
        ("noted", denied(true), open(&full()), none(), format!("{all}; ConsentMissing; 600s")),
        ("noted", denied(true), open(&busy), none(), format!("{lock}; ConsentMissing; 2s")),
        ("", Source::Gone, Sight::Unknown, none(), "DependencyNotReady; 60s".into()),
        ("noted", Source::Gone, Sight::Unknown, fresh(), "delete; DependencyNotReady; 2s".into()),
        ("noted", Source::Gone, open(&full()), none(), format!("{all}; DependencyNotReady; 60s")),
        ("noted", Source::Gone, wrong(), none(), "DependencyNotReady; 60s".into()),
        ("noted", Source::Leaving, open(&busy), none(), format!("{lock}; DependencyNotReady; 2s")),
        (
            "noted",
            Source::Waiting("is not ready".into()),
            Sight::Unknown,
            fresh(),
            "DependencyNotReady; 60s".into(),
        ),
        ("goes noted", Source::Served, Sight::Unknown, fresh(), "delete; Deleting; 2s".into()),
        ("goes noted", Source::Served, open(&full()), none(), format!("{all}; release")),
        ("goes noted", denied(false), open(&full()), none(), format!("{all}; release")),
        ("goes noted", Source::Served, open(&busy), none(), format!("{lock}; StillBound; 2s")),
        ("goes noted", Source::Served, wrong(), none(), "Deleting; 60s".into()),
        ("goes noted", Source::Gone, wrong(), none(), "release".into()),
        ("goes noted", Source::Served, Sight::Closed(Found::Absent), none(), "release".into()),
        ("goes", denied(false), Sight::Unknown, none(), "release".into()),
        ("goes noted", Source::Served, open(&full()), Held::Foreign, format!("{all}; release")),
    ];
    for (row, (how, source, sight, held, want)) in rows.into_iter().enumerate() {
        assert_eq!(told(readonly(), how, source, sight, held), want, "row {row}");
    }
}
