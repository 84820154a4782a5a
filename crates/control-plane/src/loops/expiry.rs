//! Events are news: they are kept for an hour.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::remove_all;
use crate::server::Server;

/// How long an event is kept after it was last seen, as Kubernetes does.
const KEPT: SignedDuration = SignedDuration::from_hours(1);

/// Deletes the events whose time is over.
pub(super) async fn sweep(server: &Arc<Server>) {
    let now = server.now();
    let mut old = server.stored("events", None);
    old.retain(|stored| last_seen(&stored.value()).is_some_and(|seen| now.duration_since(seen) > KEPT));
    remove_all(server, old).await;
}

fn last_seen(event: &Value) -> Option<Timestamp> {
    let fields = [
        &event["series"]["lastObservedTime"],
        &event["lastTimestamp"],
        &event["eventTime"],
        &event["metadata"]["creationTimestamp"],
    ];
    fields.into_iter().filter_map(|field| field.as_str()?.parse().ok()).max()
}
