//! A request and the git that answers it, tied together: neither outlives the other.

use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use gateway::{Body, Fault};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use hyper::body::{Frame, Incoming};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::time::timeout;

use super::super::super::run::{self, Running};
use super::answer::refused;
use super::inflate::{Bad, Inflate};
use super::path::{Asked, Service, Wanted};
use super::{Door, Limits};

/// Bytes that go to a client at once.
const PIECE: usize = 64 << 10;
/// Pieces that wait for a slow client.
const WAITING: usize = 4;
/// Versions of git's protocol, as the client asks for one.
const PROTOCOL: &str = "git-protocol";

/// Serves a request that was let in. The seat is kept until git has ended.
pub(super) async fn serve(
    door: &Door,
    asked: Asked,
    directory: &Path,
    (request, seat): (Request<Incoming>, OwnedSemaphorePermit),
) -> Response<Body> {
    let (head, body) = request.into_parts();
    let protocol = protocol(&head.headers);
    let (service, advertises) = match asked.wanted {
        Wanted::Refs(service) => (service, true),
        Wanted::Pack(service) => (service, false),
        Wanted::Page(_) => return refused(StatusCode::NOT_FOUND, "this is no page"),
    };
    let inflate = match bounds(&door.limits, service, &head.headers, advertises) {
        Ok(inflate) => inflate,
        Err((status, words)) => return refused(status, words),
    };
    let mut command = run::command(None);
    command.args(settings(service, &door.limits)).arg(service.command()).arg("--stateless-rpc");
    if advertises {
        command.arg("--http-backend-info-refs");
    }
    if let Some(protocol) = &protocol {
        command.env("GIT_PROTOCOL", protocol);
    }
    command.arg(directory).stderr(std::process::Stdio::null());
    let Ok(mut running) = Running::begin(command) else {
        return refused(StatusCode::SERVICE_UNAVAILABLE, "git cannot be started; try again later");
    };
    let (Some(stdin), Some(stdout), _) = running.pipes() else {
        return refused(StatusCode::SERVICE_UNAVAILABLE, "git cannot be started; try again later");
    };
    let (pieces, received) = mpsc::channel(WAITING);
    let (bad, broken) = oneshot::channel();
    let mut work = Work { door: door.clone(), asked, service, running, _seat: seat };
    let silence = door.limits.silence;
    let input = (!advertises).then_some((body, inflate));
    tokio::spawn(async move {
        let whole = work.door.limits.whole;
        let talk = work.talk(Talk { input, stdin, stdout, pieces, silence });
        let ended = timeout(whole, talk).await.unwrap_or(Err(Bad::Gone));
        // Who asked may have gone.
        let _ = bad.send(ended.err());
        work.finish(advertises).await;
    });
    let before = (advertises && protocol.as_deref() != Some("version=2")).then(|| announcement(service));
    respond(service, advertises, before, (received, broken)).await
}

/// The bounds of a body; or why it is not taken.
fn bounds(
    limits: &Limits,
    service: Service,
    headers: &HeaderMap,
    advertises: bool,
) -> Result<Inflate, (StatusCode, &'static str)> {
    let bound = match service {
        Service::UploadPack => limits.fetch_bytes,
        Service::ReceivePack => limits.push_bytes,
    };
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let wanted = format!("application/x-{}-request", service.name());
    if !advertises && text(header::CONTENT_TYPE) != Some(wanted.as_str()) {
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "this is for git alone"));
    }
    let length = text(header::CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
    if length.is_some_and(|length| length > bound) {
        return Err((StatusCode::PAYLOAD_TOO_LARGE, "this is more than this host takes at once"));
    }
    let packed = match text(header::CONTENT_ENCODING) {
        None | Some("identity") => false,
        Some("gzip" | "x-gzip") => true,
        Some(_) => return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "this encoding is not known here")),
    };
    Ok(Inflate::new(packed, bound))
}

/// The version of the protocol that a client asks for, if it is written as git writes it.
fn protocol(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(PROTOCOL)?.to_str().ok()?;
    ["version=0", "version=1", "version=2"].contains(&value).then(|| value.to_owned())
}

/// What git is told beyond the usual.
fn settings(service: Service, limits: &Limits) -> Vec<String> {
    let told: &[String] = match service {
        Service::UploadPack => &["uploadpack.allowFilter=true".to_owned()],
        Service::ReceivePack => &[
            "transfer.fsckObjects=true".to_owned(),
            "receive.denyDeleteCurrent=refuse".to_owned(),
            format!("receive.maxInputSize={}", limits.push_bytes),
        ],
    };
    told.iter().flat_map(|setting| ["-c".to_owned(), setting.clone()]).collect()
}

/// What goes before the list of branches, as a packet of its own.
fn announcement(service: Service) -> Bytes {
    let line = format!("# service={}\n", service.name());
    format!("{:04x}{line}0000", line.len() + 4).into()
}

struct Work {
    door: Door,
    asked: Asked,
    service: Service,
    running: Running,
    _seat: OwnedSemaphorePermit,
}

struct Talk {
    input: Option<(Incoming, Inflate)>,
    stdin: ChildStdin,
    stdout: ChildStdout,
    pieces: mpsc::Sender<Result<Bytes, Fault>>,
    silence: Duration,
}

