//! Paths to fields as definitions write them: `.spec.size`, `.labels['a.b']`.

use std::sync::Arc;

use crate::kinds::schema::{Additional, Schema};

/// Follows a path through a schema. Gives it in the form causes use, and the schema it ends at.
pub(crate) fn field_path(
    text: &str,
    schema: &Arc<Schema>,
    brackets: bool,
) -> Result<(String, Arc<Schema>), &'static str> {
    let mut here = schema.clone();
    let mut path = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let name;
        (name, rest) = step(rest, brackets)?;
        let next = match (here.properties.get(&name), &here.additional) {
            (Some(field), _) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&name);
                field.clone()
            }
            (None, Additional::Map(values)) if here.properties.is_empty() => {
                path.push_str(&format!("[{name}]"));
                values.clone()
            }
            (None, _) => return Err("does not refer to a valid field"),
        };
        here = next;
    }
    Ok((path, here))
}

fn step(text: &str, brackets: bool) -> Result<(String, &str), &'static str> {
    if let Some(rest) = text.strip_prefix('.') {
        let end = rest.find(['.', '[', ']']).unwrap_or(rest.len());
        return if end == 0 {
            Err("unexpected end of JSON path")
        } else {
            Ok((rest[..end].into(), &rest[end..]))
        };
    }
    let Some(rest) = text.strip_prefix('[') else { return Err("expected [ or .") };
    if !brackets {
        return Err("array notation is not allowed");
    }
    let Some(rest) = rest.strip_prefix('\'') else { return Err("expected single quoted string") };
    let mut name = String::new();
    let mut letters = rest.char_indices();
    while let Some((place, letter)) = letters.next() {
        match letter {
            '\\' => name.push(letters.next().ok_or("unexpected end of JSON path")?.1),
            '\'' => {
                let rest = rest[place + 1..].strip_prefix(']').ok_or("expected ]")?;
                return Ok((name, rest));
            }
            other => name.push(other),
        }
    }
    Err("unexpected end of JSON path")
}
