//! A schema as the merge sees it: objects, lists and scalars, each granular or atomic.

use serde_json::{Map, Value};

use super::element::{Element, Json};
use crate::kinds::schema::{Additional, ListType, Schema, Type};

/// Members of every object, whether its schema names them or not.
const EVERYWHERE: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// What is known about a value before it is looked at.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape<'a> {
    /// A schema says it. `open` is inherited from an ancestor that preserves unknown fields; `root` is
    /// true for a whole object.
    Typed { schema: &'a Schema, open: bool, root: bool },
    /// Nothing is known: objects are granular, lists atomic.
    Deduced,
    /// Nothing is known, and it stands in an atomic list: all is atomic.
    Untyped,
}

/// What a value is, after it was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Atom<'a> {
    Object { atomic: bool },
    List(Option<Keys<'a>>),
    Scalar(Scalar),
}

/// How elements of a list that is not atomic are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keys<'a> {
    Value,
    Fields(&'a [String]),
}

/// Which scalars are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    Numeric,
    String,
    Boolean,
    Any,
}

impl<'a> Shape<'a> {
    /// The shape of a whole object.
    pub(super) fn root(schema: Option<&'a Schema>) -> Self {
        match schema {
            Some(schema) => Self::Typed { schema, open: schema.preserve_unknown, root: true },
            None => Self::Deduced,
        }
    }

    fn under(schema: &'a Schema, open: bool) -> Self {
        Self::Typed { schema, open: open || schema.preserve_unknown, root: false }
    }

    /// Whether the schema names this member, so that it exists even where nobody owns it.
    pub(super) fn declares(self, name: &str) -> bool {
        match self {
            Self::Typed { schema, .. } => schema.properties.contains_key(name),
            Self::Deduced | Self::Untyped => false,
        }
    }

    /// The shape of a member. `None` where the schema is closed and does not know it.
    pub(super) fn member(self, name: &str) -> Option<Self> {
        let Self::Typed { schema, open, root } = self else { return Some(self) };
        if let Some(child) = schema.properties.get(name) {
            return Some(Self::under(child, open));
        }
        match &schema.additional {
            Additional::Map(values) => Some(Self::under(values, open)),
            Additional::Any => Some(Self::Deduced),
            Additional::Closed if open || schema.properties.is_empty() => Some(Self::Deduced),
            Additional::Closed if root && EVERYWHERE.contains(&name) => Some(Self::Deduced),
            Additional::Closed => None,
        }
    }

    /// The shape of a member for which unknown fields are not an error.
    pub(super) fn any_member(self, name: &str) -> Self {
        self.member(name).unwrap_or(Self::Deduced)
    }

    /// The shape of the elements of a list.
    pub(super) fn element(self) -> Self {
        match self {
            Self::Typed { schema, open, .. } => {
                schema.items.as_deref().map_or(Self::Untyped, |items| Self::under(items, open))
            }
            Self::Deduced | Self::Untyped => Self::Untyped,
        }
    }

    /// What a value is under this shape. A null, an absent or an ill-typed value takes the first kind
    /// that is allowed.
    pub(super) fn atom(self, value: Option<&Value>) -> Atom<'a> {
        let wants = match value {
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) => Wants::Scalar,
            Some(Value::Array(_)) => Wants::List,
            Some(Value::Object(_) | Value::Null) | None => Wants::Object,
        };
        let (schema, kind) = match self {
            Self::Typed { schema, .. } => (Some(schema), schema.kind),
            Self::Deduced | Self::Untyped => (None, None),
        };
        let object = Atom::Object {
            atomic: schema.is_some_and(|schema| schema.atomic_map) || matches!(self, Self::Untyped),
        };
        match kind {
            Some(Type::Object) => object,
            Some(Type::Array) => Atom::List(schema.and_then(keys)),
            Some(Type::Integer | Type::Number) => Atom::Scalar(Scalar::Numeric),
            Some(Type::Boolean) => Atom::Scalar(Scalar::Boolean),
            Some(Type::String) => Atom::Scalar(schema.map_or(Scalar::Any, text)),
            None => match wants {
                Wants::Scalar => Atom::Scalar(Scalar::Any),
                Wants::List => Atom::List(schema.and_then(keys)),
                Wants::Object => object,
            },
        }
    }

    /// The path element of a list's element, or why there is none.
    pub(super) fn identify(self, keys: Keys, element: &Value) -> Result<Element, String> {
        let names = match (keys, element) {
            (Keys::Fields(names), Value::Object(_)) => names,
            (Keys::Fields(_), Value::Null) => {
                return Err("associative list with keys may not have a null element".into());
            }
            (Keys::Fields(_), _) => {
                return Err("associative list with keys may not have non-map elements".into());
            }
            (Keys::Value, Value::Object(_)) => {
                return Err("associative list without keys has an element that's a map type".into());
            }
            (Keys::Value, Value::Array(_)) => {
                return Err("not supported: associative list with lists as elements".into());
            }
            (Keys::Value, Value::Null) => {
                return Err("associative list without keys has an element that's an explicit null".into());
            }
            (Keys::Value, scalar) => return Ok(Element::Value(Json(scalar.clone()))),
        };
        let mut found = Map::new();
        for name in names {
            if let Some(value) = element.get(name).or_else(|| self.element().default_of(name)) {
                found.insert(name.clone(), value.clone());
            }
        }
        match found.is_empty() {
            true => Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have \
                 default values for any key fields)",
                names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(" "),
            )),
            false => Ok(Element::key(found)),
        }
    }

    /// Like [`Shape::identify`], but elements without identity are told apart by their place: what is
    /// stored already is taken as it is.
    pub(super) fn name(self, keys: Keys, at: usize, element: &Value) -> Element {
        self.identify(keys, element).unwrap_or_else(|_| Element::Index(at.try_into().unwrap_or(i64::MAX)))
    }

    fn default_of(self, name: &str) -> Option<&'a Value> {
        let Self::Typed { schema, .. } = self else { return None };
        schema.properties.get(name)?.default.as_ref().filter(|value| !value.is_null())
    }
}

enum Wants {
    Object,
    List,
    Scalar,
}

/// Only the list type counts: every list of the original that has a patch strategy has a list type too.
fn keys(schema: &Schema) -> Option<Keys<'_>> {
    match &schema.list {
        ListType::Set => Some(Keys::Value),
        ListType::Map(names) => Some(Keys::Fields(names)),
        ListType::Atomic => None,
    }
}

/// Strings with a format may be given as any scalar: `int-or-string`, quantities.
fn text(schema: &Schema) -> Scalar {
    let format = schema.checks.as_ref().and_then(|checks| checks.format.as_deref());
    match (schema.int_or_string, format) {
        (false, None | Some("" | "byte")) => Scalar::String,
        _ => Scalar::Any,
    }
}
