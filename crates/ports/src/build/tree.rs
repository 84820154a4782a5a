//! Trees on disk: made, handed to a user, sealed, copied and removed whole.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt as _, chown, lchown, symlink};
use std::path::Path;

use super::Error;
use super::digest::{self, Entry, Kind};

/// Mode of a directory that others may pass through but not list.
pub(super) const PASSABLE: u32 = 0o711;
/// Mode of a directory that everybody may read.
pub(super) const READABLE: u32 = 0o755;
/// Mode of a directory for its owner alone.
pub(super) const PRIVATE: u32 = 0o700;

/// Runs work on files away from the threads that answer requests.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(Error::at("work on files")(io::Error::other(error))),
    }
}

/// Makes a directory and those above it, and gives it this mode.
pub(super) fn make_private(path: &Path, mode: u32) -> Result<(), Error> {
    fs::create_dir_all(path).map_err(Error::at(path))?;
    set_mode(path, mode)
}

/// Sets the mode of a file or directory that is no link.
pub(super) fn set_mode(path: &Path, mode: u32) -> Result<(), Error> {
    fs::set_permissions(path, Permissions::from_mode(mode)).map_err(Error::at(path))
}

/// Gives a tree to a user. `None` leaves it with the platform's.
pub(super) fn give(root: &Path, user: Option<u32>) -> Result<(), Error> {
    let Some(user) = user else { return Ok(()) };
    for entry in digest::walk(root).map_err(Error::at(root))? {
        let path = root.join(entry.path);
        lchown(&path, Some(user), Some(user)).map_err(Error::at(&path))?;
    }
    give_one(root, Some(user))
}

/// Gives a directory, without what is in it, to a user. `None` leaves it with the platform's.
pub(super) fn give_one(path: &Path, user: Option<u32>) -> Result<(), Error> {
    user.map_or(Ok(()), |user| chown(path, Some(user), Some(user)).map_err(Error::at(path)))
}

/// Makes a tree unchangeable: it belongs to the platform, everybody may read it and nobody may write. Pipes, sockets
/// and devices are dropped.
pub(super) fn seal(root: &Path) -> Result<(), Error> {
    let owner = nix::unistd::geteuid().is_root().then_some(0);
    // From the bottom up, because a directory that nobody may write to cannot lose its pipes either.
    for Entry { path, kind } in digest::walk(root).map_err(Error::at(root))?.into_iter().rev() {
        let path = root.join(path);
        if let Kind::Special = kind {
            fs::remove_file(&path).map_err(Error::at(&path))?;
            continue;
        }
        if owner.is_some() {
            lchown(&path, owner, owner).map_err(Error::at(&path))?;
        }
        match kind {
            Kind::Directory | Kind::File { executable: true, .. } => set_mode(&path, 0o555)?,
            Kind::File { executable: false, .. } => set_mode(&path, 0o444)?,
            Kind::Link(_) | Kind::Special => {}
        }
    }
    if owner.is_some() {
        chown(root, owner, owner).map_err(Error::at(root))?;
    }
    set_mode(root, 0o555)
}

/// Moves a sealed tree.
pub(super) fn move_sealed(from: &Path, to: &Path) -> Result<(), Error> {
    set_mode(from, READABLE)?;
    fs::rename(from, to).map_err(Error::at(to))?;
    set_mode(to, 0o555)
}

/// Removes a file or a tree, sealed or not; nothing there is fine.
pub(super) fn remove(path: &Path) -> Result<(), Error> {
    let meta = match fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::at(path)(error)),
    };
    if !meta.is_dir() {
        return fs::remove_file(path).map_err(Error::at(path));
    }
    unseal(path)?;
    fs::remove_dir_all(path).map_err(Error::at(path))
}

/// Removes everything in a directory.
pub(super) fn empty(path: &Path) -> Result<(), Error> {
    for entry in fs::read_dir(path).map_err(Error::at(path))? {
        remove(&entry.map_err(Error::at(path))?.path())?;
    }
    Ok(())
}

/// Lets the owner of each directory write again: needed only by one who is not root.
fn unseal(root: &Path) -> Result<(), Error> {
    if nix::unistd::geteuid().is_root() {
        return Ok(());
    }
    let mut waiting = vec![root.to_owned()];
    while let Some(directory) = waiting.pop() {
        set_mode(&directory, PRIVATE)?;
        for entry in fs::read_dir(&directory).map_err(Error::at(&directory))? {
            let entry = entry.map_err(Error::at(&directory))?;
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                waiting.push(entry.path());
            }
        }
    }
    Ok(())
}

/// Copies a tree: real copies, because what shares a file with a layer could change it. Pipes, sockets and devices are
/// left out.
pub(super) fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    make_private(to, READABLE)?;
    for Entry { path, kind } in digest::walk(from).map_err(Error::at(from))? {
        let (source, target) = (from.join(&path), to.join(&path));
        match kind {
            Kind::Directory => fs::create_dir(&target).map_err(Error::at(&target))?,
            Kind::Link(points_to) => symlink(points_to, &target).map_err(Error::at(&target))?,
            Kind::File { executable, .. } => copy_file(&source, &target, executable)?,
            Kind::Special => {}
        }
    }
    Ok(())
}

fn copy_file(source: &Path, target: &Path, executable: bool) -> Result<(), Error> {
    let mut from = digest::open(source).map_err(Error::at(source))?;
    let mut to = fs::File::create_new(target).map_err(Error::at(target))?;
    io::copy(&mut from, &mut to).map_err(Error::at(target))?;
    set_mode(target, if executable { 0o755 } else { 0o644 })
}

/// The size of all files of a tree.
pub(super) fn size(root: &Path) -> Result<u64, Error> {
    Ok(digest::walk(root).map_err(Error::at(root))?.iter().map(Entry::bytes).sum())
}
