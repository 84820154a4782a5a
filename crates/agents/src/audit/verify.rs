//! Whether a trail is what was written.

use std::fmt;
use std::io::{self, BufRead, Read};

use super::chain::{BROKEN, FIRST, Head, LINE_MAX, Link};

/// A trail that is what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Its records.
    pub count: u64,
    /// The hash of the last.
    pub hash: String,
    /// The number of the record that has the hash that was expected, if one was named.
    pub expected: Option<u64>,
    /// Whether something stands after the last record that is none: a write that is under way, or was when the server was
    /// killed.
    pub torn: bool,
}

/// The first thing that is wrong with a trail.
#[derive(Debug)]
pub struct Finding {
    /// The number of the line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub found: Found,
}

/// What can be wrong with a trail.
#[derive(Debug)]
pub enum Found {
    /// The file could not be read.
    Unreadable(io::Error),
    /// The line is no record.
    NoRecord,
    /// The record has another number than its place.
    Number(u64),
    /// The record does not carry the hash of the line before it.
    Previous,
    /// The server found the trail broken when it was started, and went on here.
    Break,
    /// The trail ends before its head.
    Short(u64),
    /// The line at the head's number has another hash than the head.
    Head,
    /// No record has the hash that was expected.
    Unexpected(String),
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.line;
        match &self.found {
            Found::Unreadable(error) => write!(f, "line {line} cannot be read: {error}"),
            Found::NoRecord => write!(f, "line {line} is not a record"),
            Found::Number(number) => {
                write!(f, "line {line} is record {number}: records are missing, or were moved")
            }
            Found::Previous => {
                write!(
                    f,
                    "line {line} does not follow the line before it: one of the two was changed or moved"
                )
            }
            Found::Break => write!(
                f,
                "line {line} was written after a break: the server found the trail before it changed or cut off"
            ),
            Found::Short(count) => {
                write!(f, "line {line} is missing: the trail has had {count} records, as its head says")
            }
            Found::Head => write!(f, "line {line} is not the one that the head of the trail was made from"),
            Found::Unexpected(hash) => {
                write!(
                    f,
                    "no record up to line {line} has the hash {hash}: the trail was cut off or written anew"
                )
            }
        }
    }
}

impl std::error::Error for Finding {}

/// Looks at every line of a trail. `head` was read before the trail was; `expect` is the hash of a head that was seen
/// before, and kept elsewhere.
pub fn verify(mut reader: impl BufRead, head: &Head, expect: Option<&str>) -> Result<Verified, Box<Finding>> {
    let mut at = Head::default();
    let mut expected = expect.filter(|hash| *hash == FIRST).map(|_| 0);
    let mut torn = false;
    loop {
        let number = at.count + 1;
        let finding = |found| Box::new(Finding { line: number, found });
        let line = match next(&mut reader).map_err(|error| finding(Found::Unreadable(error)))? {
            Line::Whole(line) => line,
            Line::TooLong => return Err(finding(Found::NoRecord)),
            Line::Torn => {
                torn = true;
                break;
            }
            Line::End => break,
        };
        follows(&at, &line).map_err(finding)?;
        at = at.after(&line);
        if at.count == head.count && at.hash != head.hash {
            return Err(finding(Found::Head));
        }
        if expect == Some(at.hash.as_str()) {
            expected = Some(at.count);
        }
    }
    if at.count < head.count {
        return Err(Box::new(Finding { line: at.count + 1, found: Found::Short(head.count) }));
    }
    match expect {
        Some(hash) if expected.is_none() => {
            Err(Box::new(Finding { line: at.count, found: Found::Unexpected(hash.to_owned()) }))
        }
        _ => Ok(Verified { count: at.count, hash: at.hash, expected, torn }),
    }
}

/// Whether a line is the record that comes next.
pub(super) fn follows(at: &Head, line: &[u8]) -> Result<Link, Found> {
    let link: Link = serde_json::from_slice(line).map_err(|_| Found::NoRecord)?;
    if link.previous == BROKEN {
        return Err(Found::Break);
    }
    if link.number != at.count + 1 {
        return Err(Found::Number(link.number));
    }
    match link.previous == at.hash {
        true => Ok(link),
        false => Err(Found::Previous),
    }
}

/// A line as it lies in the file.
pub(super) enum Line {
    /// With its end, which has been taken off.
    Whole(Vec<u8>),
    /// Longer than any of ours.
    TooLong,
    /// Without its end.
    Torn,
    /// There is none.
    End,
}

/// The next line, of which no more is read than a record may have.
pub(super) fn next(reader: &mut impl BufRead) -> io::Result<Line> {
    let mut line = Vec::new();
    reader.by_ref().take(LINE_MAX as u64 + 1).read_until(b'\n', &mut line)?;
    if line.last() == Some(&b'\n') {
        line.pop();
        return Ok(Line::Whole(line));
    }
    Ok(match line.len() {
        0 => Line::End,
        length if length > LINE_MAX => Line::TooLong,
        _ => Line::Torn,
    })
}
