//! The store of images: one directory each, named by the digest of what it holds, never changed after it is there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::{Error, digest, layers, tree};

/// File in an image's directory that says how it runs.
const MANIFEST: &str = "image.json";
/// Directory in an image's directory that holds the application.
const APP: &str = "app";
/// What stands for the application's directory in a manifest, which cannot know where the store is.
pub(super) const HERE: &str = "{app}";

/// How an image runs, as its directory says it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Manifest {
    /// What is started.
    pub(super) run: Run,
    /// Variables; [`HERE`] in a value is the application's directory.
    pub(super) env: BTreeMap<String, String>,
    /// Directories outside the image that must be reachable.
    pub(super) expose: Vec<PathBuf>,
}

/// What an image starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Run {
    /// A program with arguments.
    Command(Vec<String>),
    /// The platform's own file server, for this directory.
    Files(String),
}

/// An image, ready to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Its directory; nobody writes there.
    pub root: PathBuf,
    /// Program and arguments; no shell reads them.
    pub command: Vec<String>,
    /// Variables that it needs, `PATH` among them. What a pod sets goes before them.
    pub env: BTreeMap<String, String>,
    /// Working directory.
    pub workdir: PathBuf,
    /// Directories outside the image that its user must be able to reach (`Launch::expose`).
    pub expose: Vec<PathBuf>,
}

/// The store. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Images {
    directory: PathBuf,
    files_command: Vec<String>,
    verified: Arc<Mutex<BTreeSet<String>>>,
}

impl Images {
    /// The store in `<shared>/images`. `files_command` starts the platform's file server; the directory to serve is
    /// appended to it.
    pub fn open(shared: &Path, files_command: Vec<String>) -> Result<Self, Error> {
        let directory = shared.join("images");
        tree::make_private(&directory, tree::PASSABLE)?;
        Ok(Self { directory, files_command, verified: Arc::default() })
    }

    /// The image that a reference `<tag>@sha256:<hex>` names; `None` if it is not here. The first use in the life of
    /// the platform verifies it.
    pub async fn resolve(&self, reference: &str) -> Result<Option<Image>, Error> {
        let Some(hex) = hex_of(reference) else { return Ok(None) };
        let (store, hex, reference) = (self.clone(), hex.to_owned(), reference.to_owned());
        tree::blocking(move || store.read(&hex, &reference)).await
    }

    /// Whether the store holds an image of this digest.
    fn holds(&self, hex: &str) -> bool {
        self.directory.join(hex).join(MANIFEST).is_file()
    }

    /// Keeps an image that is used again from being collected before anybody refers to it. Whether it is here.
    pub(super) fn touch(&self, hex: &str) -> Result<bool, Error> {
        if !is_hex(hex) || !self.holds(hex) {
            return Ok(false);
        }
        layers::touch(&self.directory.join(hex)).map(|()| true)
    }

    /// Removes the images that nobody refers to and that were made longer ago than `age`; returns their digests.
    /// Whoever runs an image, or may want it again, has to name it in `referenced`.
    pub async fn collect(&self, referenced: Vec<String>, age: Duration) -> Result<Vec<String>, Error> {
        let store = self.clone();
        tree::blocking(move || store.sweep(&referenced, age)).await
    }

    fn read(&self, hex: &str, reference: &str) -> Result<Option<Image>, Error> {
        let root = self.directory.join(hex);
        let text = match fs::read(root.join(MANIFEST)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::at(root.join(MANIFEST))(error)),
        };
        let damaged = |why: String| Error::Damaged { reference: reference.to_owned(), why };
        if !self.verified.lock().contains(hex) {
            let found = digest::tree(&root.join(APP), &text).map_err(Error::at(root.join(APP)))?;
            if found != hex {
                return Err(damaged(format!("its contents have the digest {found}")));
            }
            self.verified.lock().insert(hex.to_owned());
        }
        let manifest: Manifest = serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        Ok(Some(self.image(root, manifest)))
    }

    fn image(&self, root: PathBuf, manifest: Manifest) -> Image {
        let workdir = root.join(APP);
        let here = workdir.to_string_lossy();
        let command = match manifest.run {
            Run::Command(mut command) => {
                // A program of the image itself, which must not depend on who looks for it and from where.
                if let Some(program) = command.first_mut().filter(|program| program.contains('/')) {
                    *program = workdir.join(&program).to_string_lossy().into_owned();
                }
                command
            }
            Run::Files(directory) => {
                let served = workdir.join(directory).to_string_lossy().into_owned();
                self.files_command.iter().cloned().chain([served]).collect()
            }
        };
        let env = manifest.env.into_iter().map(|(name, value)| (name, value.replace(HERE, &here))).collect();
        Image { root, command, env, workdir, expose: manifest.expose }
    }

    /// Puts a finished tree into the store under its digest, which is returned. The tree is moved, not copied: it has
    /// to lie on the same file system, where nobody else can write.
    pub(super) fn put(&self, app: &Path, manifest: &Manifest) -> Result<String, Error> {
        let text =
            serde_json::to_vec_pretty(manifest).map_err(|e| Error::at(MANIFEST)(io::Error::other(e)))?;
        tree::seal(app)?;
        let hex = digest::tree(app, &text).map_err(Error::at(app))?;
        let root = self.directory.join(&hex);
        if self.touch(&hex)? {
            tree::remove(app)?;
            return Ok(hex);
        }
        let fresh = self.directory.join(format!(".new-{hex}"));
        tree::remove(&fresh)?;
        tree::make_private(&fresh, tree::READABLE)?;
        // Renaming a directory rewrites its `..`, which a sealed one does not allow its owner.
        tree::move_sealed(app, &fresh.join(APP))?;
        let manifest = fresh.join(MANIFEST);
        fs::write(&manifest, &text).map_err(Error::at(&manifest))?;
        tree::set_mode(&manifest, 0o444)?;
        fs::rename(&fresh, &root).map_err(Error::at(&root))?;
        Ok(hex)
    }

    fn sweep(&self, referenced: &[String], age: Duration) -> Result<Vec<String>, Error> {
        let kept: BTreeSet<&str> = referenced.iter().filter_map(|reference| hex_of(reference)).collect();
        let mut removed = Vec::new();
        for entry in fs::read_dir(&self.directory).map_err(Error::at(&self.directory))? {
            let entry = entry.map_err(Error::at(&self.directory))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if kept.contains(name.as_str()) || !older(&entry.path(), age)? {
                continue;
            }
            // First out of sight, so that nobody resolves half an image.
            let trash = self.directory.join(format!(".old-{}", name.trim_start_matches('.')));
            if entry.path() != trash {
                fs::rename(entry.path(), &trash).map_err(Error::at(&trash))?;
            }
            self.verified.lock().remove(&name);
            tree::remove(&trash)?;
            if is_hex(&name) {
                removed.push(name);
            }
        }
        Ok(removed)
    }
}

/// The digest that a reference names, if it names one.
fn hex_of(reference: &str) -> Option<&str> {
    let (_, hex) = reference.rsplit_once("@sha256:")?;
    is_hex(hex).then_some(hex)
}

fn is_hex(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn older(path: &Path, age: Duration) -> Result<bool, Error> {
    let made = fs::symlink_metadata(path).and_then(|meta| meta.modified()).map_err(Error::at(path))?;
    Ok(SystemTime::now().duration_since(made).is_ok_and(|since| since >= age))
}
