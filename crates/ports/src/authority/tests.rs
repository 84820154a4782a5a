use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use jiff::ToSpan;

use super::*;

fn start() -> Timestamp {
    "2026-03-01T12:34:56Z".parse().expect("a time")
}

fn order(names: &[&str]) -> Order {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    Order { names, not_before: start(), not_after: start() + 90.hours() }
}

/// What every authority does.
fn contract(authority: &impl Authority, other: &impl Authority) {
    let order = order(&["shop.localhost", "*.shop.localhost", "127.0.0.1"]);
    let issued = authority.issue(&order).expect("it signs");
    let facts = authority.read(&issued.chain_pem, &issued.key_pem).expect("it reads what it signed");
    let want = Facts {
        names: order.names.clone(),
        not_before: order.not_before,
        not_after: order.not_after,
        signed_here: true,
        key_fits: true,
    };
    assert_eq!(facts, want);
    let again = authority.issue(&order).expect("it signs again");
    assert_ne!(again.key_pem, issued.key_pem, "every certificate has a key of its own");
    let mixed = authority.read(&issued.chain_pem, &again.key_pem).expect("a certificate");
    assert_eq!(mixed, Facts { key_fits: false, ..want.clone() }, "the key of another");
    let foreign = other.read(&issued.chain_pem, &issued.key_pem).expect("a certificate");
    assert_eq!(foreign, Facts { signed_here: false, ..want.clone() }, "the certificate of another");
    let keyless = authority.read(&issued.chain_pem, &Sealed::default()).expect("a certificate");
    assert_eq!(keyless, Facts { key_fits: false, ..want }, "no key at all");
    for nonsense in ["", "nonsense", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        assert_eq!(authority.read(nonsense, &issued.key_pem), None, "{nonsense:?}");
    }
    assert!(authority.root_pem().contains("BEGIN CERTIFICATE"));
    assert!(!format!("{issued:?}").contains("PRIVATE KEY"), "a key is never shown");
}

#[test]
fn the_fake_keeps_the_contract() {
    contract(&Fake::default(), &Fake::new("other"));
    let fake = Fake::default();
    fake.refuse(true);
    assert!(fake.issue(&order(&["a"])).is_err());
    assert_eq!(fake.issued(), 0);
}

#[test]
fn the_live_one_keeps_the_contract() {
    let (one, two) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    let open = |directory: &Path| Live::open(directory, start()).expect("an authority");
    contract(&open(one.path()), &open(two.path()));
}

#[test]
fn an_authority_is_found_again_and_its_key_is_its_owners_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    let place = directory.path().join("apps");
    let first = Live::open(&place, start()).expect("an authority is made");
    let mode = |name: &str| {
        std::fs::metadata(place.join(name)).expect("the file is there").permissions().mode() & 0o777
    };
    assert_eq!((mode("apps-ca.key"), mode("apps-ca.crt")), (0o600, 0o600));
    let again = Live::open(&place, start() + 1000.hours()).expect("it is found again");
    assert_eq!(first.root_pem(), again.root_pem());
    let late = Live::open(&place, start() + (24 * 3400).hours()).expect("it is replaced before it ends");
    assert_ne!(first.root_pem(), late.root_pem());
    assert_eq!(
        std::fs::read_dir(&place).expect("a directory").count(),
        2,
        "nothing is left beside the two files"
    );
}

#[test]
fn what_is_damaged_is_told_and_a_crash_between_two_files_is_mended() {
    let directory = tempfile::tempdir().expect("a directory");
    let place = directory.path();
    let opened = || Live::open(place, start()).map(|live| live.root_pem().to_owned());
    let first = opened().expect("an authority is made");
    let other = tempfile::tempdir().expect("a directory");
    drop(Live::open(other.path(), start()).expect("another authority"));
    // A crash after the key was replaced and before the certificate was.
    std::fs::copy(other.path().join("apps-ca.key"), place.join("apps-ca.key")).expect("copied");
    let mended = opened().expect("it is made anew");
    assert_ne!(first, mended);
    std::fs::write(place.join("apps-ca.key"), "nonsense").expect("written");
    let told = opened().expect_err("it is damaged").to_string();
    assert!(told.contains("apps-ca.key is damaged"), "{told}");
    std::fs::remove_file(place.join("apps-ca.key")).expect("removed");
    let told = opened().expect_err("it is damaged").to_string();
    assert!(told.contains("its key apps-ca.key is missing"), "{told}");
}

#[test]
fn a_certificate_is_for_servers_and_never_outlives_its_authority() {
    let directory = tempfile::tempdir().expect("a directory");
    let live = Live::open(directory.path(), start()).expect("an authority");
    let long = Order { not_after: start() + (24 * 9999).hours(), ..order(&["shop.localhost"]) };
    let issued = live.issue(&long).expect("it signs");
    let facts = live.read(&issued.chain_pem, &issued.key_pem).expect("a certificate");
    assert_eq!(facts.not_after, start() + (24 * 3650).hours());
    let pem = x509_parser::pem::Pem::iter_from_buffer(issued.chain_pem.as_bytes());
    let pem = pem.map(|pem| pem.expect("PEM")).next().expect("a certificate");
    let leaf = pem.parse_x509().expect("X.509");
    let uses = leaf.extended_key_usage().expect("readable").expect("there").value;
    assert!(uses.server_auth && !uses.client_auth && !uses.any);
    assert!(!leaf.is_ca());
}
