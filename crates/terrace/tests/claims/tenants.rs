//! Two teams with claims on one server.

use serde_json::{Value, json};

use crate::claim::{
    SYSTEM, apply, clusters, condition, connect, key, login, manifest, ready, system, unready, until,
};
use crate::platform::Platform;

/// A kubeconfig of somebody who may do everything in one namespace, and nothing elsewhere.
fn tenant(platform: &Platform, namespace: &str) -> String {
    platform.kubectl(&["create", "namespace", namespace]);
    platform.kubectl(&["-n", namespace, "create", "serviceaccount", "dev"]);
    let account = format!("--serviceaccount={namespace}:dev");
    platform.kubectl(&["-n", namespace, "create", "role", "dev", "--verb=*", "--resource=*.*"]);
    platform.kubectl(&["-n", namespace, "create", "rolebinding", "dev", "--role=dev", &account]);
    let token = platform.kubectl(&["-n", namespace, "create", "token", "dev"]);
    let admin = std::fs::read_to_string(platform.data().join("kubeconfig")).expect("the administrator's");
    let line = |key: &str| {
        let found = admin.lines().find_map(|line| line.trim().strip_prefix(key));
        found.expect("kubeconfigs have it").trim().trim_matches('"').to_owned()
    };
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "own",
        "clusters": [{ "name": "own", "cluster": {
            "server": line("server:"), "certificate-authority-data": line("certificate-authority-data:") } }],
        "users": [{ "name": "own", "user": { "token": token.trim() } }],
        "contexts": [{ "name": "own", "context": { "cluster": "own", "user": "own", "namespace": namespace } }],
    });
    let file = platform.path().join(format!("{namespace}.kubeconfig"));
    std::fs::write(&file, config.to_string()).expect("a file");
    file.display().to_string()
}

