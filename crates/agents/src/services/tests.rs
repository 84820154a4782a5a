//! Every tool on a control plane in memory. The tests that seed 000 names for `internal/mcp/tools` stand here, each with
//! its name in a comment.

use api::annotations::{KEPT_UNTIL, RESTORE_BACKUP, RESTORE_TIME, SERVICE_SPEC};
use api::apps::Application;
use api::foreign::cnpg::Backup;
use api::services::ManagedService;
use control_plane::ControlPlane;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Error, backup, backups, bind, deprovision, list, provision, restore, status, unbind};

const NS: &str = "default";
const CANARY: &str = "canary-password";

struct Stage {
    plane: ControlPlane,
    client: Client,
}

impl Stage {
    async fn start() -> Self {
        Self::lacking("").await
    }

    /// A plane with the kinds that services need, but for one group.
    async fn lacking(group: &str) -> Self {
        let plane = ControlPlane::start().await.expect("starts");
        let client = plane.client();
        let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
        for definition in api::crds().into_iter().chain(api::foreign_crds()) {
            let needed = ["iaf.io", "postgresql.cnpg.io"].contains(&definition.spec.group.as_str());
            if needed && definition.spec.group != group {
                definitions.create(&PostParams::default(), &definition).await.expect("is defined");
            }
        }
        Self { plane, client }
    }

    fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), NS)
    }

    async fn create<K>(&self, manifest: Value) -> K
    where
        K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
            + DeserializeOwned
            + Serialize
            + Clone
            + std::fmt::Debug,
    {
        let object: K = serde_json::from_value(manifest).expect("an object of its kind");
        self.api().create(&PostParams::default(), &object).await.expect("is created")
    }

    async fn say<K>(&self, name: &str, status: Value)
    where
        K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
            + DeserializeOwned
            + Clone
            + std::fmt::Debug,
    {
        let patch = Patch::Merge(json!({ "status": status }));
        self.api::<K>().patch_status(name, &PatchParams::default(), &patch).await.expect("is told");
    }

    /// A service as the controller leaves it when all is well.
    async fn ready(&self, name: &str) {
        let spec = json!({ "type": "postgres", "plan": "small" });
        self.create::<ManagedService>(json!({ "metadata": { "name": name }, "spec": spec })).await;
        let status = json!({
            "phase": "Ready", "connectionSecretRef": format!("{name}-app"), "message": "the database takes connections",
        });
        self.say::<ManagedService>(name, status).await;
        self.create::<Secret>(json!({
            "metadata": { "name": format!("{name}-app") }, "stringData": { "password": CANARY, "uri": CANARY },
        }))
        .await;
    }

    async fn app(&self, name: &str, spec: Value) {
        let mut spec = spec;
        spec["image"] = "nginx:1".into();
        self.create::<Application>(json!({ "metadata": { "name": name }, "spec": spec })).await;
    }

    async fn env(&self, name: &str) -> Value {
        let app = self.api::<Application>().get(name).await.expect("the application");
        serde_json::to_value(app.spec.env).expect("variables")
    }

    async fn version(&self, name: &str) -> Option<String> {
        self.api::<Application>().get(name).await.expect("the application").resource_version()
    }

    async fn bind(&self, service: &str, app: &str) -> Result<bind::Output, Error> {
        let input = bind::Input { service_name: service.into(), app_name: app.into() };
        bind::run(&self.client, NS, input).await
    }

    async fn unbind(&self, service: &str, app: &str) -> Result<unbind::Output, Error> {
        let input = unbind::Input { service_name: service.into(), app_name: app.into() };
        unbind::run(&self.client, NS, input).await
    }

    async fn deprovision(&self, name: &str) -> Result<deprovision::Output, Error> {
        deprovision::run(&self.client, NS, deprovision::Input { name: name.into() }).await
    }

    async fn status(&self, name: &str) -> Value {
        json_of(status::run(&self.client, NS, status::Input { name: name.into() }).await)
    }
}

