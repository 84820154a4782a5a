//! What is asked of those who make servers, and how they are understood.

use api::claims::{DatabaseClaim, DatabaseType, Tag};
use api::conditions::READY;
use api::connection::SslMode;
use api::foreign::cloud_database::CloudDatabaseClaim;
use api::foreign::cnpg::Cluster;
use api::infra::RDSInstance;
use api::secret::Sealed;
use k8s_openapi::api::core::v1::Secret;
use kit::testing::Bench;
use kit::{Name, Object};
use ports::admin::Fake;
use serde_json::{Value, json};

use super::{Book, SYSTEM, claim, config, room, with};
use crate::claims::config::{Config, Maker};
use crate::claims::makers::{Found, Order, find, order};
use crate::claims::target::Made;

fn made() -> Made {
    Made {
        name: "db-athena-1234".into(),
        type_: DatabaseType::Postgres,
        shape: None,
        version: None,
        storage_gb: None,
        ssl_mode: SslMode::Require,
        restore_from: None,
        tags: Vec::new(),
    }
}

fn full() -> Made {
    Made {
        type_: DatabaseType::AuroraPostgresql,
        shape: Some("db.r6g.large".into()),
        version: Some("16.4".into()),
        storage_gb: Some(40),
        tags: vec![Tag { key: "team".into(), value: "shop".into() }],
        ..made()
    }
}

fn by(maker: Maker) -> Config {
    let text = "region: eu-central-1\nawsProvider: aws\ndefaultMasterUsername: boss\n";
    Config { maker, ..config(text) }
}

fn ordered(made: &Made, config: &Config, orphan: bool) -> Result<Vec<Value>, String> {
    let fresh = Sealed::new("fresh".to_owned());
    let asked = Order { made, namespace: SYSTEM, config, orphan, fresh: &fresh };
    let children =
        order(&asked).map_err(|refusal| format!("{}: {}", refusal.reason.as_str(), refusal.message))?;
    assert!(children.iter().all(|child| !child.owned), "servers outlive the claims that asked for them");
    Ok(children.into_iter().map(|child| child.body).collect())
}

fn head(name: &str) -> Value {
    json!({ "name": name, "namespace": SYSTEM, "labels": { "app.kubernetes.io/managed-by": "terrace" } })
}

#[test]
fn a_cluster_is_asked_for() {
    let cluster = |spec: Value| json!({ "apiVersion": "postgresql.cnpg.io/v1", "kind": "Cluster", "metadata": head("db-athena-1234"), "spec": spec });
    let config = by(Maker::Cluster);
    let plain = json!({ "instances": 1, "storage": { "size": "10Gi" }, "enableSuperuserAccess": true });
    assert_eq!(ordered(&made(), &config, false), Ok(vec![cluster(plain.clone())]));
    assert_eq!(ordered(&made(), &config, true), Ok(vec![cluster(plain)]));
    let rich = json!({
        "instances": 1, "storage": { "size": "40Gi" }, "enableSuperuserAccess": true,
        "imageName": format!("{}:16.4", api::foreign::cnpg::SERVER_IMAGE),
        "bootstrap": { "recovery": { "backup": { "name": "monday" } } },
    });
    let restored = Made { restore_from: Some("monday".into()), ..full() };
    assert_eq!(ordered(&restored, &config, false), Ok(vec![cluster(rich)]));
}

#[test]
fn a_cloud_database_claim_is_asked_for() {
    let cloud = |parameters: Value, policy: &str| {
        json!({
            "apiVersion": "database.infobloxopen.github.com/v1alpha1", "kind": "CloudDatabaseClaim",
            "metadata": head("db-athena-1234"),
            "spec": {
                "parameters": parameters,
                "compositionRef": { "name": "cloud.database.infobloxopen.github.com" },
                "writeConnectionSecretToRef": { "name": "db-athena-1234-connection" },
                "deletionPolicy": policy,
            },
        })
    };
    let config = by(Maker::CloudDatabaseClaim);
    let plain = json!({ "type": "postgres", "region": "eu-central-1" });
    assert_eq!(ordered(&made(), &config, false), Ok(vec![cloud(plain, "Delete")]));
    let rich = json!({
        "type": "aurora-postgresql", "region": "eu-central-1", "minStorage": "40GB", "shape": "db.r6g.large", "engineVersion": "16.4",
    });
    assert_eq!(ordered(&full(), &config, true), Ok(vec![cloud(rich, "Orphan")]));
}

