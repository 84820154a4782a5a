//! Tokens on a control plane: what is kept of them, and what goes with them.

use std::time::Duration;

use agents::identity::{Kept, Role, mint};
use control_plane::{Config, ControlPlane};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::ResourceExt;
use kube::api::{Api, PostParams};
use serde_json::json;
use tempfile::TempDir;

use super::create::{days, keep, name};
use super::list::described;
use super::revoke::revoke;
use super::{all, make};

#[test]
fn a_token_has_a_name_and_an_end_that_can_be_read() {
    let long = "a".repeat(41);
    let names =
        [("builder", true), ("ci-2", true), ("", false), ("Builder", false), ("a_b", false), (&*long, false)];
    for (text, want) in names {
        assert_eq!(name(text).is_ok(), want, "{text}");
    }
    let spans = [
        ("30d", Some(2_592_000)),
        ("12h", Some(43_200)),
        ("0d", None),
        ("x", None),
        ("-1h", None),
        ("", None),
    ];
    for (text, want) in spans {
        assert_eq!(days(text).ok(), want.map(Duration::from_secs), "{text}");
    }
}

#[tokio::test]
async fn a_token_is_kept_as_a_digest_and_goes_with_its_rights() {
    let dir = TempDir::new().expect("a directory");
    let config = Config { dir: Some(dir.path().to_owned()), logs: None };
    let plane = ControlPlane::open(config).await.expect("opens");
    let client = plane.client();
    agents::identity::rights::install(&client).await.expect("rights");
    let plain = make(&client, "builder", Role::Session).await.expect("is made");
    assert!(plain.starts_with("trc_"));
    let again = make(&client, "builder", Role::Admin).await.expect_err("the name is taken");
    assert!(again.to_string().contains("there is a token builder already"), "{again}");

    let namespaces: Api<Namespace> = Api::all(client.clone());
    let session = json!({ "metadata": {
        "name": "iaf-1", "labels": { "terrace.dev/session": "true" },
        "annotations": { "terrace.dev/session-owner": agents::identity::Presented::new(&plain).fingerprint() },
    } });
    for object in [json!({ "metadata": { "name": "shop" } }), session] {
        let object = serde_json::from_value(object).expect("a namespace");
        namespaces.create(&PostParams::default(), &object).await.expect("is created");
    }
    let (scoped, digest) = mint();
    let mut kept = Kept {
        name: "ci".into(),
        role: Role::Session,
        digest,
        expires: None,
        namespaces: vec!["nowhere".into()],
    };
    let missing = keep(&client, &kept).await.expect_err("the namespace is not there");
    assert!(missing.to_string().contains("there is no namespace nowhere"), "{missing}");
    kept.namespaces = vec!["shop".into()];
    keep(&client, &kept).await.expect("is kept");
    let bindings: Api<RoleBinding> = Api::namespaced(client.clone(), "shop");
    let binding = format!("terrace-agent-{}", kept.caller().fingerprint);
    let bound = bindings.get(&binding).await.expect("has its rights");
    assert_eq!(bound.role_ref.name, "terrace-agent-tenant");

    let found = all(&client).await.expect("lists");
    let names: Vec<&str> = found.iter().map(|(kept, _)| kept.name.as_str()).collect();
    assert_eq!(names, ["builder", "ci"]);
    for (kept, secret) in &found {
        let shown = described(kept, secret).to_string();
        assert!(!shown.contains(&kept.digest), "{shown}");
        let whole = serde_json::to_string(&secret).expect("JSON");
        let bytes: Vec<u8> = secret.data.iter().flatten().flat_map(|(_, value)| value.0.clone()).collect();
        let whole = whole + &String::from_utf8_lossy(&bytes);
        assert!(!whole.contains(&plain[4..]) && !whole.contains(&scoped[4..]));
    }
    let left = revoke(&client, &found[0].0, &found[0].1.name_any()).await.expect("is revoked");
    assert_eq!(left, ["1"]);
    revoke(&client, &found[1].0, &found[1].1.name_any()).await.expect("is revoked");
    assert!(bindings.get_opt(&binding).await.expect("answers").is_none());
    assert!(all(&client).await.expect("lists").is_empty());
    plane.close().await;
    assert_eq!(holding(dir.path(), &[&plain[4..], &scoped[4..]]), 0, "no file of the store holds a token");
    assert!(holding(dir.path(), &["agent-token-builder"]) > 0, "but its Secret is there");
}

/// How many files below a directory hold one of these texts.
fn holding(dir: &std::path::Path, texts: &[&str]) -> usize {
    let mut count = 0;
    for entry in std::fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            count += holding(&path, texts);
            continue;
        }
        let bytes = std::fs::read(&path).expect("a file");
        let text = String::from_utf8_lossy(&bytes);
        count += usize::from(texts.iter().any(|part| text.contains(part)));
    }
    count
}
