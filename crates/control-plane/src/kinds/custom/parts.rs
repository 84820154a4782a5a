//! What a version brings beside its schema: subresources, columns, selectable fields.

use std::sync::Arc;

use serde_json::Value;

use super::{list, text};
use crate::kinds::schema::{Schema, Type, field_path};
use crate::status::Cause;

pub(super) fn subresources(version: &Value, path: &str, causes: &mut Vec<Cause>) {
    let Some(scale) = version.pointer("/subresources/scale").filter(|scale| !scale.is_null()) else { return };
    let rows = [
        ("specReplicasPath", true, [".spec."].as_slice(), "should be a json path under .spec"),
        ("statusReplicasPath", true, [".status."].as_slice(), "should be a json path under .status"),
        (
            "labelSelectorPath",
            false,
            [".spec.", ".status."].as_slice(),
            "should be a json path under either .spec or .status",
        ),
    ];
    for (name, required, under, why) in rows {
        let field = format!("{path}.scale.{name}");
        match text(scale, &format!("/{name}")) {
            "" if required => causes.push(Cause::required(field, "")),
            "" => {}
            value if !value.starts_with('.') => {
                causes.push(Cause::invalid(
                    field,
                    &value.into(),
                    "must be a simple json path starting with .",
                ));
            }
            value if !under.iter().any(|prefix| value.starts_with(prefix)) => {
                causes.push(Cause::invalid(field, &value.into(), why));
            }
            _ => {}
        }
    }
}

pub(super) fn columns(version: &Value, path: &str, causes: &mut Vec<Cause>) {
    const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
    const FORMATS: [&str; 8] = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
    for (index, column) in list(version, "/additionalPrinterColumns").iter().enumerate() {
        let field = |name: &str| format!("{path}[{index}].{name}");
        if text(column, "/name").is_empty() {
            causes.push(Cause::required(field("name"), ""));
        }
        let why = format!("must be one of {}", TYPES.join(","));
        match text(column, "/type") {
            "" => causes.push(Cause::required(field("type"), &why)),
            kind if !TYPES.contains(&kind) => causes.push(Cause::invalid(field("type"), &kind.into(), &why)),
            _ => {}
        }
        let format = text(column, "/format");
        if !format.is_empty() && !FORMATS.contains(&format) {
            let why = format!("must be one of {}", FORMATS.join(","));
            causes.push(Cause::invalid(field("format"), &format.into(), &why));
        }
        match text(column, "/jsonPath") {
            "" => causes.push(Cause::required(field("JSONPath"), "")),
            path if !path.starts_with('.') => {
                let why = "must be a simple json path starting with .";
                causes.push(Cause::invalid(field("JSONPath"), &path.into(), why));
            }
            _ => {}
        }
    }
}

pub(super) fn selectable(version: &Value, schema: Option<&Value>, path: &str, causes: &mut Vec<Cause>) {
    /// The original's limit for one version.
    const MANY: usize = 8;
    let fields = list(version, "/selectableFields");
    let Some(schema) = schema.filter(|_| !fields.is_empty()) else { return };
    let schema = Arc::new(Schema::parse(schema));
    let mut seen: Vec<String> = Vec::new();
    for (index, entry) in fields.iter().enumerate() {
        let field = format!("{path}[{index}].jsonPath");
        let given = text(entry, "/jsonPath");
        if given.is_empty() {
            causes.push(Cause::required(field, ""));
            continue;
        }
        let (normal, found) = match field_path(given, &schema, false) {
            Ok(found) => found,
            Err(why) => {
                causes.push(Cause::invalid(field, &given.into(), &format!("is an invalid path: {why}")));
                continue;
            }
        };
        if normal.split(['.', '[']).next() == Some("metadata") {
            causes.push(Cause::invalid(&*field, &given.into(), "must not point to fields in metadata"));
        }
        if !matches!(found.kind, Some(Type::String | Type::Boolean | Type::Integer)) {
            let why = "must point to a field of type string, boolean or integer. Enum string fields and strings with \
                       formats are allowed.";
            causes.push(Cause::invalid(&*field, &given.into(), why));
        }
        if seen.contains(&normal) {
            causes.push(Cause::duplicate(field, &given.into()));
        } else {
            seen.push(normal);
        }
    }
    if seen.len() > MANY {
        let message = format!("Too many: {}: must have at most {MANY} items", seen.len());
        causes.push(Cause::of("FieldValueTooMany", path, message));
    }
}
