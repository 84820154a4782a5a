//! `pods/log`: what a container wrote, from the file its runner keeps.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncSeekExt};

use super::{Answer, Call, Chunks, Content};
use crate::server::Server;
use crate::status::Status;

/// How long a followed log is left alone before it is looked at again.
const LOOK: Duration = Duration::from_millis(200);
/// How much of a log is read at once.
const PIECE: usize = 64 * 1024;

pub(super) async fn run(server: &Arc<Server>, call: &Call) -> Result<Answer, Status> {
    let pod = server.store.get(&call.key()).ok_or_else(|| call.not_found())?.value();
    let container = container(call, &pod)?;
    let path = file(server, call, &container)?;
    let follow = call.query.word("follow").is_some_and(|word| word == "true");
    let tail = call.query.word("tailLines").and_then(|text| text.parse::<usize>().ok());
    let limit = call.query.word("limitBytes").and_then(|text| text.parse::<u64>().ok());
    let Ok(mut file) = tokio::fs::File::open(&path).await else {
        let pod = &call.path.name;
        return Err(Status::bad_request(match previous(call) {
            true => format!("previous terminated container {container:?} in pod {pod:?} not found"),
            false => format!("container {container:?} in pod {pod:?} is waiting to start"),
        }));
    };
    let start =
        start_of(&mut file, tail).await.map_err(|e| Status::internal(format!("cannot read the log: {e}")))?;
    file.seek(std::io::SeekFrom::Start(start))
        .await
        .map_err(|e| Status::internal(format!("cannot read the log: {e}")))?;
    let left = limit.unwrap_or(u64::MAX);
    let reader = Reader { server: server.clone(), call: call.clone(), path, file, left, follow };
    Ok(Answer::ok(Content::Stream("text/plain", chunks(reader))))
}

