//! The configuration of database claims that is in force, read again whenever its file changes.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hotload::FileWatch;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::config::{Config, Problem, Problems};

/// A larger file is not a configuration; it is also the most that a ConfigMap can hold.
const BYTES: u64 = 1024 * 1024;

/// The configuration in force, and what is wrong with the newest text if that is not in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The configuration in force.
    pub config: Arc<Config>,
    /// What is wrong with the newest text, each mistake on its line.
    pub problem: Option<String>,
}

/// Why there is no configuration to begin with.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("{}: {why}", file.display())]
    Unreadable {
        /// The file, as it was named.
        file: PathBuf,
        /// What the system said. It is told with the file, since a page holds it as words.
        why: io::Error,
    },
    /// The file can be read, and is wrong.
    #[error(transparent)]
    Wrong(#[from] Problems),
}

/// The configuration in force. A clone is the same book.
#[derive(Clone)]
pub struct Book {
    pages: watch::Sender<Arc<Page>>,
}

impl Book {
    /// A configuration that never changes.
    pub fn fixed(config: Config) -> Self {
        let page = Page { config: Arc::new(config), problem: None };
        Self { pages: watch::Sender::new(Arc::new(page)) }
    }

    /// Reads a file, and reads it again whenever it changes until it is told to stop. A file that is not there yet may
    /// come later; until then everything is as it is without one.
    pub async fn open(file: PathBuf, stop: CancellationToken) -> Result<Self, Error> {
        let unreadable = |why| Error::Unreadable { file: file.clone(), why };
        let watch = FileWatch::open(&file).map_err(unreadable)?;
        let mut reading = Reading { file, watch };
        let config = reading.read()?.unwrap_or_else(Config::unconfigured);
        let book = Self::fixed(config);
        tokio::spawn(reading.follow(book.pages.clone(), stop));
        Ok(book)
    }

    /// The page that is open now.
    pub fn page(&self) -> Arc<Page> {
        self.pages.borrow().clone()
    }

    /// Tells of each reading after which the page is another one.
    pub fn changes(&self) -> watch::Receiver<Arc<Page>> {
        self.pages.subscribe()
    }
}

/// A file that is read again and again.
struct Reading {
    file: PathBuf,
    watch: FileWatch,
}

impl Reading {
    /// The configuration in the file, or none where there is no file.
    fn read(&mut self) -> Result<Option<Config>, Error> {
        let text = match self.watch.read(BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(why) => return Err(Error::Unreadable { file: self.file.clone(), why }),
        };
        Ok(Some(parse(&self.file, &text)?))
    }

    async fn follow(mut self, pages: watch::Sender<Arc<Page>>, stop: CancellationToken) {
        loop {
            let changed = tokio::select! {
                () = stop.cancelled() => return,
                changed = self.watch.changed() => changed,
            };
            let last = pages.borrow().clone();
            let (next, lost) = match changed {
                Ok(()) => {
                    let read = self.read();
                    (turn(&self.file, &last, read), false)
                }
                Err(error) => {
                    let why =
                        format!("{}: changes are no longer seen: {error}; start again", self.file.display());
                    (Page { problem: Some(why), ..Page::clone(&last) }, true)
                }
            };
            if next != *last {
                pages.send_replace(Arc::new(next));
            }
            if lost {
                return;
            }
        }
    }
}

/// The page after a reading. What is wrong keeps the last good configuration in force.
fn turn(file: &Path, last: &Page, read: Result<Option<Config>, Error>) -> Page {
    let problem = match read {
        Ok(Some(config)) => return Page { config: Arc::new(config), problem: None },
        // Nothing was lost that had ever been in force.
        Ok(None) if last.config.anything_goes => None,
        Ok(None) => Some(format!("{}: the file is gone; put it back", file.display())),
        Err(error) => Some(error.to_string()),
    };
    Page { config: last.config.clone(), problem }
}

fn parse(file: &Path, text: &[u8]) -> Result<Config, Problems> {
    let name = file.display().to_string();
    let wrong = |line: usize, message: &str| {
        let line = u64::try_from(line).unwrap_or(u64::MAX);
        Problems(vec![Problem { file: name.clone(), line, message: message.to_owned() }])
    };
    let text = str::from_utf8(text).map_err(|error| {
        let before = text.iter().take(error.valid_up_to()).filter(|byte| **byte == b'\n').count();
        wrong(before + 1, "this is not UTF-8; write text")
    })?;
    // Somebody who is about to write begins with an empty file.
    if text.trim().is_empty() {
        return Err(wrong(1, "the file is empty; write `{}` if defaults are meant"));
    }
    Config::parse(&name, text)
}

#[cfg(test)]
mod tests;
