//! What the server says its objects look like: OpenAPI v3 by group and version, v2 as one document.
//!
//! Documents are built when asked for and never kept here; [`hash`] tells a cache whether one is still good.

mod paths;
mod protobuf;
mod schemas;
#[cfg(test)]
mod tests;

pub use protobuf::encode as v2_protobuf;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Kind, discovery};
use paths::{Style, paths};
use schemas::Schemas;

/// A served kind and, for a custom one, its schema as its CustomResourceDefinition wrote it.
#[derive(Clone, Copy)]
pub struct Served<'a> {
    /// The kind.
    pub kind: &'a Kind,
    /// `openAPIV3Schema`; `None` for built-in kinds, whose shapes are known.
    pub raw_schema: Option<&'a Value>,
}

/// `GET /openapi/v3`: where the document of each group and version lies, with its hash.
pub fn v3_root(served: &[Served]) -> Value {
    let mut groups: BTreeMap<String, Vec<Served>> = BTreeMap::new();
    for one in served {
        groups.entry(root_path(&one.kind.group, &one.kind.version)).or_default().push(*one);
    }
    let link = |(path, served): (String, Vec<Served>)| {
        let url = format!("/openapi/v3/{path}?hash={}", hash(&served));
        (path, json!({ "serverRelativeURL": url }))
    };
    json!({ "paths": groups.into_iter().map(link).collect::<Map<_, _>>() })
}

/// `GET /openapi/v3/api/v1` (an empty group) and `/openapi/v3/apis/<group>/<version>`; `None` if nothing of
/// it is served. Its entity tag is the [`hash`] of the kinds of that version.
pub fn v3(served: &[Served], group: &str, version: &str) -> Option<Value> {
    let served = of_version(served, group, version);
    if served.is_empty() {
        return None;
    }
    let mut schemas = Schemas::new(Style::V3);
    served.iter().for_each(|one| schemas.add(one));
    Some(json!({
        "openapi": "3.0.0",
        "info": { "title": "Kubernetes", "version": "unversioned" },
        "paths": paths(&served, Style::V3),
        "components": {
            "schemas": schemas.finish(),
            "securitySchemes": { "BearerToken": bearer() },
        },
    }))
}

/// `GET /openapi/v2` as JSON; [`v2_protobuf`] packs it as kubectl asks for it.
pub fn v2(served: &[Served]) -> Value {
    let mut schemas = Schemas::new(Style::V2);
    served.iter().for_each(|one| schemas.add(one));
    json!({
        "swagger": "2.0",
        "info": { "title": "Kubernetes", "version": "unversioned" },
        "paths": paths(served, Style::V2),
        "definitions": schemas.finish(),
        "securityDefinitions": { "BearerToken": bearer() },
        "security": [{ "BearerToken": [] }],
    })
}

/// The kinds of one group and version.
pub fn of_version<'a>(served: &[Served<'a>], group: &str, version: &str) -> Vec<Served<'a>> {
    served.iter().filter(|one| one.kind.group == group && one.kind.version == version).copied().collect()
}

/// Changes exactly when a document over these kinds may change. No document is built for it.
pub fn hash(served: &[Served]) -> String {
    let mut text = String::from(env!("CARGO_PKG_VERSION"));
    for Served { kind, raw_schema } in served {
        let subresources = kind.all_subresources();
        let raw = raw_schema.map(Value::to_string).unwrap_or_default();
        text.push_str(&format!(
            "\n{}/{} {} {} {:?} {subresources:?} {raw}",
            kind.group, kind.version, kind.plural, kind.kind, kind.verbs
        ));
    }
    discovery::etag(text.as_bytes())
}

fn root_path(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

fn bearer() -> Value {
    json!({
        "description": "Bearer Token authentication", "in": "header", "name": "authorization", "type": "apiKey",
    })
}
