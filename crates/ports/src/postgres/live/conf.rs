//! The files that a server is set up by. They lie beside the data directory, so that no copy of it carries them along.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use super::super::{Error, Key, Number, Settings};
use super::record::Kept;
use super::roles::REPLICA;
use super::{Inner, Live, files};

/// Who may connect: everybody with a password, from this machine. The role of the standbys may do nothing else.
pub(super) const ENTRY_RULES: &str = "\
host replication terrace_replica 127.0.0.1/32 scram-sha-256
host postgres terrace_replica 127.0.0.1/32 scram-sha-256
host all terrace_replica 127.0.0.1/32 reject
host all all 127.0.0.1/32 scram-sha-256
";
/// What holds where nobody says otherwise: small servers, several of them on one machine.
const DEFAULTS: [(&str, &str); 10] = [
    ("shared_buffers", "32MB"),
    ("max_connections", "50"),
    ("min_wal_size", "32MB"),
    ("max_wal_size", "256MB"),
    ("jit", "off"),
    ("huge_pages", "off"),
    ("timezone", "UTC"),
    ("log_timezone", "UTC"),
    ("default_text_search_config", "pg_catalog.english"),
    ("wal_receiver_timeout", "20s"),
];
/// What the machinery relies on.
const FORCED: [(&str, &str); 13] = [
    ("listen_addresses", "127.0.0.1"),
    ("unix_socket_directories", ""),
    ("password_encryption", "scram-sha-256"),
    ("wal_level", "replica"),
    ("hot_standby", "on"),
    ("wal_log_hints", "on"),
    // A standby that is promoted while it waits for its lost primary ends this wait first; the default is 5 s.
    ("wal_retrieve_retry_interval", "200ms"),
    ("max_wal_senders", "10"),
    ("max_replication_slots", "10"),
    // A standby that never comes back must not fill the disk.
    ("max_slot_wal_keep_size", "512MB"),
    ("archive_mode", "on"),
    ("log_destination", "stderr"),
    ("logging_collector", "off"),
];
/// What nobody else may set besides [`FORCED`]; with a `*`, everything that begins so.
const REFUSED: [&str; 30] = [
    "archive_*",
    "recovery_*",
    "ssl*",
    "unix_socket_*",
    "terrace.*",
    "include*",
    "primary_*",
    "krb_*",
    "syslog*",
    "port",
    "restore_command",
    "promote_trigger_file",
    "synchronous_standby_names",
    "cluster_name",
    "data_directory",
    "config_file",
    "hba_file",
    "ident_file",
    "external_pid_file",
    "log_directory",
    "log_filename",
    "fsync",
    "full_page_writes",
    "restart_after_crash",
    "dynamic_library_path",
    "local_preload_libraries",
    "session_preload_libraries",
    "jit_provider",
    "allow_system_table_mods",
    "superuser_reserved_connections",
];
/// What a standby must not have less of than its primary: the parameter, how `pg_controldata` names it, and its default.
const FLOORS: [(&str, &str, u32); 4] = [
    ("max_connections", "max_connections setting:", 100),
    ("max_worker_processes", "max_worker_processes setting:", 8),
    ("max_prepared_transactions", "max_prepared_xacts setting:", 0),
    ("max_locks_per_transaction", "max_locks_per_xact setting:", 64),
];
/// What history is handed to where there is no archive.
const NO_ARCHIVE: &str = "/bin/true";
/// The parameter that tells which settings a server has read.
const MARK: &str = "terrace.settings";

impl Live {
    /// Writes the settings of an instance, and lets it read them.
    pub(super) async fn write_settings(
        &self,
        cluster: &Key,
        number: Number,
        settings: &Settings,
    ) -> Result<(), Error> {
        let gate = self.inner.gate(&cluster.uid);
        let _alone = gate.lock().await;
        self.inner.known(cluster)?;
        let owner = self.inner.owner(&cluster.name.namespace)?;
        let text = self.inner.settings_text(&cluster.uid, settings);
        let path = self.inner.places.settings(&cluster.uid, number);
        files::blocking(move || files::write(&path, &text, owner)).await?;
        self.inner.reload(&cluster.uid, number, Some(&settings.mark)).await;
        Ok(())
    }
}

impl Inner {
    fn settings_text(&self, uid: &str, settings: &Settings) -> String {
        let tls = self.places.tls(uid);
        let tls = tls.join("server.key").exists().then_some(tls);
        let archive = settings.archive.then(|| archive_command(&self.places.archive(uid)));
        text(settings, tls.as_deref(), archive.as_deref())
    }

