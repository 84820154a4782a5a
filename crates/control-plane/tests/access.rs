//! Who may do what: tokens, certificates, impersonation, tenants against each other.

mod harness;

use control_plane::wire::{Identified, Mounted, Upload, full};
use harness::{Asker, CONFIGS, House, config};
use http::Method;
use http_body_util::BodyExt;
use serde_json::{Value, json};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// Two tenants, each with an account that may do everything in its own namespace.
async fn tenants(admin: &Asker) {
    for name in ["red", "blue"] {
        admin.made("/api/v1/namespaces", &json!({ "metadata": { "name": name } })).await;
        admin
            .made(
                &format!("/api/v1/namespaces/{name}/serviceaccounts"),
                &json!({ "metadata": { "name": "robot" } }),
            )
            .await;
        let binding = json!({
            "metadata": { "name": "robot" },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin" },
            "subjects": [{ "kind": "ServiceAccount", "name": "robot", "namespace": name }],
        });
        admin.made(&format!("{RBAC}/namespaces/{name}/rolebindings"), &binding).await;
        admin
            .made(
                &format!("/api/v1/namespaces/{name}/secrets"),
                &json!({ "metadata": { "name": "s" }, "stringData": { "p": name } }),
            )
            .await;
    }
}

async fn token(admin: &Asker, namespace: &str, spec: Value) -> String {
    let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/robot/token");
    let reply = admin.post(&path, &json!({ "spec": spec })).await;
    assert_eq!(reply.code, 201, "{}", reply.text);
    reply.json()["status"]["token"].as_str().expect("is text").to_owned()
}

