//! Manifests on disk, one file each. What is there already is not overwritten.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use control_plane::wire::yaml::to_yaml;
use controllers::infra::Found;

use super::adoptable;

/// Writes the manifest of each resource that nobody has, and says how many there are. A file that says something else is
/// somebody's work: then nothing is written at all.
pub(super) fn write(directory: &Path, found: &[Found]) -> anyhow::Result<usize> {
    let files: BTreeMap<PathBuf, String> =
        adoptable(found).map(|found| (directory.join(file_name(found)), to_yaml(&found.manifest))).collect();
    std::fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    for (path, text) in &files {
        match std::fs::read_to_string(path) {
            Ok(there) if there != *text => bail!(
                "{} exists and says something else; nothing was written: move it away, or choose another directory",
                path.display()
            ),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }
    for (path, text) in &files {
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(files.len())
}

/// The kind and the object's name, which holds no more than letters, digits and dashes.
fn file_name(found: &Found) -> String {
    format!("{}-{}.yaml", found.kind.to_string().to_ascii_lowercase(), found.name())
}