    /// Writes what the machinery itself sets, from the record.
    pub(super) async fn write_own(&self, uid: &str, number: Number) -> Result<(), Error> {
        let Some(record) = self.record(uid) else { return Ok(()) };
        let owner = self.owner(&record.namespace)?;
        let own = own_text(&self.places, uid, number, &record.kept(number));
        let (path, settings) = (self.places.own_settings(uid, number), self.places.settings(uid, number));
        let plain = self.settings_text(uid, &Settings::default());
        files::blocking(move || {
            if !settings.exists() {
                files::write(&settings, &plain, owner)?;
            }
            files::write(&path, &own, owner)
        })
        .await
    }
}

/// The settings that somebody asked for, without those that are not theirs to set.
fn text(settings: &Settings, tls: Option<&Path>, archive: Option<&str>) -> String {
    let mut text = String::new();
    let asked = settings.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let asked = asked.filter(|(name, value)| allowed(name, value));
    for (name, value) in DEFAULTS.into_iter().chain(asked).chain(FORCED) {
        line(&mut text, name, value);
    }
    line(&mut text, "archive_command", archive.unwrap_or(NO_ARCHIVE));
    if let Some(tls) = tls {
        line(&mut text, "ssl", "on");
        line(&mut text, "ssl_cert_file", &tls.join("server.crt").display().to_string());
        line(&mut text, "ssl_key_file", &tls.join("server.key").display().to_string());
    }
    if !settings.mark.is_empty() {
        line(&mut text, MARK, &settings.mark);
    }
    text
}

/// What the server of an instance reads first.
fn own_text(places: &super::places::Places, uid: &str, number: Number, kept: &Kept) -> String {
    let mut text = format!("include '{number}.conf'\n");
    for (name, floor) in &kept.floors {
        line(&mut text, name, &floor.to_string());
    }
    line(&mut text, "port", &kept.port.to_string());
    line(&mut text, "hba_file", &places.entry_rules(uid).display().to_string());
    line(&mut text, "cluster_name", &number.to_string());
    line(&mut text, "synchronous_standby_names", &standby_names(&kept.waits_for));
    if let Some(port) = kept.follows {
        let passfile = places.passfile(uid).display().to_string();
        line(&mut text, "primary_conninfo", &conninfo(port, number, &passfile));
        line(&mut text, "primary_slot_name", &slot(number));
    }
    text
}

/// What a standby must be raised to: it does not start with less than its primary had, which its data tells.
/// https://www.postgresql.org/docs/current/hot-standby.html#HOT-STANDBY-ADMIN
pub(super) fn floors(control: &str, settings: &str) -> BTreeMap<String, u32> {
    let number = |text: &str| text.trim().trim_matches('\'').parse::<u32>().ok();
    let had = |words: &str| number(control.lines().find_map(|line| line.strip_prefix(words))?);
    let asked = |name: &str| {
        // The last line counts.
        number(settings.lines().rev().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "))?)
    };
    let rows = FLOORS.iter().filter_map(|(name, words, default)| {
        let had = had(words)?;
        (had > asked(name).unwrap_or(*default)).then(|| ((*name).to_owned(), had))
    });
    rows.collect()
}

/// How a standby reaches its primary.
fn conninfo(port: u16, number: Number, passfile: &str) -> String {
    let passfile = passfile.replace('\\', "\\\\").replace('\'', "\\'");
    format!(
        "host=127.0.0.1 port={port} user={REPLICA} application_name={number} sslmode=disable \
         connect_timeout=5 passfile='{passfile}'"
    )
}

/// The port in a [`conninfo`].
pub(super) fn port_of(conninfo: &str) -> Option<u16> {
    conninfo.split(' ').find_map(|word| word.strip_prefix("port=")?.parse().ok())
}

/// The slot that keeps the history which a standby has not received yet.
pub(super) fn slot(number: Number) -> String {
    format!("s{number}")
}

/// The value of `synchronous_standby_names` for any one of these.
pub(super) fn standby_names(standbys: &BTreeSet<Number>) -> String {
    if standbys.is_empty() {
        return String::new();
    }
    let names: Vec<String> = standbys.iter().map(|number| format!("\"{number}\"")).collect();
    format!("ANY 1 ({})", names.join(","))
}

/// The numbers in [`standby_names`].
pub(super) fn named_standbys(names: &str) -> BTreeSet<Number> {
    names.split('"').filter_map(|word| word.parse().ok()).collect()
}

/// The mark in a file of settings.
pub(super) fn mark_in(text: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix(MARK)?.strip_prefix(" = '"))?;
    Some(value.strip_suffix('\'')?.replace("''", "'").replace("\\\\", "\\"))
}