#[tokio::test]
async fn tenants_cannot_reach_each_other() {
    let house = House::new().await;
    let admin = house.admin();
    tenants(&admin).await;
    let red = house.with_token(&token(&admin, "red", json!({})).await);
    assert_eq!(red.get("/api/v1/namespaces/red/secrets/s").await.code, 200);
    let elsewhere = [
        (Method::GET, "/api/v1/namespaces/blue/secrets/s"),
        (Method::GET, "/api/v1/namespaces/blue/secrets"),
        (Method::GET, "/api/v1/secrets"),
        (Method::GET, "/api/v1/namespaces/blue/secrets?watch=1"),
        (Method::GET, "/api/v1/watch/namespaces/blue/secrets"),
        (Method::DELETE, "/api/v1/namespaces/blue/secrets/s"),
        (Method::DELETE, "/api/v1/namespaces/blue/secrets"),
        (Method::PATCH, "/api/v1/namespaces/blue/secrets/s"),
        (Method::PUT, "/api/v1/namespaces/blue/secrets/s"),
        (Method::POST, "/api/v1/namespaces/blue/secrets"),
        (Method::POST, "/api/v1/namespaces/blue/serviceaccounts/robot/token"),
        (Method::DELETE, "/api/v1/namespaces/blue"),
        (Method::GET, "/api/v1/namespaces"),
        (Method::GET, "/apis/rbac.authorization.k8s.io/v1/clusterroles"),
        (Method::POST, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"),
        (Method::GET, "/metrics"),
    ];
    for (method, path) in elsewhere {
        let reply = red.ask(method.clone(), path, "application/merge-patch+json", "{}").await;
        assert_eq!(reply.told(), "403 Forbidden", "{method} {path}: {}", reply.text);
    }
    assert_eq!(admin.get("/api/v1/namespaces/blue/secrets/s").await.code, 200, "nothing was touched");
}

#[tokio::test]
async fn nobody_hands_out_rights_they_do_not_hold() {
    let house = House::new().await;
    let admin = house.admin();
    tenants(&admin).await;
    let red = house.with_token(&token(&admin, "red", json!({})).await);
    let roles = format!("{RBAC}/namespaces/red/roles");
    let wide = json!({ "metadata": { "name": "wide" }, "rules": [{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }] });
    let reply = red.post(&roles, &wide).await;
    assert_eq!(reply.told(), "403 Forbidden");
    assert!(reply.text.contains("attempting to grant RBAC permissions not currently held"), "{}", reply.text);
    let narrow = json!({ "metadata": { "name": "narrow" }, "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }] });
    assert_eq!(red.post(&roles, &narrow).await.code, 201);
    let binding = json!({
        "metadata": { "name": "up" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" },
        "subjects": [{ "kind": "ServiceAccount", "name": "robot", "namespace": "red" }],
    });
    assert_eq!(
        red.post(&format!("{RBAC}/namespaces/red/rolebindings"), &binding).await.told(),
        "403 Forbidden"
    );
}

#[tokio::test]
async fn a_token_is_only_good_while_it_should_be() {
    let house = House::new().await;
    let admin = house.admin();
    tenants(&admin).await;
    let secrets = "/api/v1/namespaces/red/secrets";
    let good = token(&admin, "red", json!({})).await;
    let foreign = token(&admin, "red", json!({ "audiences": ["vault"] })).await;
    let (head, tail) = good.split_at(good.len() - 10);
    let other = if tail.starts_with('A') { 'B' } else { 'A' };
    let tampered = format!("{head}{other}{}", &tail[1..]);
    let unsigned = {
        let mut parts = good.split('.');
        let (_, claims) = (parts.next(), parts.next().expect("has claims"));
        format!("eyJhbGciOiJub25lIn0.{claims}.")
    };
    assert_eq!(house.with_token(&good).get(secrets).await.code, 200);
    let cut = good[..20].to_owned();
    for (what, bad) in [
        ("for another", foreign),
        ("tampered", tampered),
        ("unsigned", unsigned),
        ("cut", cut),
        ("empty", String::new()),
    ] {
        assert_eq!(house.with_token(&bad).get(secrets).await.told(), "401 Unauthorized", "{what}");
    }
    let pod =
        json!({ "metadata": { "name": "p" }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    admin.until("/api/v1/namespaces/red/serviceaccounts", "default", |found| found.is_some()).await;
    admin.made("/api/v1/namespaces/red/pods", &pod).await;
    let bound =
        token(&admin, "red", json!({ "boundObjectRef": { "kind": "Pod", "apiVersion": "v1", "name": "p" } }))
            .await;
    assert_eq!(house.with_token(&bound).get(secrets).await.code, 200);
    admin.delete("/api/v1/namespaces/red/pods/p", &json!({})).await;
    assert_eq!(house.with_token(&bound).get(secrets).await.told(), "401 Unauthorized", "its pod is gone");
    admin.delete("/api/v1/namespaces/red/serviceaccounts/robot", &json!({})).await;
    assert_eq!(house.with_token(&good).get(secrets).await.told(), "401 Unauthorized", "its account is gone");
}

#[tokio::test]
async fn without_credentials_only_the_doorstep_is_open() {
    let house = House::new().await;
    let nobody = house.nobody();
    for page in ["/healthz", "/livez", "/readyz", "/version"] {
        assert_eq!(nobody.get(page).await.code, 200, "{page}");
    }
    assert_eq!(nobody.get(CONFIGS).await.told(), "403 Forbidden");
}

#[tokio::test]
async fn reviews_tell_what_rights_say() {
    let house = House::new().await;
    let admin = house.admin();
    tenants(&admin).await;
    let red = house.with_token(&token(&admin, "red", json!({})).await);
    let ask = |namespace: &str| json!({ "spec": { "resourceAttributes": { "verb": "delete", "resource": "secrets", "namespace": namespace } } });
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    assert_eq!(red.post(path, &ask("red")).await.json()["status"]["allowed"], true);
    assert_eq!(red.post(path, &ask("blue")).await.json()["status"]["allowed"], false);
    let who = red.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", &json!({})).await.json();
    assert_eq!(who["status"]["userInfo"]["username"], "system:serviceaccount:red:robot");
    let rules = red
        .post(
            "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
            &json!({ "spec": { "namespace": "red" } }),
        )
        .await;
    assert!(!rules.json()["status"]["resourceRules"].as_array().expect("is a list").is_empty());
    let review = json!({ "spec": { "token": token(&admin, "red", json!({})).await } });
    let known = admin.post("/apis/authentication.k8s.io/v1/tokenreviews", &review).await.json();
    assert_eq!(
        (&known["status"]["authenticated"], &known["status"]["user"]["username"]),
        (&json!(true), &json!("system:serviceaccount:red:robot"))
    );
}

#[tokio::test]
async fn a_changed_right_counts_at_once() {
    let house = House::new().await;
    let admin = house.admin();
    let alice = house.as_user("alice", &[]);
    assert_eq!(alice.get(CONFIGS).await.told(), "403 Forbidden");
    let binding = json!({
        "metadata": { "name": "alice" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view" },
        "subjects": [{ "kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "alice" }],
    });
    admin.made(&format!("{RBAC}/namespaces/default/rolebindings"), &binding).await;
    assert_eq!(alice.get(CONFIGS).await.code, 200);
    assert_eq!(alice.post(CONFIGS, &config("a")).await.told(), "403 Forbidden");
    assert_eq!(
        alice.get("/api/v1/namespaces/default/secrets").await.told(),
        "403 Forbidden",
        "view shows no secrets"
    );
    admin.delete(&format!("{RBAC}/namespaces/default/rolebindings/alice"), &json!({})).await;
    assert_eq!(alice.get(CONFIGS).await.told(), "403 Forbidden");
}

#[tokio::test]
async fn a_right_counts_even_if_whoever_wrote_it_hung_up() {
    let house = House::new().await;
    let admin = house.admin();
    let bindings = format!("{RBAC}/namespaces/default/rolebindings");
    let mut hung_up = 0;
    // A write that the store answers at once cannot be hung up on; then another is tried.
    for n in 0..1000 {
        let name = format!("user-{n}");
        let user = house.as_user(&name, &[]);
        assert_eq!(user.get(CONFIGS).await.told(), "403 Forbidden");
        let binding = json!({
            "metadata": { "name": name },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view" },
            "subjects": [{ "kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": name }],
        });
        {
            let write = std::pin::pin!(admin.post(&bindings, &binding));
            hung_up += usize::from(futures::poll!(write).is_pending());
        }
        admin.until(&bindings, &name, |found| found.is_some()).await;
        let counts = async {
            while user.get(CONFIGS).await.code != 200 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(harness::PATIENCE, counts).await.expect("the right counts");
        if hung_up == 3 {
            return;
        }
    }
    panic!("no write was slow enough to hang up on");
}

#[tokio::test]
async fn a_mounted_service_is_told_who_asks_and_decides_itself() {
    let house = House::new().await;
    let told = tower::service_fn(|request: http::Request<Upload>| async move {
        let user = request.extensions().get::<Identified>().expect("is told").0.name.clone();
        let body = request.into_body().collect().await.map_or(0, |body| body.to_bytes().len());
        Ok(http::Response::new(full(format!("{user} sent {body}").into())))
    });
    house.plane.mount("/beside/v1/", Mounted::new(told));
    let large = vec![b'x'; 4 << 20];
    let put = |asker: Asker, path: &'static str| {
        let large = large.clone();
        async move { asker.ask(Method::PUT, path, "", large).await.text }
    };
    assert_eq!(put(house.as_user("ann", &[]), "/beside/v1/a").await, "ann sent 4194304");
    assert_eq!(put(house.nobody(), "/beside/v1/a").await, "system:anonymous sent 4194304");
    assert!(put(house.as_user("ann", &[]), "/beside/v2").await.contains("Forbidden"));
    assert_eq!(house.with_token("nonsense").get("/beside/v1/a").await.told(), "401 Unauthorized");
}
