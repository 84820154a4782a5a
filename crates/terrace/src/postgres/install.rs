//! `terrace postgres install`.

use std::fs::Permissions;
use std::io::IsTerminal;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use ports::postgres::builds;
use tokio::signal::unix::{SignalKind, signal};

use super::apt::{self, Offer};
use super::elf::{self, Tree};
use super::{Place, closure, trial};
use crate::paint::Paint;
use crate::{place, say};

#[derive(Args)]
pub(crate) struct Options {
    /// Which version: a major one such as 17, or exactly one such as 17.11
    version: Version,
    #[command(flatten)]
    place: Place,
}

/// A version as people ask for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Version {
    pub major: u32,
    /// The whole version, if exactly one is asked for.
    pub exact: Option<String>,
}

impl std::str::FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no version of PostgreSQL; one is, for example, 17 or 17.11");
        let (major, minor) = text.split_once('.').map_or((text, None), |(major, minor)| (major, Some(minor)));
        let number = |part: &str| part.parse::<u32>().map_err(|_| wrong());
        minor.map(number).transpose()?;
        Ok(Self { major: number(major)?, exact: minor.map(|_| text.to_owned()) })
    }
}

pub(super) async fn run(dir: &Path, options: &Options) -> anyhow::Result<()> {
    let shared = options.place.shared_dir.clone();
    if shared.is_none() && !place::is_root() {
        place::prepare(dir)?;
    }
    let cache = place::postgres(&place::shared(dir, shared)?);
    let told = || format!("cannot use {}", cache.display());
    open_dir(&cache).with_context(told)?;
    let lock = std::fs::File::create(cache.join("lock")).with_context(told)?;
    if lock.try_lock().is_err() {
        bail!("another `terrace postgres install` is at work in {}", cache.display());
    }
    sweep(&cache).with_context(told)?;
    let mut terminated = signal(SignalKind::terminate())?;
    let mut interrupted = signal(SignalKind::interrupt())?;
    let done = tokio::select! {
        done = install(&cache, &options.version) => done,
        _ = interrupted.recv() => Err(anyhow::anyhow!("interrupted; nothing was installed")),
        _ = terminated.recv() => Err(anyhow::anyhow!("interrupted; nothing was installed")),
    };
    sweep(&cache).with_context(told)?;
    say::line(&done?.display().to_string())
}

/// Makes a directory, and the one above it, that other users may pass whatever the umask says: servers run as others.
fn open_dir(dir: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)?;
    for dir in dir.ancestors().take(2) {
        std::fs::set_permissions(dir, Permissions::from_mode(0o711))?;
    }
    Ok(())
}

