//! Lists: pages of objects, now or at an exact revision.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Event, Stored};

/// Which objects to list.
#[derive(Clone, Copy, Debug, Default)]
pub struct Query<'a> {
    /// `plural.group`.
    pub storage: &'a str,
    /// One namespace, or all.
    pub namespace: Option<&'a str>,
    /// Start strictly behind this namespace and name.
    pub after: Option<(&'a str, &'a str)>,
    /// At most so many objects; `None` or 0 for all.
    pub limit: Option<usize>,
    /// The state at exactly this revision; the current one when `None`.
    pub at: Option<u64>,
}

/// Objects in the order of namespace and name.
#[derive(Debug)]
pub struct Page {
    /// The objects.
    pub items: Vec<Arc<Stored>>,
    /// The revision this is the state of.
    pub revision: u64,
    /// Whether the limit left objects out.
    pub more: bool,
    /// How many were left out, wanted or not.
    pub remaining: usize,
}

/// What a query found under the lock; the rest of the work needs none.
pub(super) struct Selection {
    /// The objects as they are now.
    pub(super) objects: Vec<Arc<Stored>>,
    /// Events newer than the revision asked for, oldest first.
    pub(super) undo: Vec<Arc<Event>>,
    /// The revision asked for.
    pub(super) revision: u64,
}

impl Selection {
    /// Nothing at a revision.
    pub(super) fn empty(revision: u64) -> Self {
        Self { objects: Vec::new(), undo: Vec::new(), revision }
    }

    /// Undoes what is newer, then takes the wanted objects up to the limit.
    pub(super) fn page(self, query: &Query<'_>, keep: &mut dyn FnMut(&Stored) -> bool) -> Page {
        let objects = if self.undo.is_empty() { self.objects } else { undo(query, self.objects, &self.undo) };
        let limit = query.limit.filter(|limit| *limit > 0).unwrap_or(usize::MAX);
        let mut items = Vec::new();
        let mut left = objects.into_iter();
        while items.len() < limit {
            let Some(object) = left.next() else { break };
            if keep(&object) {
                items.push(object);
            }
        }
        Page { items, revision: self.revision, more: left.len() > 0, remaining: left.len() }
    }
}

/// Going backwards, the last state seen of each object is the one it had at the revision asked for.
fn undo(query: &Query<'_>, objects: Vec<Arc<Stored>>, events: &[Arc<Event>]) -> Vec<Arc<Stored>> {
    fn place(object: &Stored) -> (&str, &str) {
        (&object.key.namespace, &object.key.name)
    }
    let wanted = |object: &Stored| {
        query.namespace.is_none_or(|namespace| namespace == &*object.key.namespace)
            && query.after.is_none_or(|after| place(object) > after)
    };
    let mut then = objects.iter().map(|object| (place(object), object)).collect::<BTreeMap<_, _>>();
    for event in events.iter().rev().filter(|event| wanted(&event.object)) {
        match &event.previous {
            Some(previous) => then.insert(place(&event.object), previous),
            None => then.remove(&place(&event.object)),
        };
    }
    then.into_values().cloned().collect()
}
