//! What apt knows, asked of apt: which versions there are, what they need, and the packages themselves.
//!
//! Nothing here changes the system: apt only answers, and downloads into a directory of ours. Where the packages come
//! from is the machine's own affair, and so is whom apt trusts.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, bail};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::place;

/// A version of a package that apt can get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Offer {
    pub package: String,
    /// As Debian counts, such as `17.11-0+deb13u1`.
    pub version: String,
    /// The release that it comes from, without what stands behind its name: `trixie` for `trixie-security`.
    pub release: String,
}

impl Offer {
    /// The version of what is packaged: `17.11`.
    pub(super) fn upstream(&self) -> &str {
        let version = self.version.split_once(':').map_or(self.version.as_str(), |(_, rest)| rest);
        version.rsplit_once('-').map_or(version, |(upstream, _)| upstream)
    }

    /// How apt is told that it is this one.
    pub(super) fn exact(&self) -> String {
        format!("{}={}", self.package, self.version)
    }
}

/// The versions of packages that apt can get; of each package the newest first.
pub(super) async fn offers(packages: &[String]) -> anyhow::Result<Vec<Offer>> {
    if packages.is_empty() {
        return Ok(Vec::new());
    }
    Ok(read_offers(&answer(Command::new("apt-cache").arg("madison").args(packages)).await?))
}

/// The packages of PostgreSQL servers that apt knows, such as `postgresql-17`.
pub(super) async fn servers() -> anyhow::Result<Vec<String>> {
    let names = answer(Command::new("apt-cache").args(["pkgnames", "postgresql-"])).await?;
    let mut majors: Vec<u32> =
        names.lines().filter_map(|name| name.strip_prefix("postgresql-")?.parse().ok()).collect();
    majors.sort_unstable();
    majors.dedup();
    Ok(majors.into_iter().map(|major| format!("postgresql-{major}")).collect())
}

/// Lines such as `postgresql-17 | 17.11-0+deb13u1 | http://… trixie/main amd64 Packages`.
pub(super) fn read_offers(madison: &str) -> Vec<Offer> {
    let offer = |line: &str| {
        let mut columns = line.split('|').map(str::trim);
        let (package, version, source) = (columns.next()?, columns.next()?, columns.next()?);
        let mut words = source.split_whitespace();
        let (suite, last) = (words.nth(1)?, words.last()?);
        let suite = suite.split('/').next()?;
        let release = suite.split_once('-').map_or(suite, |(release, _)| release).to_owned();
        // Sources are offered in lines of their own.
        (last == "Packages").then(|| Offer { package: package.into(), version: version.into(), release })
    };
    madison.lines().filter_map(offer).collect()
}

/// The name of this machine's own release, as in the lists of apt.
pub(super) fn own_release() -> Option<String> {
    let text = std::fs::read_to_string("/etc/os-release").ok()?;
    let name = text.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="))?;
    Some(name.trim_matches('"').to_owned()).filter(|name| !name.is_empty())
}

/// Everything that an empty machine would need for a package, from its own release: what apt would install, in its words.
pub(super) async fn everything(offer: &Offer, work: &Path) -> anyhow::Result<Vec<Offer>> {
    let (status, pins, none) = (work.join("status"), work.join("pins"), work.join("none"));
    std::fs::write(&status, "")?;
    std::fs::create_dir_all(&none)?;
    let pin = |by: &str| format!("Package: *\nPin: release {by}={}*\nPin-Priority: 990\n\n", offer.release);
    std::fs::write(&pins, pin("n") + &pin("a"))?;
    let option = |name: &str, path: &PathBuf| format!("{name}={}", path.display());
    let mut command = Command::new("apt-get");
    command
        .args(["install", "--simulate", "--quiet", "--no-install-recommends"])
        .args(["-o", &option("Dir::State::status", &status)])
        .args(["-o", &option("Dir::Etc::preferences", &pins)])
        .args(["-o", &option("Dir::Etc::preferencesparts", &none)])
        .arg(offer.exact());
    Ok(read_simulation(&answer(&mut command).await?, &offer.release))
}

