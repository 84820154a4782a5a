//! One contract for registries in memory and real ones, and what only a crooked registry does.

mod scripted;
mod server;

use ports::oci::{Error, Fake, Live, Login, Oci, Registry, digest_of};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

fn registry(host: &str, login: Option<(&str, &str)>) -> Registry {
    let mut registry = Registry::parse(&format!("{host}/team"), true).expect("an address");
    registry.login = login.map(|(username, password)| Login {
        username: username.into(),
        password: password.to_owned().into(),
    });
    registry
}

fn manifest_of(digest: &str, size: usize) -> String {
    format!(
        r#"{{"schemaVersion":2,"mediaType":"{MANIFEST}","config":{{"mediaType":"text/plain","digest":"{digest}","size":{size}}},"layers":[]}}"#
    )
}

/// What holds of every registry: `team/shop` has the blob `hello` and a manifest of it under two tags.
async fn contract(oci: &impl Oci, asks: &Registry) {
    let hello = digest_of(b"hello");
    let manifest = manifest_of(&hello, 5);
    oci.knock(asks).await.expect("it lets us in");
    let mut tags = oci.tags(asks, "shop").await.expect("it answers").expect("the repository is there");
    tags.sort();
    assert_eq!(tags, ["1.0.0", "1.1.0"]);
    assert_eq!(oci.tags(asks, "none").await.expect("it answers"), None);
    let found = oci.manifest(asks, "shop", "1.0.0").await.expect("it answers").expect("it is there");
    assert_eq!((found.media_type.as_str(), &found.bytes[..]), (MANIFEST, manifest.as_bytes()));
    assert_eq!(found.digest, digest_of(manifest.as_bytes()));
    let again = oci.manifest(asks, "shop", &found.digest).await.expect("it answers");
    assert_eq!(again, Some(found));
    assert_eq!(oci.manifest(asks, "shop", "2.0.0").await.expect("it answers"), None);
    assert_eq!(&oci.blob(asks, "shop", &hello, 5).await.expect("it is there")[..], b"hello");
    let large = oci.blob(asks, "shop", &hello, 4).await.expect_err("it is too large");
    assert!(matches!(large, Error::TooLarge { most: 4, .. }), "{large}");
    let gone = oci.blob(asks, "shop", &digest_of(b"else"), 9).await.expect_err("it is not there");
    assert!(matches!(gone, Error::Missing { .. }), "{gone}");
    for (repository, reference) in [("../shop", "1.0.0"), ("shop", "a/b"), ("Shop", "1.0.0")] {
        let refused = oci.manifest(asks, repository, reference).await.expect_err("no such name can be");
        assert!(matches!(refused, Error::Invalid { .. }), "{refused}");
    }
}

/// What holds of every registry with a login.
async fn locked(oci: &impl Oci, host: &str) {
    contract(oci, &registry(host, Some(("ann", "hunter2")))).await;
    for login in [None, Some(("ann", "wrong")), Some(("bob", "hunter2"))] {
        let asks = registry(host, login);
        let refused = oci.knock(&asks).await.expect_err("nobody else is let in");
        assert_eq!(refused, Error::Denied { registry: host.to_owned() });
        assert!(oci.tags(&asks, "shop").await.is_err());
    }
}

fn filled_fake() -> Fake {
    let fake = Fake::default();
    let digest = fake.put_blob("fake.example", "team/shop", "hello");
    for tag in ["1.0.0", "1.1.0"] {
        fake.put_manifest("fake.example", "team/shop", tag, (MANIFEST, manifest_of(&digest, 5)));
    }
    fake
}

async fn filled_server(locked: bool) -> server::Server {
    let server = server::Server::start(locked);
    let digest = server.put_blob("team/shop", b"hello").await;
    let manifest = manifest_of(&digest, 5);
    for tag in ["1.0.0", "1.1.0"] {
        server.put_manifest("team/shop", tag, (MANIFEST, manifest.as_bytes())).await;
    }
    server
}

#[tokio::test]
async fn a_registry_in_memory_keeps_the_contract() {
    let fake = filled_fake();
    contract(&fake, &registry("fake.example", None)).await;
    fake.lock("fake.example", "ann", "hunter2");
    locked(&fake, "fake.example").await;
}

#[tokio::test]
async fn a_real_registry_keeps_the_contract() {
    let server = filled_server(false).await;
    contract(&Live::new().expect("a client"), &registry(&server.host, None)).await;
}

#[tokio::test]
async fn a_real_registry_with_passwords_keeps_the_contract() {
    let server = filled_server(true).await;
    locked(&Live::new().expect("a client"), &server.host).await;
}
