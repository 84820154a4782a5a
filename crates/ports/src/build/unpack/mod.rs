//! Archives, unpacked where nobody else can write. Either all of one is there afterwards, or nothing.

mod check;
#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek as _};
use std::os::unix::fs::symlink;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use tar::EntryType;

use super::{Limits, tree};
use check::{Action, Checker, Entry, Kind};

/// What headers and padding add to each entry at most, so that they do not count as contents.
const ENTRY_OVERHEAD: u64 = 4 << 10;
/// Longest header that carries a long name or other attributes; real ones are far shorter.
const EXTENSION_BYTES: u64 = 64 << 10;

/// Unpacks a tar archive, plain or compressed with gzip, into `to`, which must not be there yet. The error says for a
/// person why the archive was refused.
pub(super) fn unpack(archive: &Path, to: &Path, limits: &Limits) -> Result<(), String> {
    let result = read(archive, to, limits);
    if result.is_err() {
        // Nothing of a refused archive stays; a remainder is removed with the directory around it.
        let _ = tree::remove(to);
    }
    result.map_err(|why| format!("the archive was refused: {why}"))
}

fn read(archive: &Path, to: &Path, limits: &Limits) -> Result<(), String> {
    let mut file = File::open(archive).map_err(plain)?;
    let mut magic = [0; 2];
    let known = file.read(&mut magic).map_err(plain)?;
    file.rewind().map_err(plain)?;
    fs::create_dir(to).map_err(plain)?;
    let most = limits.source_bytes.saturating_add(limits.source_files.saturating_mul(ENTRY_OVERHEAD));
    match &magic[..known] {
        [0x1f, 0x8b] => {
            each(Bounded { inner: MultiGzDecoder::new(BufReader::new(file)), left: most }, to, limits)
        }
        [b'P', b'K'] => Err("it is a zip file; only tar and tar.gz are taken".into()),
        _ => each(Bounded { inner: BufReader::new(file), left: most }, to, limits),
    }
}

/// Names that stand in headers of their own before the entry they belong to.
#[derive(Default)]
struct Names {
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
}

fn each(reader: impl Read, to: &Path, limits: &Limits) -> Result<(), String> {
    let mut checker = Checker::new(limits.source_bytes, limits.source_files);
    let mut archive = tar::Archive::new(reader);
    let mut names = Names::default();
    // Raw, because the crate would read a name of any length into memory.
    for entry in archive.entries().map_err(plain)?.raw(true) {
        let mut entry = entry.map_err(damaged)?;
        let kind = entry.header().entry_type();
        match kind {
            EntryType::GNULongName => names.path = Some(long_name(&mut entry)?),
            EntryType::GNULongLink => names.link = Some(long_name(&mut entry)?),
            EntryType::XHeader => attributes(&extension(&mut entry)?, &mut names)?,
            EntryType::XGlobalHeader => drop(extension(&mut entry)?),
            _ => {
                let names = std::mem::take(&mut names);
                let action = judged(&mut checker, &entry, names)?;
                act(&action, &mut entry, to)?;
            }
        }
    }
    Ok(())
}

fn judged<R: Read>(checker: &mut Checker, entry: &tar::Entry<'_, R>, names: Names) -> Result<Action, String> {
    let header = entry.header();
    let path = names.path.unwrap_or_else(|| header.path_bytes().into_owned());
    let link =
        names.link.or_else(|| header.link_name_bytes().map(|name| name.into_owned())).unwrap_or_default();
    let kind = match header.entry_type() {
        // Old archives mark a directory by the slash at the end of its name alone.
        EntryType::Regular if path.ends_with(b"/") => Kind::Directory,
        EntryType::Regular | EntryType::Continuous => Kind::File,
        EntryType::Directory => Kind::Directory,
        EntryType::Symlink => Kind::SymbolicLink(&link),
        EntryType::Link => Kind::HardLink(&link),
        EntryType::Char | EntryType::Block => Kind::Other("a device"),
        EntryType::Fifo => Kind::Other("a named pipe"),
        EntryType::GNUSparse => Kind::Other("a sparse file"),
        _ => Kind::Other("of an unknown kind"),
    };
    let bytes = header.size().map_err(damaged)?;
    let mode = header.mode().map_err(damaged)?;
    checker.judge(&Entry { path: &path, kind, bytes, mode })
}

