//! Files of an authority: replaced whole or not at all, and its keys readable by their owner alone.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use super::Error;

/// For the owner alone.
const DIRECTORY_MODE: u32 = 0o700;
/// For the owner alone.
pub(super) const SECRET: u32 = 0o600;

/// Makes the directory, if it is not there.
pub(super) fn directory(path: &Path) -> Result<(), Error> {
    let made = DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(path);
    made.map_err(|source| Error::File { path: path.to_owned(), source })
}

/// The text of a file, or `None` when it is not there.
pub(super) fn read(path: &Path) -> Result<Option<String>, Error> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::File { path: path.to_owned(), source }),
    }
}

/// Writes beside the file and renames, so that a crash leaves the old text or the new one.
pub(super) fn write(path: &Path, text: &str, mode: u32) -> Result<(), Error> {
    let beside = path.with_added_extension(format!("{}.new", std::process::id()));
    let written = write_new(&beside, text, mode).and_then(|()| fs::rename(&beside, path)).and_then(|()| {
        let directory = path.parent().unwrap_or(Path::new("."));
        File::open(directory)?.sync_all()
    });
    written.map_err(|source| Error::File { path: path.to_owned(), source })
}

fn write_new(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    // What a crashed process of the same number left behind is in the way.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
