//! `watch`: what happens to a collection, from one revision on, for as long as the client listens.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use rand::RngExt;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::options::{self, Selection};
use super::{Answer, Call, Content};
use crate::server::Server;
use crate::status::Status;
use crate::store::{self, Compacted, Event, Happening, Stored, Watcher};
use crate::wire::form::Form;

/// How often an idle watcher that asked for bookmarks is told how far it is.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// Longest watch for a client that names no time, in seconds; the real one lies between this and half of it,
/// so that clients that came together do not come back together.
const LONGEST: u64 = 3600;

pub(super) fn run(server: &Arc<Server>, call: Call) -> Result<Answer, Status> {
    let mut query = call.query.clone();
    query.watch = true;
    query.check_list()?;
    let selection = Selection::of(&call)?;
    let form = Form::of(&call, true)?;
    let asked = options::version(query.resource_version.as_deref())?;
    let mut pending = VecDeque::new();
    let from_now = matches!(asked, None | Some(0));
    let initial = query.initial_events.unwrap_or(from_now);
    if query.initial_events == Some(true) {
        options::not_from_the_future(server, query.resource_version.as_deref())?;
    }
    let after = if initial || from_now {
        let page = current(server, &call, &selection);
        if initial {
            pending.extend(page.items.iter().map(|stored| form.event("ADDED", stored, server.now())));
        }
        if query.initial_events == Some(true) && query.bookmarks {
            pending.push_back(bookmark(&form, page.revision, true));
        }
        page.revision
    } else {
        asked.unwrap_or_default()
    };
    let kind = &call.entry.kind;
    let opened = server.store.watch(Some(&kind.storage), after);
    let watcher = match opened {
        Ok(watcher) => Some(watcher),
        Err(compacted) => {
            pending.push_back(gone(after, compacted));
            None
        }
    };
    server.metrics.watch_opened();
    let seconds = query.timeout_seconds.unwrap_or_else(|| rand::rng().random_range(LONGEST / 2..LONGEST));
    let state = Watch {
        server: server.clone(),
        selection,
        form,
        pending,
        watcher,
        bookmarks: query.bookmarks,
        ends: Instant::now() + Duration::from_secs(seconds),
    };
    let chunks =
        stream::unfold(state, |mut state| async move { state.next().await.map(|chunk| (chunk, state)) });
    Ok(Answer::ok(Content::Stream("application/json", Box::pin(chunks))))
}

fn current(server: &Server, call: &Call, selection: &Selection) -> store::Page {
    let storage = &call.entry.kind.storage;
    let ask = store::Query { storage, namespace: selection.namespace(), after: None, limit: None, at: None };
    let page = server.store.list(&ask, &mut |stored| selection.takes(stored));
    // Only an exact old revision can be compacted away, and none is asked for.
    page.unwrap_or_else(|compacted| store::Page {
        items: Vec::new(),
        revision: compacted.current,
        more: false,
        remaining: 0,
    })
}

/// One open watch.
struct Watch {
    server: Arc<Server>,
    selection: Selection,
    form: Form,
    pending: VecDeque<Bytes>,
    watcher: Option<Watcher>,
    bookmarks: bool,
    ends: Instant,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.server.metrics.watch_closed();
    }
}

impl Watch {
    /// The next chunk: as many events as are there, so that a burst costs one write.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(chunk) = self.pending.pop_front() {
                return Some(chunk);
            }
            let watcher = self.watcher.as_mut()?;
            let bookmark_at = Instant::now() + BOOKMARK_EVERY;
            let wake = if self.bookmarks { self.ends.min(bookmark_at) } else { self.ends };
            let event = tokio::select! {
                biased;
                () = self.server.stopping.cancelled() => return None,
                event = watcher.next() => event,
                () = tokio::time::sleep_until(wake) => {
                    if self.bookmarks {
                        let position = watcher.position();
                        self.pending.push_back(bookmark(&self.form, position, false));
                    }
                    if wake == self.ends {
                        self.watcher = None;
                    }
                    continue;
                }
            };
            let after = watcher.position();
            match event {
                Ok(event) => self.pending.extend(self.told(&event)),
                Err(compacted) => {
                    self.pending.push_back(gone(after, compacted));
                    self.watcher = None;
                }
            }
        }
    }

    /// One event as this watcher sees it: an object that starts or stops to match comes and goes.
    fn told(&self, event: &Event) -> Option<Bytes> {
        let now_taken = self.selection.takes(&event.object);
        let deleted = matches!(event.happening, Happening::Deleted);
        let before = event.previous.as_ref().filter(|previous| self.selection.takes(previous));
        let word = match (before, now_taken, deleted) {
            (_, true, true) | (Some(_), false, true) => "DELETED",
            (None, false, _) => return None,
            (None, true, false) => "ADDED",
            (Some(_), true, false) => "MODIFIED",
            (Some(previous), false, false) => return Some(self.departed(previous, event.revision)),
        };
        let stays_itself = matches!(
            (word, &event.happening),
            ("ADDED", Happening::Added) | ("MODIFIED", Happening::Modified) | ("DELETED", Happening::Deleted)
        );
        if stays_itself && self.form.is_plain(&event.object) {
            return Some(event.line());
        }
        Some(self.form.event(word, &event.object, self.server.now()))
    }

    /// An object that no longer matches: its last matching state, at the revision of the change.
    fn departed(&self, previous: &Stored, revision: u64) -> Bytes {
        let mut value = previous.value();
        value["metadata"]["resourceVersion"] = json!(revision.to_string());
        self.form.event_value("DELETED", value, self.server.now())
    }
}

fn bookmark(form: &Form, revision: u64, initial_end: bool) -> Bytes {
    let mut metadata = json!({ "resourceVersion": revision.to_string() });
    if initial_end {
        metadata["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
    }
    line(&json!({ "type": "BOOKMARK", "object": form.bookmark(metadata) }))
}

fn gone(after: u64, compacted: Compacted) -> Bytes {
    let status = Status::expired(format!("too old resource version: {after} ({})", compacted.oldest));
    line(&json!({ "type": "ERROR", "object": status.to_json() }))
}

fn line(value: &Value) -> Bytes {
    Bytes::from(format!("{value}\n"))
}
