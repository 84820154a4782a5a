//! Which PostgreSQL there is on this machine.
//!
//! Builds are looked for each time they are asked for, because one may be installed while the platform runs. That is
//! cheap: directories are listed, and a program is asked for its version once for each time that it changed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::SystemTime;

use parking_lot::Mutex;

use super::Build;

/// What a build must hold to be used: servers are made, run, copied, brought back and looked into with these.
pub const PROGRAMS: [&str; 6] =
    ["postgres", "initdb", "pg_ctl", "pg_basebackup", "pg_rewind", "pg_controldata"];
/// The first version that tells a standby by a file, which everything here relies on.
const OLDEST: u32 = 12;
/// Where packages put it, below the root; a star stands for one name or a part of it.
const USUAL: [&str; 5] = [
    "usr/lib/postgresql/*/bin",
    "usr/pgsql-*/bin",
    "usr/local/pgsql/bin",
    "opt/homebrew/opt/postgresql@*/bin",
    "usr/local/opt/postgresql@*/bin",
];
/// Where it may lie within one installed version of the cache.
const WITHIN_CACHE: [&str; 2] = ["bin", "usr/lib/postgresql/*/bin"];
/// How the directories of installations end that are not complete.
pub const UNFINISHED: &str = ".new";

/// Where a build was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// It was named by whoever started the platform: it wins over others of the same major version.
    Named,
    /// `terrace postgres install` put it there.
    Installed,
    /// It belongs to the machine.
    Machine,
}

/// A directory that holds PostgreSQL, or was said to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The directory of its programs.
    pub bin: PathBuf,
    /// Where it was found.
    pub origin: Origin,
    /// Its version, or why it cannot be used.
    pub usable: Result<Usable, String>,
}

/// A build that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usable {
    /// Its major version.
    pub major: u32,
    /// Its whole version, such as `15.18`.
    pub version: String,
    /// Whether it can speak TLS, where that can be known.
    pub tls: Option<bool>,
}

/// The builds that can be used, by major version. Of one major version those that were named win, then the newest.
pub fn find(extra: &[PathBuf], cache: Option<&Path>) -> BTreeMap<u32, Build> {
    chosen(&looked_at(&places(&Ground::here(), extra, cache), version))
}

/// Every build, the best of each major version first, and then those that cannot be used, with why.
pub fn examine(extra: &[PathBuf], cache: Option<&Path>) -> Vec<Found> {
    let mut found = looked_at(&places(&Ground::here(), extra, cache), version);
    for one in &mut found {
        if let Ok(usable) = &mut one.usable {
            usable.tls = tls(&one.bin);
        }
    }
    found
}

/// What is looked through: a parameter, so that tests have a machine of their own.
struct Ground {
    root: PathBuf,
    path: Vec<PathBuf>,
    /// Whether servers run as another user than this process.
    others: bool,
}

impl Ground {
    fn here() -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        Self {
            root: PathBuf::from("/"),
            path: std::env::split_paths(&path).filter(|dir| dir.is_absolute()).collect(),
            others: nix::unistd::geteuid().is_root(),
        }
    }
}

/// A directory to look at.
#[derive(Debug)]
struct Place {
    bin: PathBuf,
    origin: Origin,
    others: bool,
}

