//! Dependencies that are used again: the same manifest, the same tools, the same application. Never another's.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};

use super::places::short;
use super::{Error, detect, digest, tree};

/// How many layers an application keeps: the one in use and the one before, for going back.
const KEPT: usize = 2;
/// How much the languages' own caches of one application may hold before they begin anew.
const CACHE_BYTES: u64 = 4 << 30;

/// A place for the dependencies of one manifest.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    place: PathBuf,
    directory: &'static str,
    key: String,
}

impl Layer {
    /// Names the layer after the files that it follows from and what installs it.
    pub(super) fn new(
        place: PathBuf,
        layer: &detect::Layer,
        app: &Path,
        install: &str,
    ) -> Result<Self, Error> {
        let mut sum = Sha256::new();
        sum.update(install);
        for name in &layer.key_files {
            let digest = digest::file(&app.join(name)).unwrap_or_default();
            sum.update(format!("\n{name} {digest}"));
        }
        tree::make_private(&place, tree::PRIVATE)?;
        Ok(Self { place, directory: layer.directory, key: digest::hex(&sum.finalize()) })
    }

    /// Puts the dependencies into the application, if they are here.
    pub(super) fn restore(&self, app: &Path) -> Result<bool, Error> {
        let kept = self.place.join(&self.key);
        if !kept.is_dir() {
            return Ok(false);
        }
        touch(&kept)?;
        let to = app.join(self.directory);
        // What the source brought along under this name makes room, as it would for the install.
        tree::remove(&to)?;
        tree::copy(&kept, &to)?;
        Ok(true)
    }

    /// Keeps a copy of the dependencies that were just installed.
    pub(super) fn save(&self, app: &Path) -> Result<(), Error> {
        let from = app.join(self.directory);
        if !fs::symlink_metadata(&from).is_ok_and(|meta| meta.is_dir()) {
            return Ok(());
        }
        // Two builds of an application can be at it at one time.
        let fresh = self.place.join(format!("new-{}", short(&from.to_string_lossy())));
        let kept = self.place.join(&self.key);
        tree::remove(&fresh)?;
        tree::copy(&from, &fresh)?;
        tree::remove(&kept)?;
        fs::rename(&fresh, &kept).map_err(Error::at(&kept))?;
        self.trim()
    }

    fn trim(&self) -> Result<(), Error> {
        let mut layers: Vec<(SystemTime, PathBuf)> = Vec::new();
        for entry in fs::read_dir(&self.place).map_err(Error::at(&self.place))? {
            let path = entry.map_err(Error::at(&self.place))?.path();
            let used = fs::metadata(&path).and_then(|meta| meta.modified()).map_err(Error::at(&path))?;
            layers.push((used, path));
        }
        layers.sort();
        layers.iter().rev().skip(KEPT).try_for_each(|(_, path)| tree::remove(path))
    }
}

/// Marks a directory as used now.
pub(super) fn touch(path: &Path) -> Result<(), Error> {
    let marked = File::open(path).and_then(|file| file.set_modified(SystemTime::now()));
    marked.map_err(Error::at(path))
}

/// Empties a cache that has grown too large.
pub(super) fn trim_cache(cache: &Path) -> Result<(), Error> {
    if cache.is_dir() && tree::size(cache)? > CACHE_BYTES {
        tree::remove(cache)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn dependencies_come_back_for_the_same_manifest_and_only_the_last_are_kept() {
        let (place, app) = (TempDir::new().expect("a directory"), TempDir::new().expect("a directory"));
        let recipe =
            detect::Layer { directory: "node_modules", key_files: vec!["package-lock.json", ".npmrc"] };
        let lock = app.path().join("package-lock.json");
        let (modules, file) = (app.path().join("node_modules"), app.path().join("node_modules/a/index.js"));
        let layer = |install: &str| {
            Layer::new(place.path().join("layers"), &recipe, app.path(), install).expect("a layer")
        };
        for version in ["one", "two", "three"] {
            fs::write(&lock, version).expect("a file");
            assert!(!layer("npm ci").restore(app.path()).expect("it looks"), "{version} was never installed");
            fs::create_dir_all(modules.join("a")).expect("a directory");
            fs::write(&file, version).expect("a file");
            layer("npm ci").save(app.path()).expect("it is kept");
        }
        fs::write(&file, "poisoned").expect("a file");
        assert!(layer("npm ci").restore(app.path()).expect("it looks"));
        assert_eq!(fs::read_to_string(&file).expect("it is back"), "three", "a copy of its own");
        assert!(!layer("npm install").restore(app.path()).expect("it looks"), "installed in another way");
        fs::write(&lock, "two").expect("a file");
        assert!(layer("npm ci").restore(app.path()).expect("it looks"));
        assert_eq!(fs::read_to_string(&file).expect("it is back"), "two");
        fs::write(&lock, "one").expect("a file");
        assert!(!layer("npm ci").restore(app.path()).expect("it looks"), "the oldest made room");
    }
}