#[test]
fn an_rds_instance_is_asked_for_after_its_password() {
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": head("db-athena-1234-master"), "data": { "password": "ZnJlc2g=" } });
    let instance = |more: Value| {
        let mut instance = json!({
            "apiVersion": "aws-infra-operator.runner.codes/v1alpha1", "kind": "RDSInstance",
            "metadata": head("db-athena-1234"),
            "spec": {
                "providerRef": { "name": "aws" }, "dbInstanceIdentifier": "db-athena-1234", "engine": "postgres",
                "dbInstanceClass": "db.t4g.medium", "allocatedStorage": 20, "masterUsername": "boss",
                "masterUserPasswordSecretRef": { "name": "db-athena-1234-master", "key": "password" },
                "multiAZ": false, "publiclyAccessible": false, "storageEncrypted": true, "deletionPolicy": "Delete",
                "skipFinalSnapshot": false,
            },
        });
        super::merge(&mut instance, json!({ "spec": more }));
        instance
    };
    let config = by(Maker::RdsInstance);
    assert_eq!(ordered(&made(), &config, false), Ok(vec![secret.clone(), instance(json!({}))]));
    let rich = json!({
        "engine": "aurora-postgresql", "engineVersion": "16.4", "dbInstanceClass": "db.r6g.large", "allocatedStorage": 40,
        "tags": { "team": "shop" }, "deletionPolicy": "Orphan",
    });
    assert_eq!(ordered(&full(), &config, true), Ok(vec![secret, instance(rich)]));
}

#[test]
fn what_a_maker_cannot_do_is_refused() {
    let restored = Made { restore_from: Some("monday".into()), ..made() };
    let nobody = Config { aws_provider: None, ..by(Maker::RdsInstance) };
    let table = [
        (
            "a snapshot for a cloud",
            &restored,
            by(Maker::CloudDatabaseClaim),
            "InvalidSpec: restoreFrom is not supported for servers that a CloudDatabaseClaim makes",
        ),
        (
            "a snapshot for RDS",
            &restored,
            by(Maker::RdsInstance),
            "InvalidSpec: restoreFrom is not supported for servers that an RDSInstance makes",
        ),
        (
            "no account",
            &made(),
            nobody,
            "InvalidConfiguration: servers are made as RDSInstance, and the configuration names no awsProvider",
        ),
    ];
    for (row, made, config, want) in table {
        let got = ordered(made, &config, false).expect_err(row);
        assert!(got.starts_with(want), "{row}: {got}");
    }
}

/// How a server is understood whose object and Secret are these.
async fn found<K: Object>(
    bench: &Bench,
    config: &Config,
    object: Option<Value>,
    secret: Option<Value>,
) -> String {
    let name = made().name;
    let resource = kube::core::ApiResource::erase::<K>(&());
    for (api_version, kind, body) in
        [(resource.api_version.as_str(), resource.kind.as_str(), object), ("v1", "Secret", secret)]
    {
        let Some(mut body) = body else { continue };
        let defaults =
            json!({ "apiVersion": api_version, "kind": kind, "metadata": { "namespace": SYSTEM } });
        super::merge(&mut body, defaults);
        bench.create(body).await;
    }
    let found = find(bench.tools().reader(), &made(), SYSTEM, config).await.expect("an answer").found;
    let own = Name::new(SYSTEM, name.clone());
    bench.patch_finalizers::<K>(&own).await;
    for suffix in ["-superuser", "-connection", "-master"] {
        bench.delete::<Secret>(&Name::new(SYSTEM, format!("{name}{suffix}"))).await;
    }
    match found {
        Found::Absent => "absent".to_owned(),
        Found::Making(words) => format!("making: {words}"),
        Found::Wrong(reason, words) => format!("{}: {words}", reason.as_str()),
        Found::Ready(server) => format!("ready: {}@{}", server.user, server.place()),
    }
}

