//! Label selectors and label sets, as text.

use serde_json::Value;

use super::fields::{NONE, list, text, texts};

/// A set of labels: `a=1,b=2`, sorted by key; `<none>` when empty.
pub(super) fn labels(labels: &Value) -> String {
    let mut pairs: Vec<String> = entries(labels).map(|(key, value)| format!("{key}={value}")).collect();
    pairs.sort_unstable();
    if pairs.is_empty() { NONE.into() } else { pairs.join(",") }
}

/// A label selector in the form `kubectl -l` takes; `<none>` when it selects everything or nothing.
pub(super) fn shown(selector: &Value) -> String {
    match written(selector) {
        None => "<error>".into(),
        Some(text) if text.is_empty() => NONE.into(),
        Some(text) => text,
    }
}

/// The same, empty when it selects everything or nothing; `None` when it makes no sense.
pub(crate) fn written(selector: &Value) -> Option<String> {
    let equal = |(key, value): (&str, &str)| (key.to_owned(), format!("{key}={value}"));
    let labels = selector.get("matchLabels").unwrap_or(&Value::Null);
    let mut parts: Vec<(String, String)> = entries(labels).map(equal).collect();
    for expression in list(selector, "matchExpressions") {
        parts.push((text(expression, "key").to_owned(), requirement(expression)?));
    }
    parts.sort_by(|left, right| left.0.cmp(&right.0));
    Some(parts.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(","))
}

fn requirement(expression: &Value) -> Option<String> {
    let key = text(expression, "key");
    let mut values = texts(expression, "values");
    values.sort_unstable();
    let values = values.join(",");
    let some = !list(expression, "values").is_empty();
    match text(expression, "operator") {
        "In" if some => Some(format!("{key} in ({values})")),
        "NotIn" if some => Some(format!("{key} notin ({values})")),
        "Exists" if !some => Some(key.to_owned()),
        "DoesNotExist" if !some => Some(format!("!{key}")),
        _ => None,
    }
}

fn entries(map: &Value) -> impl Iterator<Item = (&str, &str)> {
    let pairs = map.as_object().into_iter().flatten();
    pairs.map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
}
