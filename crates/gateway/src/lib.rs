//! A reverse proxy that follows a routing table in memory, a server of static files, and a forwarder of TCP. It knows
//! hosts, backends and certificates, and no Kubernetes.
//!
//! One request is one task from the client's socket to the backend's and back: a connection to a backend is driven by
//! whoever uses it (`line`), so that no hop between tasks stands in the way.

mod backend;
mod body;
mod certificates;
mod connection;
mod door;
pub mod files;
pub mod forward;
mod gateway;
mod headers;
mod host;
mod line;
mod metrics;
mod pages;
mod proxy;
mod retry;
mod settings;
mod table;
mod upgrade;

pub use body::{Body, Fault};
pub use gateway::Gateway;
pub use settings::{Platform, PlatformAnswer, Settings};
pub use table::{Certificate, Doors, Route, Table};
