//! Whom a claim is for, what it may ask for, and databases that somebody else made.

use api::annotations::ALLOW_FROM;
use api::claims::DatabaseClaim;
use api::conditions::READY;
use k8s_openapi::api::core::v1::Secret;
use kit::Name;
use ports::admin::{Act, Admin, Asked, Powers};
use serde_json::{Value, json};

use super::{STATIC, Stage, server, title, value, well, with};

const HOST: &str = "db.example";
const DSN: &str = "postgres://root:t0p-Secr3t!%40@db.example:5432/legacy?sslmode=require";

fn existing(database: Value) -> Value {
    json!({ "useExistingSource": true, "sourceDataFrom": { "type": "database", "database": database } })
}

#[tokio::test]
async fn a_claim_of_another_class_is_not_touched() {
    let stage = Stage::new(STATIC).await;
    let name = stage.make("shop", with(json!({ "instanceLabel": "athena", "class": "other" }))).await;
    let before = stage.get(&name).await.expect("the claim");
    stage.bench.gate().take();
    stage.pass(&name).await.expect("a pass");
    assert_eq!(stage.bench.gate().calls(), Vec::new());
    assert_eq!(stage.get(&name).await, Some(before.clone()));
    assert_eq!((before.metadata.finalizers, before.status), (None, None));
}

#[tokio::test]
async fn powers_are_given_where_they_are_permitted_and_refused_elsewhere() {
    let rows = [
        ("enableSuperUser", "allowSuperUser", "defaultAllowSuperUser", "postgres"),
        ("enableReplicationRole", "allowReplicationRole", "defaultAllowReplicationRole", "replica"),
    ];
    for (field, key, default, _) in rows {
        let spec = json!({ "instanceLabel": "athena", field: true });
        let mut stage = Stage::new(STATIC).await;
        let name = stage.make("shop", with(spec)).await;
        stage.settle(&name).await;
        assert_eq!(stage.told(&name, READY).await, "False InvalidSpec", "{field}");
        assert!(stage.words(&name, READY).await.contains(&format!("{key}: true")), "{field}");
        assert_eq!(stage.fake.roles(&server(HOST)), Vec::<String>::new(), "{field}: nothing was made");
        stage.configure(&format!("{default}: true\n{STATIC}"));
        stage.settle(&name).await;
        assert_eq!(stage.told(&name, READY).await, "True Available", "{field}");
        let role = stage.seen(HOST, "shop").await.roles["shop_a"].clone();
        assert_eq!(
            (role.superuser, role.replication),
            (field == "enableSuperUser", field != "enableSuperUser")
        );
        // What is no longer permitted is refused, and what is no longer asked for is taken away.
        stage.patch(&name, with(json!({ field: false }))).await;
        stage.configure(STATIC);
        stage.settle(&name).await;
        let role = stage.seen(HOST, "shop").await.roles["shop_a"].clone();
        assert_eq!((role.superuser, role.replication), (false, false), "{field}");
    }
}

/// A database that somebody else made, with a table.
async fn legacy(stage: &Stage) {
    let place = server(HOST);
    let theirs = ports::admin::Title::to_own("theirs");
    let owner = "keeper".to_owned();
    let login = ports::admin::Login {
        database: "legacy".into(),
        role: "keeper_x".into(),
        password: api::secret::Sealed::new("p".into()),
    };
    let acts = [
        Act::EnsureOwner { role: owner.clone(), powers: Powers::default(), title: theirs.clone() },
        Act::EnsureLogin {
            role: login.role.clone(),
            owner: owner.clone(),
            powers: Powers::default(),
            title: theirs.clone(),
        },
        Act::SetPassword {
            role: login.role.clone(),
            password: login.password.clone(),
            title: theirs.clone(),
        },
        Act::EnsureDatabase { database: "legacy".into(), owner, title: theirs },
    ];
    for act in acts {
        stage.fake.act(&place, &act).await.expect("it is done");
    }
    stage.fake.create_table(&place, &login, ("public", "orders")).expect("a table");
}

#[tokio::test]
async fn a_database_that_is_there_gets_users_and_stays_when_they_go() {
    for hold in ["0", "60"] {
        let stage = Stage::new(&STATIC.replace("Period: 0", &format!("Period: {hold}"))).await;
        legacy(&stage).await;
        let name = stage.served("shop", with(existing(json!({ "dsn": DSN })))).await;
        let login = stage.login(&name).await;
        assert_eq!(login.database, "legacy");
        let place = server(HOST);
        for privilege in ["SELECT", "INSERT", "DELETE"] {
            stage.fake.use_table(&place, &login, ("public", "orders"), privilege).expect("every right");
        }
        let session = stage.fake.connect(&place, &login).expect("a session");
        stage.bench.delete::<DatabaseClaim>(&name).await;
        stage.settle(&name).await.expect("it waits for its sessions");
        assert_eq!(stage.told(&name, READY).await, "False StillBound");
        assert!(session.is_open() && !stage.gets_in(HOST, &login).await);
        drop(session);
        assert_eq!(stage.settle(&name).await, None);
        assert_eq!(stage.fake.databases(&place), ["legacy"]);
        assert_eq!(stage.fake.roles(&place), ["keeper", "keeper_x"], "only our users went");
        let asked = Asked { database: Some("legacy".into()), content: true, ..Asked::default() };
        let seen = stage.fake.look(&place, &asked).await.expect("it is there").database.expect("it stays");
        assert_eq!(seen.owner, "keeper");
        assert_eq!(stage.names::<DatabaseClaim>().await, Vec::<String>::new(), "nothing is kept of it");
    }
}