fn json_of(output: Result<impl Serialize, Error>) -> Value {
    let output = output.unwrap_or_else(|error| panic!("{error}"));
    let json = serde_json::to_value(output).expect("an output is JSON");
    assert!(!json.to_string().contains(CANARY), "no secret comes out: {json}");
    json
}

fn refused<T>(output: Result<T, Error>) -> String {
    match output {
        Ok(_) => panic!("it is refused"),
        Err(error) => error.to_string(),
    }
}

fn wish(name: &str) -> provision::Input {
    provision::Input { name: name.into(), type_: "postgres".into(), ..provision::Input::default() }
}

fn six(secret: &str) -> Value {
    let keys = [
        ("DATABASE_URL", "uri"),
        ("PGHOST", "host"),
        ("PGPORT", "port"),
        ("PGDATABASE", "dbname"),
        ("PGUSER", "username"),
        ("PGPASSWORD", "password"),
    ];
    keys.iter()
        .map(|(name, key)| json!({ "name": name, "secretKeyRef": { "name": secret, "key": key } }))
        .collect()
}

const NAMES: [&str; 6] = ["DATABASE_URL", "PGHOST", "PGPORT", "PGDATABASE", "PGUSER", "PGPASSWORD"];

// TestProvisionService_OK
#[tokio::test]
async fn a_service_is_provisioned() {
    let stage = Stage::start().await;
    let input = provision::Input { plan: Some("ha".into()), database: Some("shop".into()), ..wish("db") };
    let output = json_of(provision::run(&stage.client, NS, input).await);
    let message = "provisioning started; poll service_status";
    assert_eq!(output, json!({ "name": "db", "type": "postgres", "plan": "ha", "message": message }));
    let made = stage.api::<ManagedService>().get("db").await.expect("the service");
    assert_eq!((made.spec.plan.as_str(), made.spec.database.as_str()), ("ha", "shop"));
    let again = refused(provision::run(&stage.client, NS, wish("db")).await);
    assert_eq!(again, "there is a managed service db in namespace default already; choose another name");
    stage.plane.close().await;
}

// TestProvisionService_InvalidType
#[tokio::test]
async fn what_cannot_be_is_refused_before_anything_is_written() {
    let stage = Stage::start().await;
    let long = "d".repeat(51);
    let text = |text: &str| Some(text.to_owned());
    let table = [
        (
            provision::Input { type_: "mysql".into(), ..wish("db") },
            "invalid type: \"mysql\" is none; there is: postgres",
        ),
        (
            provision::Input { type_: String::new(), ..wish("db") },
            "invalid type: \"\" is none; there is: postgres",
        ),
        (
            provision::Input { plan: text("Micro"), ..wish("db") },
            "invalid plan: \"Micro\" is none; there are: micro, small, ha",
        ),
        (
            provision::Input { version: text("latest"), ..wish("db") },
            "invalid version: \"latest\" is none; a version is a number such as 17",
        ),
        (
            provision::Input { version: text("17."), ..wish("db") },
            "invalid version: \"17.\" is none; a version is a number such as 17",
        ),
        (provision::Input { database: text("a\0b"), ..wish("db") }, "invalid database: "),
        (wish("Db"), "invalid name: `Db` is no label: "),
        (wish("a.b"), "invalid name: `a.b` is no label: "),
        (wish(""), "invalid name: label must not be empty"),
        (wish(&long), "invalid name: `ddd"),
    ];
    for (input, want) in table {
        let told = refused(provision::run(&stage.client, NS, input).await);
        assert!(told.starts_with(want), "{told}");
    }
    assert_eq!(json_of(list::run(&stage.client, NS, list::Input {}).await), json!([]));
    stage.plane.close().await;
}

#[tokio::test]
async fn nothing_is_provisioned_where_nobody_runs_databases() {
    let stage = Stage::lacking("postgresql.cnpg.io").await;
    let told = refused(provision::run(&stage.client, NS, wish("db")).await);
    assert_eq!(told, "managed services are not available on this platform instance");
    assert_eq!(json_of(list::run(&stage.client, NS, list::Input {}).await), json!([]));
    stage.plane.close().await;
}

