//! A tar.gz as the files that `push_code` takes. It is unpacked in memory, and no further than a push may be large.

use std::io::Read;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use tar::{Archive, EntryType};

use super::problem::Problem;
use crate::Error;

/// What an archive costs besides what lies in it, for each file: a head, what fills its last block, and a long name.
const AROUND: u64 = 4 * 1024;

/// How much may lie in an archive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) bytes: u64,
    pub(super) files: usize,
}

/// The files in an archive. What is neither a file nor a directory is refused: links lead elsewhere.
pub(super) fn files(packed: &[u8], limits: Limits) -> Result<Vec<Value>, Problem> {
    let most = limits.bytes + AROUND * (limits.files as u64 + 16);
    // One byte more than there may be: the end of the limit is not the end of an archive.
    let mut archive = Archive::new(GzDecoder::new(packed).take(most + 1));
    let (mut files, mut bytes, mut seen) = (Vec::new(), 0, 0);
    for entry in archive.entries().map_err(unreadable)? {
        let mut entry = entry.map_err(unreadable)?;
        seen += 1;
        // Directories count, too, or an archive could have any number of them.
        if seen > limits.files * 2 + 16 || files.len() >= limits.files {
            return Err(Problem::too_large(format!("an archive may hold {} files", limits.files)));
        }
        let path = std::str::from_utf8(&entry.path_bytes()).map(str::to_owned);
        let path = path.map_err(|_| Error::invalid("archive", "the name of a file is not UTF-8"))?;
        match entry.header().entry_type() {
            EntryType::Regular | EntryType::Continuous => {}
            EntryType::Directory | EntryType::XGlobalHeader => continue,
            _ => {
                let shown: String = path.chars().take(100).collect();
                return Err(Error::invalid(
                    "archive",
                    format!("{shown:?} is neither a file nor a directory"),
                )
                .into());
            }
        }
        bytes += entry.size();
        if bytes > limits.bytes {
            return Err(Problem::too_large(format!("an archive may hold {} bytes, unpacked", limits.bytes)));
        }
        let mut content = Vec::new();
        entry.read_to_end(&mut content).map_err(unreadable)?;
        // `tar -C DIR -cz .` puts this before every name.
        let path = path.strip_prefix("./").unwrap_or(&path);
        files.push(file(path, content));
    }
    Ok(files)
}

fn file(path: &str, content: Vec<u8>) -> Value {
    match String::from_utf8(content) {
        Ok(text) => json!({ "path": path, "content": text }),
        Err(error) => {
            json!({ "path": path, "content": BASE64_STANDARD.encode(error.into_bytes()), "encoding": "base64" })
        }
    }
}

fn unreadable(error: std::io::Error) -> Problem {
    Error::invalid("archive", format!("it is not a tar.gz that can be read: {error}")).into()
}
