//! `list`: a collection, whole or in chunks, as of one revision.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::options::{self, Selection};
use super::{Answer, Call, Content};
use crate::server::Server;
use crate::status::Status;
use crate::store::{self, Page, Stored};
use crate::wire::decode;

/// A list before it is written in the client's form.
pub(crate) struct Listing {
    pub items: Vec<Arc<Stored>>,
    /// `metadata` of the list: version, and the token for the next chunk.
    pub metadata: Value,
}

pub(super) fn run(server: &Server, call: &Call) -> Result<Answer, Status> {
    Ok(Answer::ok(Content::List(listing(server, call)?)))
}

/// The objects a collection request means.
pub(crate) fn listing(server: &Server, call: &Call) -> Result<Listing, Status> {
    let query = &call.query;
    query.check_list()?;
    let selection = Selection::of(call)?;
    let start = Start::of(server, call)?;
    let ask = store::Query {
        storage: &call.entry.kind.storage,
        namespace: selection.namespace(),
        after: start.after.as_ref().map(|(namespace, name)| (namespace.as_str(), name.as_str())),
        limit: query.limit,
        at: start.at,
    };
    let page = server
        .store
        .list(&ask, &mut |stored| selection.takes(stored))
        .map_err(|_| too_old(!query.continue_token.is_empty()))?;
    let metadata = metadata(&page, selection.is_everything());
    Ok(Listing { items: page.items, metadata })
}

/// Where a list begins, and at which revision.
struct Start {
    at: Option<u64>,
    after: Option<(String, String)>,
}

impl Start {
    fn of(server: &Server, call: &Call) -> Result<Self, Status> {
        let query = &call.query;
        if !query.continue_token.is_empty() {
            if query.resource_version.as_deref().is_some_and(|version| version != "0") {
                let why = "specifying resource version is not allowed when using continue";
                return Err(Status::bad_request(why));
            }
            let (revision, namespace, name) = decode::parse_continue(&query.continue_token)?;
            return Ok(Self { at: Some(revision), after: Some((namespace, name)) });
        }
        let asked = options::not_from_the_future(server, query.resource_version.as_deref())?;
        let exact = match query.version_match.as_deref() {
            Some(word) => word == "Exact",
            // Chunked lists of a version mean that very version, as they did before the word existed.
            None => query.limit.is_some(),
        };
        Ok(Self { at: asked.filter(|version| exact && *version > 0), after: None })
    }
}

fn metadata(page: &Page, countable: bool) -> Value {
    let mut metadata = Map::new();
    metadata.insert("resourceVersion".into(), json!(page.revision.to_string()));
    if let Some(last) = page.items.last().filter(|_| page.more) {
        let token = decode::continue_token(page.revision, &last.key.namespace, &last.key.name);
        metadata.insert("continue".into(), json!(token));
        if countable {
            metadata.insert("remainingItemCount".into(), json!(page.remaining));
        }
    }
    Value::Object(metadata)
}

fn too_old(chunked: bool) -> Status {
    Status::expired(if chunked {
        "The provided continue parameter is too old to display a consistent list result. You must start a new \
         list without the continue parameter."
    } else {
        "The resourceVersion for the provided list is too old."
    })
}
