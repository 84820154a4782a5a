use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::identity::certificates::peer_user;

fn now() -> Timestamp {
    "2026-11-15T12:00:00Z".parse().expect("a time")
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("is there").permissions().mode() & 0o777
}

#[test]
fn an_authority_is_made_once_and_found_again() {
    let home = tempfile::tempdir().expect("a directory");
    let directory = home.path().join("deep/pki");
    let first = Authority::open(&directory, now()).expect("made");
    let again = Authority::open(&directory, now()).expect("found");
    assert_eq!(first.certificate(), again.certificate());
    assert_eq!(first.token_key(), again.token_key());
    assert_eq!(mode(&directory), 0o700);
    for file in [CA_FILE, TOKEN_FILE] {
        assert_eq!(mode(&directory.join(file)), 0o600, "{file}");
    }
    let left: Vec<_> = fs::read_dir(&directory).expect("readable").collect();
    assert_eq!(left.len(), 2, "nothing half-written stays");
}

#[test]
fn a_directory_open_to_others_is_closed() {
    let home = tempfile::tempdir().expect("a directory");
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).expect("owned");
    Authority::open(home.path(), now()).expect("made");
    assert_eq!(mode(home.path()), 0o700);
}

/// Something done to the files of an authority.
type Damage = fn(&Path);

#[test]
fn damage_is_told_and_never_overwritten() {
    let table: [(&str, Damage); 4] = [
        ("empty authority", |home| fs::write(home.join(CA_FILE), "").expect("written")),
        ("authority cut short", |home| {
            let text = fs::read_to_string(home.join(CA_FILE)).expect("read");
            fs::write(home.join(CA_FILE), &text[..text.len() / 2]).expect("written");
        }),
        ("key of another authority", |home| {
            let text = fs::read_to_string(home.join(CA_FILE)).expect("read");
            let certificate = &text[..text.find("-----BEGIN PRIVATE").expect("a key")];
            let key = new_key().expect("a key").serialize_pem();
            fs::write(home.join(CA_FILE), format!("{certificate}{key}")).expect("written");
        }),
        ("token key is no key", |home| fs::write(home.join(TOKEN_FILE), "x").expect("written")),
    ];
    for (name, damage) in table {
        let home = tempfile::tempdir().expect("a directory");
        Authority::open(home.path(), now()).expect("made");
        damage(home.path());
        let told = Authority::open(home.path(), now()).err().expect(name);
        assert!(matches!(told, Error::Damaged { .. }), "{name}: {told}");
    }
}

#[test]
fn an_authority_that_has_ended_is_refused() {
    let home = tempfile::tempdir().expect("a directory");
    Authority::open(home.path(), now()).expect("made");
    let later = now() + days(AUTHORITY_DAYS + 1);
    assert!(matches!(Authority::open(home.path(), later), Err(Error::Ended { .. })));
}

#[test]
fn a_server_certificate_is_kept_until_it_no_longer_serves() {
    let home = tempfile::tempdir().expect("a directory");
    let authority = Authority::open(home.path(), now()).expect("made");
    let first = authority.server(&[], now()).expect("signed");
    assert_eq!(mode(&home.path().join(SERVER_FILE)), 0o600);
    let same = authority.server(&[], now() + days(300)).expect("kept");
    assert_eq!(first.certificate, same.certificate, "kept while it is good");
    let renewed = authority.server(&[], now() + days(340)).expect("signed");
    assert_ne!(first.certificate, renewed.certificate, "renewed a month before its end");
    let wider = authority.server(&["box.local".into(), "10.0.0.7".into()], now()).expect("signed");
    assert_ne!(renewed.certificate, wider.certificate, "renewed for a new name");
    let names = alternative_names(&wider.certificate).expect("names");
    for name in ["localhost", "127.0.0.1", "::1", "kubernetes.default.svc", "box.local", "10.0.0.7"] {
        assert!(names.contains(&name.to_owned()), "{name}");
    }
    fs::write(home.path().join(SERVER_FILE), "torn").expect("written");
    authority.server(&[], now()).expect("a damaged one is simply made again");
    let other = Authority::ephemeral(now()).expect("made");
    assert!(signed_by(&first.certificate, authority.certificate()));
    assert!(!signed_by(&first.certificate, other.certificate()));
}

#[test]
fn a_client_certificate_holds_its_user_and_all_groups() {
    let authority = Authority::ephemeral(now()).expect("made");
    let long = "g".repeat(300);
    let groups = ["system:masters", "team:ä", long.as_str()];
    let issued = authority.client("alice", &groups, now()).expect("signed");
    assert!(signed_by(&issued.certificate, authority.certificate()));
    let user = peer_user(&der(&issued.certificate).expect("a certificate")).expect("a user");
    assert_eq!(user.name, "alice");
    assert_eq!(user.groups, ["system:masters", "team:ä", &long, "system:authenticated"]);
    assert!(user.extra["authentication.kubernetes.io/credential-id"][0].starts_with("X509SHA256="));
}

#[test]
fn a_kubeconfig_can_be_read_back() {
    let authority = Authority::ephemeral(now()).expect("made");
    let client = authority.client("admin", &["system:masters"], now()).expect("signed");
    let text = kubeconfig("https://127.0.0.1:6443", authority.certificate(), &client, "ad\"min: x");
    let read: serde_json::Value = serde_saphyr::from_str(&text).expect("yaml");
    assert_eq!(read["clusters"][0]["cluster"]["server"], "https://127.0.0.1:6443");
    assert_eq!(read["users"][0]["name"], "ad\"min: x");
    assert_eq!(read["contexts"][0]["context"]["user"], "ad\"min: x");
    assert_eq!(read["current-context"], "terrace");
    let data = read["users"][0]["user"]["client-key-data"].as_str().expect("a key");
    use base64::Engine;
    let key = base64::engine::general_purpose::STANDARD.decode(data).expect("base64");
    assert_eq!(String::from_utf8(key).expect("text"), client.key);
}
