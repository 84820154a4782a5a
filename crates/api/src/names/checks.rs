//! The rules of names, as predicates.

use super::{LABEL_MAX, SUFFIX, Side};

fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

pub(super) fn is_label(value: &str) -> bool {
    let bytes = value.as_bytes();
    bytes.iter().all(|&byte| is_alphanumeric(byte) || byte == b'-')
        && bytes.first().is_some_and(|&byte| is_alphanumeric(byte))
        && bytes.last().is_some_and(|&byte| is_alphanumeric(byte))
}

pub(super) fn is_dns_name(value: &str) -> bool {
    value.split('.').all(is_label)
}

pub(super) fn is_host(value: &str) -> bool {
    value.split('.').all(|part| is_label(part) && part.len() <= LABEL_MAX)
}

pub(super) fn is_env(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !value.starts_with(|first: char| first.is_ascii_digit())
}

pub(super) fn is_key(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

pub(super) fn has_no_nul(value: &str) -> bool {
    !value.contains('\0')
}

pub(super) fn is_login(value: &str) -> bool {
    has_no_nul(value)
        && value.len() > SUFFIX
        && [Side::A, Side::B].iter().any(|s| value.ends_with(s.suffix()))
}

pub(super) fn is_span(value: &str) -> bool {
    parts(value).all(|part| part.is_some())
}

/// The parts of a span as amount and seconds per unit; `None` stands for the first part that is none.
pub(super) fn parts(value: &str) -> impl Iterator<Item = Option<(f64, f64)>> {
    let mut rest = value;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let part = part(rest);
        rest = part.map_or("", |(_, _, after)| after);
        Some(part.map(|(amount, unit, _)| (amount, unit)))
    })
}

fn part(text: &str) -> Option<(f64, f64, &str)> {
    let (number, rest) = text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.')?);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let (unit, rest) = units.iter().find_map(|(name, unit)| Some((*unit, rest.strip_prefix(name)?)))?;
    Some((number.parse().ok()?, unit, rest))
}
