//! `pods/log`: what a container wrote, from the file its runner keeps.

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
        let waiting = format!("container {container:?} in pod {:?} is waiting to start", call.path.name);
        return Err(Status::bad_request(waiting));
    };
    let start =
        start_of(&mut file, tail).await.map_err(|e| Status::internal(format!("cannot read the log: {e}")))?;
    file.seek(std::io::SeekFrom::Start(start))
        .await
        .map_err(|e| Status::internal(format!("cannot read the log: {e}")))?;
    let reader =
        Reader { server: server.clone(), call: call.clone(), file, left: limit.unwrap_or(u64::MAX), follow };
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
    let previous = call.query.word("previous").is_some_and(|word| word == "true");
    let name = if previous { format!("{container}.previous.log") } else { format!("{container}.log") };
    Ok(Path::new(root).join(parts[0]).join(parts[1]).join(name))
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
