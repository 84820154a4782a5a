//! What the owner of a gateway decides.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use http::{Request, Response};
use hyper::body::Incoming;

use crate::body::Body;

/// What the platform says to a request that no application claims.
#[derive(Debug)]
pub enum PlatformAnswer {
    /// The platform answers by itself.
    Mine(Response<Body>),
    /// Not the platform's either: the request comes back.
    NotMine(Request<Incoming>),
}

/// Asked first about requests whose host is an address of this machine, or nobody's.
pub type Platform = Arc<dyn Fn(Request<Incoming>) -> BoxFuture<'static, PlatformAnswer> + Send + Sync>;

/// Bounds and waiting times; the defaults suit one machine.
#[derive(Clone)]
pub struct Settings {
    /// The port in the address that a browser is sent to when an application wants https.
    pub https_port: u16,
    /// Open connections of clients at one door; one more is told to come back later.
    pub max_connections: usize,
    /// How long a client may take for a TLS handshake or for the head of a request.
    pub header_timeout: Duration,
    /// How long a connection may stay open without a request.
    pub idle_timeout: Duration,
    /// How long a client may refuse to take the bytes of its answer.
    pub stall_timeout: Duration,
    /// How long a backend may take to accept a connection.
    pub connect_timeout: Duration,
    /// How long a backend may take to begin its answer, counted from the last byte it was given.
    pub answer_timeout: Duration,
    /// How long a request is tried again while every backend of its application refuses connections.
    pub retry_window: Duration,
    /// How long a request is held while its application has no backend.
    pub hold_timeout: Duration,
    /// How many requests may be held at a time.
    pub held_max: usize,
    /// How long requests in flight may go on once the gateway stops.
    pub drain_timeout: Duration,
    /// What the platform itself answers.
    pub platform: Option<Platform>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            https_port: 443,
            // Two descriptors per proxied connection: fits twice into the usual limit of 65,536 per process.
            max_connections: 16_384,
            header_timeout: Duration::from_secs(10),
            // What nginx waits, so clients know it.
            idle_timeout: Duration::from_secs(75),
            stall_timeout: Duration::from_secs(60),
            connect_timeout: Duration::from_secs(2),
            answer_timeout: Duration::from_secs(120),
            retry_window: Duration::from_secs(2),
            hold_timeout: Duration::from_secs(10),
            held_max: 1_000,
            drain_timeout: Duration::from_secs(10),
            platform: None,
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("https_port", &self.https_port)
            .field("max_connections", &self.max_connections)
            .field("platform", &self.platform.is_some())
            .finish_non_exhaustive()
    }
}
