//! Floats, as Go writes them.

use serde_json::{Value, json};

/// A float as JSON: a whole number has no fraction, as Go writes it and every reader reads it back.
pub(crate) fn whole(value: f64) -> Value {
    /// 2^63: the first float beyond the whole numbers that JSON values hold.
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    let negative_zero = value == 0.0 && value.is_sign_negative();
    if value.fract() == 0.0 && value.abs() < BEYOND && !negative_zero {
        #[allow(clippy::cast_possible_truncation)]
        return json!(value as i64);
    }
    json!(value)
}

/// A float in the fewest digits, with an exponent from a million on and below a ten-thousandth.
pub(crate) fn shortest(value: f64) -> String {
    let scientific = format!("{value:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    match exponent.parse::<i32>() {
        Ok(-4..=5) => format!("{value}"),
        Ok(exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
        }
        Err(_) => scientific,
    }
}
