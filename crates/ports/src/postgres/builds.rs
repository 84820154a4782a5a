//! Builds of PostgreSQL on this machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Build;

/// Every build that can be used, by its major version. For one version the extra places win.
pub fn find(extra: &[PathBuf], cache: Option<&Path>) -> BTreeMap<u32, Build> {
    let below =
        |place: &Path| std::fs::read_dir(place).into_iter().flatten().flatten().map(|entry| entry.path());
    let system = below(Path::new("/usr/lib/postgresql")).map(|place| place.join("bin"));
    let cached = cache.into_iter().flat_map(below).map(|place| place.join("bin"));
    let places = system.chain(cached).chain(extra.iter().cloned());
    places.filter_map(|bin| examine(&bin)).collect()
}

fn examine(bin: &Path) -> Option<(u32, Build)> {
    let said = Command::new(bin.join("postgres")).arg("--version").output().ok()?;
    let said = String::from_utf8(said.stdout).ok()?;
    let version = said.split_ascii_whitespace().nth(2)?.to_owned();
    let major = version.split('.').next()?.parse().ok()?;
    Some((major, Build { version, bin: bin.to_owned() }))
}