impl Work {
    /// Gives git what the client sends, and the client what git says, until both are done.
    async fn talk(&mut self, talk: Talk) -> Result<(), Bad> {
        let Talk { input, stdin, stdout, pieces, silence } = talk;
        // Git that was given a whole push ends it, even if nobody hears how.
        let deaf = self.service == Service::ReceivePack;
        let given = give(input, stdin, silence);
        let told = tell(stdout, pieces, silence, deaf);
        tokio::try_join!(given, told)?;
        self.running.end().await.map(drop).map_err(|_| Bad::Gone)
    }

    /// Tells those who follow the repository, if anything can have changed.
    async fn finish(self, advertises: bool) {
        let Self { door, asked, service, running, _seat } = self;
        // What still runs here ends now.
        drop(running);
        if service == Service::ReceivePack && !advertises {
            door.local.pushed(&format!("{}/{}", asked.owner, asked.name));
        }
    }
}

async fn give(
    input: Option<(Incoming, Inflate)>,
    mut stdin: ChildStdin,
    silence: Duration,
) -> Result<(), Bad> {
    let Some((mut body, mut inflate)) = input else { return Ok(()) };
    let mut deaf = false;
    loop {
        let frame = timeout(silence, body.frame()).await.map_err(|_| Bad::Gone)?;
        let Some(frame) = frame else { break };
        let Ok(bytes) = frame.map_err(|_| Bad::Gone)?.into_data() else { continue };
        for plain in inflate.take(bytes)? {
            // Git that has heard enough closes its ear; the rest is read and dropped, so that its words get through.
            deaf = deaf || timeout(silence, stdin.write_all(&plain)).await.map_err(|_| Bad::Gone)?.is_err();
        }
    }
    let last = inflate.end()?;
    if !deaf {
        let _ = timeout(silence, stdin.write_all(&last)).await.map_err(|_| Bad::Gone)?;
    }
    Ok(())
}

async fn tell(
    mut stdout: ChildStdout,
    pieces: mpsc::Sender<Result<Bytes, Fault>>,
    silence: Duration,
    deaf: bool,
) -> Result<(), Bad> {
    let mut buffer = BytesMut::new();
    loop {
        buffer.reserve(PIECE);
        let read = stdout.read_buf(&mut buffer).await.map_err(|_| Bad::Gone)?;
        if read == 0 {
            return Ok(());
        }
        let sent = timeout(silence, pieces.send(Ok(buffer.split().freeze()))).await;
        if !matches!(sent, Ok(Ok(()))) && !deaf {
            return Err(Bad::Gone);
        }
    }
}

type Ends = (mpsc::Receiver<Result<Bytes, Fault>>, oneshot::Receiver<Option<Bad>>);

/// The answer: its head waits for git's first word, as until then the body may still turn out to be bad.
async fn respond(
    service: Service,
    advertises: bool,
    before: Option<Bytes>,
    (mut pieces, broken): Ends,
) -> Response<Body> {
    let first = pieces.recv().await;
    if first.is_none() {
        match broken.await.unwrap_or(Some(Bad::Gone)) {
            Some(Bad::TooLarge) => {
                return refused(StatusCode::PAYLOAD_TOO_LARGE, "this is more than this host takes at once");
            }
            Some(Bad::Garbled) => return refused(StatusCode::BAD_REQUEST, "the body is no gzip"),
            Some(Bad::Gone) => return refused(StatusCode::REQUEST_TIMEOUT, "it took too long"),
            None if advertises => {
                return refused(StatusCode::SERVICE_UNAVAILABLE, "git failed; try again later");
            }
            None => {
                return respond_with(service, advertises, Stream { ready: None, first: None, pieces: None });
            }
        }
    }
    let broken = Some((pieces, broken));
    respond_with(service, advertises, Stream { ready: before, first, pieces: broken })
}

fn respond_with(service: Service, advertises: bool, stream: Stream) -> Response<Body> {
    let mut response = Response::new(Body::other(stream));
    let what = if advertises { "advertisement" } else { "result" };
    let kind = format!("application/x-{}-{what}", service.name());
    let headers = response.headers_mut();
    headers.extend(HeaderValue::try_from(kind).map(|kind| (header::CONTENT_TYPE, kind)));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, max-age=0, must-revalidate"));
    response
}

/// What git says, as a body. It breaks off where git was broken off.
struct Stream {
    ready: Option<Bytes>,
    first: Option<Result<Bytes, Fault>>,
    pieces: Option<Ends>,
}

impl hyper::body::Body for Stream {
    type Data = Bytes;
    type Error = Fault;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Fault>>> {
        let this = self.get_mut();
        if let Some(bytes) = this.ready.take() {
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
        if let Some(first) = this.first.take() {
            return Poll::Ready(Some(first.map(Frame::data)));
        }
        let Some((pieces, broken)) = &mut this.pieces else { return Poll::Ready(None) };
        match pieces.poll_recv(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Some(piece)) => Poll::Ready(Some(piece.map(Frame::data))),
            Poll::Ready(None) => {
                let Poll::Ready(ended) = Pin::new(broken).poll(cx) else { return Poll::Pending };
                this.pieces = None;
                match ended {
                    Ok(None) => Poll::Ready(None),
                    Ok(Some(_)) | Err(_) => Poll::Ready(Some(Err("git was broken off".into()))),
                }
            }
        }
    }
}