/// Lines such as `Inst libpq5 (17.11-0+deb13u1 Debian:13.7/stable [amd64])`.
pub(super) fn read_simulation(said: &str, release: &str) -> Vec<Offer> {
    let offer = |line: &str| {
        let mut words = line.strip_prefix("Inst ")?.split_whitespace();
        let package = words.next()?.to_owned();
        let version = words.find_map(|word| word.strip_prefix('('))?.to_owned();
        Some(Offer { package, version, release: release.to_owned() })
    };
    said.lines().filter_map(offer).collect()
}

/// The descriptions of packages: paragraphs of `Field: value`.
pub(super) async fn descriptions(offers: &[Offer]) -> anyhow::Result<String> {
    let exact = offers.iter().map(Offer::exact);
    answer(Command::new("apt-cache").args(["show", "--no-all-versions"]).args(exact)).await
}

/// Downloads packages into a directory; `told` hears how many have begun.
pub(super) async fn download(offers: &[Offer], into: &Path, told: impl Fn(usize)) -> anyhow::Result<()> {
    let mut command = Command::new("apt-get");
    command.arg("download").args(["--quiet", "-o", "Dpkg::Use-Pty=0"]).current_dir(into);
    if place::is_root() {
        // The user that apt would otherwise become cannot write here.
        command.args(["-o", "APT::Sandbox::User=root"]);
    }
    prepared(&mut command).args(offers.iter().map(Offer::exact));
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().context("cannot run apt-get")?;
    let lines = child.stdout.take().context("apt-get has no output")?;
    let heard = async {
        let (mut lines, mut begun) = (BufReader::new(lines).lines(), 0);
        while let Ok(Some(line)) = lines.next_line().await {
            if line.starts_with("Get:") {
                begun += 1;
                told(begun);
            }
        }
    };
    let ((), ended) = tokio::join!(heard, child.wait_with_output());
    let ended = ended?;
    if !ended.status.success() {
        bail!("the download failed: {}", complaint(&ended.stderr));
    }
    Ok(())
}

/// Unpacks every package in a directory into another.
pub(super) async fn unpack(from: &Path, into: &Path) -> anyhow::Result<()> {
    let mut packages: Vec<PathBuf> = std::fs::read_dir(from)?.flatten().map(|entry| entry.path()).collect();
    packages.retain(|path| path.extension().is_some_and(|end| end == "deb"));
    packages.sort();
    for package in packages {
        answer(Command::new("dpkg-deb").arg("--extract").arg(package).arg(into)).await?;
    }
    Ok(())
}

/// Runs a program to its end, and returns what it said.
pub(super) async fn answer(command: &mut Command) -> anyhow::Result<String> {
    let name = command.as_std().get_program().to_string_lossy().into_owned();
    let ended = match prepared(command).output().await {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && name.starts_with("apt") => bail!(
            "this machine has no {name}, which fetches packages of PostgreSQL; a PostgreSQL from elsewhere can be named: \
             `terrace up --postgres-bin DIR`"
        ),
        ended => ended.with_context(|| format!("cannot run {name}"))?,
    };
    if !ended.status.success() {
        bail!("{name} failed: {}", complaint(&ended.stderr));
    }
    Ok(String::from_utf8_lossy(&ended.stdout).into_owned())
}

/// In English, without questions, and ended when nobody waits for it any more.
fn prepared(command: &mut Command) -> &mut Command {
    command.env("LC_ALL", "C").stdin(Stdio::null()).kill_on_drop(true)
}

/// The errors among what a program said, or else its last line.
pub(super) fn complaint(said: &[u8]) -> String {
    let said = String::from_utf8_lossy(said);
    let errors: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("E: ")).collect();
    match errors.is_empty() {
        true => said.trim().lines().next_back().unwrap_or("it said nothing").to_owned(),
        false => errors.join("; "),
    }
}
