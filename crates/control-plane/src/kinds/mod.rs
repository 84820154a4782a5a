//! What is served: kinds and their schemas.

pub mod builtin;
pub mod catalog;
pub mod custom;
pub mod discovery;
pub mod openapi;
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
    /// Shape of an object, with defaults, list types and rules.
    pub schema: SchemaRef,
    /// Whether `/status` is served on its own.
    pub status: bool,
    /// Where `/scale` finds its numbers, if it is served.
    pub scale: Option<ScalePaths>,
    /// Subresources beside `/status` and `/scale`.
    pub subresources: Vec<Subresource>,
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

    /// Every subresource in discovery's order: built-in kinds by name, custom ones status before scale.
    pub fn all_subresources(&self) -> Vec<Subresource> {
        let one = |name: &str, group: &str, version: &str, kind: &str| Subresource {
            name: name.into(),
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
            verbs: vec!["get", "patch", "update"],
        };
        let mut all = self.subresources.clone();
        all.extend(self.status.then(|| one("status", "", "", &self.kind)));
        all.extend(self.scale.as_ref().map(|_| one("scale", "autoscaling", "v1", "Scale")));
        if self.builtin {
            all.sort_by(|left, right| left.name.cmp(&right.name));
        }
        all
    }
}

/// A schema, or the way to one: built-in shapes are compiled when they are first asked for.
#[derive(Clone, Debug, Default)]
pub enum SchemaRef {
    /// Nothing is known: any object will do.
    #[default]
    None,
    /// A definition of the built-in data file, by name.
    Builtin(Arc<str>),
    /// A schema that a CustomResourceDefinition brought.
    Ready(Arc<Schema>),
}

impl SchemaRef {
    /// The schema, compiled if it was not yet.
    pub fn get(&self) -> Option<Arc<Schema>> {
        match self {
            Self::None => None,
            Self::Builtin(definition) => Some(builtin::schema(definition)),
            Self::Ready(schema) => Some(schema.clone()),
        }
    }
}

impl From<Arc<Schema>> for SchemaRef {
    fn from(schema: Arc<Schema>) -> Self {
        Self::Ready(schema)
    }
}

/// A path below an object that is served on its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subresource {
    /// The word in the path: `token`.
    pub name: String,
    /// Group of the kind it takes and answers with; empty group and version mean the parent's own.
    pub group: String,
    /// Version of that kind.
    pub version: String,
    /// That kind.
    pub kind: String,
    /// Verbs, in discovery's order.
    pub verbs: Vec<&'static str>,
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
