//! The shape of an object: one compiled tree serves pruning, defaulting, validation and every merge.

mod default;
mod embedded;
mod formats;
mod lists;
mod parse;
mod pattern;
mod prune;
mod rules;
mod scalars;
mod show;
mod validate;

#[cfg(test)]
mod tests;

pub use default::default;
pub use pattern::pattern;
pub use prune::prune;
pub use rules::Rules;
pub(crate) use rules::field_path;
pub use show::{canonical, show};
pub use validate::{validate, validate_with_rules};

use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;
use serde_json::Value;

/// How deep a schema or an object may nest. JSON from the wire stops at 128 levels anyway; a patch can
/// build deeper ones, and none of them may cost the stack.
pub const MAX_DEPTH: usize = 128;

/// One node of a schema.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// JSON type; `None` where any is allowed.
    pub kind: Option<Type>,
    /// Whether `null` is a value and not an absence.
    pub nullable: bool,
    /// Fields of an object, in declared order.
    pub properties: IndexMap<String, Arc<Schema>>,
    /// What stands under keys that `properties` does not name.
    pub additional: Additional,
    /// Elements of an array.
    pub items: Option<Arc<Schema>>,
    /// Fields that must be there.
    pub required: Vec<String>,
    /// Value of a field that is absent.
    pub default: Option<Value>,
    /// How two arrays become one, and which elements are the same.
    pub list: ListType,
    /// True where a map is owned and replaced as a whole (`x-kubernetes-map-type: atomic`).
    pub atomic_map: bool,
    /// Strategic merge: `x-kubernetes-patch-strategy` and `-merge-key`.
    pub patch: PatchStrategy,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub preserve_unknown: bool,
    /// `x-kubernetes-embedded-resource`.
    pub embedded: bool,
    /// `x-kubernetes-int-or-string`.
    pub int_or_string: bool,
    /// Bounds, patterns, enums, formats and junctors; `None` where there are none, which is most nodes.
    pub checks: Option<Box<Checks>>,
    /// `x-kubernetes-validations`, as written.
    pub rules: Vec<Value>,
}

/// A JSON type in a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Type {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

/// What stands under undeclared keys.
#[derive(Clone, Debug, Default)]
pub enum Additional {
    /// Nothing: they are pruned.
    #[default]
    Closed,
    /// Anything.
    Any,
    /// Values of one shape: the object is a map.
    Map(Arc<Schema>),
}

/// `x-kubernetes-list-type` and its keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ListType {
    /// Replaced as a whole.
    #[default]
    Atomic,
    /// Scalars, each at most once.
    Set,
    /// Objects told apart by these keys.
    Map(Vec<String>),
}

/// How a strategic merge patch treats a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchStrategy {
    /// Lists: merge instead of replace.
    pub merge: bool,
    /// Objects: keys absent from the patch's `$retainKeys` go.
    pub retain_keys: bool,
    /// The key that tells list elements apart; scalars have none.
    pub merge_key: Option<String>,
}

/// A regular expression, compiled when its first value is judged: most schemas are read far more often than used.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// The expression as it was written.
    pub text: String,
    compiled: OnceLock<Option<regex::Regex>>,
}

impl Pattern {
    fn new(text: &str) -> Self {
        Self { text: text.to_owned(), compiled: OnceLock::new() }
    }

    /// Whether a text matches. An expression that does not compile was never accepted, and forbids nothing.
    pub fn matches(&self, text: &str) -> bool {
        let compiled = self.compiled.get_or_init(|| pattern(&self.text).ok());
        compiled.as_ref().is_none_or(|regex| regex.is_match(text))
    }
}

/// Value validations of one node.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Checks {
    pub format: Option<String>,
    pub pattern: Option<Pattern>,
    pub one_of_values: Option<Vec<Value>>,
    pub minimum: Option<(f64, bool)>,
    pub maximum: Option<(f64, bool)>,
    pub multiple_of: Option<f64>,
    pub min_length: Option<u64>,
    pub max_length: Option<u64>,
    pub min_items: Option<u64>,
    pub max_items: Option<u64>,
    pub unique_items: bool,
    pub min_properties: Option<u64>,
    pub max_properties: Option<u64>,
    pub all_of: Vec<Schema>,
    pub any_of: Vec<Schema>,
    pub one_of: Vec<Schema>,
    pub not: Option<Box<Schema>>,
}

impl Schema {
    /// Compiles an `openAPIV3Schema` (or a built-in definition whose references are resolved).
    /// Keywords it does not know are passed over: whether a schema is allowed is asked elsewhere.
    pub fn parse(node: &Value) -> Self {
        parse::schema(node)
    }

    /// The schema of one field: declared, from the map's value shape, or none.
    pub fn field(&self, name: &str) -> Option<&Arc<Schema>> {
        self.properties.get(name).or(match &self.additional {
            Additional::Map(values) => Some(values),
            Additional::Closed | Additional::Any => None,
        })
    }
}
