//! Claims on databases and on logins in them (`persistance.atlas.infoblox.com`): one server or many, there already or
//! made for the purpose.

pub mod book;
pub mod config;
mod database_claim;
mod db_role_claim;
#[cfg(test)]
mod gated;
mod guests;
mod logins;
mod makers;
mod metrics;
mod password;
mod secret;
mod server;
mod source;
mod step;
mod target;

use std::sync::Arc;

use kit::{Bell, Lanes};
use ports::admin::Admin;
use tokio_util::sync::CancellationToken;

pub use database_claim::DatabaseClaims;
pub use db_role_claim::DbRoleClaims;

use book::Book;
use metrics::Metrics;

/// What the rooms of claims share. Clones are the same.
pub struct Office<A> {
    admin: Arc<A>,
    book: Book,
    settings: Arc<Settings>,
    lanes: Lanes,
    metrics: Metrics,
    bell: Bell,
}

/// Where an office is, and whom it serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The platform's own namespace: the Secrets of administrators and the objects of servers are there.
    pub namespace: String,
    /// Which claims are served, where several controllers share a cluster.
    pub class: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self { namespace: "terrace-system".into(), class: "default".into() }
    }
}

impl<A: Admin> Office<A> {
    /// An office that speaks to servers through an administrator, as a book of configuration says.
    pub fn new(admin: Arc<A>, book: Book, settings: Settings) -> Self {
        Self {
            admin,
            book,
            settings: Arc::new(settings),
            lanes: Lanes::default(),
            metrics: Metrics::default(),
            bell: Bell::default(),
        }
    }

    /// Wakes every claim when the configuration changes, until it is told to stop.
    pub async fn follow(&self, stop: CancellationToken) {
        let mut changes = self.book.changes();
        loop {
            tokio::select! {
                changed = changes.changed() => match changed {
                    Ok(()) => self.bell.ring_all(),
                    Err(_) => return,
                },
                () = stop.cancelled() => return,
            }
        }
    }
}

impl<A> Clone for Office<A> {
    fn clone(&self) -> Self {
        let Self { admin, book, settings, lanes, metrics, bell } = self;
        Self {
            admin: admin.clone(),
            book: book.clone(),
            settings: settings.clone(),
            lanes: lanes.clone(),
            metrics: metrics.clone(),
            bell: bell.clone(),
        }
    }
}