/// Removes what was not completed. Only whoever holds the lock may.
fn sweep(cache: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(cache)?.flatten() {
        if entry.file_name().to_string_lossy().ends_with(builds::UNFINISHED) {
            std::fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// Fetches a version into the cache, and returns where its programs lie.
async fn install(cache: &Path, version: &Version) -> anyhow::Result<PathBuf> {
    let own = apt::own_release();
    let offer = offered(version, own.as_deref()).await?;
    let upstream = offer.upstream().to_owned();
    let bin = PathBuf::from(format!("usr/lib/postgresql/{}/bin", version.major));
    let home = cache.join(&upstream);
    if home.exists() {
        done(&format!("PostgreSQL {upstream} is here already"));
        return Ok(home.join(bin));
    }
    let work = Work::make(cache.join(format!("{upstream}{}", builds::UNFINISHED)))?;
    let fetched = Fetched { major: version.major, bin: work.tree().join(&bin), offer };
    if own.as_ref() != Some(&fetched.offer.release) || !fetched.fits(&work).await? {
        fetched.complete(&work, &home, own.as_deref()).await?;
    } else {
        trial::run(&fetched.bin, &work.0).await?;
    }
    std::fs::rename(work.tree(), &home).with_context(|| format!("cannot make {}", home.display()))?;
    done(&format!("PostgreSQL {upstream} is installed"));
    Ok(home.join(bin))
}

/// What apt offers for a version: from this machine's own release if there is one, else the newest.
async fn offered(version: &Version, own: Option<&str>) -> anyhow::Result<Offer> {
    let offers = apt::offers(&apt::servers().await?).await?;
    match choose(&offers, version, own) {
        Some(offer) => Ok(offer.clone()),
        None => bail!("{}", unoffered(&offers, version)),
    }
}

pub(super) fn choose<'a>(offers: &'a [Offer], version: &Version, own: Option<&str>) -> Option<&'a Offer> {
    let package = format!("postgresql-{}", version.major);
    let fits = |offer: &&Offer| {
        offer.package == package && version.exact.as_ref().is_none_or(|exact| offer.upstream() == exact)
    };
    let at_home = offers.iter().filter(fits).find(|offer| Some(offer.release.as_str()) == own);
    at_home.or_else(|| offers.iter().find(fits))
}

/// What is said when apt does not offer a version.
pub(super) fn unoffered(offers: &[Offer], version: &Version) -> String {
    let wanted = version.exact.clone().unwrap_or_else(|| version.major.to_string());
    let mut there: Vec<String> =
        offers.iter().map(|offer| format!("{} ({})", offer.upstream(), offer.release)).collect();
    there.dedup();
    let there = match there.is_empty() {
        true => "apt knows none at all: `apt-get update` may help".to_owned(),
        false => format!("apt offers {}", there.join(", ")),
    };
    format!(
        "apt offers no PostgreSQL {wanted}; {there}. Add a release that has it to the sources of apt, or name the programs \
         of a PostgreSQL from elsewhere: `terrace up --postgres-bin DIR`"
    )
}

/// The directory of an installation that is not complete.
struct Work(PathBuf);

impl Work {
    fn make(dir: PathBuf) -> anyhow::Result<Self> {
        let told = || format!("cannot make {}", dir.display());
        for part in ["", "packages", "tree", "tools"] {
            std::fs::create_dir(dir.join(part)).with_context(told)?;
            std::fs::set_permissions(dir.join(part), Permissions::from_mode(0o755)).with_context(told)?;
        }
        // Canonical, because a loader tells canonical places.
        Ok(Self(dir.canonicalize().with_context(told)?))
    }

    fn tree(&self) -> PathBuf {
        self.0.join("tree")
    }

    async fn fetch(&self, offers: &[Offer], into: &Path) -> anyhow::Result<()> {
        let packages = self.0.join("packages");
        let _ = std::fs::remove_dir_all(&packages);
        std::fs::create_dir(&packages)?;
        let (all, terminal) = (offers.len(), std::io::stderr().is_terminal());
        let told = |begun: usize| {
            if terminal {
                progress(&format!("downloading package {begun} of {all}"));
            }
        };
        apt::download(offers, &packages, told).await?;
        apt::unpack(&packages, into).await
    }
}

/// A server that is being installed.
struct Fetched {
    major: u32,
    bin: PathBuf,
    offer: Offer,
}

impl Fetched {
    /// The packages that hold the programs.
    fn roots(&self) -> [Offer; 2] {
        let client = Offer { package: format!("postgresql-client-{}", self.major), ..self.offer.clone() };
        [self.offer.clone(), client]
    }

    /// Gets the programs alone, and tells whether this machine has every library that they need.
    async fn fits(&self, work: &Work) -> anyhow::Result<bool> {
        step(&format!("PostgreSQL {} from this machine's own release", self.offer.upstream()));
        work.fetch(&self.roots(), &work.tree()).await?;
        let mut files: Vec<PathBuf> = builds::PROGRAMS.iter().map(|name| self.bin.join(name)).collect();
        // Loaded by a server only when it is needed, and then it must not be too late.
        let compiler = self.bin.with_file_name("lib").join("llvmjit.so");
        files.extend(Some(compiler).filter(|file| file.exists()));
        let missing = elf::missing(&files).await?;
        if !missing.is_empty() {
            step(&format!("this machine lacks {}", missing.join(", ")));
        }
        Ok(missing.is_empty())
    }

    /// Gets the programs with every library that they need, and makes them use those.
    async fn complete(&self, work: &Work, home: &Path, own: Option<&str>) -> anyhow::Result<()> {
        let (version, release) = (self.offer.upstream(), &self.offer.release);
        step(&format!("PostgreSQL {version} from release {release}: asking apt what it needs"));
        let everything = apt::everything(&self.offer, &work.0).await?;
        let descriptions = apt::descriptions(&everything).await?;
        let roots = self.roots().map(|offer| offer.package);
        let needed = closure::needed(&everything, &descriptions, &roots);
        let patchelf = patchelf(work, own).await?;
        step(&format!("downloading {} packages", needed.len()));
        work.fetch(&needed, &work.tree()).await?;
        step("making its programs use its own libraries");
        let top = work.tree();
        let tree = Tree { top: &top, bin: &self.bin, patchelf: &patchelf };
        tree.use_own_libraries().await?;
        tree.use_own_loader(&top).await?;
        for program in builds::PROGRAMS {
            tree.check(program).await?;
        }
        step("trying it");
        trial::run(&self.bin, &work.0).await?;
        tree.use_own_loader(home).await
    }
}

/// The program that changes programs: the machine's, or one that is unpacked for now.
async fn patchelf(work: &Work, own: Option<&str>) -> anyhow::Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let here = std::env::split_paths(&path).map(|dir| dir.join("patchelf")).find(|file| file.is_file());
    if let Some(here) = here {
        return Ok(here);
    }
    let offers = apt::offers(&["patchelf".to_owned()]).await?;
    let offer = offers.iter().find(|offer| Some(offer.release.as_str()) == own);
    let Some(offer) = offer else {
        bail!(
            "a PostgreSQL of another release needs `patchelf`, which is not on this machine nor offered by apt"
        )
    };
    let tools = work.0.join("tools");
    work.fetch(std::slice::from_ref(offer), &tools).await?;
    Ok(tools.join("usr/bin/patchelf"))
}

/// Tells what happens now.
fn step(what: &str) {
    say::note(what);
}

/// Tells how far it is, in a line that the next one takes the place of.
fn progress(what: &str) {
    use std::io::Write;
    let _ = write!(std::io::stderr().lock(), "\r{what}\u{1b}[K\r");
}

fn done(what: &str) {
    say::note(&format!("{} {what}", Paint::stderr().green("✓")));
}
