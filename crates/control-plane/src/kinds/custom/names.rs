//! Names in a definition, and why they are refused.

use serde_json::Value;

use crate::gates::names::NameRule;
use crate::status::Cause;

/// Why a text is no DNS-1035 label; empty when it is one.
pub(crate) fn label(text: &str) -> Vec<String> {
    NameRule::Dns1035.faults(text)
}

/// Why a text is no DNS-1123 subdomain; empty when it is one.
pub(crate) fn subdomain(text: &str) -> Vec<String> {
    NameRule::DnsSubdomain.faults(text)
}

/// Why a text may not be a name in a path.
pub(crate) fn path_segment(text: &str) -> Vec<String> {
    NameRule::PathSegment.faults(text)
}

/// A kind: mixed case, but otherwise a label.
pub(crate) fn kind(text: &str, field: &str) -> Option<Cause> {
    let why = label(&text.to_lowercase());
    let why = (!why.is_empty()).then(|| why.join(","))?;
    let why = format!("may have mixed case, but should otherwise match: {why}");
    Some(Cause::invalid(field, &Value::from(text), &why))
}
