//! Where things lie: one data directory, closed to others.

use std::fs::DirBuilder;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use sha2::{Digest, Sha256};

/// Where root's platforms keep what other users must reach (FHS: state of programs).
const SHARED: &str = "/var/lib/terrace";

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
    private_dir(dir).with_context(told)?;
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o700)).with_context(told)
}

/// Where things lie that programs of other users must reach: images, their working directories.
///
/// The data directory is closed to everybody else. That is no hindrance while programs run as the platform's own user;
/// where the platform is root they run as others, and a second place outside is needed.
pub(crate) fn shared(dir: &Path, given: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let own = given.is_none() && !is_root();
    let shared = shared_path(dir, given)?;
    if own {
        return Ok(shared);
    }
    let told = || {
        format!("cannot use {} for images and programs; choose another with --shared-dir", shared.display())
    };
    DirBuilder::new().recursive(true).mode(0o711).create(&shared).with_context(told)?;
    std::fs::set_permissions(&shared, std::fs::Permissions::from_mode(0o711)).with_context(told)?;
    Ok(shared)
}

/// Where that is, whether it is there or not.
pub(crate) fn shared_path(dir: &Path, given: Option<PathBuf>) -> std::io::Result<PathBuf> {
    match given {
        Some(shared) => std::path::absolute(shared),
        None if is_root() => Ok(Path::new(SHARED).join(short_name(dir))),
        None => Ok(dir.to_owned()),
    }
}

/// Where the builds of PostgreSQL lie that `terrace postgres install` has fetched.
pub(crate) fn postgres(shared: &Path) -> PathBuf {
    shared.join("postgres/builds")
}

/// The file that says where agents connect.
pub(crate) fn agents(dir: &Path) -> PathBuf {
    dir.join("agents-address")
}

/// The file of the audit trail.
pub(crate) fn audit(dir: &Path) -> PathBuf {
    dir.join("audit.log")
}

/// Where builds and pods keep things for each namespace: caches, layers, the fingerprints of both, logs.
pub(crate) fn by_namespace(dir: &Path, shared: &Path) -> Vec<PathBuf> {
    let builds = dir.join("builds");
    vec![shared.join("caches"), builds.join("layers"), builds.join("keys"), dir.join("logs")]
}

/// Whether programs can be run as other users.
pub(crate) fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

/// A name for a data directory that differs from those of others: the first digits of the digest of its path.
fn short_name(dir: &Path) -> String {
    let digest = Sha256::digest(dir.as_os_str().as_encoded_bytes());
    digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

/// Makes a directory, if it is not there, that only its owner may look into.
pub(crate) fn private_dir(dir: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
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