/// The directories to look at, each once: those that were named whether they exist or not, of the others those where
/// a server lies.
fn places(ground: &Ground, extra: &[PathBuf], cache: Option<&Path>) -> Vec<Place> {
    let named = extra.iter().map(|dir| match dir.join("postgres").exists() {
        // Whoever names the directory above means this one.
        false if dir.join("bin/postgres").exists() => dir.join("bin"),
        _ => dir.clone(),
    });
    let installed = cache.into_iter().flat_map(entries).filter(|dir| !unfinished(dir));
    let installed = installed.flat_map(|dir| WITHIN_CACHE.iter().flat_map(move |tail| matching(&dir, tail)));
    let usual = USUAL.iter().flat_map(|tail| matching(&ground.root, tail));
    let on_path = ground.path.iter().filter_map(|dir| beside(&dir.join("postgres")));
    let told = ground.path.iter().map(|dir| dir.join("pg_config")).find(|file| executable(file));
    let told = told.and_then(|program| bindir(&program));
    let there = |bin: &PathBuf| bin.join("postgres").exists();
    let machine = usual.chain(on_path).chain(told).filter(there).map(|bin| (bin, Origin::Machine));
    let installed = installed.filter(there).map(|bin| (bin, Origin::Installed));
    let mut seen = BTreeSet::new();
    named
        .map(|bin| (bin, Origin::Named))
        .chain(installed)
        .chain(machine)
        .map(|(bin, origin)| (bin.canonicalize().unwrap_or(bin), origin))
        .filter(|(bin, _)| seen.insert(bin.clone()))
        .map(|(bin, origin)| Place { bin, origin, others: ground.others })
        .collect()
}

fn unfinished(dir: &Path) -> bool {
    dir.as_os_str().to_string_lossy().ends_with(UNFINISHED)
}

/// What lies in a directory, in the order of the names.
fn entries(dir: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> =
        std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// The directories below one that fit a path with stars in it.
fn matching(below: &Path, tail: &str) -> Vec<PathBuf> {
    let mut fits = vec![below.to_owned()];
    for part in tail.split('/') {
        fits = match part.split_once('*') {
            None => fits.into_iter().map(|dir| dir.join(part)).collect(),
            Some((head, _)) => {
                let named = |path: &PathBuf| {
                    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(head))
                };
                fits.iter().flat_map(|dir| entries(dir)).filter(named).collect()
            }
        };
    }
    fits.retain(|dir| dir.is_dir());
    fits
}

/// The directory that a program really lies in: on the path there may be only a link to it.
fn beside(program: &Path) -> Option<PathBuf> {
    Some(program.canonicalize().ok()?.parent()?.to_owned())
}

/// Looks at each place, the best of each major version first.
fn looked_at(places: &[Place], version: fn(&Path) -> Result<String, String>) -> Vec<Found> {
    let look = |place: &Place| {
        let usable = judge(place, version);
        Found { bin: place.bin.clone(), origin: place.origin, usable }
    };
    let mut found: Vec<Found> = places.iter().map(look).collect();
    // Stable: of two that are alike the one that was found first stays first.
    found.sort_by_key(|one| match &one.usable {
        Ok(usable) => {
            let minor = minor(&usable.version);
            (false, u32::MAX - usable.major, one.origin != Origin::Named, u32::MAX - minor)
        }
        Err(_) => (true, 0, false, 0),
    });
    found
}

/// The first of each major version.
fn chosen(found: &[Found]) -> BTreeMap<u32, Build> {
    let mut chosen = BTreeMap::new();
    for one in found {
        if let Ok(usable) = &one.usable {
            let build = Build { version: usable.version.clone(), bin: one.bin.clone() };
            chosen.entry(usable.major).or_insert(build);
        }
    }
    chosen
}

/// Whether what lies at a place can be used.
fn judge(place: &Place, version: fn(&Path) -> Result<String, String>) -> Result<Usable, String> {
    let missing: Vec<&str> =
        PROGRAMS.into_iter().filter(|program| !executable(&place.bin.join(program))).collect();
    if missing.len() == PROGRAMS.len() {
        return Err("there is no PostgreSQL here".into());
    }
    if !missing.is_empty() {
        return Err(format!("it lacks {}", missing.join(", ")));
    }
    if let Some(closed) = place.others.then(|| closed_above(&place.bin)).flatten() {
        return Err(format!(
            "servers do not run as root, and other users cannot reach it: {} is closed to them",
            closed.display()
        ));
    }
    let version = version(&place.bin.join("postgres"))?;
    match major(&version) {
        None => Err(format!("`postgres --version` names no version: {version}")),
        Some(major) if major < OLDEST => {
            Err(format!("version {version} is too old: {OLDEST} is the first that can be used"))
        }
        Some(major) => Ok(Usable { major, version, tls: None }),
    }
}

