//! What differs on the server, and what is done about it.

use api::annotations::ISSUED_AT;
use api::conditions::READY;
use api::secret::Sealed;
use k8s_openapi::api::core::v1::Secret;
use kit::Name;
use ports::admin::{Act, Admin, Login, Powers, Role, Title};
use serde_json::{Value, json};

use super::{STATIC, Stage, server, title, value, well, with};

const HOST: &str = "db.example";
const EXTENDED: &str = "
deletionHoldPeriod: 0
athena: { host: db.example, passwordSecretRef: athena-master, extensions: [pg_trgm] }
";

async fn shop(text: &str) -> (Stage, Name) {
    let stage = Stage::new(text).await;
    let name = stage.served("shop", with(json!({ "instanceLabel": "athena" }))).await;
    (stage, name)
}

async fn told(stage: &Stage, name: &Name) -> Vec<String> {
    let drift = stage.status(name).await.drift;
    drift
        .into_iter()
        .map(|drift| format!("{}, {} not {}", drift.field, drift.actual, drift.expected))
        .collect()
}

/// It is told and mended in one pass, and the next has nothing to tell or to do.
async fn mended(stage: &Stage, name: &Name, row: &str, want: &[&str]) {
    let passed = stage.pass(name).await;
    assert!(passed.is_ok(), "{row}: {passed:?}");
    assert_eq!(told(stage, name).await, want, "{row}");
    stage.pass(name).await.expect("a pass");
    assert_eq!(told(stage, name).await, Vec::<String>::new(), "{row}: it is mended");
    stage.bench.gate().take();
    stage.pass(name).await.expect("a pass");
    assert_eq!(stage.bench.gate().writes(), Vec::<String>::new(), "{row}");
    let login = stage.login(name).await;
    assert_eq!(login.role, "shop_a", "{row}: a difference is no reason to rotate");
    assert!(stage.gets_in(HOST, &login).await, "{row}");
}

type Change = (&'static str, &'static str, fn(&mut Role), &'static [&'static str]);

#[tokio::test]
async fn every_attribute_of_a_role_is_told_and_mended() {
    let (stage, name) = shop(STATIC).await;
    let table: [Change; 17] = [
        (
            "owner is a superuser",
            "shop",
            |role| role.superuser = true,
            &["role shop: SUPERUSER, true not false"],
        ),
        (
            "owner replicates",
            "shop",
            |role| role.replication = true,
            &["role shop: REPLICATION, true not false"],
        ),
        (
            "owner makes databases",
            "shop",
            |role| role.create_db = true,
            &["role shop: CREATEDB, true not false"],
        ),
        (
            "owner makes roles",
            "shop",
            |role| role.create_role = true,
            &["role shop: CREATEROLE, true not false"],
        ),
        (
            "owner sees all rows",
            "shop",
            |role| role.bypass_rls = true,
            &["role shop: BYPASSRLS, true not false"],
        ),
        ("owner logs in", "shop", |role| role.login = true, &["role shop: LOGIN, true not false"]),
        (
            "login is a superuser",
            "shop_a",
            |role| role.superuser = true,
            &["role shop_a: SUPERUSER, true not false"],
        ),
        (
            "login replicates",
            "shop_b",
            |role| role.replication = true,
            &["role shop_b: REPLICATION, true not false"],
        ),
        (
            "login makes databases",
            "shop_a",
            |role| role.create_db = true,
            &["role shop_a: CREATEDB, true not false"],
        ),
        (
            "login makes roles",
            "shop_b",
            |role| role.create_role = true,
            &["role shop_b: CREATEROLE, true not false"],
        ),
        (
            "login sees all rows",
            "shop_a",
            |role| role.bypass_rls = true,
            &["role shop_a: BYPASSRLS, true not false"],
        ),
        (
            "the idle one is no member",
            "shop_b",
            |role| role.member_of.clear(),
            &["role shop_b: member of,  not shop"],
        ),
        // Nobody gets in with it then, and it is not the password that is wrong.
        (
            "the current one is no member",
            "shop_a",
            |role| role.member_of.clear(),
            &["role shop_a: member of,  not shop"],
        ),
        (
            "a member of more",
            "shop_a",
            |role| role.member_of.extend([("root".into(), role.member_of["shop"])]),
            &["role shop_a: member of, root, shop not shop"],
        ),
        (
            "not the owner at once",
            "shop_a",
            |role| role.settings.clear(),
            &["role shop_a: SET role,  not shop"],
        ),
        (
            "somebody else at once",
            "shop_b",
            |role| drop(role.settings.insert("role".into(), "root".into())),
            &["role shop_b: SET role, root not shop"],
        ),
        (
            "two at once",
            "shop_a",
            |role| (role.superuser, role.create_db) = (true, true),
            &["role shop_a: SUPERUSER, true not false", "role shop_a: CREATEDB, true not false"],
        ),
    ];
    for (row, role, change, want) in table {
        stage.fake.alter_role(&server(HOST), role, change);
        mended(&stage, &name, row, want).await;
    }
}

