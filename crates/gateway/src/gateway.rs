//! The gateway as its owner sees it: a table to follow, doors to serve, numbers to read.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use http::{Request, Response};
use hyper::body::Incoming;
use parking_lot::{Mutex, RwLock};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::backend::Backend;
use crate::body::Body;
use crate::certificates::{self, Certificates};
use crate::connection::Patience;
use crate::door::{Answer, Client, Door};
use crate::metrics::Metrics;
use crate::settings::Settings;
use crate::table::{Routes, Table};

/// A reverse proxy that follows a table. Clones are the same gateway.
#[derive(Clone)]
pub struct Gateway(pub(crate) Arc<State>);

pub(crate) struct State {
    pub(crate) settings: Settings,
    snapshot: RwLock<Arc<Snapshot>>,
    /// Every backend of the table, and those that left it with requests in flight.
    backends: Mutex<HashMap<SocketAddr, Arc<Backend>>>,
    /// Wakes requests that wait for the table to change.
    pub(crate) changed: watch::Sender<()>,
    pub(crate) held: AtomicUsize,
    pub(crate) metrics: Metrics,
}

/// The table at one moment.
#[derive(Default)]
pub(crate) struct Snapshot {
    pub(crate) routes: Routes,
    pub(crate) certificates: Certificates,
}

impl Gateway {
    /// A gateway with an empty table.
    pub fn new(settings: Settings) -> Self {
        Self(Arc::new(State {
            settings,
            snapshot: RwLock::default(),
            backends: Mutex::default(),
            changed: watch::Sender::default(),
            held: AtomicUsize::new(0),
            metrics: Metrics::default(),
        }))
    }

    /// Follows another table from now on. Requests in flight go on where they are; a backend that is not in the table
    /// gets no new request once this returns.
    pub fn follow(&self, table: Table) {
        let mut backends = self.0.backends.lock();
        let mut present = HashSet::new();
        let routes = Routes::new(table.routes, |address| {
            present.insert(address);
            let backend = backends.entry(address).or_insert_with(|| Arc::new(Backend::new(address)));
            backend.welcome();
            Arc::clone(backend)
        });
        let certificates = Certificates::new(table.certificates, &self.snapshot().certificates);
        *self.0.snapshot.write() = Arc::new(Snapshot { routes, certificates });
        backends.retain(|address, backend| {
            if !present.contains(address) {
                backend.retire();
            }
            present.contains(address) || backend.in_flight() > 0
        });
        drop(backends);
        self.0.changed.send_replace(());
    }

    /// Requests and upgraded connections that a backend is serving, also after it left the table.
    pub fn in_flight(&self, backend: SocketAddr) -> usize {
        self.0.backends.lock().get(&backend).map_or(0, |backend| backend.in_flight())
    }

    /// Serves plain http, HTTP/1.1 and HTTP/2, until `stop`; returns when requests in flight have ended.
    pub async fn serve_http(&self, listener: TcpListener, stop: CancellationToken) {
        self.door(None).serve(listener, self.clone(), stop).await;
    }

    /// Serves https with the certificates of the table until `stop`; returns when requests in flight have ended.
    pub async fn serve_https(&self, listener: TcpListener, stop: CancellationToken) {
        match certificates::server_config(self.clone()) {
            Ok(config) => {
                let acceptor = TlsAcceptor::from(Arc::new(config));
                self.door(Some(acceptor)).serve(listener, self.clone(), stop).await;
            }
            Err(error) => tracing::error!(%error, "https cannot be served"),
        }
    }

    /// Counters as Prometheus text.
    pub fn metrics(&self) -> String {
        let in_flight = self.0.backends.lock().values().map(|backend| backend.in_flight()).sum();
        self.0.metrics.text(in_flight, self.0.held.load(Ordering::Relaxed))
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.0.snapshot.read())
    }

    fn door(&self, tls: Option<TlsAcceptor>) -> Door {
        let settings = &self.0.settings;
        Door {
            max_connections: settings.max_connections,
            patience: Patience {
                header: settings.header_timeout,
                idle: settings.idle_timeout,
                stall: settings.stall_timeout,
            },
            drain: settings.drain_timeout,
            tls,
        }
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway").field("settings", &self.0.settings).finish_non_exhaustive()
    }
}

impl Answer for Gateway {
    async fn answer(&self, request: Request<Incoming>, client: &Arc<Client>) -> Response<Body> {
        let began = Instant::now();
        let response = self.proxy(request, client).await;
        self.0.metrics.answered(response.status(), began.elapsed());
        response
    }

    fn tick(&self) {
        let now = Instant::now();
        let mut backends = self.0.backends.lock();
        backends.retain(|_, backend| !backend.is_forgotten());
        backends.values().for_each(|backend| backend.sweep(now));
    }
}
