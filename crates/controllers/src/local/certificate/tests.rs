use std::sync::Arc;
use std::time::Duration;

use api::foreign::certmanager::IssuerRef;
use api::secret::Sealed;
use jiff::{Timestamp, ToSpan};
use kit::testing::{self, Bench, Gate, Scenario};
use kit::{Next, Outcome};
use parking_lot::Mutex;
use ports::authority::{Error, Facts, Fake, Issued, Order};
use serde_json::{Value, json};

use super::plan::{Held, Seen, plan};
use super::*;

const HOUR: u64 = 3600;

fn start() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().expect("a time")
}

/// A certificate of ninety days, issued at the start.
fn facts(names: &[&str]) -> Facts {
    Facts {
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        not_before: start(),
        not_after: start() + 2160.hours(),
        signed_here: true,
        key_fits: true,
    }
}

fn ours(facts: Facts) -> Held {
    Held::Ours(Seen { facts: Some(facts), root_there: true, revision: Some(4) })
}

fn world(hours: i64, secret: Held) -> World {
    World { time: start() + hours.hours(), secret, strays: Vec::new() }
}

fn manifest(spec: Value) -> Value {
    let mut spec = spec;
    if spec["issuerRef"].is_null() {
        spec["issuerRef"] = json!({ "name": "terrace", "kind": "ClusterIssuer" });
    }
    spec["secretName"] = "shop-tls".into();
    json!({ "apiVersion": "cert-manager.io/v1", "kind": "Certificate",
            "metadata": { "name": "shop", "namespace": "default" }, "spec": spec })
}

fn shop() -> Value {
    json!({ "dnsNames": ["shop.localhost"] })
}

fn told(spec: Value, world: &World) -> String {
    let certificate: Certificate = serde_json::from_value(manifest(spec)).expect("a Certificate");
    let plan = match plan(ISSUER, &certificate, world) {
        Ok(plan) => plan,
        Err(refusal) => return format!("refused: {}: {}", refusal.reason.as_str(), refusal.message),
    };
    let mut words: Vec<String> = plan.steps.iter().map(ToString::to_string).collect();
    let ready = find(&plan.status.conditions, READY).expect("Ready is always said");
    let reason = ready.reason.clone().unwrap_or_default();
    words.push(format!("{} {reason} #{}", ready.status, plan.status.revision.unwrap_or_default()));
    words.push(match plan.next {
        Next::After(delay) => format!("{}h", delay.as_secs() / HOUR),
        other => format!("{other:?}"),
    });
    words.join("; ")
}