#[tokio::test]
async fn what_differs_of_the_database_is_told_and_mended() {
    let (stage, name) = shop(EXTENDED).await;
    let place = server(HOST);
    stage.fake.alter_database(&place, "shop", "shop", true);
    mended(&stage, &name, "open", &["database shop: open to the public, true not false"]).await;
    stage.fake.alter_database(&place, "shop", "root", false);
    mended(&stage, &name, "given away", &["database shop: owner, root not shop"]).await;
    stage.fake.drop_extension(&place, "shop", "pg_trgm");
    mended(&stage, &name, "an extension", &["extension pg_trgm, missing not installed"]).await;
}

#[tokio::test]
async fn what_is_missing_is_made_again_and_told() {
    let (stage, name) = shop(STATIC).await;
    let place = server(HOST);
    let drop_role = |role: &str| Act::DropRole { role: role.to_owned(), heir: None, title: title(&name) };
    stage.fake.act(&place, &drop_role("shop_b")).await.expect("it goes");
    mended(&stage, &name, "the idle login", &["role shop_b: existence, missing not there"]).await;
    let database = Act::DropDatabase { database: "shop".into(), title: title(&name) };
    stage.fake.act(&place, &database).await.expect("it goes");
    stage.pass(&name).await.expect("a pass");
    assert_eq!(told(&stage, &name).await, ["database shop, missing not there"]);
    stage.pass(&name).await.expect("a pass");
    assert_eq!(well(&stage, &name).await, ("True Available".to_owned(), "True Available".to_owned()));
}

/// A login that makes tables as itself.
async fn stray(stage: &Stage, role: &str, login: &Login) {
    stage.fake.alter_role(&server(HOST), role, |role| role.settings.clear());
    stage.fake.create_table(&server(HOST), login, ("public", &format!("of_{role}"))).expect("a table");
}

#[tokio::test]
async fn what_a_login_owns_goes_to_the_owner_and_what_others_own_is_only_told() {
    let (stage, name) = shop(STATIC).await;
    let login = stage.login(&name).await;
    stray(&stage, "shop_a", &login).await;
    let want = ["role shop_a: SET role,  not shop", "public.of_shop_a: owner, shop_a not shop"];
    mended(&stage, &name, "a table of a login", &want).await;
    let (place, theirs) = (server(HOST), Title::to_own("theirs"));
    let password = Sealed::new("p".to_owned());
    let acts = [
        Act::EnsureLogin {
            role: "other".into(),
            owner: "shop".into(),
            powers: Powers::default(),
            title: theirs.clone(),
        },
        Act::SetPassword { role: "other".into(), password: password.clone(), title: theirs },
    ];
    for act in acts {
        stage.fake.act(&place, &act).await.expect("it is done");
    }
    stray(&stage, "other", &Login { database: "shop".into(), role: "other".into(), password }).await;
    for _ in 0..2 {
        stage.pass(&name).await.expect("a pass");
        assert_eq!(
            told(&stage, &name).await,
            ["public.of_other: owner, other not shop"],
            "it stays, and is told"
        );
    }
    stage.bench.gate().take();
    stage.pass(&name).await.expect("a pass");
    assert_eq!(stage.bench.gate().writes(), Vec::<String>::new());
}

