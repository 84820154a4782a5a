#![doc = include_str!("../README.md")]
// Without the pool of tokio-postgres connections, some of what pools stand on has no caller.
#![cfg_attr(not(feature = "deadpool"), allow(dead_code, unused_imports))]

mod book;
mod error;
mod keeper;
mod login;
#[cfg(feature = "deadpool")]
mod pool;
mod source;
#[cfg(feature = "sqlx")]
pub mod sqlx;
#[cfg(feature = "rustls")]
pub mod tls;
mod watch;

pub use book::Generation;
pub use error::Error;
pub use keeper::{Drain, Settings, Status};
pub use login::{Login, SslMode, Unreadable};
#[cfg(feature = "deadpool")]
pub use pool::{Builder, Connection, Pool};
#[cfg(feature = "kube")]
pub use source::SecretSource;
pub use source::{FileSource, Sealed, Source, SourceError};
pub use watch::FileWatch;
