//! What the keys mean. Each reading that fails is noted, and the reading goes on.

use std::collections::{BTreeMap, BTreeSet};

use api::connection::SslMode;
use api::names::ObjectName;

use super::text::{Entry, FIELDS, Value};
use super::{
    AuthSource, Config, Defaults, DeletePolicy, Fragment, HOLD_MINUTES, HOLD_MINUTES_DEFAULT, Maker,
    PASSWORD_LENGTH, PORT, Passwords, ROTATION_MINUTES, ReclaimPolicy, USERNAME,
};

/// Keys that stand alone; every other holds a map and is a fragment key.
pub(super) const KEYS: [&str; 16] = [
    "authSource",
    "region",
    "defaultMasterPort",
    "defaultMasterUsername",
    "defaultSslMode",
    "defaultShape",
    "defaultMinStorageGB",
    "defaultEngineVersion",
    "defaultDeletionPolicy",
    "defaultReclaimPolicy",
    "defaultExtensions",
    "defaultAllowSuperUser",
    "defaultAllowReplicationRole",
    "serverMaker",
    "awsProvider",
    "deletionHoldPeriod",
];
/// Keys of the passwords.
pub(super) const PASSWORD_KEYS: [&str; 3] =
    ["passwordComplexity", "minPasswordLength", "passwordRotationPeriod"];

/// PostgreSQL cuts longer names.
const NAME_BYTES: usize = 63;

const SSL_MODES: &[(&str, SslMode)] = &[
    ("disable", SslMode::Disable),
    ("allow", SslMode::Allow),
    ("prefer", SslMode::Prefer),
    ("require", SslMode::Require),
    ("verify-ca", SslMode::VerifyCa),
    ("verify-full", SslMode::VerifyFull),
];
const DELETE_POLICIES: &[(&str, DeletePolicy)] =
    &[("delete", DeletePolicy::Delete), ("orphan", DeletePolicy::Orphan)];
const RECLAIM_POLICIES: &[(&str, ReclaimPolicy)] =
    &[("delete", ReclaimPolicy::Delete), ("retain", ReclaimPolicy::Retain)];
const AUTH_SOURCES: &[(&str, AuthSource)] = &[("secret", AuthSource::Secret), ("aws", AuthSource::Aws)];
const MAKERS: &[(&str, Maker)] = &[
    ("cloudDatabaseClaim", Maker::CloudDatabaseClaim),
    ("cluster", Maker::Cluster),
    ("rdsInstance", Maker::RdsInstance),
];
const ANSWERS: &[(&str, bool)] = &[("true", true), ("false", false)];
/// Both spellings are the seed's.
const COMPLEXITIES: &[(&str, bool)] = &[("enabled", true), ("disabled", false), ("disable", false)];

/// Entries by key, each with its line.
type Fields = BTreeMap<String, (u64, Value)>;

/// Reads, and notes what is wrong by line.
#[derive(Default)]
pub(super) struct Reader {
    pub(super) problems: Vec<(u64, String)>,
}

impl Reader {
    pub(super) fn config(&mut self, entries: Vec<Entry>) -> Config {
        let (mut own, mut passwords, mut fragments) = (Fields::new(), Vec::new(), Vec::new());
        for Entry { key, line, value } in entries {
            match value {
                Value::Map(inner) if key == "passwordConfig" => passwords = inner,
                Value::Map(inner) if !KEYS.contains(&key.as_str()) => fragments.push((key, inner)),
                value if KEYS.contains(&key.as_str()) => drop(own.insert(key, (line, value))),
                _ if key == "passwordConfig" => self.note(line, format!("`{key}` holds a map of {}", words(&PASSWORD_KEYS))),
                _ => self.note(
                    line,
                    format!("`{key}` is no key; write one of passwordConfig, {}, or a fragment key with a map of {}", words(&KEYS), words(&FIELDS)),
                ),
            }
        }
        let passwords = self.passwords(passwords);
        let auth_source = self.choice(&mut own, "authSource", AUTH_SOURCES).unwrap_or(AuthSource::Secret);
        let region = self.word(&mut own, "region");
        let maker = self.choice(&mut own, "serverMaker", MAKERS).unwrap_or(Maker::CloudDatabaseClaim);
        let aws_provider = self.object(&mut own, "awsProvider", "an AWSProvider");
        let hold = self.number(&mut own, "deletionHoldPeriod", HOLD_MINUTES, "minutes");
        let hold_minutes =
            hold.and_then(|minutes| u32::try_from(minutes).ok()).unwrap_or(HOLD_MINUTES_DEFAULT);
        let defaults = self.defaults(&mut own);
        let mut read = BTreeMap::new();
        for (key, inner) in fragments {
            let fragment = self.fragment(&key, inner, &defaults);
            read.insert(key, fragment);
        }
        Config {
            passwords,
            auth_source,
            region,
            maker,
            aws_provider,
            hold_minutes,
            defaults,
            fragments: read,
            anything_goes: false,
        }
    }

