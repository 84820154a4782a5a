//! Amounts such as `100m`, `1.5Gi` and `2e3`: their meaning and their canonical form.

use serde_json::Value;

/// What the original says about text that is no amount.
pub(super) const NOT_A_QUANTITY: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// Parts in one unit: the smallest suffix is `n`.
const NANO: i128 = 1_000_000_000;

/// Powers of ten with a letter, from the smallest.
const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];

/// Powers of 1024 with a letter, from the smallest.
const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

#[derive(Clone, Copy, PartialEq)]
enum Family {
    Decimal,
    Binary,
    Exponent,
}

/// How many billionths a string or number stands for; `None` if it is no amount.
pub(super) fn nanos(value: &Value) -> Option<i128> {
    read(value).map(|(amount, _)| amount)
}

/// The form in which the server stores it: no fraction, the largest suffix that loses nothing.
pub(super) fn canonical(value: &Value) -> Option<String> {
    let (amount, family) = read(value)?;
    // Stored amounts are rounded up to thousandths.
    let amount = amount.div_euclid(1_000_000) * 1_000_000
        + if amount.rem_euclid(1_000_000) == 0 { 0 } else { 1_000_000 };
    if family == Family::Binary && amount.abs() >= 1024 * NANO {
        let whole = amount.div_euclid(NANO) + i128::from(amount.rem_euclid(NANO) != 0);
        let powers = BINARY.iter().take_while(|letter| whole % binary(letter) == 0).count();
        let letter = powers.checked_sub(1).map_or("", |place| BINARY[place]);
        return Some(format!("{}{letter}", whole / if powers == 0 { 1 } else { binary(letter) }));
    }
    if amount == 0 {
        return Some("0".into());
    }
    let (mut digits, mut place) = (amount, 0);
    while digits % 1000 == 0 && place + 1 < DECIMAL.len() {
        digits /= 1000;
        place += 1;
    }
    let (letter, power) = DECIMAL[place];
    Some(match (family, power) {
        (Family::Exponent, 0) => digits.to_string(),
        (Family::Exponent, _) => format!("{digits}e{power}"),
        _ => format!("{digits}{letter}"),
    })
}

fn binary(letter: &str) -> i128 {
    let place = BINARY.iter().position(|known| *known == letter).unwrap_or(0);
    1024_i128.pow(u32::try_from(place).unwrap_or(0) + 1)
}

fn read(value: &Value) -> Option<(i128, Family)> {
    match value {
        Value::String(text) => parse(text),
        Value::Number(number) => parse(&number.to_string()),
        _ => None,
    }
}

fn parse(text: &str) -> Option<(i128, Family)> {
    let end = text
        .char_indices()
        .find(|(at, c)| !(c.is_ascii_digit() || *c == '.' || (*at == 0 && "+-".contains(*c))));
    let (number, suffix) = text.split_at(end.map_or(text.len(), |(at, _)| at));
    let negative = number.starts_with('-');
    let number = number.trim_start_matches(['+', '-']);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let scale = i32::try_from(fraction.len()).ok()?;
    let (amount, family) = if BINARY.contains(&suffix) {
        (shift(digits.checked_mul(binary(suffix))?, 9 - scale)?, Family::Binary)
    } else if let Some((_, power)) = DECIMAL.iter().find(|(letter, _)| *letter == suffix) {
        (shift(digits, 9 - scale + power)?, Family::Decimal)
    } else {
        let power: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
        (shift(digits, 9 - scale + power)?, Family::Exponent)
    };
    Some((if negative { -amount } else { amount }, family))
}

/// Times a power of ten; what falls below a billionth is rounded up.
fn shift(digits: i128, power: i32) -> Option<i128> {
    let factor = 10_i128.checked_pow(power.unsigned_abs())?;
    if power >= 0 {
        digits.checked_mul(factor)
    } else {
        Some(digits / factor + i128::from(digits % factor != 0))
    }
}
