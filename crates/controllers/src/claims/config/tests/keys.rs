//! Every key with every kind of value.

use super::super::fields::{KEYS, PASSWORD_KEYS};
use super::super::text::FIELDS;
use super::*;

const WORD: &str = "a word";
const HOST: &str = "the name or the address of a host";
const PORT: &str = "a port between 1 and 65535";
const GIB: &str = "a number of GiB between 0 and 65536";
const MODES: &str = "one of disable, allow, prefer, require, verify-ca, verify-full";
const DELETE: &str = "one of delete, orphan";
const RECLAIM: &str = "one of delete, retain";
const ANSWER: &str = "one of true, false";
const SECRET: &str = "the name of a Secret: lower case letters, digits, `-` and `.`";
const EXTENSIONS: &str =
    "names of extensions, such as `[pg_trgm, uuid-ossp]`: lower case letters, digits, `_` and `-`";

/// A key, the form that is expected, values of that form, and words that are not.
type Row = (&'static str, &'static str, &'static [&'static str], &'static [&'static str]);

const NOT_PORTS: &[&str] = &["0", "-1", "65536", "99999999999999999999", "5432.0", "0x10", "none", "'5432 '"];
const NOT_GIB: &[&str] = &["-1", "65537", "99999999999999999999", "20GB", "1.5", "much"];
const NOT_MODES: &[&str] = &["on", "true", "Require", "verify", "verify-ca,require"];
const NOT_POLICIES: &[&str] = &["keep", "Delete", "recycle", "true", "1"];
const NOT_ANSWERS: &[&str] = &["yes", "no", "True", "1", "0", "on"];
const NOT_NAMES: &[&str] = &["Not A Name", "UPPER", "a_b", "a/b", "-a", "a."];
const NOT_EXTENSIONS: &[&str] =
    &["PostGIS", "pg trgm", "pg_trgm;drop", "'a,,b'", "'a,'", "-a", "1", "\"x\\\"y\"", "ü"];
const MODES_GOOD: &[&str] =
    &["disable", "allow", "prefer", "require", "verify-ca", "verify-full", "'require'"];
const EXTENSIONS_GOOD: &[&str] = &["pg_trgm", "'pg_trgm, uuid-ossp'", "[]", "[pg_trgm, 'uuid-ossp']"];

const TOP: &[Row] = &[
    ("authSource", "one of secret, aws", &["secret", "aws"], &["file", "AWS", "true", "1"]),
    ("region", WORD, &["eu-west-1"], &[]),
    ("defaultMasterPort", PORT, &["1", "65535", "'5432'"], NOT_PORTS),
    ("defaultMasterUsername", WORD, &["root", "'1'"], &[]),
    ("defaultSslMode", MODES, MODES_GOOD, NOT_MODES),
    ("defaultShape", WORD, &["db.t4g.medium", "2"], &[]),
    ("defaultMinStorageGB", GIB, &["0", "65536", "'20'"], NOT_GIB),
    ("defaultEngineVersion", WORD, &["15.10", "'16'"], &[]),
    ("defaultDeletionPolicy", DELETE, &["delete", "orphan"], &["retain", "keep", "Delete", "1"]),
    ("defaultReclaimPolicy", RECLAIM, &["delete", "retain"], &["orphan", "keep", "Retain", "1"]),
    ("defaultExtensions", EXTENSIONS, EXTENSIONS_GOOD, NOT_EXTENSIONS),
    ("defaultAllowSuperUser", ANSWER, &["true", "false", "'true'"], NOT_ANSWERS),
    ("defaultAllowReplicationRole", ANSWER, &["true", "false", "'true'"], NOT_ANSWERS),
    (
        "serverMaker",
        "one of cloudDatabaseClaim, cluster, rdsInstance",
        &["cloudDatabaseClaim", "cluster", "rdsInstance"],
        &["crossplane", "Cluster", "RDSInstance", "true", "1"],
    ),
    (
        "awsProvider",
        "the name of an AWSProvider: lower case letters, digits, `-` and `.`",
        &["main", "a.b-c"],
        NOT_NAMES,
    ),
    (
        "deletionHoldPeriod",
        "a number of minutes between 0 and 43200",
        &["0", "43200", "'1440'"],
        &["-1", "43201", "99999999999999999999", "1d", "1.5", "never"],
    ),
];