    fn passwords(&mut self, entries: Vec<Entry>) -> Passwords {
        let mut fields = self.known(entries, "passwordConfig", &PASSWORD_KEYS);
        let length = self.number(&mut fields, "minPasswordLength", PASSWORD_LENGTH, "characters");
        let rotation = self.number(&mut fields, "passwordRotationPeriod", ROTATION_MINUTES, "minutes");
        Passwords {
            complex: self.choice(&mut fields, "passwordComplexity", COMPLEXITIES).unwrap_or(true),
            length_min: length.and_then(|length| u8::try_from(length).ok()).unwrap_or(15),
            rotation_minutes: rotation.and_then(|minutes| u16::try_from(minutes).ok()).unwrap_or(60),
        }
    }

    fn defaults(&mut self, own: &mut Fields) -> Defaults {
        Defaults {
            port: self.port(own, "defaultMasterPort").unwrap_or(PORT),
            username: self.word(own, "defaultMasterUsername").unwrap_or_else(|| USERNAME.to_owned()),
            ssl_mode: self.choice(own, "defaultSslMode", SSL_MODES).unwrap_or_default(),
            shape: self.word(own, "defaultShape"),
            storage_gb_min: self.storage(own, "defaultMinStorageGB"),
            engine_version: self.word(own, "defaultEngineVersion"),
            delete_policy: self
                .choice(own, "defaultDeletionPolicy", DELETE_POLICIES)
                .unwrap_or(DeletePolicy::Delete),
            // To keep a server that nobody claims costs money; to delete one that was meant to stay costs data.
            reclaim_policy: self
                .choice(own, "defaultReclaimPolicy", RECLAIM_POLICIES)
                .unwrap_or(ReclaimPolicy::Retain),
            extensions: self.extensions(own, "defaultExtensions").unwrap_or_default(),
            allow_super_user: self.answer(own, "defaultAllowSuperUser").unwrap_or(false),
            allow_replication: self.answer(own, "defaultAllowReplicationRole").unwrap_or(false),
        }
    }

    fn fragment(&mut self, key: &str, entries: Vec<Entry>, defaults: &Defaults) -> Fragment {
        let mut fields = self.known(entries, key, &FIELDS);
        let fields = &mut fields;
        self.demand_authority(fields, defaults.ssl_mode);
        let secret_key = "a key of a Secret: letters, digits, `-`, `_` and `.`";
        let password_key = self.parsed(fields, "passwordSecretKey", secret_key);
        Fragment {
            key: key.to_owned(),
            username: self.word(fields, "username").unwrap_or_else(|| defaults.username.clone()),
            host: self.read(fields, "host", "the name or the address of a host", host),
            port: self.port(fields, "port").unwrap_or(defaults.port),
            ssl_mode: self.choice(fields, "sslMode", SSL_MODES).unwrap_or(defaults.ssl_mode),
            password_secret: self.object(fields, "passwordSecretRef", "a Secret"),
            password_key: password_key
                .unwrap_or_else(|| "password".parse().expect("`password` is a secret key")),
            shape: self.word(fields, "shape"),
            storage_gb_min: self.storage(fields, "minStorageGB"),
            engine_version: self.word(fields, "engineVersion"),
            delete_policy: self
                .choice(fields, "deletePolicy", DELETE_POLICIES)
                .unwrap_or(defaults.delete_policy),
            reclaim_policy: self
                .choice(fields, "reclaimPolicy", RECLAIM_POLICIES)
                .unwrap_or(defaults.reclaim_policy),
            extensions: self.extensions(fields, "extensions").unwrap_or_else(|| defaults.extensions.clone()),
            allow_super_user: self.answer(fields, "allowSuperUser").unwrap_or(defaults.allow_super_user),
            allow_replication: self
                .answer(fields, "allowReplicationRole")
                .unwrap_or(defaults.allow_replication),
            adopt_existing: self.answer(fields, "adoptExisting").unwrap_or(false),
            ca_secret: self.object(fields, "caSecretRef", "a Secret"),
        }
    }

    /// A server that is there already cannot be checked without the certificate of its authority. One that is made
    /// brings it along.
    fn demand_authority(&mut self, fields: &Fields, default: SslMode) {
        let Some((host_line, _)) = fields.get("host") else { return };
        if fields.contains_key("caSecretRef") {
            return;
        }
        let (line, mode) = match fields.get("sslMode") {
            Some((line, Value::Word(word))) => (*line, found(word, SSL_MODES)),
            // What is no mode is told on its own.
            Some(_) => return,
            None => (*host_line, Some(default)),
        };
        if let Some(mode @ (SslMode::VerifyCa | SslMode::VerifyFull)) = mode {
            self.note(
                line,
                format!(
                    "the server is to be checked (sslMode {}), but with which certificate is not said; write \
                     `caSecretRef: NAME` with the name of a Secret that holds `ca.crt`",
                    mode.as_str()
                ),
            );
        }
    }