// TestServiceStatus_Provisioning
#[tokio::test]
async fn a_service_that_is_being_made_shows_no_variables() {
    let stage = Stage::start().await;
    json_of(provision::run(&stage.client, NS, wish("db")).await);
    let want = |message: &str| json!({ "name": "db", "type": "postgres", "plan": "micro", "phase": "Provisioning", "message": message });
    assert_eq!(stage.status("db").await, want(""));
    stage
        .say::<ManagedService>("db", json!({ "phase": "Provisioning", "message": "Setting up primary" }))
        .await;
    assert_eq!(stage.status("db").await, want("Setting up primary"));
    let none = status::run(&stage.client, NS, status::Input { name: "other".into() }).await;
    assert_eq!(refused(none), "there is no managed service other in namespace default");
    stage.plane.close().await;
}

// TestServiceStatus_Ready
#[tokio::test]
async fn a_service_that_is_ready_names_its_variables_and_no_values() {
    let stage = Stage::start().await;
    stage.ready("db").await;
    let want = json!({
        "name": "db", "type": "postgres", "plan": "small", "phase": "Ready",
        "message": "the database takes connections", "connectionEnvVars": NAMES,
    });
    assert_eq!(stage.status("db").await, want);
    stage.plane.close().await;
}

// TestBindService_OK
#[tokio::test]
async fn a_binding_adds_six_references_once_and_takes_exactly_them_away() {
    let stage = Stage::start().await;
    stage.ready("db").await;
    let own = json!([{ "name": "GREETING", "value": "hello" }, { "name": "database_url", "value": "mine" }]);
    stage.app("web", json!({ "env": own })).await;
    assert_eq!(json_of(stage.bind("db", "web").await), json!({ "bound": true, "injectedEnvVars": NAMES }));
    let mut all = own.as_array().expect("variables").clone();
    all.extend(six("db-app").as_array().expect("six").iter().cloned());
    assert_eq!(stage.env("web").await, json!(all));

    let before = stage.version("web").await;
    let again = json!({ "bound": true, "injectedEnvVars": NAMES, "alreadyBound": true });
    assert_eq!(json_of(stage.bind("db", "web").await), again);
    assert_eq!(stage.version("web").await, before, "nothing is written");

    let parted = json!({ "unbound": true, "removedEnvVars": NAMES });
    assert_eq!(json_of(stage.unbind("db", "web").await), parted);
    assert_eq!(stage.env("web").await, own);
    let before = stage.version("web").await;
    assert_eq!(json_of(stage.unbind("db", "web").await), json!({ "unbound": true, "removedEnvVars": [] }));
    assert_eq!(stage.version("web").await, before, "nothing is written");
    assert!(stage.api::<Secret>().get_opt("db-app").await.expect("an answer").is_some(), "the Secret stays");
    stage.plane.close().await;
}

