//! How far a roll-out may go above and below the wanted number.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::Rollout;

/// Used where the strategy names neither, as in Kubernetes.
const DEFAULT: &str = "25%";

/// How many pods there may be beyond the wanted number, and how many of it may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    /// Pods beyond the wanted number.
    pub(super) surge: i32,
    /// Pods that may be missing.
    pub(super) missing: i32,
}

pub(super) fn bounds(rollout: &Rollout<'_>) -> Bounds {
    if rollout.recreates() {
        return Bounds { surge: 0, missing: 0 };
    }
    let rolling = rollout.spec.strategy.as_ref().and_then(|strategy| strategy.rolling_update.as_ref());
    let default = IntOrString::String(DEFAULT.into());
    let surge = rolling.and_then(|rolling| rolling.max_surge.as_ref()).unwrap_or(&default);
    let missing = rolling.and_then(|rolling| rolling.max_unavailable.as_ref()).unwrap_or(&default);
    resolve(surge, missing, rollout.wanted())
}

/// Percentages of surge are rounded up, those of missing pods down; both zero would never move, so then one may be
/// missing.
pub(super) fn resolve(surge: &IntOrString, missing: &IntOrString, wanted: i32) -> Bounds {
    let surge = scaled(surge, wanted, true);
    let missing = scaled(missing, wanted, false);
    let missing = if surge == 0 && missing == 0 { 1 } else { missing };
    Bounds { surge, missing: missing.min(wanted) }
}

fn scaled(value: &IntOrString, wanted: i32, up: bool) -> i32 {
    match value {
        IntOrString::Int(number) => (*number).max(0),
        IntOrString::String(text) => {
            let percent: i64 = text.trim_end_matches('%').parse().unwrap_or(0);
            let product = percent.max(0) * i64::from(wanted);
            let rounded = if up { (product + 99) / 100 } else { product / 100 };
            i32::try_from(rounded).unwrap_or(i32::MAX)
        }
    }
}
