//! The file that receives what a program prints, never larger than it may be.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::last_line::LastLine;

/// How much is kept of a log when nobody says.
const LOG_BYTES: u64 = 64 * 1024 * 1024;
/// The smallest log that is kept, so that making room stays rare.
const LOG_BYTES_MIN: u64 = 4 * 1024;
/// How much is read at once.
const PIECE: usize = 64 * 1024;

/// How much of a full log lives on: its second half, to the byte. A new file takes the old one's place and begins
/// with it, so whoever reads along and finds another file under the name goes on behind these bytes.
pub fn kept(size: u64) -> u64 {
    size - size / 2
}

/// A log of bounded size.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    file: File,
    size: u64,
    most: u64,
}

impl Log {
    /// Opens a log to add to it.
    pub(crate) fn open(path: &Path, most: Option<u64>) -> io::Result<Self> {
        if let Some(parent) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        }
        let file = opened(OpenOptions::new().create(true), path)?;
        let size = file.metadata()?.len();
        let most = most.unwrap_or(LOG_BYTES).max(LOG_BYTES_MIN);
        Ok(Self { path: path.to_owned(), file, size, most })
    }

    /// Adds to the log; older content makes room.
    pub(crate) fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        let half = usize::try_from(self.most / 2).unwrap_or(usize::MAX);
        for piece in bytes.chunks(half) {
            let length = piece.len() as u64;
            while self.size + length > self.most {
                self.make_room()?;
            }
            self.file.write_all(piece)?;
            self.size += length;
        }
        Ok(())
    }

    fn make_room(&mut self) -> io::Result<()> {
        if self.replace().is_err() {
            // Nowhere to put a second file: all of the old goes.
            self.file.set_len(0)?;
            self.size = 0;
        }
        Ok(())
    }

    fn replace(&mut self) -> io::Result<()> {
        let mut name = self.path.clone().into_os_string();
        name.push(".next");
        let next_path = PathBuf::from(name);
        let mut next = opened(OpenOptions::new().create(true), &next_path)?;
        next.set_len(0)?;
        self.file.seek(SeekFrom::Start(self.size - kept(self.size)))?;
        let copied = io::copy(&mut self.file, &mut next);
        if let Err(error) = copied.and_then(|_| fs::rename(&next_path, &self.path)) {
            let _ = fs::remove_file(&next_path);
            return Err(error);
        }
        self.size = next.metadata()?.len();
        self.file = next;
        Ok(())
    }
}

fn opened(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.read(true).append(true).mode(0o600).open(path)
}

/// Takes everything that is printed until nobody can print any more, and returns the last line. A log that cannot be
/// written loses lines; it never holds up the program.
pub(crate) fn drain(mut output: impl Read, mut log: Log) -> Option<String> {
    let mut last = LastLine::default();
    let mut piece = vec![0; PIECE];
    loop {
        match output.read(&mut piece) {
            Ok(0) => return last.finish(),
            Ok(length) => {
                last.feed(&piece[..length]);
                let _ = log.add(&piece[..length]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return last.finish(),
        }
    }
}