// TestBindService_EnvConflict
#[tokio::test]
async fn names_that_clash_are_listed_and_nothing_is_written() {
    let stage = Stage::start().await;
    stage.ready("db").await;
    stage.ready("second").await;
    let clashing = json!([
        { "name": "PGUSER", "value": "me" },
        { "name": "pghost", "value": "mine" },
        { "name": "DATABASE_URL", "secretKeyRef": { "name": "db-app", "key": "host" } },
        { "name": "PGPORT", "secretKeyRef": { "name": "db-app", "key": "port" } },
    ]);
    stage.app("web", json!({ "env": clashing })).await;
    let told = refused(stage.bind("db", "web").await);
    assert_eq!(
        told,
        "application web has variables of these names already: DATABASE_URL, PGUSER; nothing was changed"
    );
    assert_eq!(stage.env("web").await, clashing);

    stage.app("api", json!({})).await;
    json_of(stage.bind("db", "api").await);
    let told = refused(stage.bind("second", "api").await);
    assert!(told.contains("DATABASE_URL, PGHOST, PGPORT, PGDATABASE, PGUSER, PGPASSWORD"), "{told}");
    assert_eq!(stage.env("api").await, six("db-app"));

    let listed = json!({ "boundManagedServices": [{ "serviceName": "db", "secretName": "db-app" }] });
    stage.app("listed", listed).await;
    assert_eq!(json_of(stage.bind("db", "listed").await)["alreadyBound"], true);
    assert!(refused(stage.bind("second", "listed").await).contains("DATABASE_URL"));
    assert_eq!(
        json_of(stage.unbind("db", "listed").await),
        json!({ "unbound": true, "removedEnvVars": NAMES })
    );
    json_of(stage.bind("second", "listed").await);
    assert_eq!(stage.env("listed").await, six("second-app"));
    stage.plane.close().await;
}

#[tokio::test]
async fn a_binding_needs_a_service_that_is_ready_and_an_application() {
    let stage = Stage::start().await;
    stage.app("web", json!({})).await;
    assert_eq!(refused(stage.bind("db", "web").await), "there is no managed service db in namespace default");
    json_of(provision::run(&stage.client, NS, wish("young")).await);
    assert_eq!(refused(stage.bind("young", "web").await), "service young is not ready: Provisioning");
    stage.say::<ManagedService>("young", json!({ "phase": "Failed", "message": "the disk is full" })).await;
    assert_eq!(
        refused(stage.bind("young", "web").await),
        "service young is not ready: Failed: the disk is full"
    );
    stage.ready("db").await;
    assert_eq!(refused(stage.bind("db", "none").await), "there is no application none in namespace default");
    assert_eq!(stage.env("web").await, json!([]));
    // A service that is gone leaves an application that can be freed all the same.
    json_of(stage.bind("db", "web").await);
    let params = kube::api::DeleteParams::default();
    stage.api::<ManagedService>().delete("db", &params).await.expect("is deleted");
    assert_eq!(json_of(stage.unbind("db", "web").await)["removedEnvVars"], json!(NAMES));
    stage.plane.close().await;
}

#[tokio::test]
async fn what_others_write_at_the_same_time_stays() {
    let stage = Stage::start().await;
    stage.ready("db").await;
    stage.app("web", json!({})).await;
    let apps = stage.api::<Application>();
    let others = async {
        for replicas in 2..12 {
            let patch = Patch::Merge(json!({ "spec": { "replicas": replicas } }));
            apps.patch("web", &PatchParams::default(), &patch).await.expect("is written");
        }
    };
    let both = async { tokio::join!(stage.bind("db", "web"), stage.bind("db", "web")) };
    let ((), (one, two)) = tokio::join!(others, both);
    json_of(one);
    json_of(two);
    let app = apps.get("web").await.expect("the application");
    assert_eq!(app.spec.replicas, 11);
    assert_eq!(stage.env("web").await, six("db-app"));
    stage.plane.close().await;
}

// TestDeprovisionService_Blocked
#[tokio::test]
async fn a_service_that_is_bound_is_not_deleted() {
    let stage = Stage::start().await;
    stage.ready("db").await;
    for app in ["web", "api"] {
        stage.app(app, json!({})).await;
        json_of(stage.bind("db", app).await);
    }
    assert_eq!(refused(stage.deprovision("db").await), "cannot delete: apps still bound: [api, web]");
    assert!(
        stage
            .api::<ManagedService>()
            .get("db")
            .await
            .expect("is there")
            .metadata
            .deletion_timestamp
            .is_none()
    );
    // A reference that somebody made by hand counts, and is not taken away by an unbinding.
    json_of(stage.unbind("db", "api").await);
    let mine = json!([{ "name": "MINE", "secretKeyRef": { "name": "db-app", "key": "uri" } }]);
    let patch = Patch::Merge(json!({ "spec": { "env": mine } }));
    stage.api::<Application>().patch("web", &PatchParams::default(), &patch).await.expect("is written");
    let parted = json_of(stage.unbind("db", "web").await);
    assert_eq!(parted, json!({ "unbound": false, "removedEnvVars": [], "stillReferring": ["MINE"] }));
    assert_eq!(refused(stage.deprovision("db").await), "cannot delete: apps still bound: [web]");
    stage.plane.close().await;
}