/// Whether history goes into an archive with this command.
pub(super) fn archives(command: &str) -> bool {
    !matches!(command, "" | NO_ARCHIVE | "(disabled)")
}

/// Puts a piece of history into the archive, whole and durable, or finds that the same piece is there already.
fn archive_command(archive: &Path) -> String {
    let place = shell(&archive.display().to_string()).replace('%', "%%");
    format!(
        "d={place}; if [ -e \"$d/%f\" ]; then cmp -s \"%p\" \"$d/%f\"; else cp \"%p\" \"$d/%f.next\" && \
         sync \"$d/%f.next\" && mv \"$d/%f.next\" \"$d/%f\"; fi"
    )
}

/// Takes a piece of history out of an archive.
pub(super) fn restore_command(archive: &Path) -> String {
    let place = shell(&archive.display().to_string()).replace('%', "%%");
    format!("d={place}; cp \"$d/%f\" \"%p\"")
}

/// A word as the shell reads it.
pub(super) fn shell(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// One line of a file of settings.
pub(super) fn line(text: &mut String, name: &str, value: &str) {
    let quoted = value.replace('\\', "\\\\").replace('\'', "''");
    // Writing into a string cannot fail.
    let _ = writeln!(text, "{name} = '{quoted}'");
}

fn allowed(name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
    let well_formed = name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.bytes().all(plain);
    let refused = |pattern: &&str| match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == **pattern,
    };
    let loads_files = name == "shared_preload_libraries" && value.contains('/');
    well_formed
        && !value.contains(char::is_control)
        && !loads_files
        && !REFUSED.iter().any(refused)
        && !FORCED.iter().any(|(forced, _)| *forced == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_quoted_and_never_those_of_the_machinery() {
        let table = [
            ("work_mem", "4MB", true),
            ("search_path", "a'b\\c", true),
            ("PORT", "1", false),
            ("archive_command", "rm -rf", false),
            ("ssl_key_file", "/x", false),
            ("restore_command", "x", false),
            ("recovery_target", "immediate", false),
            ("synchronous_standby_names", "*", false),
            ("listen_addresses", "*", false),
            ("shared_preload_libraries", "pg_stat_statements", true),
            ("shared_preload_libraries", "/tmp/evil.so", false),
            ("include_if_exists", "/x", false),
            ("work_mem\nport", "1", false),
            ("log_line_prefix", "a\nport = 1", false),
            ("terrace.settings", "x", false),
        ];
        for (name, value, want) in table {
            let parameters = BTreeMap::from([(name.to_owned(), value.to_owned())]);
            let settings = Settings { parameters, archive: false, mark: "m".into() };
            let text = text(&settings, None, None);
            let quoted = value.replace('\\', "\\\\").replace('\'', "''");
            assert_eq!(text.contains(&format!("{name} = '{quoted}'\n")), want, "{name} = {value}: {text}");
        }
    }

    #[test]
    fn a_standby_is_raised_to_what_its_primary_had() {
        let control = "max_connections setting:              100\nmax_worker_processes setting:         8\n\
                       max_prepared_xacts setting:           5\nmax_locks_per_xact setting:           64\n";
        let raised = |settings: &str| {
            let floors = floors(control, settings);
            floors.iter().map(|(name, floor)| format!("{name}={floor}")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(raised("max_connections = '50'\n"), "max_connections=100 max_prepared_transactions=5");
        assert_eq!(
            raised("max_connections = '50'\nmax_connections = '200'\n"),
            "max_prepared_transactions=5"
        );
        assert_eq!(floors("", ""), BTreeMap::new());
    }

    #[test]
    fn what_is_written_can_be_read_back() {
        let settings = Settings { mark: "a'b\\c".into(), ..Settings::default() };
        assert_eq!(mark_in(&text(&settings, None, None)).as_deref(), Some("a'b\\c"));
        assert_eq!(mark_in(&text(&Settings::default(), None, None)), None);
        assert_eq!(port_of(&conninfo(20_001, 2, "/it's here")), Some(20_001));
        let standbys = BTreeSet::from([2, 3]);
        assert_eq!(standby_names(&standbys), "ANY 1 (\"2\",\"3\")");
        assert_eq!(named_standbys(&standby_names(&standbys)), standbys);
        assert_eq!(named_standbys(&standby_names(&BTreeSet::new())), BTreeSet::new());
        assert!(archives(&archive_command(Path::new("/a b%"))) && !archives(NO_ARCHIVE));
    }
}
