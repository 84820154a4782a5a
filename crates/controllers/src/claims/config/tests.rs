mod keys;

use super::*;

/// What is wrong with a text, without the file.
fn wrong(text: &str) -> Vec<String> {
    let problems = Config::parse("config.yaml", text).expect_err("it is wrong").0;
    assert!(problems.iter().all(|problem| problem.file == "config.yaml"));
    problems.into_iter().map(|problem| format!("{}: {}", problem.line, problem.message)).collect()
}

fn read(text: &str) -> Config {
    Config::parse("config.yaml", text).unwrap_or_else(|problems| panic!("{text}\n{problems}"))
}

/// The seed's sample as it is printed there.
const SEED: &str = r#"passwordConfig:
  passwordComplexity: enabled
  minPasswordLength: "15"
  passwordRotationPeriod: "60"
atlas:
  username: root
  host: some.service
  port: 5432
  sslMode: disable
  passwordSecretRef: atlas-master-password
  passwordSecretKey: password
atlas.recyclebin:
  username: root
  host: some.other.service
  port: 5412
  sslMode: disable
  passwordSecretRef: atlas-recyclebin-password
athena:
  username=root
  host=some.service
  port=5432
  sslMode: disable
  passwordSecretRef=athena-master-password
athena.hostapp:
  username=root
  host=some.service
  port=5432
  sslMode: require
  passwordSecretRef=athena-hostapp-password
"#;

#[test]
fn the_seed_s_sample_is_refused_line_by_line_and_good_once_corrected() {
    let want = [
        "19: `username=root` has no colon; write `username: root`",
        "20: `host=some.service` has no colon; write `host: some.service`",
        "21: `port=5432` has no colon; write `port: 5432`",
        "23: `passwordSecretRef=athena-master-password` has no colon; write `passwordSecretRef: athena-master-password`",
        "25: `username=root` has no colon; write `username: root`",
        "26: `host=some.service` has no colon; write `host: some.service`",
        "27: `port=5432` has no colon; write `port: 5432`",
        "29: `passwordSecretRef=athena-hostapp-password` has no colon; write `passwordSecretRef: athena-hostapp-password`",
    ];
    assert_eq!(wrong(SEED), want);
    let config = read(&SEED.replace('=', ": "));
    assert_eq!(config.passwords, Passwords { complex: true, length_min: 15, rotation_minutes: 60 });
    let keys: Vec<&String> = config.fragments.keys().collect();
    assert_eq!(keys, ["athena", "athena.hostapp", "atlas", "atlas.recyclebin"]);
    let bin = &config.fragments["atlas.recyclebin"];
    assert_eq!((bin.host.as_deref(), bin.port), (Some("some.other.service"), 5412));
    assert_eq!((bin.username.as_str(), bin.password_key.as_str()), ("root", "password"));
    assert_eq!(config.fragments["athena.hostapp"].ssl_mode, SslMode::Require);
    let secret = config.fragments["athena"].password_secret.as_ref().map(ObjectName::as_str);
    assert_eq!(secret, Some("athena-master-password"));
}