fn executable(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// The first directory on the way to one that other users may not pass.
fn closed_above(bin: &Path) -> Option<&Path> {
    bin.ancestors()
        .find(|dir| std::fs::metadata(dir).is_ok_and(|found| found.permissions().mode() & 0o001 == 0))
}

/// `17` of `17.4`, `18` of `18beta1`.
fn major(version: &str) -> Option<u32> {
    let digits = version.find(|c: char| !c.is_ascii_digit()).unwrap_or(version.len());
    version[..digits].parse().ok()
}

/// `4` of `17.4`; what comes before a release has none.
fn minor(version: &str) -> u32 {
    version.split_once('.').and_then(|(_, rest)| major(rest)).unwrap_or(0)
}

/// What a program answered, for each time that it changed.
type Answers = HashMap<(PathBuf, SystemTime, &'static str), Result<String, String>>;

static ANSWERS: LazyLock<Mutex<Answers>> = LazyLock::new(Mutex::default);

/// Asks a program once for each time that it changed; what it answers the next time is remembered.
fn ask(program: &Path, question: &'static str) -> Result<String, String> {
    let changed = std::fs::metadata(program).and_then(|found| found.modified());
    let key = (program.to_owned(), changed.unwrap_or(SystemTime::UNIX_EPOCH), question);
    if let Some(answer) = ANSWERS.lock().get(&key) {
        return answer.clone();
    }
    let name = program.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let asked = Command::new(program).arg(question).env("LC_ALL", "C").stdin(Stdio::null()).output();
    // A program that could not even be started may be another time: the machine is out of processes, say.
    let asked = asked.map_err(|error| format!("`{name} {question}` cannot run: {error}"))?;
    let answer = match asked.status.success() {
        true => Ok(String::from_utf8_lossy(&asked.stdout).trim().to_owned()),
        false => {
            let said = String::from_utf8_lossy(&asked.stderr);
            let last = said.trim().lines().next_back().unwrap_or("it said nothing");
            Err(format!("`{name} {question}` failed ({}): {last}", asked.status))
        }
    };
    ANSWERS.lock().insert(key, answer.clone());
    answer
}

/// `15.18` of `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`.
fn version(postgres: &Path) -> Result<String, String> {
    let said = ask(postgres, "--version")?;
    let version = said.split_once("(PostgreSQL) ").and_then(|(_, rest)| rest.split_whitespace().next());
    Ok(version.unwrap_or(&said).to_owned())
}

/// Where `pg_config` says that the programs are.
fn bindir(program: &Path) -> Option<PathBuf> {
    let said = ask(program, "--bindir").ok()?;
    Some(PathBuf::from(said)).filter(|dir| dir.is_absolute())
}

/// Whether a server can speak TLS. One that cannot has no ciphers, and says so without a data directory; that needs no
/// `pg_config`, which many builds lack.
fn tls(bin: &Path) -> Option<bool> {
    let said = ask(&bin.join("postgres"), "--describe-config").ok()?;
    let line = said.lines().find(|line| line.starts_with("ssl_ciphers\t"))?;
    Some(line.split('\t').nth(4)? != "none")
}

/// Whether a server is known to have no TLS, asked once for each build.
pub(super) fn lacks_tls(bin: &Path) -> bool {
    static KNOWN: Mutex<BTreeMap<PathBuf, bool>> = Mutex::new(BTreeMap::new());
    if let Some(lacks) = KNOWN.lock().get(bin) {
        return *lacks;
    }
    let lacks = tls(bin) == Some(false);
    KNOWN.lock().insert(bin.to_owned(), lacks);
    lacks
}

#[cfg(test)]
mod tests;
