//! A server of static files. It shows what lies below one directory, and nothing else: no dotfile, nothing above, and
//! nothing that a link leads to outside, which the kernel checks while it opens.

mod content_type;
mod path;
mod range;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, open, openat2};
use nix::sys::stat::Mode;
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::body::Body;
use crate::connection::Patience;
use crate::door::{Answer, Client, Door};
use crate::pages;
use range::Part;

/// Bytes of a file in memory at a time, per request.
const CHUNK: u64 = 64 * 1024;
/// Connections at a time.
const MAX_CONNECTIONS: usize = 16_384;

/// Serves the files of a directory until `stop`, then lets requests in flight end. Fails when the directory cannot be
/// opened.
pub async fn serve(directory: &Path, listener: TcpListener, stop: CancellationToken) -> io::Result<()> {
    let tree = Tree(Arc::new(open(
        directory,
        OFlag::O_DIRECTORY | OFlag::O_RDONLY | OFlag::O_CLOEXEC,
        Mode::empty(),
    )?));
    let door = Door {
        max_connections: MAX_CONNECTIONS,
        patience: Patience {
            header: Duration::from_secs(10),
            idle: Duration::from_secs(75),
            stall: Duration::from_secs(60),
        },
        drain: Duration::from_secs(10),
        tls: None,
    };
    door.serve(listener, tree, stop).await;
    Ok(())
}

/// A directory, held open: it stays the same one when it is renamed.
#[derive(Clone)]
struct Tree(Arc<OwnedFd>);

impl Answer for Tree {
    /// Reads within the task, as what is served again and again lies in the kernel's memory: handing each read to
    /// another thread costs more than the read.
    async fn answer(&self, request: Request<Incoming>, _: &Arc<Client>) -> Response<Body> {
        if request.method() != Method::GET && request.method() != Method::HEAD {
            return pages::not_allowed("GET, HEAD");
        }
        let nothing = || pages::page(StatusCode::NOT_FOUND, "nothing is here".to_owned());
        let Some(path) = path::below(request.uri().path()) else { return nothing() };
        match self.find(&path) {
            Ok(Found::File(file)) => file.answer(&request).unwrap_or_else(|error| unreadable(&error)),
            Ok(Found::Directory) => to_directory(request.uri()),
            Ok(Found::Nothing) => nothing(),
            Err(error) => unreadable(&error),
        }
    }
}

fn unreadable(error: &io::Error) -> Response<Body> {
    tracing::warn!(%error, "a file cannot be read");
    pages::page(StatusCode::INTERNAL_SERVER_ERROR, "this file cannot be read".to_owned())
}

/// A directory's address ends with a slash, or else the links on its page would lead astray.
fn to_directory(uri: &http::Uri) -> Response<Body> {
    // One leading slash: two would name another host.
    let path = format!("/{}/", uri.path().trim_matches('/'));
    let location = uri.query().map_or(path.clone(), |query| format!("{path}?{query}"));
    let mut response = pages::page(StatusCode::PERMANENT_REDIRECT, "a directory is here".to_owned());
    if let Ok(location) = HeaderValue::try_from(location) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

enum Found {
    File(Served),
    Directory,
    Nothing,
}

impl Tree {
    fn find(&self, path: &path::Below) -> io::Result<Found> {
        let how = OpenHow::new()
            // A pipe would block, and a terminal take over.
            .flags(OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK | OFlag::O_NOCTTY)
            .resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_MAGICLINKS);
        let opened = match openat2(&*self.0, path.file.as_os_str(), how) {
            Ok(opened) => File::from(opened),
            // Outside, a loop of links, not ours to read: for a visitor all the same as not there.
            Err(
                Errno::ENOENT
                | Errno::ENOTDIR
                | Errno::EXDEV
                | Errno::ELOOP
                | Errno::EACCES
                | Errno::ENAMETOOLONG,
            ) => {
                return Ok(Found::Nothing);
            }
            Err(Errno::ENXIO | Errno::EPERM) => return Ok(Found::Nothing),
            Err(error) => return Err(error.into()),
        };
        let metadata = opened.metadata()?;
        if metadata.is_dir() && !path.is_directory {
            return Ok(Found::Directory);
        }
        if !metadata.is_file() {
            return Ok(Found::Nothing);
        }
        let modified = metadata.modified().unwrap_or(UNIX_EPOCH);
        let content_type = content_type::of(&path.file);
        Ok(Found::File(Served { file: opened, length: metadata.len(), modified, content_type }))
    }
}

/// An open file and what a client is told about it.
struct Served {
    file: File,
    length: u64,
    modified: SystemTime,
    content_type: &'static str,
}