/// Removes an object, whoever holds it.
trait Uproot {
    async fn patch_finalizers<K: Object>(&self, name: &Name);
}

impl Uproot for Bench {
    async fn patch_finalizers<K: Object>(&self, name: &Name) {
        if self.get::<K>(&name.namespace, &name.name).await.is_some() {
            self.patch::<K>(name, json!({ "metadata": { "finalizers": null } })).await;
            self.delete::<K>(name).await;
        }
    }
}

#[tokio::test]
async fn every_state_of_a_cluster_is_understood() {
    let (bench, config) = (Bench::start().await, by(Maker::Cluster));
    let cluster = |status: Value| {
        Some(
            json!({ "metadata": { "name": "db-athena-1234" }, "spec": { "instances": 1, "storage": {} }, "status": status }),
        )
    };
    let login = |host: &str| {
        Some(
            json!({ "metadata": { "name": "db-athena-1234-superuser" }, "stringData": { "username": "postgres", "password": "p", "host": host } }),
        )
    };
    let healthy = json!({ "phase": "Cluster in healthy state", "readyInstances": 1 });
    let table = [
        ("none", None, None, "absent"),
        ("new", cluster(json!({})), None, "making: Cluster db-athena-1234: has not begun"),
        (
            "coming",
            cluster(json!({ "phase": "Setting up primary" })),
            login("h"),
            "making: Cluster db-athena-1234: Setting up primary",
        ),
        (
            "failed",
            cluster(json!({ "phase": "Failed", "phaseReason": "no such image" })),
            None,
            "making: Cluster db-athena-1234: Failed: no such image",
        ),
        (
            "no login",
            cluster(healthy.clone()),
            None,
            "making: Cluster db-athena-1234 has not published its superuser yet",
        ),
        ("up", cluster(healthy.clone()), login("h.example"), "ready: postgres@h.example:5432"),
        ("an address", cluster(healthy.clone()), login("127.0.0.1"), "ready: postgres@127.0.0.1:5432"),
        // CloudNativePG names a Service of its own namespace, and claims are in others.
        (
            "a Service",
            cluster(healthy.clone()),
            login("db-athena-1234-rw"),
            "ready: postgres@db-athena-1234-rw.terrace-system.svc:5432",
        ),
        (
            "half up",
            cluster(json!({ "phase": "Upgrading", "readyInstances": 1 })),
            login("h.example"),
            "ready: postgres@h.example:5432",
        ),
    ];
    for (row, object, secret, want) in table {
        assert_eq!(found::<Cluster>(&bench, &config, object, secret).await, want, "{row}");
    }
}

#[tokio::test]
async fn every_state_of_a_cloud_database_claim_is_understood() {
    let (bench, config) = (Bench::start().await, by(Maker::CloudDatabaseClaim));
    let cloud = |conditions: Value| {
        Some(
            json!({ "metadata": { "name": "db-athena-1234" }, "spec": {}, "status": { "conditions": conditions } }),
        )
    };
    let login = |user: Value| {
        let mut secret = json!({ "metadata": { "name": "db-athena-1234-connection" }, "stringData": { "password": "p", "endpoint": "h.example", "port": "5433" } });
        super::merge(&mut secret["stringData"], user);
        Some(secret)
    };
    let ready = || json!([{ "type": "Ready", "status": "True" }]);
    let table = [
        ("none", None, None, "absent"),
        ("new", cloud(json!([])), None, "making: CloudDatabaseClaim db-athena-1234 is not ready yet"),
        (
            "coming",
            cloud(json!([{ "type": "Ready", "status": "False", "message": "Creating" }])),
            None,
            "making: CloudDatabaseClaim db-athena-1234 is not ready yet: Creating",
        ),
        (
            "failed",
            cloud(
                json!([{ "type": "Synced", "status": "False", "message": "no quota" }, { "type": "Ready", "status": "False" }]),
            ),
            None,
            "making: CloudDatabaseClaim db-athena-1234 is not ready yet: no quota",
        ),
        (
            "no login",
            cloud(ready()),
            None,
            "making: CloudDatabaseClaim db-athena-1234 has not published its login yet",
        ),
        ("up", cloud(ready()), login(json!({ "username": "root" })), "ready: root@h.example:5433"),
        ("no user", cloud(ready()), login(json!({})), "ready: boss@h.example:5433"),
    ];
    for (row, object, secret, want) in table {
        assert_eq!(found::<CloudDatabaseClaim>(&bench, &config, object, secret).await, want, "{row}");
    }
}

