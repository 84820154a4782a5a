//! Amounts as built-in kinds keep them.

use serde_json::Value;

use crate::gates::quantity::Quantity;

/// What the original says about text that is no amount.
pub(super) const NOT_A_QUANTITY: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// How many billionths a string or number stands for; `None` if it is no amount.
pub(super) fn nanos(value: &Value) -> Option<i128> {
    Quantity::from_json(value).ok().map(Quantity::nanos)
}

/// The form in which the server stores it: rounded up to thousandths, the largest suffix that loses nothing.
pub(super) fn canonical(value: &Value) -> Option<String> {
    Quantity::from_json(value).ok().map(|amount| amount.in_thousandths().to_string())
}
