//! Applications that a client wants to hear of: in the earlier era one subscription for each, in the later one stream
//! for all of them. Both look through the caller's eyes, and end with the caller's token.

use std::collections::HashMap;
use std::future::{Future, ready};
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use kube::Client;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::watch_object;
use parking_lot::Mutex;
use rmcp::model::{ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::begun::TOKEN_CHECK;
use super::resources::{Place, missing, short};
use super::{Handler, calls};
use crate::identity::{Caller, Presented};
use crate::server::Agents;

/// Applications that one token may watch at a time, over all its connections.
const MOST: usize = 64;

impl Handler {
    /// Subscribes a client of the earlier era.
    pub(super) async fn watch(
        &self,
        uri: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let caller = self.admitted(("resources/subscribe", uri), context).await?;
        let begun = match self.added(uri) {
            true => Ok(()),
            false => self.watch_one(&caller, uri, context).await,
        };
        self.noted(&caller, ("resources/subscribe", uri), context, begun).await
    }

    async fn watch_one(
        &self,
        caller: &Caller,
        uri: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let watch = calls::bounded(self.watch_of(caller, &[uri.to_owned()], context)).await?;
        let (stop, peer) = (CancellationToken::new(), context.peer.clone());
        self.watching.0.lock().insert(uri.to_owned(), stop.clone().drop_guard());
        tokio::spawn(async move {
            let watching = watch.run(|uri| {
                let told = ResourceUpdatedNotificationParam::new(uri);
                let peer = peer.clone();
                async move { peer.notify_resource_updated(told).await.is_ok() }
            });
            tokio::select! { () = watching => {}, () = stop.cancelled() => {} }
        });
        Ok(())
    }

    /// What of a filter can be followed: nothing is ever added to the lists, so only resources.
    pub(super) fn watchable(&self, requested: &SubscriptionFilter) -> SubscriptionFilter {
        let Some(uris) = &requested.resource_subscriptions else { return SubscriptionFilter::new() };
        let known = |uri: &&String| Place::named(uri).is_some() || self.added(uri);
        let uris = uris.iter().filter(known).take(MOST).cloned();
        SubscriptionFilter::builder().resource_subscriptions(uris).build()
    }

    /// Tells a client of the later era what changes, until it, its token or the server ends.
    pub(super) async fn follow(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let request = context.request_context();
        let uris = context.accepted().resource_subscriptions.clone().unwrap_or_default();
        let caller = self.admitted(("subscriptions/listen", &uris.join(" ")), request).await?;
        let watch = calls::bounded(self.watch_of(&caller, &uris, request)).await;
        let subject = uris.join(" ");
        let watch = self.noted(&caller, ("subscriptions/listen", &subject), request, watch).await?;
        let watching = watch.run(|uri| {
            let sink = context.sink().clone();
            async move { sink.notify_resource_updated(uri).await.is_ok() }
        });
        tokio::select! { () = watching => {}, () = context.cancelled() => {} }
        Ok(())
    }

    /// Whether a test has added it: it can be subscribed to, and never changes.
    fn added(&self, uri: &str) -> bool {
        self.agents.extras().is_some_and(|extras| extras.watched(uri))
    }

    /// A watch on applications, each of which the caller may see now.
    async fn watch_of(
        &self,
        caller: &Caller,
        uris: &[String],
        context: &RequestContext<RoleServer>,
    ) -> Result<Watch, ErrorData> {
        let full =
            || ErrorData::invalid_request("this token watches as much as it may; end another one", None);
        let seats = self.agents.watchers().enter(caller, uris.len().max(1)).ok_or_else(full)?;
        let client = caller.client(self.agents.client());
        let mut streams = Vec::new();
        for uri in uris.iter().filter(|uri| !self.added(uri)) {
            let place = Place::named(uri).ok_or_else(|| missing(uri))?;
            let now = place.get(client.clone()).await.map_err(|error| calls::protocol(&error))?;
            let now = now.as_ref().map(short).ok_or_else(|| missing(uri))?;
            streams.push(changes(client.clone(), uri.clone(), &place, now));
        }
        let presented = self.presented(context).ok_or_else(full)?;
        Ok(Watch { agents: self.agents.clone(), presented, streams, _seats: seats })
    }
}

/// A watch that has been begun.
struct Watch {
    agents: Agents,
    presented: Presented,
    streams: Vec<BoxStream<'static, String>>,
    _seats: Seats,
}

impl Watch {
    /// Tells every change, until nobody listens any more, or the token or the server ends.
    async fn run<T: Future<Output = bool>>(self, tell: impl Fn(String) -> T) {
        let mut all = stream::select_all(self.streams);
        let mut check = tokio::time::interval(TOKEN_CHECK);
        loop {
            tokio::select! {
                Some(uri) = all.next() => if !tell(uri).await { return },
                _ = check.tick() => if self.agents.caller(&self.presented).is_none() { return },
                () = self.agents.stop().cancelled() => return,
            }
        }
    }
}

/// The address of an application, each time that what can be read of it has changed.
fn changes(client: Client, uri: String, place: &Place, now: Value) -> BoxStream<'static, String> {
    watch_object(place.api(client), &place.name)
        .default_backoff()
        .filter_map(|seen| ready(seen.ok()))
        .scan(Some(now), move |last, app| {
            let now = app.as_ref().map(short);
            let changed = *last != now;
            *last = now;
            ready(Some(changed.then(|| uri.clone())))
        })
        .filter_map(ready)
        .boxed()
}

/// What one connection of the earlier era watches. It ends with the connection.
#[derive(Default)]
pub(super) struct Watching(Mutex<HashMap<String, DropGuard>>);

impl Watching {
    /// Watches no more.
    pub(super) fn forget(&self, uri: &str) {
        self.0.lock().remove(uri);
    }
}

/// How much each token watches.
#[derive(Clone, Default)]
pub(crate) struct Watchers(Arc<Mutex<HashMap<String, usize>>>);

impl Watchers {
    /// Room for some more; `None` if the token has not so much left.
    fn enter(&self, caller: &Caller, seats: usize) -> Option<Seats> {
        let mut counts = self.0.lock();
        let taken = counts.get(&caller.fingerprint).copied().unwrap_or_default();
        (taken + seats <= MOST).then(|| {
            counts.insert(caller.fingerprint.clone(), taken + seats);
            Seats { watchers: self.clone(), fingerprint: caller.fingerprint.clone(), seats }
        })
    }
}

/// Room that is given back when the watch ends.
struct Seats {
    watchers: Watchers,
    fingerprint: String,
    seats: usize,
}

impl Drop for Seats {
    fn drop(&mut self) {
        let mut counts = self.watchers.0.lock();
        let left = counts.get(&self.fingerprint).copied().unwrap_or_default().saturating_sub(self.seats);
        match left {
            0 => counts.remove(&self.fingerprint),
            left => counts.insert(self.fingerprint.clone(), left),
        };
    }
}
