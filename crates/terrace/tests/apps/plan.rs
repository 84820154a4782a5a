//! `terrace plan`: what would be done, field by field, and nothing is.

use serde_json::{Value, json};

use crate::platform::{Platform, root};

#[test]
fn a_plan_tells_everything_and_does_nothing() {
    let platform = Platform::start(&[]);
    let folder = root().join("examples/apps/static").display().to_string();
    let told = platform.terrace(&["deploy", &folder, "--name", "site", "-o", "json"]).ok();
    let told: Value = serde_json::from_str(&told).expect("is JSON");
    let image = told["image"].as_str().expect("the image is named");
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "tokens", "namespace": "default" },
        "stringData": { "site": "open-sesame" },
    });
    let app = json!({
        "apiVersion": "iaf.io/v1alpha1", "kind": "Application",
        "metadata": { "name": "shop", "namespace": "default" },
        "spec": {
            "image": image, "port": 3000,
            "env": [{ "name": "TOKEN", "secretKeyRef": { "name": "tokens", "key": "site" } }],
        },
    });
    let file = platform.path().join("here/all.json");
    let all = json!({ "apiVersion": "v1", "kind": "List", "items": [secret, app] });
    std::fs::write(&file, all.to_string()).expect("the file is written");

    let text = platform.terrace(&["plan", "-f", "all.json"]).ends_with(2);
    for word in [
        "+ Application default/shop (new)",
        "Deployment default/shop",
        "Service default/shop",
        "3000",
        &image[..60],
    ] {
        assert!(text.contains(word), "{word} is not told: {text}");
    }
    let rows = platform.terrace(&["plan", "-f", "all.json", "-o", "json"]);
    assert_eq!(rows.code, Some(2), "{rows:?}");
    let encoded = "b3Blbi1zZXNhbWU";
    for told in [&text, &rows.out] {
        assert!(!told.contains("open-sesame") && !told.contains(encoded), "the Secret is told: {told}");
    }
    let rows: Value = serde_json::from_str(&rows.out).expect("is JSON");
    assert_eq!(rows[1]["object"], "Application default/shop");
    assert_eq!(rows[1]["new"], true);
    assert!(rows[1]["draft"]["steps"].as_array().is_some_and(|steps| steps.len() >= 3), "{rows}");
    platform.kubectl(&["get", "application", "shop"]).ends_with(1);

    platform.kubectl(&["apply", "--server-side", "-f", "all.json"]).ok();
    platform.kubectl(&["wait", "application/shop", "--for=condition=Ready", "--timeout=60s"]).ok();
    let text = platform.terrace(&["plan", "-f", "all.json"]).ends_with(0);
    assert!(text.contains("nothing to do"), "{text}");

    changes(&platform, &app);
    refuses(&platform, &app);
    platform.stop();
}

/// A change is told as such, from what to what.
fn changes(platform: &Platform, app: &Value) {
    let mut changed = app.clone();
    changed["spec"]["replicas"] = 2.into();
    write(platform, &changed);
    let text = platform.terrace(&["plan", "-f", "one.json"]).ends_with(2);
    assert!(text.contains("spec.replicas: 1 → 2"), "{text}");
    assert_eq!(platform.object("default", "deployment", "shop")["spec"]["replicas"], 1, "nothing was done");
}

/// What cannot be is said, and by whom.
fn refuses(platform: &Platform, app: &Value) {
    let mut other = app.clone();
    other["metadata"]["name"] = "thief".into();
    other["spec"]["host"] = "site.localhost".into();
    write(platform, &other);
    let told = platform.terrace(&["plan", "-f", "one.json"]).ends_with(1);
    assert!(told.contains("site.localhost") && told.contains("default/site"), "{told}");
    let mut two = app.clone();
    two["spec"]["blob"] = "https://example.com/shop.tgz".into();
    write(platform, &two);
    let told = platform.terrace(&["plan", "-f", "one.json"]).ends_with(1);
    assert!(told.contains("image") && told.contains("blob"), "{told}");
}

fn write(platform: &Platform, object: &Value) {
    let file = platform.path().join("here/one.json");
    std::fs::write(file, object.to_string()).expect("the file is written");
}
