//! Where fetched trees lie: one directory for each object, with one tree in it that a link names.

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use kit::Name;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{Bounds, Error, Fetched, Order};

/// The link that names the tree that counts.
const CURRENT: &str = "current";
/// What is known of a tree, beside it.
const RECORD: &str = "artifact.json";

#[derive(Serialize, Deserialize)]
struct Record {
    revision: String,
    digest: String,
    size_bytes: u64,
}

/// Trees below one directory.
#[derive(Clone, Debug)]
pub(super) struct Store {
    root: PathBuf,
    bounds: Bounds,
}

impl Store {
    pub(super) fn new(root: PathBuf, bounds: Bounds) -> Self {
        Self { root, bounds }
    }

    pub(super) fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Where git works for an object. One pass over an object runs at a time.
    pub(super) fn workshop(&self, name: &Name) -> Result<PathBuf, Error> {
        Ok(self.home(name)?.join("workshop"))
    }

    /// Puts a tree in the place of the one that is there.
    pub(super) fn keep(&self, order: &Order, revision: &str, tree: &Path) -> Result<(), Error> {
        fs::remove_dir_all(tree.join(".git")).map_err(Error::at(tree))?;
        let (digest, size_bytes) = self.measure(order, tree)?;
        let home = self.home(&order.name)?;
        let mark = Sha256::digest(format!("{revision}\n{digest}"));
        let word: String = mark.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
        let place = home.join(&word);
        if !place.join(RECORD).exists() {
            let _ = fs::remove_dir_all(&place);
            fs::DirBuilder::new().mode(0o700).create(&place).map_err(Error::at(&place))?;
            fs::rename(tree, place.join("tree")).map_err(Error::at(&place))?;
            let record = Record { revision: revision.to_owned(), digest, size_bytes };
            let text = serde_json::to_vec(&record).unwrap_or_default();
            fs::write(place.join(RECORD), text).map_err(Error::at(&place))?;
        }
        let (link, next) = (home.join(CURRENT), home.join("next"));
        let _ = fs::remove_file(&next);
        std::os::unix::fs::symlink(&word, &next).map_err(Error::at(&next))?;
        fs::rename(&next, &link).map_err(Error::at(&link))?;
        for entry in fs::read_dir(&home).map_err(Error::at(&home))?.flatten() {
            let name = entry.file_name();
            if name != CURRENT && name != word.as_str() && name != "workshop" {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        Ok(())
    }

    pub(super) fn held(&self, name: &Name) -> Result<Option<Fetched>, Error> {
        let home = self.home(name)?;
        let Ok(word) = fs::read_link(home.join(CURRENT)) else { return Ok(None) };
        let place = home.join(word);
        let record = fs::read(place.join(RECORD)).ok();
        let record = record.and_then(|text| serde_json::from_slice::<Record>(&text).ok());
        let path = place.join("tree");
        Ok(record.filter(|_| path.is_dir()).map(|Record { revision, digest, size_bytes }| Fetched {
            revision,
            digest,
            size_bytes,
            path,
        }))
    }

    pub(super) fn remove(&self, name: &Name) -> Result<(), Error> {
        let home = self.home(name)?;
        match fs::remove_dir_all(&home) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::at(&home)(error)),
            _ => Ok(()),
        }
    }

    /// The directory of an object. Names of objects hold neither `/` nor `..`, but this is where it would matter.
    fn home(&self, name: &Name) -> Result<PathBuf, Error> {
        let plain = |word: &str| !word.is_empty() && !word.contains(['/', '\0']) && !word.starts_with('.');
        if !plain(&name.namespace) || !plain(&name.name) {
            return Err(Error::Invalid(format!("'{name}' is no name of an object")));
        }
        Ok(self.root.join(&name.namespace).join(&name.name))
    }

    fn measure(&self, order: &Order, tree: &Path) -> Result<(String, u64), Error> {
        let mut files = Vec::new();
        walk(tree, &mut files).map_err(Error::at(tree))?;
        files.sort();
        let too_large = |what: String| Error::TooLarge { url: order.url.clone(), what };
        if files.len() as u64 > self.bounds.files {
            return Err(too_large(format!("more than {} files", self.bounds.files)));
        }
        let (mut digest, mut size) = (Sha256::new(), 0);
        for path in files {
            let meta = fs::symlink_metadata(&path).map_err(Error::at(&path))?;
            size += meta.size();
            if size > self.bounds.bytes {
                return Err(too_large(format!("more than {} bytes", self.bounds.bytes)));
            }
            let bytes = if meta.is_symlink() {
                fs::read_link(&path).map_err(Error::at(&path))?.into_os_string().into_encoded_bytes()
            } else {
                fs::read(&path).map_err(Error::at(&path))?
            };
            let name = path.strip_prefix(tree).unwrap_or(&path).display().to_string();
            digest.update(format!("{name}\0{}\0{}\0", meta.is_symlink(), bytes.len()));
            digest.update(bytes);
        }
        let hex: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok((format!("sha256:{hex}"), size))
    }
}

/// Removes the files whose names git listed, ended by zeros.
pub(super) fn leave_out(tree: &Path, listed: &[u8]) -> Result<(), Error> {
    use std::os::unix::ffi::OsStrExt as _;
    for name in listed.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let path = tree.join(std::ffi::OsStr::from_bytes(name));
        fs::remove_file(&path).map_err(Error::at(&path))?;
    }
    Ok(())
}

/// Size of everything below a directory, as far as it can be seen.
pub(super) fn size(path: &Path) -> u64 {
    let mut files = Vec::new();
    // What vanishes meanwhile measures nothing.
    let _ = walk(path, &mut files);
    files.iter().filter_map(|file| fs::symlink_metadata(file).ok()).map(|meta| meta.size()).sum()
}

/// All that is no directory, below a directory.
fn walk(path: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            walk(&entry.path(), found)?;
        } else {
            found.push(entry.path());
        }
    }
    Ok(())
}