    /// Entries by key, without those that nobody knows.
    fn known(&mut self, entries: Vec<Entry>, of: &str, keys: &[&str]) -> Fields {
        let mut fields = Fields::new();
        for Entry { key, line, value } in entries {
            if keys.contains(&key.as_str()) {
                fields.insert(key, (line, value));
            } else {
                self.note(line, format!("`{key}` is no key of `{of}`; write one of {}", words(keys)));
            }
        }
        fields
    }

    fn word(&mut self, fields: &mut Fields, key: &str) -> Option<String> {
        self.read(fields, key, "a word", |word| (!word.is_empty()).then(|| word.to_owned()))
    }

    fn parsed<T: std::str::FromStr>(&mut self, fields: &mut Fields, key: &str, want: &str) -> Option<T> {
        self.read(fields, key, want, |word| word.parse().ok())
    }

    fn object(&mut self, fields: &mut Fields, key: &str, kind: &str) -> Option<ObjectName> {
        self.parsed(fields, key, &format!("the name of {kind}: lower case letters, digits, `-` and `.`"))
    }

    fn answer(&mut self, fields: &mut Fields, key: &str) -> Option<bool> {
        self.choice(fields, key, ANSWERS)
    }

    /// A list of words, or the same as one word with commas.
    fn extensions(&mut self, fields: &mut Fields, key: &str) -> Option<BTreeSet<String>> {
        let want =
            "names of extensions, such as `[pg_trgm, uuid-ossp]`: lower case letters, digits, `_` and `-`";
        if !matches!(fields.get(key), Some((_, Value::List(_)))) {
            return self.read(fields, key, want, |word| {
                word.split(',').map(|name| extension(name.trim())).collect()
            });
        }
        let Some((_, Value::List(items))) = fields.remove(key) else { return None };
        let mut names = BTreeSet::new();
        for (line, item) in items {
            match item {
                Value::Word(word) if extension(&word).is_some() => drop(names.insert(word)),
                Value::Word(_) | Value::Nothing | Value::List(_) | Value::Map(_) => {
                    self.note(line, format!("`{key}` holds {}; write {want}", told(&item)));
                }
            }
        }
        Some(names)
    }

    fn port(&mut self, fields: &mut Fields, key: &str) -> Option<u16> {
        let port = |word: &str| word.parse().ok().filter(|port| *port > 0);
        self.read(fields, key, "a port between 1 and 65535", port)
    }

    fn storage(&mut self, fields: &mut Fields, key: &str) -> Option<u32> {
        let size = |word: &str| word.parse().ok().filter(|size| *size <= 65_536);
        self.read(fields, key, "a number of GiB between 0 and 65536", size)
    }

    fn number(&mut self, fields: &mut Fields, key: &str, (min, max): (u64, u64), unit: &str) -> Option<u64> {
        let want = format!("a number of {unit} between {min} and {max}");
        self.read(fields, key, &want, |word| word.parse().ok().filter(|number| (min..=max).contains(number)))
    }

    fn choice<T: Copy>(&mut self, fields: &mut Fields, key: &str, choices: &[(&str, T)]) -> Option<T> {
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        let want = format!("one of {}", words(&names));
        self.read(fields, key, &want, |word| found(word, choices))
    }

    /// Reads one field; what it should be is told if it is not.
    fn read<T>(
        &mut self,
        fields: &mut Fields,
        key: &str,
        want: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let (line, value) = fields.remove(key)?;
        if let Value::Word(word) = &value
            && let Some(value) = read(word)
        {
            return Some(value);
        }
        self.note(line, format!("`{key}` is {}; write {want}", told(&value)));
        None
    }

    fn note(&mut self, line: u64, message: String) {
        self.problems.push((line, message));
    }
}

fn words(names: &[&str]) -> String {
    names.join(", ")
}

/// What a word stands for.
fn found<T: Copy>(word: &str, choices: &[(&str, T)]) -> Option<T> {
    choices.iter().find(|(name, _)| *name == word).map(|(_, choice)| *choice)
}

/// A value in the words of a complaint.
fn told(value: &Value) -> String {
    match value {
        Value::Word(word) => format!("`{word}`"),
        Value::Nothing => "nothing".to_owned(),
        Value::List(_) => "a list".to_owned(),
        Value::Map(_) => "a map".to_owned(),
    }
}

/// A host, if it can be one.
fn host(word: &str) -> Option<String> {
    let odd = |letter: char| letter.is_whitespace() || letter.is_control();
    (!word.is_empty() && !word.contains(odd)).then(|| word.to_owned())
}

/// The name of an extension, if it is one.
fn extension(name: &str) -> Option<String> {
    let fits = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "_-".contains(letter);
    let begins = name.starts_with(|first: char| first.is_ascii_lowercase());
    (begins && name.len() <= NAME_BYTES && name.chars().all(fits)).then(|| name.to_owned())
}