#[test]
fn every_situation_has_its_plan() {
    let good = || facts(&["shop.localhost"]);
    let first = "issue a certificate for shop.localhost until 2026-04-01T00:00:00Z; True Ready #1; 1440h";
    let again = "issue a certificate for shop.localhost until 2026-04-01T00:00:00Z; True Ready #5; 1440h";
    let seen = |root_there| Held::Ours(Seen { facts: Some(good()), root_there, revision: Some(4) });
    let empty = Held::Ours(Seen { facts: None, root_there: true, revision: Some(4) });
    let strays = vec![Name::new("default", "old-tls")];
    let table: Vec<(&str, Value, World, &str)> = vec![
        ("there is none", shop(), world(0, Held::Nothing), first),
        ("it is good", shop(), world(1, ours(good())), "True Ready #4; 1439h"),
        ("it is good to the end", shop(), world(1439, ours(good())), "True Ready #4; 1h"),
        (
            "a third of its life is left",
            shop(),
            world(1440, ours(good())),
            "issue a certificate for shop.localhost until 2026-05-31T00:00:00Z; True Ready #5; 1440h",
        ),
        (
            "it is renewed when its owner says",
            json!({ "dnsNames": ["shop.localhost"], "renewBefore": "2159h" }),
            world(1, ours(good())),
            "issue a certificate for shop.localhost until 2026-04-01T01:00:00Z; True Ready #5; 1h",
        ),
        (
            "it lives as long as its owner says",
            json!({ "dnsNames": ["shop.localhost"], "duration": "30h", "renewBefore": "10h30m" }),
            world(0, Held::Nothing),
            "issue a certificate for shop.localhost until 2026-01-02T06:00:00Z; True Ready #1; 19h",
        ),
        (
            "names differ",
            json!({ "dnsNames": ["Shop.localhost", "*.shop.localhost", "127.0.0.1"], "commonName": "shop" }),
            world(0, ours(good())),
            "issue a certificate for *.shop.localhost, 127.0.0.1, shop, shop.localhost until 2026-04-01T00:00:00Z; True Ready #5; 1440h",
        ),
        (
            "another authority signed it",
            shop(),
            world(0, ours(Facts { signed_here: false, ..good() })),
            again,
        ),
        ("the key is of another", shop(), world(0, ours(Facts { key_fits: false, ..good() })), again),
        ("the authority's own certificate is another", shop(), world(0, seen(false)), again),
        ("it holds no certificate", shop(), world(0, empty), again),
        (
            "the clock went back",
            shop(),
            world(0, ours(Facts { not_before: start() + 1.hour(), ..good() })),
            again,
        ),
        ("the Secret is somebody else's", shop(), world(0, Held::Foreign), "False NotOurs #0; OnChange"),
        (
            "the Secret had another name",
            shop(),
            World { strays, ..world(0, ours(good())) },
            "delete Secret default/old-tls; True Ready #4; 1440h",
        ),
        (
            "no name",
            json!({}),
            world(0, Held::Nothing),
            "refused: InvalidSpec: the certificate names no host; add one to dnsNames",
        ),
        (
            "a bad name",
            json!({ "dnsNames": ["a..b"] }),
            world(0, Held::Nothing),
            "refused: InvalidSpec: \"a..b\" in dnsNames is not a host",
        ),
        (
            "a bad time",
            json!({ "dnsNames": ["a"], "duration": "90 days" }),
            world(0, Held::Nothing),
            "refused: InvalidSpec: duration \"90 days\" is not a time such as 2160h",
        ),
        (
            "too short",
            json!({ "dnsNames": ["a"], "duration": "59m" }),
            world(0, Held::Nothing),
            "refused: InvalidSpec: duration is shorter than 1h",
        ),
        (
            "renewed too late",
            json!({ "dnsNames": ["a"], "renewBefore": "1m" }),
            world(0, Held::Nothing),
            "refused: InvalidSpec: renewBefore is shorter than 5m",
        ),
        (
            "renewed before it begins",
            json!({ "dnsNames": ["a"], "duration": "2h", "renewBefore": "2h" }),
            world(0, Held::Nothing),
            "refused: InvalidSpec: renewBefore is not shorter than duration",
        ),
    ];
    for (what, spec, world, want) in table {
        assert_eq!(told(spec, &world), want, "{what}");
    }
}

#[test]
fn only_the_platforms_own_issuer_signs() {
    let issuer = |name: &str, kind: Option<&str>, group: Option<&str>| IssuerRef {
        name: name.into(),
        kind: kind.map(str::to_owned),
        group: group.map(str::to_owned),
    };
    let table = [
        (issuer("terrace", Some("ClusterIssuer"), None), true),
        (issuer("terrace", None, Some("cert-manager.io")), true),
        (issuer("terrace", Some("Issuer"), None), false),
        (issuer("letsencrypt", Some("ClusterIssuer"), None), false),
        (issuer("terrace", Some("ClusterIssuer"), Some("awspca.cert-manager.io")), false),
    ];
    for (issuer, served) in table {
        let spec = json!({ "dnsNames": ["a"], "issuerRef": issuer });
        let told = told(spec, &world(0, Held::Nothing));
        assert_eq!(told.starts_with("issue"), served, "{issuer:?}: {told}");
        let names_it = told.contains("the only issuer here is ClusterIssuer \"terrace\"");
        assert_eq!(names_it, !served, "{told}");
    }
}

#[test]
fn a_failed_renewal_leaves_a_good_certificate_ready() {
    let mut status = CertificateStatus::default();
    Certificates::<Fake>::failed(&mut status, Reason::Failed, "no entropy".into());
    assert_eq!(find(&status.conditions, READY).map(|ready| ready.status.as_str()), Some("False"));
    status.ready(Reason::Available, "");
    Certificates::<Fake>::failed(&mut status, Reason::Failed, "no entropy".into());
    assert_eq!(find(&status.conditions, READY).map(|ready| ready.status.as_str()), Some("True"));
    let issuing = find(&status.conditions, ISSUING).expect("it is said");
    assert_eq!((issuing.status.as_str(), issuing.message.as_deref()), ("False", Some("no entropy")));
}

