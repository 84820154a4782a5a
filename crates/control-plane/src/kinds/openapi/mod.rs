//! What the server says its objects look like: OpenAPI v3 by group and version, v2 as one document.
//!
//! Documents are built when asked for and never kept here; [`hash`] tells a cache whether one is still good.

use serde_json::Value;

use super::Kind;

/// A served kind and, for a custom one, its schema as its CustomResourceDefinition wrote it.
#[derive(Clone, Copy)]
pub struct Served<'a> {
    /// The kind.
    pub kind: &'a Kind,
    /// `openAPIV3Schema`; `None` for built-in kinds, whose shapes are known.
    pub raw_schema: Option<&'a Value>,
}