fn container(call: &Call, pod: &Value) -> Result<String, Status> {
    let of = |field: &str| {
        let list = pod["spec"][field].as_array().map(Vec::as_slice).unwrap_or_default();
        list.iter().filter_map(|c| c["name"].as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    let names = of("containers");
    let pod_name = &call.path.name;
    match call.query.word("container").filter(|word| !word.is_empty()) {
        Some(asked) if names.iter().any(|name| name == asked) => Ok(asked.to_owned()),
        Some(asked) if of("initContainers").iter().any(|name| name == asked) => Ok(asked.to_owned()),
        Some(asked) => Err(Status::bad_request(format!("container {asked} is not valid for pod {pod_name}"))),
        None => match names.as_slice() {
            [only] => Ok(only.clone()),
            many => Err(Status::bad_request(format!(
                "a container name must be specified for pod {pod_name}, choose one of: [{}]",
                many.join(" ")
            ))),
        },
    }
}

/// The log's path. Names come from stored objects and have passed the name rules: no separator, no `..`.
fn file(server: &Server, call: &Call, container: &str) -> Result<PathBuf, Status> {
    let Some(root) = &server.logs else {
        return Err(Status::not_found("", "pods/log", &call.path.name));
    };
    let safe = |part: &str| !part.is_empty() && part != ".." && part != "." && !part.contains('/');
    let parts = [call.path.namespace.as_str(), &call.path.name, container];
    if !parts.iter().all(|part| safe(part)) {
        return Err(Status::bad_request("the name of the pod or container is not valid"));
    }
    let name = if previous(call) { format!("{container}.previous.log") } else { format!("{container}.log") };
    Ok(Path::new(root).join(parts[0]).join(parts[1]).join(name))
}

/// Whether the run before is asked for.
fn previous(call: &Call) -> bool {
    call.query.word("previous").is_some_and(|word| word == "true")
}

/// Where the last `tail` lines begin, found from the end so that a large log costs no more than its tail.
async fn start_of(file: &mut tokio::fs::File, tail: Option<usize>) -> std::io::Result<u64> {
    let Some(tail) = tail else { return Ok(0) };
    let size = file.metadata().await?.len();
    if tail == 0 {
        return Ok(size);
    }
    let mut at = size;
    let mut lines = 0;
    let mut buffer = vec![0; PIECE];
    while at > 0 {
        let length = at.min(PIECE as u64);
        at -= length;
        file.seek(std::io::SeekFrom::Start(at)).await?;
        let piece = &mut buffer[..length as usize];
        file.read_exact(piece).await?;
        for (offset, byte) in piece.iter().enumerate().rev() {
            let place = at + offset as u64;
            if *byte == b'\n' && place + 1 != size {
                lines += 1;
                if lines == tail {
                    return Ok(place + 1);
                }
            }
        }
    }
    Ok(0)
}

struct Reader {
    server: Arc<Server>,
    call: Call,
    path: PathBuf,
    file: tokio::fs::File,
    left: u64,
    follow: bool,
}

fn chunks(reader: Reader) -> Chunks {
    Box::pin(stream::unfold(reader, |mut reader| async move {
        loop {
            if reader.left == 0 {
                return None;
            }
            let mut piece = vec![0; PIECE.min(usize::try_from(reader.left).unwrap_or(PIECE))];
            let read = reader.file.read(&mut piece).await.ok()?;
            if read > 0 {
                piece.truncate(read);
                reader.left -= read as u64;
                return Some((Bytes::from(piece), reader));
            }
            if reader.follow && turn(&mut reader.file, &reader.path).await.ok()? {
                continue;
            }
            // A pod that is gone writes no more.
            if !reader.follow || reader.server.store.get(&reader.call.key()).is_none() {
                return None;
            }
            tokio::select! {
                () = reader.server.stopping.cancelled() => return None,
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }))
}

/// Goes on in the file that has taken this one's place under the name; returns whether there is more to read.
///
/// Whoever keeps the log makes room by putting a new file in the place of the full one, which begins with the second
/// half of the old, to the byte. A file that was set aside for the run before has a successor that begins with nothing.
async fn turn(file: &mut tokio::fs::File, path: &Path) -> std::io::Result<bool> {
    let old = file.metadata().await?;
    if inode_at(path).await.is_none_or(|inode| inode == old.ino()) {
        return Ok(false);
    }
    // Nothing is added to the old one any more, but its last piece may have come after the last look.
    if file.stream_position().await? < old.len() {
        return Ok(true);
    }
    let mut next = tokio::fs::File::open(path).await?;
    let seen = if inode_at(&path.with_extension("previous.log")).await == Some(old.ino()) {
        0
    } else {
        old.len() - old.len() / 2
    };
    let there = next.metadata().await?.len();
    next.seek(std::io::SeekFrom::Start(if seen <= there { seen } else { 0 })).await?;
    *file = next;
    Ok(true)
}

async fn inode_at(path: &Path) -> Option<u64> {
    tokio::fs::metadata(path).await.ok().map(|found| found.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_reader_goes_on_where_it_was_when_the_log_makes_room() {
        let table = [
            ("nothing happened", None, None, "", "aaaabbbb"),
            ("room was made", None, Some("bbbbcccc"), "", "aaaabbbb cccc"),
            ("room was made after one more line", None, Some("bbbddcccc"), "dd", "aaaabbbb dd cccc"),
            ("another run began", Some("c.previous.log"), Some("new"), "", "aaaabbbb new"),
            ("somebody cleared the log", None, Some("c"), "", "aaaabbbb c"),
        ];
        for (what, aside, next, late, want) in table {
            let dir = tempfile::tempdir().expect("a directory");
            let path = dir.path().join("c.log");
            std::fs::write(&path, "aaaabbbb").expect("a log");
            let mut file = tokio::fs::File::open(&path).await.expect("the log");
            let mut seen = vec![text(&mut file).await];
            if !late.is_empty() {
                std::fs::write(&path, format!("aaaabbbb{late}")).expect("one more line");
            }
            if let Some(aside) = aside {
                std::fs::rename(&path, dir.path().join(aside)).expect("it is set aside");
            }
            if let Some(next) = next {
                let new = dir.path().join("new");
                std::fs::write(&new, next).expect("the next file");
                std::fs::rename(new, &path).expect("it takes the place");
            }
            while turn(&mut file, &path).await.expect("a look") {
                seen.push(text(&mut file).await);
            }
            assert_eq!(seen.join(" "), want, "{what}");
        }
    }

    async fn text(file: &mut tokio::fs::File) -> String {
        let mut text = String::new();
        file.read_to_string(&mut text).await.expect("text");
        text
    }
}