#[tokio::test]
async fn rights_that_were_taken_away_are_given_again_and_told() {
    let stage = Stage::new(STATIC).await;
    legacy(&stage).await;
    let name = stage.served("shop", with(existing(json!({ "dsn": DSN })))).await;
    let act = Act::Grant {
        database: "legacy".into(),
        role: "shop".into(),
        creators: ["keeper".to_owned()].into(),
        rights: [("public".to_owned(), api::claims::RoleType::ReadOnly)].into(),
        title: title(&name),
    };
    stage.fake.act(&server(HOST), &act).await.expect("it is done");
    stage.pass(&name).await.expect("a pass");
    let drift = stage.status(&name).await.drift;
    assert_eq!(
        drift.iter().map(|drift| drift.field.as_str()).collect::<Vec<_>>(),
        ["rights of shop in legacy"]
    );
    stage.pass(&name).await.expect("a pass");
    assert_eq!(stage.status(&name).await.drift, Vec::new());
}

fn credentials(namespace: &str, notes: Value, words: Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "stringData": words,
        "metadata": { "name": "legacy", "namespace": namespace, "annotations": notes },
    })
}

#[tokio::test]
async fn the_secret_of_a_source_is_used_where_its_owner_agreed() {
    let parts = json!({ "hostname": HOST, "username": "root", "password": "t0p-Secr3t!@", "database": "legacy", "sslmode": "require" });
    let here = json!({ "secretRef": { "name": "legacy" } });
    let there = json!({ "secretRef": { "name": "legacy", "namespace": "vault" } });
    let allow = |whom: &str| json!({ ALLOW_FROM: whom });
    let rows = [
        (
            "its own namespace",
            &here,
            Some(credentials("default", json!({}), parts.clone())),
            "True Available",
        ),
        (
            "a URI",
            &here,
            Some(credentials("default", json!({}), json!({ "uri_dsn.txt": DSN }))),
            "True Available",
        ),
        (
            "no login in it",
            &here,
            Some(credentials("default", json!({}), json!({ "x": "y" }))),
            "False CredentialsMissing",
        ),
        ("no Secret", &here, None, "False CredentialsMissing"),
        (
            "a URI that is none",
            &here,
            Some(credentials("default", json!({}), json!({ "uri_dsn.txt": "x" }))),
            "False InvalidSpec",
        ),
        (
            "another namespace",
            &there,
            Some(credentials("vault", json!({}), parts.clone())),
            "False ConsentMissing",
        ),
        ("no Secret there", &there, None, "False ConsentMissing"),
        (
            "for somebody else",
            &there,
            Some(credentials("vault", allow("web,defaults"), parts.clone())),
            "False ConsentMissing",
        ),
        (
            "with consent",
            &there,
            Some(credentials("vault", allow("web, default"), parts.clone())),
            "True Available",
        ),
    ];
    let stage = Stage::new(STATIC).await;
    legacy(&stage).await;
    for (number, (row, source, secret, want)) in rows.into_iter().enumerate() {
        for namespace in ["default", "vault"] {
            stage.bench.delete::<Secret>(&Name::new(namespace, "legacy")).await;
        }
        if let Some(secret) = secret {
            stage.bench.create(secret).await;
        }
        let name = stage.make(&format!("shop{number}"), with(existing(source.clone()))).await;
        stage.pass(&name).await.expect("a pass");
        assert_eq!(stage.told(&name, READY).await, want, "{row}: {}", stage.words(&name, READY).await);
        assert!(!stage.words(&name, READY).await.contains("t0p"), "{row}");
    }
}

#[tokio::test]
async fn the_secret_has_the_name_and_the_keys_that_were_asked_for() {
    let stage = Stage::new(STATIC).await;
    let spec = json!({ "instanceLabel": "athena", "secretName": "credentials", "dsnName": "url" });
    let name = stage.served("shop", with(spec)).await;
    let secret = stage.secret(&Name::new("default", "credentials")).await;
    let password = value(&secret, "password");
    let dsn = format!(
        "host='db.example' port='5432' user='shop_a' password='{password}' dbname='shop' sslmode='require'"
    );
    let uri = format!("postgres://shop_a:{password}@db.example:5432/shop?sslmode=require");
    for (key, want) in
        [("url", &dsn), ("dsn.txt", &dsn), ("uri_url", &uri), ("uri_dsn.txt", &uri), ("ro_uri_dsn.txt", &uri)]
    {
        assert_eq!(value(&secret, key), *want, "{key}");
    }
    assert_eq!(secret.data.map(|data| data.len()), Some(11));
    // Another name is another Secret, and the old one goes.
    stage.patch(&name, with(json!({ "secretName": "other" }))).await;
    stage.settle(&name).await;
    let other = Name::new("default", "other");
    assert!(stage.gets_in(HOST, &stage.login(&other).await).await);
    assert!(stage.bench.get::<Secret>("default", "credentials").await.is_none());
}

#[tokio::test]
async fn a_secret_of_somebody_else_is_left_alone() {
    let stage = Stage::new(STATIC).await;
    let theirs = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "shop" }, "stringData": { "password": "theirs" } });
    stage.bench.create(theirs).await;
    let name = stage.make("shop", with(json!({ "instanceLabel": "athena" }))).await;
    stage.settle(&name).await;
    assert_eq!(well(&stage, &name).await, ("False NotOurs".to_owned(), "False NotOurs".to_owned()));
    assert_eq!(value(&stage.secret(&name).await, "password"), "theirs");
    stage.gone(&name).await;
    assert_eq!(value(&stage.secret(&name).await, "password"), "theirs", "it outlives the claim");
}