// TestDeprovisionService_OK
#[tokio::test]
async fn a_service_that_nobody_uses_is_deleted() {
    let stage = Stage::start().await;
    stage.ready("db").await;
    // What the status says of the past does not count.
    stage.say::<ManagedService>("db", json!({ "boundApps": ["gone"] })).await;
    let rows = json!([{ "name": "db", "type": "postgres", "plan": "small", "phase": "Ready", "boundApps": ["gone"] }]);
    assert_eq!(json_of(list::run(&stage.client, NS, list::Input {}).await), rows);
    assert_eq!(json_of(stage.deprovision("db").await)["name"], "db");
    assert!(stage.api::<ManagedService>().get_opt("db").await.expect("an answer").is_none());
    assert_eq!(refused(stage.deprovision("db").await), "there is no managed service db in namespace default");
    stage.plane.close().await;
}

/// A backup of `db` that ended at this minute of an hour.
async fn copied(stage: &Stage, name: &str, minute: u32, more: Value) {
    let spec = r#"{"type":"postgres","plan":"small","version":"16","database":"shop"}"#;
    let mut annotations = json!({ SERVICE_SPEC: spec });
    for (key, value) in more.as_object().expect("annotations") {
        annotations[key] = value.clone();
    }
    let metadata = json!({ "name": name, "annotations": annotations });
    stage.create::<Backup>(json!({ "metadata": metadata, "spec": { "cluster": { "name": "db" } } })).await;
    let stopped = format!("2026-01-01T12:{minute:02}:00Z");
    stage.say::<Backup>(name, json!({ "phase": "completed", "stoppedAt": stopped })).await;
}

fn back(to: &str, at: &str, backup: &str) -> restore::Input {
    let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    restore::Input { name: "db".into(), to: given(to), at: given(at), backup: given(backup) }
}

#[tokio::test]
async fn a_backup_is_asked_for_with_all_that_its_service_was() {
    let stage = Stage::start().await;
    let ask = || backup::run(&stage.client, NS, backup::Input { name: "db".into() });
    assert_eq!(refused(ask().await), "there is no managed service db in namespace default");
    json_of(provision::run(&stage.client, NS, wish("db")).await);
    assert_eq!(refused(ask().await), "service db is not ready: Provisioning");
    stage.say::<ManagedService>("db", json!({ "phase": "Ready", "connectionSecretRef": "db-app" })).await;
    let output = json_of(ask().await);
    let name = output["backup"].as_str().expect("a name");
    assert!(
        name.strip_prefix("db-").is_some_and(|time| time.len() == 14 && time.parse::<u64>().is_ok()),
        "{name}"
    );
    let made = stage.api::<Backup>().get(name).await.expect("the backup");
    assert_eq!(made.spec.cluster.name, "db");
    assert!(made.annotations()[SERVICE_SPEC].contains("\"plan\":\"micro\""));
    let rows = json_of(backups::run(&stage.client, NS, backups::Input { name: "db".into() }).await);
    assert_eq!((&rows[0]["name"], &rows[0]["phase"]), (&json!(name), &json!("pending")));
    stage.plane.close().await;
}