const PASSWORDS: &[Row] = &[
    (
        "passwordComplexity",
        "one of enabled, disabled, disable",
        &["enabled", "disabled", "disable"],
        &["maybe", "true", "Enabled", "1"],
    ),
    (
        "minPasswordLength",
        "a number of characters between 15 and 99",
        &["15", "99", "'20'"],
        &["14", "100", "0", "-15", "15.5", "99999999999999999999", "long"],
    ),
    (
        "passwordRotationPeriod",
        "a number of minutes between 60 and 1440",
        &["60", "1440", "'90'"],
        &["59", "1441", "0", "-60", "60.5", "99999999999999999999", "1h"],
    ),
];

const FRAGMENT: &[Row] = &[
    ("username", WORD, &["root"], &[]),
    ("host", HOST, &["some.service", "10.0.0.1", "'::1'"], &["a b", "\"a\\tb\""]),
    ("port", PORT, &["1", "65535", "'5412'"], NOT_PORTS),
    ("sslMode", MODES, MODES_GOOD, NOT_MODES),
    ("passwordSecretRef", SECRET, &["atlas-master-password"], NOT_NAMES),
    (
        "passwordSecretKey",
        "a key of a Secret: letters, digits, `-`, `_` and `.`",
        &["password", "A_b.c-1"],
        &["a/b", "a b", "ü"],
    ),
    ("shape", WORD, &["large"], &[]),
    ("minStorageGB", GIB, &["0", "65536", "'5'"], NOT_GIB),
    ("engineVersion", WORD, &["16"], &[]),
    ("deletePolicy", DELETE, &["delete", "orphan"], NOT_POLICIES_OF_SERVERS),
    ("reclaimPolicy", RECLAIM, &["delete", "retain"], NOT_POLICIES),
    ("extensions", EXTENSIONS, EXTENSIONS_GOOD, NOT_EXTENSIONS),
    ("allowSuperUser", ANSWER, &["true", "false", "'true'"], NOT_ANSWERS),
    ("allowReplicationRole", ANSWER, &["true", "false", "'false'"], NOT_ANSWERS),
    ("adoptExisting", ANSWER, &["true", "false", "'false'"], NOT_ANSWERS),
    ("caSecretRef", SECRET, &["authority"], NOT_NAMES),
];
/// A claim's database is recycled; a server is not.
const NOT_POLICIES_OF_SERVERS: &[&str] = &["recycle", "retain", "Delete", "1"];

/// Runs every row. `before` stands above the key, on one line.
fn hold(rows: &[Row], known: &[&str], before: &str) {
    let keys: Vec<&str> = rows.iter().map(|(key, ..)| *key).collect();
    let untested: Vec<_> = known.iter().filter(|key| !keys.contains(key)).collect();
    assert!(untested.is_empty(), "no row for {untested:?}");
    for (key, want, good, bad) in rows {
        for value in *good {
            read(&format!("{before}{key}: {value}\n"));
        }
        for value in *bad {
            let said = wrong(&format!("{before}{key}: {value}\nregion: x\n"));
            let [said] = said.as_slice() else { panic!("{key}: {value}: {said:?}") };
            let (head, tail) = said.split_once("`; write ").unwrap_or_else(|| panic!("{said}"));
            assert_eq!(tail, *want, "{key}: {value}");
            assert!(head.starts_with(&format!("2: `{key}` is `")), "{said}");
        }
        let list = if *want == EXTENSIONS { "[{a: b}]" } else { "[a]" };
        for (value, found) in
            [("", "nothing"), ("~", "nothing"), ("''", "``"), (list, "a list"), ("{a: b}", "a map")]
        {
            let found = match value == "[{a: b}]" {
                true => format!("2: `{key}` holds a map; write {want}"),
                false => format!("2: `{key}` is {found}; write {want}"),
            };
            assert_eq!(wrong(&format!("{before}{key}: {value}\n")), [found], "{key}: {value}");
        }
        let equals = format!("{before}{key}=1\n");
        assert_eq!(wrong(&equals), [format!("2: `{key}=1` has no colon; write `{key}: 1`")]);
    }
}

#[test]
fn every_key_takes_what_it_says_and_nothing_else() {
    hold(TOP, &KEYS, "# above\n");
    hold(PASSWORDS, &PASSWORD_KEYS, "passwordConfig:\n  ");
    hold(FRAGMENT, &FIELDS, "atlas:\n  ");
}

