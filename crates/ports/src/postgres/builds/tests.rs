//! A machine in a directory, with programs that answer what the case needs.

use std::fs::{Permissions, create_dir_all, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::{
    Found, Ground, Origin, PROGRAMS, chosen, closed_above, examine, find, looked_at, places, version,
};

/// A build whose `postgres` answers with a version, without the programs that are named.
fn build(bin: &Path, version: &str, without: &[&str]) {
    create_dir_all(bin).expect("a directory can be made");
    for name in PROGRAMS.into_iter().filter(|name| !without.contains(name)) {
        program(&bin.join(name), &format!("echo 'postgres (PostgreSQL) {version} (Somebody {version}-1)'"));
    }
}

/// Written by a shell: a file that this process writes is held open by whatever another test starts at that moment, and
/// cannot be run until that has begun.
fn program(file: &Path, line: &str) {
    let script = r#"printf '#!/bin/sh\n%s\n' "$1" > "$0" && chmod 755 "$0""#;
    let written = Command::new("sh").args(["-c", script]).arg(file).arg(line).status();
    assert!(written.expect("there is a shell").success(), "{} can be written", file.display());
}

/// A machine, what was named to it, and its cache.
struct Machine {
    dir: TempDir,
    named: Vec<PathBuf>,
    path: Vec<PathBuf>,
}

impl Machine {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory can be made");
        Self { dir, named: Vec::new(), path: Vec::new() }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().canonicalize().expect("it is there").join(path)
    }

    fn looked(&self) -> Vec<Found> {
        let ground = Ground { root: self.at(""), path: self.path.clone(), others: false };
        looked_at(&places(&ground, &self.named, Some(&self.at("cache"))), version)
    }

    /// Each build in words: its version and where it lies below the machine's root, or why it cannot be used.
    fn told(&self) -> Vec<String> {
        let root = self.at("");
        let told = |one: &Found| {
            let bin = one.bin.strip_prefix(&root).unwrap_or(&one.bin).display().to_string();
            match &one.usable {
                Ok(usable) => format!("{} {:?} {bin}", usable.version, one.origin),
                Err(why) => format!("{bin}: {why}"),
            }
        };
        self.looked().iter().map(told).collect()
    }
}

#[test]
fn builds_are_found_where_packages_put_them_and_the_newest_of_each_major_version_is_chosen() {
    let mut machine = Machine::new();
    build(&machine.at("usr/lib/postgresql/15/bin"), "15.9", &[]);
    build(&machine.at("usr/pgsql-17/bin"), "17.2", &[]);
    build(&machine.at("opt/homebrew/opt/postgresql@17/bin"), "17.10", &[]);
    build(&machine.at("cache/16.1/usr/lib/postgresql/16/bin"), "16.1", &[]);
    build(&machine.at("cache/18.1/bin"), "18beta1", &[]);
    build(&machine.at("cache/18.2.new/bin"), "18.2", &[]);
    build(&machine.at("elsewhere/bin"), "14.3", &[]);
    create_dir_all(machine.at("links")).expect("a directory can be made");
    std::os::unix::fs::symlink(machine.at("elsewhere/bin/postgres"), machine.at("links/postgres"))
        .expect("a link can be made");
    machine.path = vec![machine.at("links"), machine.at("nowhere")];
    let want = [
        "18beta1 Installed cache/18.1/bin",
        "17.10 Machine opt/homebrew/opt/postgresql@17/bin",
        "17.2 Machine usr/pgsql-17/bin",
        "16.1 Installed cache/16.1/usr/lib/postgresql/16/bin",
        "15.9 Machine usr/lib/postgresql/15/bin",
        "14.3 Machine elsewhere/bin",
    ];
    assert_eq!(machine.told(), want);
    let chosen = chosen(&machine.looked());
    let versions: Vec<_> = chosen.iter().map(|(major, build)| (*major, build.version.as_str())).collect();
    assert_eq!(versions, [(14, "14.3"), (15, "15.9"), (16, "16.1"), (17, "17.10"), (18, "18beta1")]);
    assert_eq!(chosen[&17].bin, machine.at("opt/homebrew/opt/postgresql@17/bin"));
}

#[test]
fn a_build_that_was_named_wins_over_a_newer_one_and_may_be_named_by_the_directory_above() {
    let mut machine = Machine::new();
    build(&machine.at("usr/lib/postgresql/17/bin"), "17.10", &[]);
    build(&machine.at("mine/bin"), "17.2", &[]);
    machine.named = vec![machine.at("mine"), machine.at("usr/lib/postgresql/17/bin")];
    assert_eq!(
        machine.told(),
        ["17.10 Named usr/lib/postgresql/17/bin", "17.2 Named mine/bin"],
        "of two that were named the newest stands first, and each is told once"
    );
    machine.named.pop();
    assert_eq!(machine.told(), ["17.2 Named mine/bin", "17.10 Machine usr/lib/postgresql/17/bin"]);
}