#[tokio::test]
async fn a_certificate_is_issued_renewed_and_issued_anew_when_its_secret_is_lost() {
    let bench = Bench::start().await;
    let authority = Arc::new(Fake::default());
    let room = Certificates::new(authority.clone(), ISSUER);
    let name = Name::new("default", "shop");
    bench.create(manifest(shop())).await;
    let outcome = bench.pass(&room, &name).await.expect("it is issued");
    assert!(
        matches!(outcome, Outcome::After(delay) if delay > Duration::from_secs(1439 * HOUR)),
        "{outcome:?}"
    );
    let secret = bench.get::<Secret>("default", "shop-tls").await.expect("the Secret is there");
    assert_eq!(secret.type_.as_deref(), Some("kubernetes.io/tls"));
    let annotations = secret.metadata.annotations.clone().unwrap_or_default();
    assert_eq!(annotations["cert-manager.io/certificate-name"], "shop");
    assert_eq!(annotations["cert-manager.io/alt-names"], "shop.localhost");
    let data = |secret: &Secret, key: &str| secret.data.as_ref().map(|data| data[key].0.clone());
    assert_eq!(data(&secret, "ca.crt"), Some(authority.root_pem().as_bytes().to_vec()));

    bench.pass(&room, &name).await.expect("nothing is to be done");
    assert_eq!(authority.issued(), 1);
    bench.clock().advance(Duration::from_secs(1440 * HOUR));
    bench.pass(&room, &name).await.expect("it is renewed");
    let renewed = bench.get::<Secret>("default", "shop-tls").await.expect("the Secret is there");
    assert_ne!(data(&secret, "tls.key"), data(&renewed, "tls.key"), "with a new key");
    bench.delete::<Secret>(&Name::new("default", "shop-tls")).await;
    bench.pass(&room, &name).await.expect("it is issued anew");
    let status = bench.get::<Certificate>("default", "shop").await.and_then(|found| found.status);
    let status = status.expect("a status");
    assert_eq!((authority.issued(), status.revision), (3, Some(3)));
    assert!(status.not_before < status.renewal_time && status.renewal_time < status.not_after);

    let other = Certificates::new(Fake::new("another root"), ISSUER);
    bench.pass(&other, &name).await.expect("another authority signs");
    let moved = bench.get::<Secret>("default", "shop-tls").await.expect("the Secret is there");
    assert_ne!(data(&moved, "ca.crt"), data(&renewed, "ca.crt"));
}

#[tokio::test]
async fn a_secret_of_somebody_else_is_not_touched_until_it_is_given() {
    let bench = Bench::start().await;
    let room = Certificates::new(Fake::default(), ISSUER);
    let name = Name::new("default", "shop");
    let data = json!({ "tls.crt": "Y2VydA==", "tls.key": "a2V5" });
    bench
        .create(json!({ "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "data": data,
                        "metadata": { "name": "shop-tls" } }))
        .await;
    bench.create(manifest(shop())).await;
    bench.pass(&room, &name).await.expect("a pass");
    let ready = async || {
        let found = bench.get::<Certificate>("default", "shop").await.and_then(|found| found.status);
        find(&found.expect("a status").conditions, READY).cloned().expect("Ready is said")
    };
    assert_eq!(ready().await.reason.as_deref(), Some("NotOurs"));
    let held = bench.get::<Secret>("default", "shop-tls").await.expect("it is there");
    assert_eq!(held.data.expect("data")["tls.key"].0, b"key");
    let adopt = json!({ "metadata": { "annotations": { "terrace.dev/adopt": "true" } } });
    bench.patch::<Secret>(&Name::new("default", "shop-tls"), adopt).await;
    bench.pass(&room, &name).await.expect("a pass");
    assert_eq!(ready().await.reason.as_deref(), Some("Ready"));
}

/// An authority whose certificates look alike in every run: when they end is remembered beside them.
#[derive(Default)]
struct Timeless(Mutex<Option<Order>>);

impl Authority for Timeless {
    fn issue(&self, order: &Order) -> Result<Issued, Error> {
        *self.0.lock() = Some(order.clone());
        Ok(Issued { chain_pem: "chain".into(), key_pem: Sealed::new("key".into()) })
    }

    fn root_pem(&self) -> &str {
        "root"
    }

    fn read(&self, chain_pem: &str, key_pem: &Sealed<String>) -> Option<Facts> {
        let Order { names, not_before, not_after } =
            self.0.lock().clone().filter(|_| chain_pem == "chain")?;
        Some(Facts { names, not_before, not_after, signed_here: true, key_fits: key_pem.open() == "key" })
    }
}

fn one_certificate(_: &Gate) -> Scenario<Certificates<Timeless>> {
    Scenario::new(Certificates::new(Timeless::default(), ISSUER), manifest(shop()))
}

#[tokio::test]
async fn a_certificate_converges() {
    let bench = testing::converge(one_certificate).await;
    assert!(bench.get::<Secret>("default", "shop-tls").await.is_some());
}

#[tokio::test]
async fn a_certificate_survives_any_broken_call() {
    testing::sweep(one_certificate).await;
}
