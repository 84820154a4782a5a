//! HTTPS with certificates of the platform's own authority.

use std::time::Duration;

use serde_json::Value;

use crate::platform::{Platform, root, until};

/// How long a certificate takes at most.
const SOON: Duration = Duration::from_secs(30);

#[test]
fn an_application_answers_over_https_with_a_certificate_that_verifies() {
    let platform = Platform::start(&["--https-port", "0"]);
    let folder = root().join("examples/apps/static").display().to_string();
    let url = platform.terrace(&["deploy", &folder, "--name", "safe"]).ok();
    let url = url.trim();
    let port = url.strip_prefix("https://safe.localhost:").unwrap_or_else(|| panic!("not https: {url}"));
    let ca = until(SOON, "the certificate's Secret", || certificate(&platform));
    let file = platform.path().join("here/ca.crt");
    std::fs::write(&file, ca).expect("the file is written");

    let resolve = format!("safe.localhost:{port}:127.0.0.1");
    let fetch = ["-sS", "--noproxy", "*", "--max-time", "10", "--resolve", &resolve];
    let with_ca = [&fetch[..], &["--cacert", "ca.crt", url]].concat();
    let page = platform.run("curl", &with_ca).ok();
    assert!(page.contains("Hello from static files"), "{page}");
    let stranger = platform.run("curl", &[&fetch[..], &[url]].concat());
    assert_eq!(stranger.code, Some(60), "nobody else vouches for it: {stranger:?}");

    let plain = platform.get("safe.localhost", "/style.css?v=1");
    assert!((301..=308).contains(&plain.status), "{plain:?}");
    let target = format!("location: {url}/style.css?v=1").to_lowercase();
    assert!(plain.text.to_lowercase().contains(&target), "{plain:?}");
    platform.stop();
}

/// The certificate of the authority, as it stands in the application's Secret.
fn certificate(platform: &Platform) -> Option<String> {
    let told = platform.kubectl(&["get", "secrets", "-o", "json"]).ok();
    let told: Value = serde_json::from_str(&told).expect("is JSON");
    let secrets = told["items"].as_array()?;
    let encoded = secrets.iter().find_map(|secret| secret["data"]["ca.crt"].as_str())?;
    let file = platform.path().join("here/ca.base64");
    std::fs::write(&file, encoded).expect("the file is written");
    Some(platform.run("base64", &["-d", "ca.base64"]).ok())
}
