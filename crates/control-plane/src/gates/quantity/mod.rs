//! Kubernetes quantities: `100m`, `1.5Gi`, `12e6`. Exact to a billionth, printed canonically.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::fmt;

use serde_json::Value;

/// A quantity with the form it was written in.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    /// The value in billionths.
    nanos: i128,
    form: Form,
}

/// How a quantity was written, and is printed as far as its value permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// `1500m`, `12M`.
    Decimal,
    /// `12Mi`.
    Binary,
    /// `12e6`.
    Exponent,
}

const NANOS: i128 = 1_000_000_000;
/// The largest value a binary quantity is kept at: that of a signed 64-bit integer, as in the original.
const BINARY_MAX: i128 = i64::MAX as i128 * NANOS;
const WRONG_FORMAT: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
/// Also the answer for numbers beyond 10^29, which no machine has of anything.
const WRONG_NUMBER: &str = "unable to parse numeric part of quantity";
const WRONG_SUFFIX: &str = "unable to parse quantity's suffix";

impl Quantity {
    /// Nothing.
    pub const ZERO: Self = Self { nanos: 0, form: Form::Decimal };

    /// A count of whole things.
    pub fn count(number: i64) -> Self {
        Self { nanos: i128::from(number) * NANOS, form: Form::Decimal }
    }

    /// Parses the text of a quantity. Digits beyond a billionth round away from zero.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (negative, unsigned) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (whole, rest) = unsigned.split_at(digits(unsigned));
        let (part, suffix) = match rest.strip_prefix('.') {
            Some(rest) => rest.split_at(digits(rest)),
            None => ("", rest),
        };
        // The original takes a missing number for zero, but not a missing text.
        if text.is_empty() {
            return Err(WRONG_FORMAT.into());
        }
        let (form, factor, exponent) = interpret(suffix)?;
        let mantissa = number(whole, part)?.checked_mul(factor).ok_or(WRONG_NUMBER)?;
        // A part longer than this would have overflowed the mantissa, unless it is all zeros.
        let shift = exponent + 9 - i64::try_from(part.len()).unwrap_or(i64::MAX / 2);
        let mut nanos = scaled(mantissa, shift).ok_or(WRONG_NUMBER)?;
        if form == Form::Binary {
            nanos = nanos.min(BINARY_MAX);
        }
        Ok(Self { nanos: if negative { -nanos } else { nanos }, form })
    }

    /// Reads a quantity from a string or a number.
    pub fn from_json(value: &Value) -> Result<Self, String> {
        match value {
            Value::String(text) => Self::parse(text),
            Value::Number(number) => Self::parse(&number.to_string()),
            _ => Err(WRONG_FORMAT.into()),
        }
    }

    /// Whether it is nothing.
    pub fn is_zero(&self) -> bool {
        self.nanos == 0
    }

    /// Whether it is less than nothing.
    pub fn is_negative(&self) -> bool {
        self.nanos < 0
    }

    /// The sum; it stops at the ends of the range rather than wrap.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let form = if self.is_zero() { other.form } else { self.form };
        Self { nanos: self.nanos.saturating_add(other.nanos), form }
    }

    /// The difference; it stops at the ends of the range rather than wrap.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        let form = if self.is_zero() { other.form } else { self.form };
        Self { nanos: self.nanos.saturating_sub(other.nanos), form }
    }

    /// The next whole number, away from zero.
    #[must_use]
    pub fn rounded_up(self) -> Self {
        Self { nanos: divided_up(self.nanos, NANOS) * NANOS, form: self.form }
    }

    /// Rounded up to thousandths, as amounts are stored.
    #[must_use]
    pub fn in_thousandths(self) -> Self {
        let milli = NANOS / 1000;
        Self {
            nanos: self.nanos.div_euclid(milli) * milli
                + if self.nanos.rem_euclid(milli) == 0 { 0 } else { milli },
            form: self.form,
        }
    }

    /// The value in billionths.
    pub fn nanos(self) -> i128 {
        self.nanos
    }

    /// How many times `other` goes into it; for ratios only.
    pub fn ratio(self, other: Self) -> f64 {
        self.nanos as f64 / other.nanos as f64
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() {
            return f.write_str("0");
        }
        let small = self.nanos.unsigned_abs() < 1024 * NANOS.unsigned_abs();
        if self.form == Form::Binary && !small && self.nanos % NANOS == 0 {
            let (number, step) = shortened(self.nanos / NANOS, 1024, BINARY.len() - 1);
            return write!(f, "{number}{}", BINARY[step]);
        }
        match self.form {
            Form::Decimal | Form::Binary => {
                let (number, step) = shortened(self.nanos, 1000, DECIMAL.len() - 1);
                write!(f, "{number}{}", DECIMAL[step])
            }
            Form::Exponent => match shortened(self.nanos, 1000, usize::MAX) {
                (number, 3) => write!(f, "{number}"),
                (number, step) => write!(f, "{number}e{}", step as i64 * 3 - 9),
            },
        }
    }
}

/// Suffixes from 10^-9 in steps of 10^3.
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
/// Suffixes from 2^0 in steps of 2^10.
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// The form a suffix tells, its binary factor, and its power of ten.
fn interpret(suffix: &str) -> Result<(Form, i128, i64), String> {
    if let Some(step) = DECIMAL.iter().position(|known| *known == suffix) {
        return Ok((Form::Decimal, 1, step as i64 * 3 - 9));
    }
    if let Some(step) = BINARY.iter().position(|known| *known == suffix) {
        return Ok((Form::Binary, 1 << (step * 10), 0));
    }
    let letters = suffix.find(|c| !"eEinumkKMGTP".contains(c)).unwrap_or(suffix.len());
    let after = suffix[letters..].strip_prefix(['-', '+']).unwrap_or(&suffix[letters..]);
    if !after.bytes().all(|c| c.is_ascii_digit()) {
        return Err(WRONG_FORMAT.into());
    }
    match suffix.strip_prefix(['e', 'E']).map(str::parse::<i32>) {
        Some(Ok(exponent)) => Ok((Form::Exponent, 1, i64::from(exponent))),
        _ => Err(WRONG_SUFFIX.into()),
    }
}

fn number(whole: &str, part: &str) -> Result<i128, String> {
    let mut value: i128 = 0;
    for digit in whole.bytes().chain(part.bytes()) {
        let next = value.checked_mul(10).and_then(|value| value.checked_add(i128::from(digit - b'0')));
        value = next.ok_or(WRONG_NUMBER)?;
    }
    Ok(value)
}

/// `value` times ten to the `shift`, rounded away from zero; `None` when it does not fit.
fn scaled(value: i128, shift: i64) -> Option<i128> {
    let power = u32::try_from(shift.unsigned_abs()).ok().and_then(|shift| 10_i128.checked_pow(shift));
    match (value, shift < 0, power) {
        (0, _, _) => Some(0),
        (_, false, power) => value.checked_mul(power?),
        (_, true, Some(power)) => Some(divided_up(value, power)),
        // So small that only the rounding is left of it.
        (_, true, None) => Some(1),
    }
}

fn divided_up(value: i128, by: i128) -> i128 {
    value / by + if value % by == 0 { 0 } else { value.signum() }
}

fn shortened(mut number: i128, base: i128, most: usize) -> (i128, usize) {
    let mut step = 0;
    while step < most && number % base == 0 {
        number /= base;
        step += 1;
    }
    (number, step)
}
