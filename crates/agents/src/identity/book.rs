//! All tokens there are, as they are now: one that is revoked is gone from here within moments.

use std::collections::HashMap;
use std::sync::Arc;

use futures::TryStreamExt;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::api::Api;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt};
use parking_lot::RwLock;
use tokio_util::sync::CancellationToken;

use super::Caller;
use super::token::{Kept, LABEL, NAMESPACE, Presented, TYPE, kept};

/// All tokens there are.
///
/// A token is found by its digest: a comparison that ended early would tell something of a digest, not of a token.
#[derive(Clone, Default)]
pub struct Book(Arc<RwLock<Pages>>);

#[derive(Default)]
struct Pages {
    by_digest: HashMap<String, (String, Kept)>,
    /// While the list is read anew: what was found so far.
    coming: HashMap<String, (String, Kept)>,
    read: bool,
}

impl Book {
    /// Reads all tokens and follows what becomes of them, until `stop`.
    pub fn follow(client: Client, stop: CancellationToken) -> Self {
        let book = Self::default();
        let own = book.clone();
        tokio::spawn(async move {
            let secrets: Api<Secret> = Api::namespaced(client, NAMESPACE);
            let which = watcher::Config::default().labels(LABEL).fields(&format!("type={TYPE}"));
            let events = watcher(secrets, which).default_backoff();
            let reading = events.try_for_each(|event| {
                own.note(event);
                futures::future::ok(())
            });
            tokio::select! { _ = reading => {}, () = stop.cancelled() => {} }
        });
        book
    }

    /// Who presents a token; `None` if nobody knows it, or its time is over.
    pub fn caller(&self, presented: &Presented, now: Timestamp) -> Option<Caller> {
        let pages = self.0.read();
        let (_, kept) = pages.by_digest.get(&presented.0)?;
        (!kept.expired(now)).then(|| kept.caller())
    }

    /// Whether a token of this fingerprint is still good.
    pub fn knows(&self, fingerprint: &str, now: Timestamp) -> bool {
        let pages = self.0.read();
        let mut all = pages.by_digest.values().filter(|(_, kept)| !kept.expired(now));
        all.any(|(_, kept)| kept.caller().fingerprint == fingerprint)
    }

    /// Whether all tokens have been read once.
    pub fn is_read(&self) -> bool {
        self.0.read().read
    }

    /// Adds a token at once: who made it here need not wait for the news.
    pub fn add(&self, kept: Kept) {
        let name = format!("agent-token-{}", kept.name);
        self.0.write().by_digest.insert(kept.digest.clone(), (name, kept));
    }

    fn note(&self, event: watcher::Event<Secret>) {
        let mut pages = self.0.write();
        match event {
            watcher::Event::Init => pages.coming.clear(),
            watcher::Event::InitApply(secret) => {
                if let Some(kept) = kept(&secret) {
                    pages.coming.insert(kept.digest.clone(), (secret.name_any(), kept));
                }
            }
            watcher::Event::InitDone => {
                pages.by_digest = std::mem::take(&mut pages.coming);
                pages.read = true;
            }
            watcher::Event::Apply(secret) => {
                let name = secret.name_any();
                pages.by_digest.retain(|_, (of, _)| *of != name);
                if let Some(kept) = kept(&secret) {
                    pages.by_digest.insert(kept.digest.clone(), (name, kept));
                }
            }
            watcher::Event::Delete(secret) => {
                let name = secret.name_any();
                pages.by_digest.retain(|_, (of, _)| *of != name);
            }
        }
    }
}
