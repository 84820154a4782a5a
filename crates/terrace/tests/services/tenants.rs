//! Two teams on one platform.

use serde_json::json;

use crate::platform::Platform;
use crate::service::{create, ready};

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

#[test]
fn two_tenants_neither_see_nor_bind_each_others_services() {
    let mut platform = Platform::start(&[]);
    let (a, b) = (format!("{}-a", platform.namespace), format!("{}-b", platform.namespace));
    let (own, other) = (tenant(&platform, &a), tenant(&platform, &b));
    let home = std::mem::replace(&mut platform.namespace, a.clone());
    create(&platform, "db", "micro");
    ready(&platform, "db");
    let site = platform.path().join("site");
    std::fs::create_dir(&site).expect("a directory");
    std::fs::write(site.join("index.html"), "hello").expect("a file");
    platform.deploy(&site, "web", &["-n", &b]);
    // Each with their own token: the owner may, the neighbour may not.
    let kubectl = |config: &str, words: &[&str]| {
        let output =
            platform.command("kubectl").env("KUBECONFIG", config).args(["-n", &a]).args(words).output();
        let output = output.expect("kubectl is there");
        (
            output.status.success(),
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned(),
        )
    };
    for words in [
        &["get", "managedservices"][..],
        &["get", "managedservice", "db"],
        &["get", "secret", "db-app"],
        &["get", "clusters.postgresql.cnpg.io"],
        &["annotate", "managedservice", "db", "mine=yes"],
    ] {
        let (may, said) = kubectl(&own, words);
        assert!(may, "{words:?}: {said}");
        let (may, said) = kubectl(&other, words);
        assert!(!may && said.contains("forbidden"), "{words:?}: {said}");
    }
    let (may, said) = kubectl(&other, &["delete", "managedservice", "db", "--wait=false"]);
    assert!(!may && said.contains("forbidden"), "{said}");
    for words in [
        &["service", "list", "-n", &a][..],
        &["service", "list", "-A"],
        &["service", "status", "db", "-n", &a],
        &["service", "bind", "db", "web", "-n", &a],
        &["service", "unbind", "db", "web", "-n", &a],
        &["service", "delete", "db", "--yes", "-n", &a],
        &["service", "backup", "db", "-n", &a],
    ] {
        let mut all = words.to_vec();
        all.extend(["--kubeconfig", &other]);
        let (code, said) = platform.terrace(&all);
        assert_eq!(code, 1, "{words:?}: {said}");
        assert!(said.contains("forbidden"), "{words:?}: {said}");
    }
    // In their own namespace there is no such service, whatever it is called.
    let (code, said) = platform.terrace(&["service", "bind", "db", "web", "-n", &b, "--kubeconfig", &other]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("there is no managed service db"), "{said}");
    let (code, said) = platform.terrace(&["service", "status", "db", "-n", &a, "--kubeconfig", &own]);
    assert_eq!(code, 0, "the owner sees it: {said}");
    platform.namespace = home;
    platform.stop("-TERM");
}
