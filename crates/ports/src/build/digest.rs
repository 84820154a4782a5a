//! The digest of a tree: the same for the same names, contents and executable bits, whoever owns them.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use sha2::{Digest as _, Sha256};

/// What is read at one time.
const CHUNK: usize = 64 << 10;

/// One entry of a tree, by its path from the root.
pub(super) struct Entry {
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
}

/// What an entry is.
pub(super) enum Kind {
    Directory,
    File {
        executable: bool,
        bytes: u64,
    },
    Link(PathBuf),
    /// A pipe, a socket or a device.
    Special,
}

impl Entry {
    /// Its size, as far as it has one.
    pub(super) fn bytes(&self) -> u64 {
        match self.kind {
            Kind::File { bytes, .. } => bytes,
            Kind::Directory | Kind::Link(_) | Kind::Special => 0,
        }
    }
}

/// All entries under `root` in the order of their names; links are not followed.
pub(super) fn walk(root: &Path) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(root.join(&directory))? {
            let entry = entry?;
            let path = directory.join(entry.file_name());
            let kind = kind(&entry.path())?;
            if matches!(kind, Kind::Directory) {
                waiting.push(path.clone());
            }
            entries.push(Entry { path, kind });
        }
    }
    entries.sort_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
    Ok(entries)
}

fn kind(path: &Path) -> io::Result<Kind> {
    let meta = fs::symlink_metadata(path)?;
    Ok(if meta.is_dir() {
        Kind::Directory
    } else if meta.is_file() {
        Kind::File { executable: meta.permissions().mode() & 0o111 != 0, bytes: meta.len() }
    } else if meta.is_symlink() {
        Kind::Link(fs::read_link(path)?)
    } else {
        Kind::Special
    })
}

/// The digest of everything under `root`, and of `head`, which stands before it.
pub(super) fn tree(root: &Path, head: &[u8]) -> io::Result<String> {
    let mut sum = Sha256::new();
    field(&mut sum, b'h', head);
    for Entry { path, kind } in walk(root)? {
        match kind {
            Kind::Directory => field(&mut sum, b'd', bytes(path.as_os_str())),
            Kind::Link(target) => {
                field(&mut sum, b'l', bytes(path.as_os_str()));
                field(&mut sum, b't', bytes(target.as_os_str()));
            }
            Kind::File { executable, .. } => {
                field(&mut sum, if executable { b'x' } else { b'f' }, bytes(path.as_os_str()));
                contents(&mut sum, &root.join(&path))?;
            }
            Kind::Special => field(&mut sum, b's', bytes(path.as_os_str())),
        }
    }
    Ok(hex(&sum.finalize()))
}

/// The digest of one file.
pub(super) fn file(path: &Path) -> io::Result<String> {
    let mut sum = Sha256::new();
    let mut file = open(path)?;
    let mut chunk = vec![0; CHUNK];
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(hex(&sum.finalize())),
            count => sum.update(&chunk[..count]),
        }
    }
}

/// A file for reading; a link in its place is refused, so nobody can swap one in.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC).bits();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Bytes as small hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

fn contents(sum: &mut Sha256, path: &Path) -> io::Result<()> {
    // The digest of the contents, not the contents: their length need not be known before they are read.
    let digest = file(path)?;
    field(sum, b'c', digest.as_bytes());
    Ok(())
}

/// A field with its length, so that no two different trees write the same bytes.
fn field(sum: &mut Sha256, kind: u8, value: &[u8]) {
    sum.update([kind]);
    sum.update((value.len() as u64).to_be_bytes());
    sum.update(value);
}

fn bytes(name: &OsStr) -> &[u8] {
    name.as_bytes()
}
