//! Horizontal pod autoscalers, of both versions.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::fields::{NONE, UNKNOWN, UNSET, age, amount, at, cells, has, int, list, name, text};

/// The cells of a horizontal pod autoscaler.
pub(super) fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    let target = at(object, "spec.scaleTargetRef");
    let least = at(object, "spec.minReplicas").as_i64();
    cells![
        name(object),
        format!("{}/{}", text(target, "kind"), text(target, "name")),
        targets(object),
        least.map_or_else(|| UNSET.to_owned(), |least| least.to_string()),
        int(object, "spec.maxReplicas"),
        int(object, "status.currentReplicas"),
        age(object, now),
    ]
}

fn targets(object: &Value) -> String {
    const SHOWN: usize = 2;
    let mut wanted = list(object, "spec.metrics").to_vec();
    let mut current = list(object, "status.currentMetrics").to_vec();
    // The first version knows one metric only, and keeps it in fields of its own.
    if let Some(percent) = at(object, "spec.targetCPUUtilizationPercentage").as_i64() {
        wanted.push(json!({ "type": "Resource", "resource": {
            "name": "cpu", "target": { "averageUtilization": percent } } }));
        let now = at(object, "status.currentCPUUtilizationPercentage");
        current.push(json!({ "resource": { "current": { "averageUtilization": now } } }));
    }
    if wanted.is_empty() {
        return NONE.into();
    }
    let status = |index: usize| current.get(index).unwrap_or(&Value::Null);
    let shown: Vec<String> =
        wanted.iter().enumerate().take(SHOWN).map(|(index, wanted)| metric(wanted, status(index))).collect();
    match wanted.len().checked_sub(SHOWN) {
        None | Some(0) => shown.join(", "),
        Some(more) => format!("{} + {more} more...", shown.join(", ")),
    }
}

/// One metric: what it is now, a slash, what it should be.
fn metric(wanted: &Value, status: &Value) -> String {
    let source = match text(wanted, "type") {
        "External" => "external",
        "Pods" => "pods",
        "Object" => "object",
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        _ => return "<unknown type>".into(),
    };
    let (wanted, known) = (at(wanted, source), at(status, source));
    let average = has(wanted, "target.averageValue");
    let quantity = |field: &str| {
        let (goal, now) = (amount(at(wanted, &format!("target.{field}"))), at(known, "current").get(field));
        // Averages of resources and pods count as zero when absent, all others as unknown.
        let absent = match (known.is_null(), source, field) {
            (false, "resource" | "containerResource" | "pods", _) | (false, _, "value") => "0",
            _ => UNKNOWN,
        };
        let now = now.filter(|now| !now.is_null()).map_or_else(|| absent.to_owned(), amount);
        format!("{now}/{goal}")
    };
    match source {
        "pods" => quantity("averageValue"),
        "external" | "object" if average => format!("{} (avg)", quantity("averageValue")),
        "external" | "object" => quantity("value"),
        _ if average => format!("{}: {}", text(wanted, "name"), quantity("averageValue")),
        _ => {
            let percent = |value: &Value, absent: &str| {
                value.as_i64().map_or_else(|| absent.to_owned(), |percent| format!("{percent}%"))
            };
            let now = percent(at(known, "current.averageUtilization"), UNKNOWN);
            let goal = percent(at(wanted, "target.averageUtilization"), "<auto>");
            format!("{}: {now}/{goal}", text(wanted, "name"))
        }
    }
}