#[tokio::test]
async fn what_somebody_wrote_into_the_secret_is_told_and_mended() {
    let (stage, name) = shop(STATIC).await;
    let keys = ["dsn.txt", "uri_dsn.txt", "ro_uri_dsn.txt", "hostname", "port", "database", "sslmode"];
    for key in keys {
        for (edit, actual) in [(Value::Null, "missing"), (json!("eHh4"), "changed")] {
            let before = stage.secret(&name).await;
            stage.bench.patch::<Secret>(&name, json!({ "data": { key: edit } })).await;
            let want = format!("Secret shop: {key}, {actual} not as issued");
            mended(&stage, &name, key, &[&want]).await;
            assert_eq!(stage.secret(&name).await.data, before.data, "{key}");
        }
    }
    assert!(stage.secret(&name).await.metadata.annotations.expect("notes").contains_key(ISSUED_AT));
    // What the claim itself changes has not drifted.
    stage.patch(&name, with(json!({ "dsnName": "url" }))).await;
    stage.pass(&name).await.expect("a pass");
    assert_eq!(told(&stage, &name).await, Vec::<String>::new());
    assert!(value(&stage.secret(&name).await, "url").starts_with("host='db.example'"));
}

#[tokio::test]
async fn what_somebody_else_made_is_left_alone_unless_it_may_be_adopted() {
    let adopt = STATIC.replace("athena-master", "athena-master\n  adoptExisting: true");
    for (row, add) in [("a database", true), ("a role", false)] {
        let mut stage = Stage::new(STATIC).await;
        let place = server(HOST);
        match add {
            true => stage.fake.add_database(&place, "shop"),
            false => stage.fake.add_role(&place, "shop_a"),
        }
        let name = stage.make("shop", with(json!({ "instanceLabel": "athena" }))).await;
        stage.settle(&name).await;
        assert_eq!(stage.told(&name, READY).await, "False NotOurs", "{row}");
        let words = stage.words(&name, READY).await;
        assert!(words.contains("adoptExisting") && words.contains("shop"), "{row}: {words}");
        assert_eq!(
            stage.fake.databases(&place).len() + stage.fake.roles(&place).len(),
            1,
            "{row}: nothing was made"
        );
        stage.configure(&adopt);
        stage.settle(&name).await;
        assert_eq!(
            stage.told(&name, READY).await,
            "True Available",
            "{row}: {}",
            stage.words(&name, READY).await
        );
        assert!(stage.gets_in(HOST, &stage.login(&name).await).await, "{row}");
        stage.gone(&name).await;
        let left = [stage.fake.databases(&place), stage.fake.roles(&place)].concat();
        let kept = if add { "shop" } else { "shop_a" };
        assert!(left.contains(&kept.to_owned()), "{row}: what was adopted stays: {left:?}");
    }
}

#[tokio::test]
async fn nobody_becomes_an_administrator_by_adopting_one() {
    let adopt = STATIC.replace("athena-master", "athena-master\n  adoptExisting: true");
    let stage = Stage::new(&adopt).await;
    let boss = server(HOST).user;
    let name = stage.make("shop", with(json!({ "instanceLabel": "athena", "userName": boss }))).await;
    stage.settle(&name).await;
    assert_eq!(stage.told(&name, READY).await, "False NotOurs");
    assert!(stage.words(&name, READY).await.contains("not adopted"));
    let roles = stage.fake.roles(&server(HOST));
    assert!(!roles.contains(&format!("{boss}_a")), "nobody stands for {boss}: {roles:?}");
}