impl Served {
    fn answer(self, request: &Request<Incoming>) -> io::Result<Response<Body>> {
        let etag = self.etag();
        let asked = request.headers();
        let mut response = Response::new(Body::empty());
        if self.is_known(asked, &etag) {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            self.describe(response.headers_mut(), etag);
            return Ok(response);
        }
        let (start, length) = match self.part(asked, &etag) {
            Part::Whole => (0, self.length),
            Part::Range { first, last } => {
                *response.status_mut() = StatusCode::PARTIAL_CONTENT;
                insert(
                    response.headers_mut(),
                    header::CONTENT_RANGE,
                    format!("bytes {first}-{last}/{}", self.length),
                );
                (first, last - first + 1)
            }
            Part::Impossible => {
                let mut response =
                    pages::page(StatusCode::RANGE_NOT_SATISFIABLE, "the file is shorter".to_owned());
                insert(response.headers_mut(), header::CONTENT_RANGE, format!("bytes */{}", self.length));
                return Ok(response);
            }
        };
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        self.describe(response.headers_mut(), etag);
        if request.method() == Method::GET {
            *response.body_mut() = body(self.file, start, length)?;
        }
        Ok(response)
    }

    fn describe(&self, headers: &mut HeaderMap, etag: HeaderValue) {
        headers.insert(header::ETAG, etag);
        headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        insert(headers, header::LAST_MODIFIED, httpdate::fmt_http_date(self.modified));
    }

    /// Changes with every change that moves the clock or the length.
    fn etag(&self) -> HeaderValue {
        let stamp = self.modified.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let text = format!("\"{stamp:x}-{:x}\"", self.length);
        HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("\"\""))
    }

    /// Whether the client has this very file; the tag says it better than the date.
    fn is_known(&self, asked: &HeaderMap, etag: &HeaderValue) -> bool {
        if asked.contains_key(header::IF_NONE_MATCH) {
            let values = asked.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
            return values.flat_map(|value| value.split(',')).any(|tag| {
                let tag = tag.trim();
                tag == "*" || tag.strip_prefix("W/").unwrap_or(tag).as_bytes() == etag.as_bytes()
            });
        }
        asked
            .get(header::IF_MODIFIED_SINCE)
            .and_then(date)
            .is_some_and(|since| self.seconds() <= seconds(since))
    }

    fn part(&self, asked: &HeaderMap, etag: &HeaderValue) -> Part {
        let Some(wanted) = asked.get(header::RANGE).and_then(|value| value.to_str().ok()) else {
            return Part::Whole;
        };
        let same = asked
            .get(header::IF_RANGE)
            .is_none_or(|value| value == etag || date(value).is_some_and(|at| self.seconds() == seconds(at)));
        if same { range::part(wanted, self.length) } else { Part::Whole }
    }

    fn seconds(&self) -> u64 {
        seconds(self.modified)
    }
}

/// A short file at once, a long one bit by bit.
fn body(mut file: File, start: u64, length: u64) -> io::Result<Body> {
    if start > 0 {
        file.seek(SeekFrom::Start(start))?;
    }
    let mut body = FileBody { file, left: length };
    if length > CHUNK {
        return Ok(Body::file(body));
    }
    Ok(Body::full(body.next_frame().transpose()?.unwrap_or_default()))
}

fn date(value: &HeaderValue) -> Option<SystemTime> {
    httpdate::parse_http_date(value.to_str().ok()?).ok()
}

/// Dates in headers have no fractions.
fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn insert(headers: &mut HeaderMap, name: header::HeaderName, value: String) {
    if let Ok(value) = HeaderValue::try_from(value) {
        headers.insert(name, value);
    }
}

/// What is left to send of a file.
#[derive(Debug)]
pub(crate) struct FileBody {
    file: File,
    left: u64,
}

impl FileBody {
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// The next bytes; an error when the file has become shorter than was promised.
    pub(crate) fn next_frame(&mut self) -> Option<io::Result<Bytes>> {
        if self.left == 0 {
            return None;
        }
        let wanted = self.left.min(CHUNK);
        // What is short, or the rest of something long, does not hold a whole buffer while it waits.
        let mut bytes = if wanted == CHUNK { Chunk::spare() } else { Chunk::exact(wanted) };
        let read = (&self.file).take(wanted).read_to_end(&mut bytes.0);
        Some(match read {
            Ok(count) if count as u64 == wanted => {
                self.left -= wanted;
                Ok(Bytes::from_owner(bytes))
            }
            Ok(_) => {
                Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter while it was sent"))
            }
            Err(error) => Err(error),
        })
    }
}

/// A buffer that is used again: fresh memory for every chunk would cost more than the bytes that go into it.
struct Chunk(Vec<u8>);

/// Buffers kept for use again: 4 MiB.
const MAX_SPARE: usize = 64;
static SPARE: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

impl Chunk {
    fn exact(size: u64) -> Self {
        Self(Vec::with_capacity(usize::try_from(size).unwrap_or_default()))
    }

    fn spare() -> Self {
        let spare = SPARE.lock().pop();
        spare.map_or_else(|| Self::exact(CHUNK), Self)
    }
}

impl AsRef<[u8]> for Chunk {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        let mut buffer = std::mem::take(&mut self.0);
        if (buffer.capacity() as u64) < CHUNK {
            return;
        }
        buffer.clear();
        let mut spare = SPARE.lock();
        if spare.len() < MAX_SPARE {
            spare.push(buffer);
        }
    }
}