#[test]
fn every_key_is_read_and_an_empty_text_has_defaults() {
    let empty = read("");
    assert_eq!(empty, read("# nothing\n"));
    assert_eq!(empty.passwords, Passwords { complex: true, length_min: 15, rotation_minutes: 60 });
    assert_eq!((empty.auth_source, empty.defaults.port), (AuthSource::Secret, 5432));
    assert_eq!((empty.maker, empty.hold_minutes), (Maker::CloudDatabaseClaim, 1440));
    assert_eq!((&empty.aws_provider, empty.anything_goes), (&None, false));
    let config = read(
        "passwordConfig: {passwordComplexity: disable, minPasswordLength: 99, passwordRotationPeriod: '1440'}
authSource: aws
region: eu-west-1
defaultMasterPort: '5433'
defaultMasterUsername: chief
defaultSslMode: verify-full
defaultShape: db.t4g.medium
defaultMinStorageGB: '20'
defaultEngineVersion: 15.10
defaultDeletionPolicy: orphan
defaultReclaimPolicy: delete
defaultExtensions: [pg_trgm, uuid-ossp]
defaultAllowSuperUser: true
defaultAllowReplicationRole: false
serverMaker: rdsInstance
awsProvider: main
deletionHoldPeriod: '43200'
bare: {}
full:
  username: root
  host: a.b
  port: '1'
  sslMode: verify-ca
  caSecretRef: authority
  extensions: []
  allowSuperUser: 'false'
  allowReplicationRole: true
  adoptExisting: true
  passwordSecretRef: s
  passwordSecretKey: k
  shape: large
  minStorageGB: 5
  engineVersion: '16'
  deletePolicy: delete
  reclaimPolicy: retain
",
    );
    assert_eq!(config.passwords, Passwords { complex: false, length_min: 99, rotation_minutes: 1440 });
    assert_eq!((config.auth_source, config.region.as_deref()), (AuthSource::Aws, Some("eu-west-1")));
    assert_eq!((config.maker, config.hold_minutes), (Maker::RdsInstance, 43_200));
    assert_eq!(config.aws_provider.as_ref().map(ObjectName::as_str), Some("main"));
    assert!(!config.anything_goes);
    let extensions = BTreeSet::from(["pg_trgm".to_owned(), "uuid-ossp".to_owned()]);
    let defaults = Defaults {
        port: 5433,
        username: "chief".into(),
        ssl_mode: SslMode::VerifyFull,
        shape: Some("db.t4g.medium".into()),
        storage_gb_min: Some(20),
        engine_version: Some("15.10".into()),
        delete_policy: DeletePolicy::Orphan,
        reclaim_policy: ReclaimPolicy::Delete,
        extensions: extensions.clone(),
        allow_super_user: true,
        allow_replication: false,
    };
    assert_eq!(config.defaults, defaults);
    let bare = Fragment {
        key: "bare".into(),
        username: "chief".into(),
        host: None,
        port: 5433,
        ssl_mode: SslMode::VerifyFull,
        password_secret: None,
        password_key: "password".parse().expect("a key"),
        shape: None,
        storage_gb_min: None,
        engine_version: None,
        delete_policy: DeletePolicy::Orphan,
        reclaim_policy: ReclaimPolicy::Delete,
        extensions,
        allow_super_user: true,
        allow_replication: false,
        adopt_existing: false,
        ca_secret: None,
    };
    assert_eq!(config.fragments["bare"], bare);
    let full = Fragment {
        key: "full".into(),
        username: "root".into(),
        host: Some("a.b".into()),
        port: 1,
        ssl_mode: SslMode::VerifyCa,
        password_secret: Some("s".parse().expect("a name")),
        password_key: "k".parse().expect("a key"),
        shape: Some("large".into()),
        storage_gb_min: Some(5),
        engine_version: Some("16".into()),
        delete_policy: DeletePolicy::Delete,
        reclaim_policy: ReclaimPolicy::Retain,
        extensions: BTreeSet::new(),
        allow_super_user: false,
        allow_replication: true,
        adopt_existing: true,
        ca_secret: Some("authority".parse().expect("a name")),
    };
    assert_eq!(config.fragments["full"], full);
}