#[test]
fn what_cannot_be_used_is_told_with_the_reason() {
    let mut machine = Machine::new();
    build(&machine.at("usr/lib/postgresql/16/bin"), "16.1", &["pg_basebackup", "pg_rewind"]);
    build(&machine.at("usr/lib/postgresql/11/bin"), "11.22", &[]);
    build(&machine.at("usr/lib/postgresql/17/bin"), "17.1", &["postgres"]);
    let broken = machine.at("usr/lib/postgresql/14/bin");
    build(&broken, "14.1", &[]);
    program(&broken.join("postgres"), "echo 'cannot open libssl.so.9' >&2; exit 127");
    let odd = machine.at("usr/lib/postgresql/13/bin");
    build(&odd, "13.1", &[]);
    program(&odd.join("postgres"), "echo hello");
    let unreadable = machine.at("usr/lib/postgresql/12/bin");
    build(&unreadable, "12.1", &[]);
    set_permissions(unreadable.join("pg_ctl"), Permissions::from_mode(0o644)).expect("it can be closed");
    machine.named = vec![machine.at("nowhere")];
    let want = [
        "nowhere: there is no PostgreSQL here",
        "usr/lib/postgresql/11/bin: version 11.22 is too old: 12 is the first that can be used",
        "usr/lib/postgresql/12/bin: it lacks pg_ctl",
        "usr/lib/postgresql/13/bin: `postgres --version` names no version: hello",
        "usr/lib/postgresql/14/bin: `postgres --version` failed (exit status: 127): cannot open libssl.so.9",
        "usr/lib/postgresql/16/bin: it lacks pg_basebackup, pg_rewind",
    ];
    assert_eq!(machine.told(), want);
    assert!(chosen(&machine.looked()).is_empty());
}

#[test]
fn pg_config_on_the_path_tells_of_a_build_that_lies_elsewhere() {
    let mut machine = Machine::new();
    build(&machine.at("far/away"), "17.4", &[]);
    let tools = machine.at("tools");
    create_dir_all(&tools).expect("a directory can be made");
    program(&tools.join("pg_config"), &format!("echo {}", machine.at("far/away").display()));
    machine.path = vec![tools];
    assert_eq!(machine.told(), ["17.4 Machine far/away"]);
}

#[test]
fn a_program_is_asked_once_and_again_when_it_changed() {
    let machine = Machine::new();
    let bin = machine.at("usr/lib/postgresql/17/bin");
    build(&bin, "17.1", &[]);
    let (asked, postgres) = (machine.at("asked"), bin.join("postgres"));
    let answers = |version: &str| {
        let line = format!("echo once >> {}; echo 'postgres (PostgreSQL) {version}'", asked.display());
        program(&postgres, &line);
    };
    let times = || std::fs::read_to_string(&asked).unwrap_or_default().lines().count();
    answers("17.1");
    for _ in 0..3 {
        assert_eq!(machine.looked()[0].usable.as_ref().map(|usable| usable.version.as_str()), Ok("17.1"));
    }
    assert_eq!(times(), 1);
    answers("17.2");
    let older = Command::new("touch").args(["-d", "2001-01-01"]).arg(&postgres).status();
    assert!(older.expect("there is touch").success());
    assert_eq!(machine.looked()[0].usable.as_ref().map(|usable| usable.version.as_str()), Ok("17.2"));
    assert_eq!(times(), 2);
}

#[test]
fn a_directory_that_others_may_not_pass_is_found_on_the_way_to_a_build() {
    let machine = Machine::new();
    let bin = machine.at("closed/bin");
    create_dir_all(&bin).expect("a directory can be made");
    set_permissions(&bin, Permissions::from_mode(0o755)).expect("it can be opened");
    set_permissions(machine.at("closed"), Permissions::from_mode(0o700)).expect("it can be closed");
    assert_eq!(closed_above(&bin), Some(machine.at("closed").as_path()));
    set_permissions(machine.at("closed"), Permissions::from_mode(0o711)).expect("it can be opened");
    assert_ne!(closed_above(&bin), Some(machine.at("closed").as_path()));
}

#[test]
fn what_is_found_on_this_machine_is_what_is_examined_on_it() {
    let examined = examine(&[], None);
    for (major, build) in find(&[], None) {
        let same = examined.iter().find(|found| found.bin == build.bin).expect("it was examined");
        let usable = same.usable.as_ref().expect("it can be used");
        assert_eq!((usable.major, &usable.version), (major, &build.version));
        assert!(usable.tls.is_some(), "a real server tells whether it has TLS: {build:?}");
        assert_eq!(same.origin, Origin::Machine);
    }
}
