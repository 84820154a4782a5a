//! Moments and how long ago they were.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::fields::UNKNOWN;

/// The longest duration the original can hold: 2^63 nanoseconds, some 292 years.
const LONGEST: SignedDuration = SignedDuration::from_nanos(i64::MAX);

/// A duration with two or three significant figures: `95s`, `3m20s`, `5h7m`, `2d3h`, `3y20d`.
pub(super) fn human(duration: SignedDuration) -> String {
    let duration = duration.clamp(-LONGEST, LONGEST);
    let (seconds, minutes, hours) = (duration.as_secs(), duration.as_mins(), duration.as_hours());
    let days = hours / 24;
    match seconds {
        // Clocks of two machines may differ by a second: the first moment of the future counts as now.
        ..-1 => "<invalid>".into(),
        -1 => "0s".into(),
        0..120 => format!("{seconds}s"),
        _ if minutes < 10 => pair(minutes, "m", seconds % 60, "s"),
        _ if minutes < 180 => format!("{minutes}m"),
        _ if hours < 8 => pair(hours, "h", minutes % 60, "m"),
        _ if hours < 48 => format!("{hours}h"),
        _ if hours < 192 => pair(days, "d", hours % 24, "h"),
        _ if days < 730 => format!("{days}d"),
        _ if days < 2920 => pair(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}

/// How long ago a moment was.
pub(super) fn since(moment: Option<Timestamp>, now: Timestamp) -> String {
    moment.map_or_else(|| UNKNOWN.to_owned(), |moment| human(now.duration_since(moment)))
}

/// The moment a field holds; the zero time of Go counts as none.
pub(super) fn moment(value: &Value) -> Option<Timestamp> {
    value.as_str().and_then(rfc3339).filter(|moment| !is_zero(*moment))
}

/// Whether this is the first instant of year one, which the original takes for "no time".
pub(super) fn is_zero(moment: Timestamp) -> bool {
    moment.as_second() == -62_135_596_800 && moment.subsec_nanosecond() == 0
}

/// A time in exactly the form that objects carry: `2026-01-02T15:04:05Z`, with fraction or offset if any.
pub(super) fn rfc3339(text: &str) -> Option<Timestamp> {
    const SHAPE: &[u8] = b"0000-00-00T00:00:00";
    let (head, tail) = text.as_bytes().split_at_checked(SHAPE.len())?;
    let fits = |(byte, shape): (&u8, &u8)| if *shape == b'0' { byte.is_ascii_digit() } else { byte == shape };
    // A leap second would be read as the second before it; the original refuses it.
    if !head.iter().zip(SHAPE).all(fits) || head.ends_with(b"60") {
        return None;
    }
    let zone = match tail.strip_prefix(b".") {
        None => tail,
        Some(rest) => {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if digits == 0 {
                return None;
            }
            rest.get(digits..)?
        }
    };
    let offset = |zone: &[u8]| matches!(zone, [b'+' | b'-', _, _, b':', _, _]);
    (zone == b"Z" || offset(zone)).then(|| text.parse().ok()).flatten()
}

fn pair(large: i64, large_unit: &str, small: i64, small_unit: &str) -> String {
    if small == 0 {
        format!("{large}{large_unit}")
    } else {
        format!("{large}{large_unit}{small}{small_unit}")
    }
}
