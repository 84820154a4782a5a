//! One step of a field path: a member's name, an element's keys, an element's value, an index.

use std::cmp::Ordering;
use std::fmt;

use serde_json::{Map, Value};

/// One step of a field path. The order of the variants is the order they are printed in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Element {
    /// `f:name`: a member of an object.
    Field(String),
    /// `k:{"name":"a"}`: an element of a list, told by its keys, which are sorted.
    Key(Vec<(String, Json)>),
    /// `v:"x"`: an element of a set.
    Value(Json),
    /// `i:0`: an element of a list that has no better name.
    Index(i64),
}

impl Element {
    /// Reads a key of `fieldsV1`. `None` for kinds that a later version may have invented.
    pub(super) fn parse(text: &str) -> Result<Option<Self>, String> {
        let Some((kind, rest)) = text.split_once(':').filter(|(kind, _)| kind.len() == 1) else {
            return Err(match text.len() {
                0 | 1 => "key must be 2 characters long:".into(),
                _ => format!("missing colon: {text}"),
            });
        };
        let json = |rest: &str| serde_json::from_str::<Value>(rest).map_err(|error| error.to_string());
        Ok(Some(match kind {
            "f" => Self::Field(rest.to_owned()),
            "v" => Self::Value(Json(json(rest)?)),
            "i" => Self::Index(rest.parse().map_err(|_| format!("invalid index: {rest}"))?),
            "k" => match json(rest)? {
                Value::Object(keys) => Self::key(keys),
                other => return Err(format!("expected an object of keys, got {other}")),
            },
            _ => return Ok(None),
        }))
    }

    /// An element told by these keys.
    pub(super) fn key(keys: Map<String, Value>) -> Self {
        let mut keys: Vec<_> = keys.into_iter().map(|(name, value)| (name, Json(value))).collect();
        keys.sort();
        Self::Key(keys)
    }

    /// The key of `fieldsV1` that stands for this element.
    pub(super) fn print(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(keys) => {
                let keys = keys.iter().map(|(name, value)| (name.clone(), value.0.clone()));
                format!("k:{}", Value::Object(keys.collect()))
            }
            Self::Value(value) => format!("v:{}", value.0),
            Self::Index(at) => format!("i:{at}"),
        }
    }
}

/// As people read it in a path: `.name`, `[name="a"]`, `[="x"]`, `[0]`.
impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(keys) => {
                let keys: Vec<_> = keys.iter().map(|(name, value)| format!("{name}={}", value.0)).collect();
                write!(f, "[{}]", keys.join(","))
            }
            Self::Value(value) => write!(f, "[={}]", value.0),
            Self::Index(at) => write!(f, "[{at}]"),
        }
    }
}

/// A JSON value with a total order: numbers, strings, booleans, lists, objects, null.
#[derive(Clone, Debug)]
pub(super) struct Json(pub(super) Value);

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Json {}

impl PartialOrd for Json {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Json {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(&self.0, &other.0)
    }
}

/// The order of two values: numbers by worth, not by notation; objects whatever the order of their members.
pub(super) fn compare(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => {
            // 1 and 1.0 are the same key; beyond a float's precision whole numbers still differ.
            let float = |n: &serde_json::Number| n.as_f64().unwrap_or(f64::MAX) + 0.0;
            let whole = |n: &serde_json::Number| {
                n.as_i64().map(i128::from).or(n.as_u64().map(i128::from)).unwrap_or(float(n) as i128)
            };
            float(a).total_cmp(&float(b)).then(whole(a).cmp(&whole(b)))
        }
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            let each = a.iter().zip(b).map(|(a, b)| compare(a, b));
            each.fold(Ordering::Equal, Ordering::then).then(a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => compare_maps(a, b),
        _ => rank(left).cmp(&rank(right)),
    }
}

fn compare_maps(left: &Map<String, Value>, right: &Map<String, Value>) -> Ordering {
    let (mut a, mut b): (Vec<_>, Vec<_>) = (left.iter().collect(), right.iter().collect());
    a.sort_by_key(|(name, _)| *name);
    b.sort_by_key(|(name, _)| *name);
    let each = a.iter().zip(&b).map(|(a, b)| a.0.cmp(b.0).then_with(|| compare(a.1, b.1)));
    each.fold(Ordering::Equal, Ordering::then).then(a.len().cmp(&b.len()))
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}