#[tokio::test]
async fn every_state_of_an_rds_instance_is_understood() {
    let (bench, config) = (Bench::start().await, by(Maker::RdsInstance));
    let spec = ordered(&made(), &config, false).expect("an order").remove(1)["spec"].take();
    let instance = |status: Value| {
        Some(json!({ "metadata": { "name": "db-athena-1234" }, "spec": spec, "status": status }))
    };
    let password = || {
        Some(json!({ "metadata": { "name": "db-athena-1234-master" }, "stringData": { "password": "p" } }))
    };
    let failed = json!({ "ready": false, "status": "failed", "conditions": [{
        "type": "Ready", "status": "False", "reason": "Failed", "message": "no quota", "lastTransitionTime": "2026-01-01T00:00:00Z",
    }] });
    let table = [
        ("none", None, None, "absent"),
        ("new", instance(json!({})), None, "making: RDSInstance db-athena-1234 is not begun"),
        (
            "coming",
            instance(json!({ "ready": false, "status": "creating" })),
            password(),
            "making: RDSInstance db-athena-1234 is creating",
        ),
        ("failed", instance(failed), password(), "making: RDSInstance db-athena-1234 is failed: no quota"),
        (
            "no password",
            instance(json!({ "ready": true, "endpoint": "h.example" })),
            None,
            "CredentialsMissing: Secret db-athena-1234-master with the administrator's password is missing",
        ),
        (
            "up",
            instance(json!({ "ready": true, "endpoint": "h.example", "port": 5433 })),
            password(),
            "ready: boss@h.example:5433",
        ),
    ];
    for (row, object, secret, want) in table {
        assert_eq!(found::<RDSInstance>(&bench, &config, object, secret).await, want, "{row}");
    }
}

#[tokio::test]
async fn a_server_on_its_way_out_is_waited_for() {
    let bench = Bench::start().await;
    let name = Name::new(SYSTEM, made().name);
    bench.create(json!({
        "apiVersion": "postgresql.cnpg.io/v1", "kind": "Cluster", "spec": { "instances": 1, "storage": {} },
        "metadata": { "name": name.name, "namespace": SYSTEM, "finalizers": ["example.com/slow"] },
    })).await;
    bench.delete::<Cluster>(&name).await;
    let found =
        find(bench.tools().reader(), &made(), SYSTEM, &by(Maker::Cluster)).await.expect("an answer").found;
    let words = "Cluster db-athena-1234 is being deleted; the server is made anew when it is gone";
    assert_eq!(found, Found::Making(words.to_owned()));
}

#[tokio::test]
async fn a_maker_that_is_not_installed_is_told() {
    let bench = Bench::lacking(&["clusters.postgresql.cnpg.io"]).await;
    let room = room(&Fake::default(), bench.gate(), Book::fixed(config("serverMaker: cluster\n")));
    bench.create(claim("shop", with(json!({})))).await;
    let name = Name::new("default", "shop");
    bench.pass(&room, &name).await.expect("a pass");
    let claim = bench.get::<DatabaseClaim>("default", "shop").await.expect("the claim");
    let conditions = claim.status.expect("a status").conditions;
    let ready = api::conditions::find(&conditions, READY).expect("a condition");
    assert_eq!(ready.reason, "KindMissing");
    assert!(ready.message.contains("Cluster") && ready.message.contains("serverMaker"), "{}", ready.message);
}
