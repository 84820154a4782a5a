//! Builds on disk: what was ordered and what came of it.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Error, Order, Progress, tree};

/// A build, as it lies on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) order: Order,
    pub(super) progress: Progress,
}

/// All builds that lie in a directory.
pub(super) fn records(directory: &Path) -> Result<Vec<Record>, Error> {
    let mut records = Vec::new();
    for entry in fs::read_dir(directory).map_err(Error::at(directory))? {
        let path = entry.map_err(Error::at(directory))?.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let text = fs::read(&path).map_err(Error::at(&path))?;
        match serde_json::from_slice(&text) {
            Ok(record) => records.push(record),
            // Of an older version: whoever ordered it orders it again.
            Err(_) => tree::remove(&path)?,
        }
    }
    Ok(records)
}

/// Writes a record so that it is there whole or not at all.
pub(super) fn store(path: &Path, record: &Record) -> Result<(), Error> {
    let text = serde_json::to_vec(record).map_err(|error| Error::at(path)(io::Error::other(error)))?;
    let fresh = path.with_extension("new");
    fs::write(&fresh, text).map_err(Error::at(&fresh))?;
    fs::rename(&fresh, path).map_err(Error::at(path))
}