#[test]
fn each_item_of_a_list_of_extensions_is_told_with_its_own_line() {
    let config = read(
        "atlas:\n  extensions:\n    - pg_trgm\n    - 'uuid-ossp'\nother:\n  extensions: hstore , pg_trgm\n",
    );
    let names = |key: &str| config.fragments[key].extensions.iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(names("atlas"), ["pg_trgm", "uuid-ossp"]);
    assert_eq!(names("other"), ["hstore", "pg_trgm"]);
    let said = wrong("atlas:\n  extensions:\n    - pg_trgm\n    - PostGIS\n    -\n    - [a]\n");
    let want = |line: u8, found: &str| format!("{line}: `extensions` holds {found}; write {EXTENSIONS}");
    assert_eq!(said, [want(4, "`PostGIS`"), want(5, "nothing"), want(6, "a list")]);
    let long = "a".repeat(64);
    read(&format!("defaultExtensions: [{}]", &long[1..]));
    assert_eq!(wrong(&format!("defaultExtensions: [{long}]")).len(), 1, "PostgreSQL would cut it");
}

#[test]
fn a_server_that_is_to_be_checked_needs_the_certificate_of_its_authority() {
    let wanted = |line: u8, mode: &str| {
        format!(
            "{line}: the server is to be checked (sslMode {mode}), but with which certificate is not said; write \
             `caSecretRef: NAME` with the name of a Secret that holds `ca.crt`"
        )
    };
    for mode in ["verify-ca", "verify-full"] {
        let own = format!("atlas:\n  host: a\n  sslMode: {mode}\n");
        assert_eq!(wrong(&own), [wanted(3, mode)]);
        read(&format!("{own}  caSecretRef: authority\n"));
        read(&format!("atlas:\n  sslMode: {mode}\n"));
        let default = format!("atlas:\n  port: 1\n  host: a\ndefaultSslMode: {mode}\n");
        assert_eq!(wrong(&default), [wanted(3, mode)], "told where the host stands");
        read(&format!("{default}atlas.b:\n  caSecretRef: c\n").replace("  host: a\n", ""));
        read(&format!("defaultSslMode: {mode}\natlas: {{host: a, sslMode: require}}\n"));
        let both = wrong(&format!("defaultSslMode: {mode}\natlas:\n  host: a\n  sslMode: x\n"));
        assert_eq!(both, [format!("4: `sslMode` is `x`; write {MODES}")], "one mistake is told once");
    }
    let bad = wrong("atlas:\n  host: a\n  sslMode: verify-ca\n  caSecretRef: A B\n");
    assert_eq!(bad, [format!("4: `caSecretRef` is `A B`; write {SECRET}")]);
}

#[test]
fn a_fragment_s_own_word_wins_over_the_default() {
    let config = read(
        "defaultAllowSuperUser: true\ndefaultAllowReplicationRole: true\ndefaultExtensions: hstore\n\
         own: {allowSuperUser: false, allowReplicationRole: false, extensions: pg_trgm}\nbare: {}\n",
    );
    let of = |key: &str| {
        let fragment = &config.fragments[key];
        let extensions: Vec<_> = fragment.extensions.iter().map(String::as_str).collect();
        (fragment.allow_super_user, fragment.allow_replication, extensions.join(" "))
    };
    assert_eq!(of("own"), (false, false, "pg_trgm".to_owned()));
    assert_eq!(of("bare"), (true, true, "hstore".to_owned()));
}

#[test]
fn without_a_file_servers_are_clusters_and_any_label_goes() {
    let none = Config::unconfigured();
    let empty = read("");
    assert_eq!(none.maker, Maker::Cluster);
    assert!(none.anything_goes && !empty.anything_goes);
    assert_eq!(none.defaults.ssl_mode, SslMode::default());
    assert_eq!(Config { maker: Maker::CloudDatabaseClaim, anything_goes: false, ..none.clone() }, empty);
    assert!(none.match_label("anything").is_err(), "a label matches nothing");
}

#[test]
fn every_mistake_is_one_line_with_its_file() {
    let said =
        Config::parse("/etc/config/config.yaml", "region:\n\natlas:\n  port: 0\n").expect_err("it is wrong");
    let want = "/etc/config/config.yaml:1: `region` is nothing; write a word\n\
                /etc/config/config.yaml:4: `port` is `0`; write a port between 1 and 65535";
    assert_eq!(said.to_string(), want);
}
