//! What is served: kinds and their schemas.

pub mod schema;
pub mod table;

use std::sync::Arc;

use schema::Schema;

/// One resource in one version, as discovery shows it.
#[derive(Clone, Debug)]
pub struct Kind {
    /// API group; empty for the core group.
    pub group: String,
    /// Version in that group.
    pub version: String,
    /// `Pod`.
    pub kind: String,
    /// `PodList`.
    pub list_kind: String,
    /// `pods`: the word in the path.
    pub plural: String,
    /// `pod`.
    pub singular: String,
    /// `po`.
    pub short_names: Vec<String>,
    /// `all`.
    pub categories: Vec<String>,
    /// Whether objects live in a namespace.
    pub namespaced: bool,
    /// Verbs on the collection and its objects, in discovery's order.
    pub verbs: Vec<&'static str>,
    /// Where the objects lie in the store: `plural.group`, shared by all versions of one resource.
    pub storage: Arc<str>,
    /// Shape of an object, with defaults, list types and rules. `None` where nothing is known.
    pub schema: Option<Arc<Schema>>,
    /// Whether `/status` is served on its own.
    pub status: bool,
    /// Where `/scale` finds its numbers, if it is served.
    pub scale: Option<ScalePaths>,
    /// Columns of the table that `kubectl get` prints.
    pub columns: Vec<Column>,
    /// Field paths that field selectors may name beside metadata.name and metadata.namespace.
    pub selectable: Vec<String>,
    /// True for a kind of the platform itself, false for one that a CustomResourceDefinition brought.
    pub builtin: bool,
}

impl Kind {
    /// `v1` or `group/v1`, as objects carry it.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
}

/// JSON paths of the scale subresource: `.spec.replicas`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScalePaths {
    /// Where the wish is written.
    pub spec: String,
    /// Where the count is read.
    pub status: String,
    /// Where the label selector is read, in its string form.
    pub selector: Option<String>,
}

/// One column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Heading.
    pub name: String,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub kind: String,
    /// `name` for the first column, else mostly empty.
    pub format: String,
    /// Shown by `kubectl explain`-like tools.
    pub description: String,
    /// 0 is always shown, 1 only with `-o wide`.
    pub priority: i32,
    /// For custom resources: where the cell's value is; empty for built-in kinds, whose cells are code.
    pub path: String,
}