/// kubectl with somebody's own token.
fn kubectl(platform: &Platform, config: &str, words: &[&str]) -> (bool, String) {
    let output = platform.command("kubectl").env("KUBECONFIG", config).args(words).output();
    let output = output.expect("kubectl is there");
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

/// A claim whose source is a Secret of some namespace.
fn borrowing(name: &str, namespace: &str, secret: &str) -> Value {
    let source = json!({ "type": "database", "database": { "secretRef": { "name": secret, "namespace": namespace } } });
    manifest(name, &json!({ "useExistingSource": true, "sourceDataFrom": source }))
}

#[test]
fn two_tenants_on_one_server_neither_see_nor_enter_each_others_databases() {
    let mut platform = Platform::start(&[]);
    let home = platform.namespace.clone();
    let (a, b) = (format!("{home}-a"), format!("{home}-b"));
    let (own, other) = (tenant(&platform, &a), tenant(&platform, &b));
    let shared = json!({ "instanceLabel": "shared" });
    platform.namespace.clone_from(&a);
    apply(&platform, "orders", &shared);
    ready(&platform, "orders");
    login(&platform, "orders").ask("create table secrets (n int)").expect("the owner may");
    platform.namespace.clone_from(&b);
    apply(&platform, "bills", &shared);
    ready(&platform, "bills");
    let cluster = clusters(&platform);
    assert_eq!(cluster.len(), 1, "they share a server: {cluster:?}");
    objects_are_not_seen(&platform, [&a, &b], [&own, &other], &cluster[0]);
    databases_are_not_entered(&platform);
    names_are_not_taken(&platform, &a);
    secrets_are_not_borrowed(&platform, &own, &a, &cluster[0]);
    // A team that goes takes its claims along, and nothing of anybody else's.
    let before = system(&platform, "databaseclaims").len();
    platform.kubectl(&["delete", "namespace", &a, "--timeout=60s"]);
    let held = system(&platform, "databaseclaims");
    assert_eq!(held.len(), before + 1, "its database is kept for a while: {held:?}");
    login(&platform, "bills").ask("select 1").expect("it answers");
    platform.namespace = home;
    platform.stop("-TERM");
}

fn objects_are_not_seen(platform: &Platform, [a, b]: [&str; 2], [own, other]: [&str; 2], cluster: &str) {
    for words in [
        &["get", "dbc"][..],
        &["get", "dbc", "orders"],
        &["get", "secret", "orders"],
        &["annotate", "dbc", "orders", "mine=yes"],
    ] {
        let all = [words, &["-n", a]].concat();
        let (may, said) = kubectl(platform, own, &all);
        assert!(may, "{words:?}: {said}");
        let (may, said) = kubectl(platform, other, &all);
        assert!(!may && said.contains("forbidden"), "{words:?}: {said}");
    }
    let (may, said) = kubectl(platform, other, &["delete", "dbc", "orders", "--wait=false", "-n", a]);
    assert!(!may && said.contains("forbidden"), "{said}");
    // Nor what both of them are served with.
    let superuser = format!("{cluster}-superuser");
    for words in [
        &["get", "secret", &superuser][..],
        &["get", "secrets"],
        &["get", "dbc"],
        &["get", "clusters.postgresql.cnpg.io"],
    ] {
        for config in [own, other] {
            let (may, said) = kubectl(platform, config, &[words, &["-n", SYSTEM]].concat());
            assert!(!may && said.contains("forbidden"), "{words:?}: {said}");
        }
    }
    for words in [
        &["db", "list", "-n", a][..],
        &["db", "list", "-A"],
        &["db", "status", "orders", "-n", a],
        &["db", "dsn", "orders", "-n", a],
        &["db", "rotate", "orders", "--no-wait", "-n", a],
    ] {
        let (code, said) = platform.terrace(&[words, &["--kubeconfig", other]].concat());
        assert!(code == 1 && said.contains("forbidden"), "{words:?}: {code}: {said}");
    }
    let (code, said) = platform.terrace(&["db", "status", "orders", "-n", b, "--kubeconfig", other]);
    assert!(code == 1 && !said.contains("forbidden"), "there is none of that name: {said}");
}

fn databases_are_not_entered(platform: &Platform) {
    let uri = key(platform, "bills", "uri_dsn.txt");
    let refused = connect(&uri.replace("/bills?", "/orders?")).err().expect("it is somebody else's");
    assert!(refused.contains("permission denied for database"), "{refused}");
    let sql = login(platform, "bills");
    for question in
        ["set role orders", "set role postgres", "alter role orders_a password 'mine'", "create role mine"]
    {
        let refused = sql.ask(question).expect_err(question);
        assert!(refused.contains("permission denied"), "{question}: {refused}");
    }
}

/// The name of another's database, of its owner or of its logins is not to be had; nor is what was held for them.
fn names_are_not_taken(platform: &Platform, a: &str) {
    for (name, spec) in [
        ("thief", json!({ "instanceLabel": "shared", "databaseName": "orders", "userName": "thief" })),
        ("double", json!({ "instanceLabel": "shared", "databaseName": "double", "userName": "orders" })),
        ("login", json!({ "instanceLabel": "shared", "databaseName": "login", "userName": "orders_a" })),
        ("rooter", json!({ "instanceLabel": "shared", "databaseName": "postgres", "userName": "rooter" })),
        ("rooted", json!({ "instanceLabel": "shared", "databaseName": "rooted", "userName": "postgres" })),
    ] {
        apply(platform, name, &spec);
        let said = unready(platform, name, "NotOurs");
        assert!(said.contains("was not made by this claim and is left alone"), "{name}: {said}");
        assert!(platform.object("secret", name).is_null(), "{name} has no login");
    }
    let mut forged = manifest("forged", &json!({ "instanceLabel": "shared" }));
    forged["metadata"]["annotations"] =
        json!({ "terrace.dev/held-for": format!("{a}/orders"), "terrace.dev/held-as": "orders" });
    platform.try_apply_object(&forged).expect("anybody may annotate their own");
    ready(platform, "forged");
    platform.kubectl(&[
        "delete",
        "dbc",
        "forged",
        "thief",
        "double",
        "login",
        "rooter",
        "rooted",
        "--timeout=60s",
    ]);
}

fn secrets_are_not_borrowed(platform: &Platform, own: &str, a: &str, cluster: &str) {
    let superuser = format!("{cluster}-superuser");
    for (name, namespace, secret) in
        [("robber", a, "orders"), ("rooter", SYSTEM, superuser.as_str()), ("guesser", a, "nothing")]
    {
        platform.try_apply_object(&borrowing(name, namespace, secret)).expect("anybody may ask");
        let said = unready(platform, name, "ConsentMissing");
        assert!(said.contains(&format!("{namespace}/{secret}")), "{name}: {said}");
        assert!(!said.contains("exist"), "nobody learns what there is: {said}");
    }
    // The owner may agree. The login that they then lend may not make others, and that is told.
    let consent = format!("terrace.dev/allow-from={}", platform.namespace);
    let (may, said) = kubectl(platform, own, &["-n", a, "annotate", "secret", "orders", &consent]);
    assert!(may, "{said}");
    let claim = until(platform, "robber", "to use what it was lent", |claim| {
        let [_, reason, _] = condition(claim, "Ready");
        !["ConsentMissing", ""].contains(&reason.as_str())
    });
    assert_eq!(condition(&claim, "Ready")[1], "PermissionMissing", "{claim}");
}
