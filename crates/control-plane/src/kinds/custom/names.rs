//! Names in a definition, and why they are refused.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::status::Cause;

static LABEL_1035: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("^[a-z](?:[-a-z0-9]*[a-z0-9])?$").expect("our own patterns compile"));
static LABEL_1123: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$").expect("our own patterns compile"));

/// Why a text is no DNS-1035 label; empty when it is one.
pub(crate) fn label(text: &str) -> Vec<String> {
    let mut why = Vec::new();
    if text.len() > 63 {
        why.push("must be no more than 63 bytes".to_owned());
    }
    if !LABEL_1035.is_match(text) {
        why.push(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
             validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
                .to_owned(),
        );
    }
    why
}

/// Why a text is no DNS-1123 subdomain; empty when it is one.
pub(crate) fn subdomain(text: &str) -> Vec<String> {
    let mut why = Vec::new();
    if text.len() > 253 {
        why.push("must be no more than 253 bytes".to_owned());
    }
    if !text.split('.').all(|part| LABEL_1123.is_match(part)) {
        why.push(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                .to_owned(),
        );
    }
    why
}

/// Why a text may not be a name in a path.
pub(crate) fn path_segment(text: &str) -> Vec<String> {
    match text {
        "." | ".." => vec![format!("may not be '{text}'")],
        _ => ["/", "%"]
            .into_iter()
            .filter(|part| text.contains(part))
            .map(|part| format!("may not contain '{part}'"))
            .collect(),
    }
}

/// A kind: mixed case, but otherwise a label.
pub(crate) fn kind(text: &str, field: &str) -> Option<Cause> {
    let why = label(&text.to_lowercase());
    let why = (!why.is_empty()).then(|| why.join(","))?;
    let why = format!("may have mixed case, but should otherwise match: {why}");
    Some(Cause::invalid(field, &Value::from(text), &why))
}
