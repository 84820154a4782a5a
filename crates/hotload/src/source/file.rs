//! A file that somebody else replaces, most often a key of a mounted Secret.

use std::io;
use std::path::Path;

use super::{Sealed, Source, SourceError};
use crate::watch::FileWatch;

/// No connection string is longer; what is longer is some other file.
const BYTES: u64 = 64 * 1024;

/// Gives the text of a file, and its new text whenever that changes. Nothing is polled.
///
/// The file need not be there yet, and may be away for a moment.
pub struct FileSource {
    watch: FileWatch,
    given: Option<Result<Sealed, SourceError>>,
}

impl FileSource {
    /// Watches the file at this path. It has to be called within a tokio runtime.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Ok(Self { watch: FileWatch::open(path)?, given: None })
    }

    fn look(&mut self) -> Result<Sealed, SourceError> {
        let read = self.watch.read(BYTES).and_then(|text| String::from_utf8(text).map_err(io::Error::other));
        let text = match read {
            Ok(text) if text.trim().is_empty() => Err("it is empty".to_owned()),
            Ok(text) => Ok(text),
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                Err("it is too long for a connection string".to_owned())
            }
            Err(error) => Err(error.to_string()),
        };
        let told = |why: String| SourceError(format!("file `{}`: {why}", self.watch.path().display()));
        text.map(Sealed::new).map_err(told)
    }
}

impl Source for FileSource {
    async fn next(&mut self) -> Result<Sealed, SourceError> {
        loop {
            if self.given.is_some() {
                let lost = |error: io::Error| SourceError(format!("the watch of files failed: {error}"));
                self.watch.changed().await.map_err(lost)?;
            }
            let seen = self.look();
            let news = self.given.as_ref() != Some(&seen);
            self.given = Some(seen.clone());
            if news {
                return seen;
            }
        }
    }
}

#[cfg(test)]
mod tests;