#[test]
fn every_value_that_is_wrong_is_told_with_what_is_expected() {
    let length = "write a number of characters between 15 and 99";
    let period = "write a number of minutes between 60 and 1440";
    let port = "write a port between 1 and 65535";
    let modes = "write one of disable, allow, prefer, require, verify-ca, verify-full";
    let table = [
        ("passwordConfig:\n  minPasswordLength: 14", format!("2: `minPasswordLength` is `14`; {length}")),
        ("passwordConfig:\n  minPasswordLength: 100", format!("2: `minPasswordLength` is `100`; {length}")),
        ("passwordConfig:\n  minPasswordLength: long", format!("2: `minPasswordLength` is `long`; {length}")),
        ("passwordConfig:\n  passwordRotationPeriod: 59", format!("2: `passwordRotationPeriod` is `59`; {period}")),
        ("passwordConfig:\n  passwordRotationPeriod: 1441", format!("2: `passwordRotationPeriod` is `1441`; {period}")),
        ("passwordConfig:\n  passwordRotationPeriod:", format!("2: `passwordRotationPeriod` is nothing; {period}")),
        (
            "passwordConfig:\n  passwordComplexity: maybe",
            "2: `passwordComplexity` is `maybe`; write one of enabled, disabled, disable".into(),
        ),
        (
            "passwordConfig:\n  length: 20",
            "2: `length` is no key of `passwordConfig`; write one of passwordComplexity, minPasswordLength, passwordRotationPeriod".into(),
        ),
        (
            "passwordConfig: none",
            "1: `passwordConfig` holds a map of passwordComplexity, minPasswordLength, passwordRotationPeriod".into(),
        ),
        ("\nauthSource: file", "2: `authSource` is `file`; write one of secret, aws".into()),
        ("region: [a]", "1: `region` is a list; write a word".into()),
        ("region: {a: b}", "1: `region` is a list; write a word".replace("list", "map")),
        ("defaultMasterPort: 0", format!("1: `defaultMasterPort` is `0`; {port}")),
        ("defaultMasterPort: 65536", format!("1: `defaultMasterPort` is `65536`; {port}")),
        ("defaultMasterUsername: ''", "1: `defaultMasterUsername` is ``; write a word".into()),
        ("defaultSslMode: on", format!("1: `defaultSslMode` is `on`; {modes}")),
        ("defaultShape:", "1: `defaultShape` is nothing; write a word".into()),
        (
            "defaultMinStorageGB: -1",
            "1: `defaultMinStorageGB` is `-1`; write a number of GiB between 0 and 65536".into(),
        ),
        ("defaultEngineVersion: []", "1: `defaultEngineVersion` is a list; write a word".into()),
        ("defaultDeletionPolicy: keep", "1: `defaultDeletionPolicy` is `keep`; write one of delete, orphan".into()),
        ("defaultReclaimPolicy: keep", "1: `defaultReclaimPolicy` is `keep`; write one of delete, retain".into()),
        ("atlas:\n  port: none", format!("2: `port` is `none`; {port}")),
        ("atlas:\n  sslMode: sometimes", format!("2: `sslMode` is `sometimes`; {modes}")),
        (
            "atlas:\n  passwordSecretRef: Not A Name",
            "2: `passwordSecretRef` is `Not A Name`; write the name of a Secret: lower case letters, digits, `-` and `.`".into(),
        ),
        (
            "atlas:\n  passwordSecretKey: a/b",
            "2: `passwordSecretKey` is `a/b`; write a key of a Secret: letters, digits, `-`, `_` and `.`".into(),
        ),
        (
            "atlas:\n  minStorageGB: 20GB",
            "2: `minStorageGB` is `20GB`; write a number of GiB between 0 and 65536".into(),
        ),
        ("atlas:\n  deletePolicy: retain", "2: `deletePolicy` is `retain`; write one of delete, orphan".into()),
        ("atlas:\n  reclaimPolicy: orphan", "2: `reclaimPolicy` is `orphan`; write one of delete, retain".into()),
        (
            "atlas:\n\n  hostname: x",
            "3: `hostname` is no key of `atlas`; write one of username, host, port, sslMode, passwordSecretRef, passwordSecretKey, shape, minStorageGB, engineVersion, deletePolicy, reclaimPolicy, extensions, allowSuperUser, allowReplicationRole, adoptExisting, caSecretRef".into(),
        ),
        ("defaultShape = x", "1: `defaultShape = x` has no colon; write `defaultShape: x`".replace(" = ", "=")),
    ];
    for (text, want) in table {
        assert_eq!(wrong(text), [want], "{text}");
    }
    let two = wrong("region: [a]\natlas:\n  port: 0\n  sslMode: x\n");
    assert_eq!(two.len(), 3, "all at once: {two:?}");
    let unknown = wrong("atlass: yes");
    assert!(
        unknown[0].starts_with("1: `atlass` is no key; write one of passwordConfig, authSource"),
        "{unknown:?}"
    );
    for text in ["a: b: c", "- a", "region: a\nregion: b", "atlas: {", "a: &x {}\nb: *x", "a: {}\n---\nb: {}"]
    {
        assert_eq!(wrong(text).len(), 1, "{text}");
    }
}

#[test]
fn the_longest_key_that_a_label_begins_with_wins() {
    let config = read("athena: {}\nathena.hostapp: {}\natlas.recyclebin: {}\n");
    let table = [
        ("athena", Some("athena")),
        ("athena.hostapp", Some("athena.hostapp")),
        ("athena.hostapp.blue", Some("athena.hostapp")),
        ("athena.other", Some("athena")),
        ("athena.hostapplication", Some("athena")),
        ("athenaeum", None),
        ("atlas", None),
        ("atlas.recyclebin.x.y", Some("atlas.recyclebin")),
        ("Athena", None),
        ("", None),
    ];
    for (label, want) in table {
        let found = config.match_label(label).ok().map(|fragment| fragment.key.as_str());
        assert_eq!(found, want, "{label}");
    }
    let miss = config.match_label("atlas").expect_err("there is none").to_string();
    let want = "no server is configured for the instance label `atlas`; the configuration has athena, athena.hostapp, atlas.recyclebin";
    assert_eq!(miss, want);
    let nothing = read("").match_label("x").expect_err("there is none").to_string();
    assert!(nothing.ends_with("the configuration has no fragment key"), "{nothing}");
}
