//! A directory as an archive: the same tree always makes the same bytes.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, bail};
use flate2::Compression;
use flate2::write::GzEncoder;
use ignore::WalkBuilder;
use sha2::{Digest, Sha256};

use crate::uploads;

/// When every file in an archive is said to have changed: 2000-01-01, which zip tools take too (they begin in 1980).
const CHANGED: u64 = 946_684_800;
/// What to do about a directory that is too much.
const ADVICE: &str =
    "leave out what is not source with a .gitignore or .ignore file (node_modules/, target/, .venv/, …)";

/// How much may be packed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub files: usize,
    pub bytes: u64,
}

/// More than this is no source that people wrote.
pub(super) const BOUNDS: Bounds = Bounds { files: 10_000, bytes: uploads::ARCHIVE_MAX };

/// An archive in memory.
#[derive(Clone, Debug)]
pub(super) struct Packed {
    /// The tar.gz.
    pub archive: Vec<u8>,
    /// Its SHA-256, in lower-case digits.
    pub digest: String,
    /// How many files it holds.
    pub files: usize,
}

/// Packs a directory without what its ignore files name and without `.git`. Other dot files are packed.
pub(super) fn pack(dir: &Path, bounds: Bounds) -> anyhow::Result<Packed> {
    let root = dir.canonicalize().with_context(|| format!("cannot read {}", dir.display()))?;
    if !root.is_dir() {
        bail!("{} is not a directory", dir.display());
    }
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    let mut packing = Packing { root: &root, bounds, files: 0, bytes: 0 };
    for path in walk(&root, bounds.files)? {
        packing.add(&mut archive, &path)?;
    }
    if packing.files == 0 {
        bail!("{} holds no file that is not ignored; there is nothing to deploy", dir.display());
    }
    let archive = archive.into_inner()?.finish()?;
    let digest = uploads::hex(&Sha256::digest(&archive));
    Ok(Packed { archive, digest, files: packing.files })
}

/// Every file and link, in the order of their names; past the bound, one is enough to refuse them all.
fn walk(root: &Path, bound: usize) -> anyhow::Result<Vec<PathBuf>> {
    // Inside a repository the ignore files above count too, as they do for git; elsewhere they are nobody's.
    let repository = root.ancestors().any(|directory| directory.join(".git").exists());
    let mut builder = WalkBuilder::new(root);
    builder
        .hidden(false)
        .parents(repository)
        .require_git(repository)
        .git_global(false)
        .follow_links(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .sort_by_file_name(std::cmp::Ord::cmp);
    let mut paths = Vec::new();
    for entry in builder.build() {
        let entry = entry.context("cannot read the directory")?;
        if entry.depth() > 0 && !entry.file_type().is_some_and(|kind| kind.is_dir()) {
            paths.push(entry.into_path());
        }
        if paths.len() > bound {
            break;
        }
    }
    Ok(paths)
}

struct Packing<'a> {
    root: &'a Path,
    bounds: Bounds,
    files: usize,
    bytes: u64,
}

impl Packing<'_> {
    fn add(&mut self, archive: &mut tar::Builder<impl Write>, path: &Path) -> anyhow::Result<()> {
        let name = path.strip_prefix(self.root)?;
        let told = || format!("cannot pack {}", name.display());
        let metadata = path.symlink_metadata().with_context(told)?;
        self.files += 1;
        if self.files > self.bounds.files {
            bail!("{} holds more than {} files; {ADVICE}", self.root.display(), self.bounds.files);
        }
        let mut header = tar::Header::new_gnu();
        header.set_mtime(CHANGED);
        header.set_uid(0);
        header.set_gid(0);
        if metadata.is_symlink() {
            let target = std::fs::read_link(path).with_context(told)?;
            self.check_link(path, name, &target)?;
            header.set_entry_type(tar::EntryType::Symlink);
            header.set_mode(0o777);
            header.set_size(0);
            return archive.append_link(&mut header, name, target).with_context(told);
        }
        if !metadata.is_file() {
            bail!(
                "{} is neither a file nor a directory; remove it, or name it in an .ignore file",
                name.display()
            );
        }
        self.fits(name, metadata.len())?;
        let content = std::fs::read(path).with_context(told)?;
        self.fits(name, content.len() as u64)?;
        self.bytes += content.len() as u64;
        header.set_entry_type(tar::EntryType::Regular);
        let executable = metadata.permissions().mode() & 0o100 != 0;
        header.set_mode(if executable { 0o755 } else { 0o644 });
        header.set_size(content.len() as u64);
        archive.append_data(&mut header, name, content.as_slice()).with_context(told)
    }

    fn fits(&self, name: &Path, size: u64) -> anyhow::Result<()> {
        if self.bytes + size > self.bounds.bytes {
            let mib = self.bounds.bytes >> 20;
            bail!("{} holds more than {mib} MiB (at {}); {ADVICE}", self.root.display(), name.display());
        }
        Ok(())
    }

    /// A link must stay inside, by what it says and by where it leads.
    fn check_link(&self, path: &Path, name: &Path, target: &Path) -> anyhow::Result<()> {
        let inside = stays_inside(name, target)
            && path.canonicalize().map_or(true, |leads| leads.starts_with(self.root));
        if inside {
            return Ok(());
        }
        bail!(
            "the link {} leads out of the directory, to {}; replace it by what it leads to, or name it in an .ignore \
             file",
            name.display(),
            target.display()
        )
    }
}

/// Whether a link at `name` to `target` says no more `..` than there is above it.
fn stays_inside(name: &Path, target: &Path) -> bool {
    let mut depth = name.components().count() - 1;
    for component in target.components() {
        match component {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    true
}
