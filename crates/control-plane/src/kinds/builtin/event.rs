//! One stored event, two shapes: `v1` and `events.k8s.io/v1`.

use serde_json::{Map, Value, json};

/// Fields whose names differ, core's first; all others are the same in both shapes.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// Turns an Event into the shape of the other group; an event of that version already stays as it is.
pub fn convert_event(value: &mut Value, to_api_version: &str) {
    let Some(map) = value.as_object_mut() else { return };
    if map.get("apiVersion").and_then(Value::as_str) == Some(to_api_version) {
        return;
    }
    let to_core = to_api_version == "v1";
    let renamed = |key: String| {
        let found = NAMES.iter().find(|(core, new)| key == if to_core { *new } else { *core });
        found.map_or(key, |(core, new)| if to_core { (*core).into() } else { (*new).into() })
    };
    *map = std::mem::take(map).into_iter().map(|(key, value)| (renamed(key), value)).collect::<Map<_, _>>();
    map.insert("apiVersion".into(), json!(to_api_version));
}
