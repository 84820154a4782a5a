//! Where things lie: one data directory, closed to others.

use std::fs::DirBuilder;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// The data directory: the one given, else the user's.
pub(crate) fn data_dir(given: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    if let Some(dir) = given {
        return Ok(std::path::absolute(dir)?);
    }
    let home = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = home("XDG_DATA_HOME").or_else(|| home("HOME").map(|home| home.join(".local/share")));
    match base {
        Some(base) => Ok(base.join("terrace")),
        None => bail!("there is no home directory to keep data in; name a directory with --data-dir"),
    }
}

/// Makes the data directory if it is not there. Only its owner may look into it.
pub(crate) fn prepare(dir: &Path) -> anyhow::Result<()> {
    let told = || format!("cannot use {} as data directory; choose another with --data-dir", dir.display());
    DirBuilder::new().recursive(true).mode(0o700).create(dir).with_context(told)?;
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o700)).with_context(told)
}

/// The administrator's kubeconfig.
pub(crate) fn kubeconfig(dir: &Path) -> PathBuf {
    dir.join("kubeconfig")
}

/// Writes a file that only its owner may read, whole or not at all.
pub(crate) fn write_private(path: &Path, text: &str) -> anyhow::Result<()> {
    let told = || format!("cannot write {}", path.display());
    let new = path.with_extension("new");
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&new)
        .with_context(told)?;
    file.write_all(text.as_bytes()).with_context(told)?;
    file.sync_all().with_context(told)?;
    std::fs::rename(&new, path).with_context(told)
}
