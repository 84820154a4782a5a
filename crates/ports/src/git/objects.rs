//! Files and commits of a bare repository on this machine. There is never a working tree: nothing that lies in a
//! repository is a file of this machine, so no link in it leads anywhere.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::run::Call;
use super::{CommitWish, Error};

/// As many files as are read at once.
const FILES_MAX: usize = 20_000;
/// As many bytes as are read at once.
const BYTES_MAX: u64 = 128 << 20;
/// Kinds of entries that are files; links and submodules are not.
const FILES: [&str; 2] = ["100644", "100755"];

/// A file, and whether it is a program.
struct File {
    mode: &'static str,
    bytes: Vec<u8>,
}

/// The files of a commit under some paths; an empty path is all of it.
pub(super) async fn read(
    call: &Call<'_>,
    commit: &str,
    paths: &[&str],
) -> Result<BTreeMap<String, Vec<u8>>, Error> {
    let files = files(call, commit, paths).await?;
    Ok(files.into_iter().map(|(path, file)| (path, file.bytes)).collect())
}

async fn files(call: &Call<'_>, commit: &str, paths: &[&str]) -> Result<BTreeMap<String, File>, Error> {
    if paths.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut arguments = vec!["--literal-pathspecs", "ls-tree", "-r", "-z", "-l", "--full-tree", commit];
    if !paths.contains(&"") {
        arguments.push("--");
        arguments.extend(paths);
    }
    let listed = call.printed(&arguments, b"").await?;
    let garbled = || call.failed("it listed files in a way that is not known");
    let (mut found, mut bytes) = (Vec::new(), 0);
    for entry in listed.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
        // A name that is no text is nobody's file here.
        let Ok(entry) = std::str::from_utf8(entry) else { continue };
        let (facts, path) = entry.split_once('\t').ok_or_else(garbled)?;
        let facts: Vec<&str> = facts.split_ascii_whitespace().collect();
        let [mode, _, id, size] = facts[..] else { return Err(garbled()) };
        let Some(mode) = FILES.into_iter().find(|file| *file == mode) else { continue };
        bytes += size.parse::<u64>().map_err(|_| garbled())?;
        found.push((path.to_owned(), mode, id.to_owned()));
    }
    if found.len() > FILES_MAX || bytes > BYTES_MAX {
        return Err(call.failed("there is more in it than is read at once"));
    }
    if found.is_empty() {
        return Ok(BTreeMap::new());
    }
    let ids: String = found.iter().map(|(_, _, id)| format!("{id}\n")).collect();
    let mut rest = &call.printed(&["cat-file", "--batch"], ids.as_bytes()).await?[..];
    let mut files = BTreeMap::new();
    for (path, mode, id) in found {
        let bytes = next(&mut rest, &id).ok_or_else(garbled)?;
        files.insert(path, File { mode, bytes });
    }
    Ok(files)
}

/// The next object of a batch: `ID blob SIZE`, a line end, its bytes, and a line end.
fn next(rest: &mut &[u8], id: &str) -> Option<Vec<u8>> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let head = std::str::from_utf8(&rest[..end]).ok()?;
    let size: usize = head.strip_prefix(id)?.strip_prefix(" blob ")?.parse().ok()?;
    let bytes = rest.get(end + 1..end + 1 + size)?.to_vec();
    *rest = rest.get(end + size + 2..)?;
    Some(bytes)
}

/// Commits files onto a commit, and moves the branch there. Answers the new commit; none if nothing would change.
/// A branch that moved meanwhile is left as it is, and git fails.
pub(super) async fn commit(
    call: &Call<'_>,
    base: Option<&str>,
    wish: &CommitWish,
) -> Result<Option<String>, Error> {
    let paths: Vec<&str> = wish.files.keys().map(String::as_str).collect();
    let old = match base {
        Some(base) => files(call, base, &paths).await?,
        None => BTreeMap::new(),
    };
    let changed: Vec<_> = wish
        .files
        .iter()
        .filter(|(path, bytes)| old.get(*path).map(|file| &file.bytes) != bytes.as_ref())
        .collect();
    if changed.is_empty() {
        return Ok(None);
    }
    let mut stream = format!("feature done\ncommit refs/heads/{}\nmark :1\n", wish.branch).into_bytes();
    let now = jiff::Timestamp::now().as_second();
    let (author, email) = (&wish.author, &wish.email);
    stream.extend(format!("committer {author} <{email}> {now} +0000\n").bytes());
    data(&mut stream, wish.message.as_bytes());
    if let Some(base) = base {
        stream.extend(format!("from {base}\n").bytes());
    }
    for (path, bytes) in changed {
        match bytes {
            None => stream.extend(format!("D {}\n", quoted(path)).bytes()),
            Some(bytes) => {
                let mode = old.get(path).map_or(FILES[0], |file| file.mode);
                stream.extend(format!("M {mode} inline {}\n", quoted(path)).bytes());
                data(&mut stream, bytes);
            }
        }
    }
    stream.extend(b"get-mark :1\ndone\n");
    let told = call.told(&["fast-import", "--quiet", "--date-format=raw"], &stream).await?;
    let id = String::from_utf8_lossy(&told.output).trim().to_owned();
    match told.good && super::names::commit(&id).is_ok() {
        true => Ok(Some(id)),
        false if told.story.contains("Not updating") || told.story.contains("cannot lock ref") => {
            Err(Error::Moved { host: call.host.to_owned(), what: format!("branch {}", wish.branch) })
        }
        false => Err(call.failed(&told.story)),
    }
}

/// Bytes with their length before them, as fast-import reads them.
fn data(stream: &mut Vec<u8>, bytes: &[u8]) {
    stream.extend(format!("data {}\n", bytes.len()).bytes());
    stream.extend(bytes);
    stream.push(b'\n');
}

/// A path as fast-import reads it, whatever is in it.
fn quoted(path: &str) -> String {
    let mut text = "\"".to_owned();
    for letter in path.chars() {
        match letter {
            '"' | '\\' => text.extend(['\\', letter]),
            letter if letter.is_control() => {
                // Writing to a string cannot fail.
                let _ = write!(text, "\\{:03o}", u32::from(letter));
            }
            letter => text.push(letter),
        }
    }
    text + "\""
}