#[tokio::test]
async fn a_restore_makes_another_service_from_the_backup_that_fits() {
    let stage = Stage::start().await;
    let run = |input| restore::run(&stage.client, NS, input);
    stage.ready("db").await;
    assert_eq!(refused(run(back("new", "", "")).await), "db has no backup that is complete");
    copied(&stage, "first", 10, json!({})).await;
    copied(&stage, "second", 20, json!({})).await;
    stage
        .create::<Backup>(json!({ "metadata": { "name": "third" }, "spec": { "cluster": { "name": "db" } } }))
        .await;
    copied(&stage, "kept", 50, json!({ KEPT_UNTIL: "2026-01-04T12:00:00Z" })).await;

    let there = refused(run(back("", "", "")).await);
    assert_eq!(there, "invalid to: db is there, and a restore overwrites nothing; name a new service");
    let table = [
        (back("one", "", ""), "second"),
        (back("two", "", "first"), "first"),
        (back("three", "2026-01-01T12:15:00Z", ""), "first"),
        (back("four", "2026-01-01T13:25:00+01:00", ""), "second"),
        (back("five", "", "kept"), "kept"),
    ];
    for (input, want) in table {
        let (to, at) = (input.to.clone().expect("a name"), input.at.clone());
        assert_eq!(json_of(run(input).await)["backup"], want, "{to}");
        let made = stage.api::<ManagedService>().get(&to).await.expect("the service");
        assert_eq!(made.annotations()[RESTORE_BACKUP], want);
        assert_eq!(made.annotations().contains_key(RESTORE_TIME), at.is_some());
        let spec = made.spec;
        assert_eq!(
            (spec.plan.as_str(), spec.version.as_deref(), spec.database.as_str()),
            ("small", Some("16"), "shop")
        );
    }
    // A service that has grown since is not given back a smaller disk than its data may need.
    let grown = Patch::Merge(json!({ "spec": { "plan": "ha" } }));
    stage.api::<ManagedService>().patch("db", &PatchParams::default(), &grown).await.expect("grows");
    json_of(run(back("six", "", "first")).await);
    assert_eq!(stage.api::<ManagedService>().get("six").await.expect("the service").spec.plan.as_str(), "ha");
    let four = stage.api::<ManagedService>().get("four").await.expect("the service");
    assert_eq!(four.annotations()[RESTORE_TIME], "2026-01-01T12:25:00Z");
    let table = [
        (
            back("one", "", ""),
            "there is a managed service one in namespace default already; choose another name",
        ),
        (
            back("x", "2026-01-01T12:05:00Z", ""),
            "no backup of db reaches back to 2026-01-01T12:05:00Z; the oldest ended at 2026-01-01T12:10:00Z",
        ),
        (back("x", "2026-01-01T12:15:00Z", "second"), "backup second does not reach back to that moment"),
        (back("x", "yesterday", ""), "invalid at: \"yesterday\" is not a time such as 2026-01-31T12:00:00Z"),
        (back("x", "9000-01-01T00:00:00Z", ""), "invalid at: 9000-01-01T00:00:00Z is yet to come"),
        (back("x", "", "none"), "db has no backup none"),
        (back("x", "", "third"), "backup third of db cannot be used: it is pending"),
        (
            back("X", "", ""),
            "invalid name: `X` is no label: lower case letters, digits and `-`, beginning and ending with a letter or digit",
        ),
    ];
    for (input, want) in table {
        assert_eq!(refused(run(input).await), want);
    }
    stage.plane.close().await;
}

#[tokio::test]
async fn a_deleted_service_comes_back_under_its_own_name_with_its_last_state() {
    let stage = Stage::start().await;
    copied(&stage, "before", 55, json!({})).await;
    copied(&stage, "kept", 50, json!({ KEPT_UNTIL: "2026-01-04T12:00:00Z" })).await;
    let output = json_of(restore::run(&stage.client, NS, back("", "", "")).await);
    assert_eq!((&output["name"], &output["backup"]), (&json!("db"), &json!("kept")));
    let made = stage.api::<ManagedService>().get("db").await.expect("the service");
    let spec = made.spec;
    assert_eq!(
        (spec.plan.as_str(), spec.version.as_deref(), spec.database.as_str()),
        ("small", Some("16"), "shop")
    );
    stage.plane.close().await;
}
