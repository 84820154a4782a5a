//! Where every call to the outside can be counted and broken.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt;
use std::future::{Future, pending};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use control_plane::wire::{ApiService, Body};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use kube::Client;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tower::Service;

/// What is done to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It fails before it takes effect.
    Fail,
    /// It takes effect, but nobody hears the answer in time.
    TimeOut,
    /// It takes effect, and the pass that made it ends there.
    Kill,
}

impl Trouble {
    /// All there is.
    pub const ALL: [Self; 3] = [Self::Fail, Self::TimeOut, Self::Kill];
}

/// A call that went through the gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// What was called: method and path, or what the fake of a port says.
    pub what: String,
    /// Whether it changes anything.
    pub writes: bool,
}

impl Call {
    /// The kind that it speaks of, as group and plural; for a call of a fake, its words.
    pub(super) fn kind(&self) -> (String, String) {
        match self.what.split_once(' ') {
            Some((_, path)) if path.starts_with('/') => collection_of(path),
            _ => (String::new(), self.what.clone()),
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

/// A call that was broken. Fakes turn it into the error of their port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// It had no effect.
    Failed,
    /// It took effect unheard.
    TimedOut,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Failed => "broken by the test",
            Self::TimedOut => "answered too late, by the test",
        })
    }
}

impl Error for Broken {}

impl From<Broken> for io::Error {
    fn from(broken: Broken) -> Self {
        let kind = match broken {
            Broken::Failed => io::ErrorKind::ConnectionReset,
            Broken::TimedOut => io::ErrorKind::TimedOut,
        };
        Self::new(kind, broken)
    }
}

/// Where every call to the outside goes through: the requests of a client, and the calls of fakes.
#[derive(Clone, Default)]
pub struct Gate(Arc<Inner>);

#[derive(Default)]
struct Inner {
    book: Mutex<Book>,
    killed: Notify,
    touched: Touched,
}

/// The kinds that anybody wrote to since a plane was started, as group and plural: all others are as they were.
pub(super) type Touched = Arc<Mutex<BTreeSet<(String, String)>>>;

#[derive(Default)]
struct Book {
    calls: Vec<Call>,
    armed: Option<(usize, Trouble)>,
}

impl Gate {
    /// A gate that also notes which kinds are written to.
    pub(super) fn noting(touched: Touched) -> Self {
        Self(Arc::new(Inner { touched, ..Inner::default() }))
    }

    /// A call of a fake that only looks.
    pub async fn read<T>(&self, what: impl Into<String>, work: impl Future<Output = T>) -> Result<T, Broken> {
        self.call(Call { what: what.into(), writes: false }, work).await
    }

    /// A call of a fake that changes something.
    pub async fn write<T>(
        &self,
        what: impl Into<String>,
        work: impl Future<Output = T>,
    ) -> Result<T, Broken> {
        self.call(Call { what: what.into(), writes: true }, work).await
    }

    async fn call<T>(&self, call: Call, work: impl Future<Output = T>) -> Result<T, Broken> {
        match self.enter(call) {
            None => Ok(work.await),
            Some(Trouble::Fail) => Err(Broken::Failed),
            Some(Trouble::TimeOut) => {
                work.await;
                Err(Broken::TimedOut)
            }
            Some(Trouble::Kill) => {
                work.await;
                self.0.killed.notify_one();
                pending().await
            }
        }
    }

    /// Writes a call down, and says what is to be done to it.
    fn enter(&self, call: Call) -> Option<Trouble> {
        let mut book = self.0.book.lock();
        book.calls.push(call);
        let made = book.calls.len();
        book.armed.take_if(|(nth, _)| *nth == made).map(|(_, trouble)| trouble)
    }

    /// Makes trouble for the n-th call from now on; the first is 1.
    pub fn arm(&self, nth: usize, trouble: Trouble) {
        let mut book = self.0.book.lock();
        book.calls.clear();
        book.armed = Some((nth, trouble));
    }

    /// Whether the trouble is still to come.
    pub(crate) fn is_armed(&self) -> bool {
        self.0.book.lock().armed.is_some()
    }

    /// The calls since the book was last cleared, which it is then.
    pub fn take(&self) -> Vec<Call> {
        std::mem::take(&mut self.0.book.lock().calls)
    }

    /// The calls so far.
    pub fn calls(&self) -> Vec<Call> {
        self.0.book.lock().calls.clone()
    }

    /// What the calls wrote so far.
    pub fn writes(&self) -> Vec<String> {
        self.calls().into_iter().filter(|call| call.writes).map(|call| call.what).collect()
    }

    /// Waits until a call has ended its pass.
    pub(crate) async fn killed(&self) {
        self.0.killed.notified().await;
    }

    /// A client whose requests go through here.
    pub fn client(&self, service: ApiService) -> Client {
        Client::new(Gated { gate: self.clone(), service }, "default")
    }
}

struct Gated {
    gate: Gate,
    service: ApiService,
}

impl Service<Request<kube::client::Body>> for Gated {
    type Response = Response<Body>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, io::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<kube::client::Body>) -> Self::Future {
        let (gate, mut service) = (self.gate.clone(), self.service.clone());
        let call = call_of(&request);
        if call.writes {
            gate.0.touched.lock().insert(collection_of(request.uri().path()));
        }
        Box::pin(async move {
            let asked = async { service.call(request).await.unwrap_or_else(|never| match never {}) };
            match gate.call(call, asked).await {
                Ok(answer) => Ok(answer),
                Err(Broken::Failed) => Ok(refusal()),
                Err(Broken::TimedOut) => Err(Broken::TimedOut.into()),
            }
        })
    }
}

fn call_of<B>(request: &Request<B>) -> Call {
    let path = request.uri().path();
    let watches = request.uri().query().is_some_and(|query| query.contains("watch=true"));
    // A review is posted, but nothing is kept of it.
    let writes = request.method() != Method::GET && !path.ends_with("reviews");
    let verb = if watches { "WATCH" } else { request.method().as_str() };
    Call { what: format!("{verb} {path}"), writes }
}

/// Group and plural of the kind that a path speaks of.
fn collection_of(path: &str) -> (String, String) {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let (group, rest) = match parts.as_slice() {
        ["apis", group, _, rest @ ..] => (*group, rest),
        [_, _, rest @ ..] => ("", rest),
        other => ("", other),
    };
    let plural = match rest {
        ["namespaces", _, "status" | "finalize"] => "namespaces",
        ["namespaces", _, plural, ..] | [plural, ..] => plural,
        [] => "",
    };
    (group.to_owned(), plural.to_owned())
}

/// What a server says that is out of order.
fn refusal() -> Response<Body> {
    let status = serde_json::json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 500,
        "reason": "InternalError", "message": Broken::Failed.to_string(),
    });
    let mut answer = Response::new(Full::from(status.to_string()).boxed_unsync());
    *answer.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    answer
}
