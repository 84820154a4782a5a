//! Files and directories: written whole or not at all, and never through a link that somebody else laid.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown, lchown,
};
use std::path::{Path, PathBuf};

use super::super::Error;

/// For the owner alone.
pub(super) const PRIVATE: u32 = 0o700;
/// Others may pass through, and see nothing.
pub(super) const PASSABLE: u32 = 0o711;

/// Keeps work on files away from the threads that answer.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(at(Path::new("."))(io::Error::other(error))),
    }
}

/// Says which path a failure is about.
pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> Error + use<> {
    let path = path.to_owned();
    move |source| Error::Files { path, source }
}

/// Makes a directory, with those above it, and gives it to its owner.
pub(super) fn make(path: &Path, mode: u32, owner: Option<u32>) -> Result<(), Error> {
    DirBuilder::new().recursive(true).mode(mode).create(path).map_err(at(path))?;
    // The mask of the platform may have taken bits away.
    fs::set_permissions(path, Permissions::from_mode(mode)).map_err(at(path))?;
    owner.map_or(Ok(()), |user| lchown(path, Some(user), Some(user)).map_err(at(path)))
}

/// The text of a file, or `None` if it is not there.
pub(super) fn read(path: &Path) -> Result<Option<String>, Error> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(at(path)(error)),
    }
}

/// Writes a file that only its owner can read. A crash leaves the old text or the new one.
pub(super) fn write(path: &Path, text: &str, owner: Option<u32>) -> Result<(), Error> {
    let beside = added(path, "next");
    let written = write_new(&beside, text, owner).and_then(|()| fs::rename(&beside, path));
    written.map_err(at(path))?;
    sync_above(path)
}

fn write_new(path: &Path, text: &str, owner: Option<u32>) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    if let Some(user) = owner {
        fchown(&file, Some(user), Some(user))?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Makes what happened to the names in the directory above durable.
pub(super) fn sync_above(path: &Path) -> Result<(), Error> {
    let above = path.parent().unwrap_or(Path::new("."));
    File::open(above).and_then(|directory| directory.sync_all()).map_err(at(above))
}

/// Gives a file or directory another name, durably.
pub(super) fn rename(from: &Path, to: &Path) -> Result<(), Error> {
    fs::rename(from, to).map_err(at(to))?;
    sync_above(to)
}

/// Removes a file or a tree, durably; nothing there is fine.
pub(super) fn remove(path: &Path) -> Result<(), Error> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Ok(()) => sync_above(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(at(path)(error)),
    }
}

/// Copies a tree that belongs to the platform, for its new owner alone. What is neither a file nor a directory is left
/// out: a fresh data directory has nothing else.
pub(super) fn copy(from: &Path, to: &Path, owner: Option<u32>) -> Result<(), Error> {
    make(to, PRIVATE, owner)?;
    for entry in fs::read_dir(from).map_err(at(from))? {
        let entry = entry.map_err(at(from))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(at(&source))?;
        if kind.is_dir() {
            copy(&source, &target, owner)?;
        } else if kind.is_file() {
            copy_file(&source, &target, owner).map_err(at(&target))?;
        }
    }
    Ok(())
}

fn copy_file(source: &Path, target: &Path, owner: Option<u32>) -> io::Result<()> {
    let mut from = File::open(source)?;
    let mut to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(target)?;
    io::copy(&mut from, &mut to)?;
    owner.map_or(Ok(()), |user| fchown(&to, Some(user), Some(user)))
}

/// Makes a tree durable.
pub(super) fn sync(root: &Path) -> Result<(), Error> {
    walk(root, &mut |path, found| {
        if found.is_file() || found.is_dir() {
            File::open(path).and_then(|file| file.sync_all())?;
        }
        Ok(())
    })
}

/// Takes a tree back from the user who made it. The top first, so that this user cannot enter any more.
pub(super) fn claim(root: &Path) -> Result<(), Error> {
    let user = nix::unistd::geteuid().as_raw();
    let group = nix::unistd::getegid().as_raw();
    walk(root, &mut |path, _| lchown(path, Some(user), Some(group)))
}

/// How much room a tree takes on disk.
pub(super) fn size(root: &Path) -> Result<u64, Error> {
    let mut bytes = 0;
    walk(root, &mut |_, found| {
        bytes += found.blocks() * 512;
        Ok(())
    })?;
    Ok(bytes)
}

/// Visits everything in a tree. What goes away meanwhile, as files of a running server do, was not there.
fn walk(root: &Path, visit: &mut impl FnMut(&Path, &fs::Metadata) -> io::Result<()>) -> Result<(), Error> {
    let mut waiting = vec![root.to_owned()];
    while let Some(path) = waiting.pop() {
        let visited = fs::symlink_metadata(&path).and_then(|found| {
            visit(&path, &found)?;
            if found.is_dir() {
                waiting.extend(fs::read_dir(&path)?.flatten().map(|entry| entry.path()));
            }
            Ok(())
        });
        match visited {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(&path)(error)),
            _ => {}
        }
    }
    Ok(())
}

/// The names in a directory; none if it is not there.
pub(super) fn names(directory: &Path) -> Result<Vec<String>, Error> {
    match fs::read_dir(directory) {
        Ok(entries) => {
            Ok(entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(at(directory)(error)),
    }
}

/// A path with something added to its name.
pub(super) fn added(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}
