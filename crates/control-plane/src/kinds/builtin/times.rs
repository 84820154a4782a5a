//! Times as the server writes them: UTC with a `Z`, whole seconds, or microseconds where a kind asks for them.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::kinds::schema::Schema;

/// Fields of `MicroTime`: those that order what happens within a second.
const MICRO: [&str; 4] = ["acquireTime", "eventTime", "lastObservedTime", "renewTime"];

/// Rewrites every time of an object by its schema. What is no time is left alone.
pub fn canonical_times(schema: &Schema, object: &mut Value) {
    walk(schema, object, "");
}

/// Rewrites the times of managed fields as a client sends them back.
pub fn canonical_fields(fields: &mut Value) {
    for field in fields.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        if let Some(time) = field.get_mut("time") {
            rewrite(time, "time");
        }
    }
}

fn walk(schema: &Schema, value: &mut Value, name: &str) {
    match value {
        Value::Object(map) => {
            for (key, child) in map.iter_mut() {
                if let Some(schema) = schema.field(key) {
                    walk(schema, child, key);
                }
            }
        }
        Value::Array(list) => {
            if let Some(items) = &schema.items {
                list.iter_mut().for_each(|item| walk(items, item, name));
            }
        }
        Value::String(_)
            if schema.checks.as_ref().is_some_and(|c| c.format.as_deref() == Some("date-time")) =>
        {
            rewrite(value, name);
        }
        _ => {}
    }
}

fn rewrite(value: &mut Value, name: &str) {
    let Some(stamp) = value.as_str().and_then(|text| text.parse::<Timestamp>().ok()) else { return };
    *value = if MICRO.contains(&name) {
        json!(format!("{stamp:.6}"))
    } else {
        json!(Timestamp::from_second(stamp.as_second()).unwrap_or(stamp).to_string())
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_in_one_way() {
        let table = [
            ("time", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
            ("time", "2026-01-01T00:00:00+00:00", "2026-01-01T00:00:00Z"),
            ("time", "2026-01-01T02:00:00.5+02:00", "2026-01-01T00:00:00Z"),
            ("renewTime", "2026-01-01T00:00:00.1+00:00", "2026-01-01T00:00:00.100000Z"),
            ("time", "yesterday", "yesterday"),
        ];
        for (name, given, want) in table {
            let mut value = json!(given);
            rewrite(&mut value, name);
            assert_eq!(value, want, "{given}");
        }
    }
}
