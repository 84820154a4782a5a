//! What a plain word means in YAML 1.1, as Go's parser reads it.

use serde_json::Value;

use crate::kinds::table::number;

/// A plain scalar's meaning.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Meaning {
    /// Null, a truth or a number.
    Json(Value),
    /// A number JSON does not know; the text is how Go names it.
    NotJson(&'static str),
    /// A moment in time. JSON has none, so it stays the text it is.
    Time,
    /// Just text.
    Text,
}

/// What an unquoted word means.
pub(super) fn meaning(word: &str) -> Meaning {
    match word {
        "" | "~" | "null" | "Null" | "NULL" => return Meaning::Json(Value::Null),
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Meaning::Json(Value::Bool(true));
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Meaning::Json(Value::Bool(false));
        }
        ".nan" | ".NaN" | ".NAN" => return Meaning::NotJson("NaN"),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Meaning::NotJson("+Inf"),
        "-.inf" | "-.Inf" | "-.INF" => return Meaning::NotJson("-Inf"),
        _ => {}
    }
    let found = match word.as_bytes().first() {
        Some(b'.') => float(word),
        Some(b'+' | b'-' | b'0'..=b'9') if is_time(word) => return Meaning::Time,
        Some(b'+' | b'-' | b'0'..=b'9') => {
            let plain = word.replace('_', "");
            integer(&plain).or_else(|| float(&plain))
        }
        _ => None,
    };
    found.map_or(Meaning::Text, Meaning::Json)
}

/// Whether an unquoted word could be a number in base sixty, which old readers would take it for.
pub(super) fn is_base_sixty(word: &str) -> bool {
    let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let mut parts = whole.split(':');
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let first = parts
        .next()
        .is_some_and(|part| part.starts_with(|letter: char| letter.is_ascii_digit()) && digits(part));
    let sixtieth = |part: &str| matches!(part.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9']);
    let mut rest = parts.peekable();
    first && rest.peek().is_some() && rest.all(sixtieth) && digits(fraction)
}

/// A whole number: decimal, or with the prefix `0x`, `0o`, `0b`, or `0` for octal.
fn integer(text: &str) -> Option<Value> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let prefixed = |prefix: &str| digits.get(..2).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
    let (base, digits) = match () {
        () if prefixed("0x") => (16, digits.get(2..)?),
        () if prefixed("0o") => (8, digits.get(2..)?),
        () if prefixed("0b") => (2, digits.get(2..)?),
        () if digits.len() > 1 && digits.starts_with('0') => (8, digits.get(1..)?),
        () => (10, digits),
    };
    if !digits.starts_with(|letter: char| letter.is_ascii_alphanumeric()) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, base).ok()?;
    match (negative, i64::try_from(magnitude)) {
        (false, Ok(whole)) => Some(whole.into()),
        (true, Ok(whole)) => Some((-whole).into()),
        // The one negative number without a positive twin.
        (true, Err(_)) if magnitude == i64::MIN.unsigned_abs() => Some(i64::MIN.into()),
        // Only a number without any sign is read as an unsigned one.
        (false, Err(_)) if !text.starts_with('+') => Some(magnitude.into()),
        (_, Err(_)) => None,
    }
}

/// A number with a fraction or an exponent; one too large for a float is text.
fn float(text: &str) -> Option<Value> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) =
        unsigned.split_once(['e', 'E']).map_or((unsigned, None), |(m, e)| (m, Some(e)));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let exponent_fits = exponent.is_none_or(|exponent| {
        let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !unsigned.is_empty() && digits(unsigned)
    });
    if !digits(whole) || !digits(fraction) || (whole.is_empty() && fraction.is_empty()) || !exponent_fits {
        return None;
    }
    text.parse().ok().filter(|value: &f64| value.is_finite()).map(number::whole)
}

/// Whether a word is a date, or a date and a time, in one of the forms Go's parser knows.
fn is_time(word: &str) -> bool {
    let Some((year, rest)) = word.split_once('-') else { return false };
    if year.len() != 4 || !year.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let Some((month, rest)) = number_of(rest, 12) else { return false };
    let Some((day, rest)) = rest.strip_prefix('-').and_then(|rest| number_of(rest, 31)) else { return false };
    let year: i16 = year.parse().unwrap_or_default();
    let (Ok(month), Ok(day)) = (i8::try_from(month), i8::try_from(day)) else { return false };
    if jiff::civil::Date::new(year, month, day).is_err() {
        return false;
    }
    match rest.chars().next() {
        None => true,
        Some('T' | 't') => rest.get(1..).and_then(clock).is_some_and(is_zone),
        Some(' ') => rest.get(1..).and_then(clock).is_some_and(str::is_empty),
        Some(_) => false,
    }
}

/// The text behind `15:04:05` or `15:04:05.999`.
fn clock(text: &str) -> Option<&str> {
    let (_, rest) = number_of(text, 23)?;
    let (_, rest) = number_of(rest.strip_prefix(':')?, 59)?;
    let (_, rest) = number_of(rest.strip_prefix(':')?, 59)?;
    let Some(fraction) = rest.strip_prefix(['.', ',']) else { return Some(rest) };
    let after = fraction.trim_start_matches(|letter: char| letter.is_ascii_digit());
    (after.len() < fraction.len()).then_some(after)
}

fn is_zone(text: &str) -> bool {
    let two = |text: &str, most: u8| {
        text.len() == 2 && number_of(text, most).is_some_and(|(_, rest)| rest.is_empty())
    };
    match text.strip_prefix(['+', '-']).and_then(|zone| zone.split_once(':')) {
        Some((hours, minutes)) => two(hours, 24) && two(minutes, 60),
        None => text == "Z",
    }
}

/// One or two digits that make at most `most`, and what follows them.
fn number_of(text: &str, most: u8) -> Option<(u8, &str)> {
    let length = text.bytes().take(2).take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at_checked(length)?;
    digits.parse().ok().filter(|number| *number <= most).map(|number| (number, rest))
}