fn act<R: Read>(action: &Action, entry: &mut tar::Entry<'_, R>, to: &Path) -> Result<(), String> {
    match action {
        Action::Skip => Ok(()),
        Action::MakeDirectory(path) => fs::create_dir_all(to.join(path)).map_err(plain),
        Action::WriteFile { path, executable } => {
            let bytes = entry.header().size().map_err(damaged)?;
            let mut file = create(&to.join(path))?;
            let written = io::copy(entry, &mut file).map_err(damaged)?;
            if written != bytes {
                return Err("it ends in the middle of a file".into());
            }
            let mode = if *executable { 0o755 } else { 0o644 };
            tree::set_mode(&to.join(path), mode).map_err(|error| error.to_string())
        }
        Action::MakeLink { path, target } => {
            parent(&to.join(path))?;
            symlink(target, to.join(path)).map_err(plain)
        }
        Action::CopyFile { path, from } => {
            parent(&to.join(path))?;
            fs::copy(to.join(from), to.join(path)).map(drop).map_err(plain)
        }
    }
}

fn create(path: &Path) -> Result<File, String> {
    parent(path)?;
    File::create_new(path).map_err(plain)
}

fn parent(path: &Path) -> Result<(), String> {
    path.parent().map_or(Ok(()), fs::create_dir_all).map_err(plain)
}

fn extension<R: Read>(entry: &mut tar::Entry<'_, R>) -> Result<Vec<u8>, String> {
    if entry.header().size().map_err(damaged)? > EXTENSION_BYTES {
        return Err(format!("it has a header longer than {EXTENSION_BYTES} bytes"));
    }
    let mut text = Vec::new();
    entry.read_to_end(&mut text).map_err(damaged)?;
    Ok(text)
}

fn long_name<R: Read>(entry: &mut tar::Entry<'_, R>) -> Result<Vec<u8>, String> {
    let mut name = extension(entry)?;
    if name.last() == Some(&0) {
        name.pop();
    }
    Ok(name)
}

/// Reads the records `<length> <key>=<value>\n` of an extended header.
fn attributes(mut text: &[u8], names: &mut Names) -> Result<(), String> {
    let broken = || "it has a broken extended header".to_owned();
    while !text.is_empty() {
        let space = text.iter().position(|byte| *byte == b' ').ok_or_else(broken)?;
        let digits = std::str::from_utf8(&text[..space]).map_err(|_| broken())?;
        let length: usize = digits.parse().map_err(|_| broken())?;
        let record = text.get(space + 1..length).and_then(|r| r.strip_suffix(b"\n")).ok_or_else(broken)?;
        let equals = record.iter().position(|byte| *byte == b'=').ok_or_else(broken)?;
        let value = record[equals + 1..].to_vec();
        match &record[..equals] {
            b"path" => names.path = Some(value),
            b"linkpath" => names.link = Some(value),
            // It would overrule the size that the next header gives, which is the one that counts here.
            b"size" => return Err("it has a file of 8 GiB or more".into()),
            key if key.starts_with(b"GNU.sparse") => return Err("it has a sparse file".into()),
            _ => {}
        }
        text = &text[length..];
    }
    Ok(())
}

/// Ends with an error once more was read than is allowed: a small archive can hold anything.
struct Bounded<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.left = self
            .left
            .checked_sub(count as u64)
            .ok_or_else(|| io::Error::other("it unpacks to more than the size allowed"))?;
        Ok(count)
    }
}

fn plain(error: io::Error) -> String {
    format!("it cannot be unpacked: {error}")
}

fn damaged(error: io::Error) -> String {
    format!("it is no intact tar or tar.gz archive: {error}")
}
