//! The objects of a text. Pure.

use control_plane::wire::yaml::from_yaml;
use serde_json::Value;

/// The objects of a file: documents of YAML, JSON, and the items of lists.
pub(super) fn documents(text: &str) -> anyhow::Result<Vec<Value>> {
    let mut objects = Vec::new();
    for (number, document) in split(text).into_iter().enumerate() {
        let document = from_yaml(document.as_bytes())
            .map_err(|error| anyhow::anyhow!("document {} is not YAML or JSON: {error}", number + 1))?;
        match document.get("items").and_then(Value::as_array) {
            Some(items) if document["kind"].as_str().is_some_and(|kind| kind.ends_with("List")) => {
                objects.extend(items.iter().cloned());
            }
            _ if document.is_null() => {}
            _ => objects.push(document),
        }
    }
    Ok(objects)
}

/// The documents of a YAML stream: each begins where a line begins with `---`, as kubectl has it.
fn split(text: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for line in text.lines() {
        match documents.last_mut() {
            Some(last) if !line.starts_with("---") => {
                last.push_str(line);
                last.push('\n');
            }
            _ => documents.push(format!("{}\n", line.trim_start_matches('-'))),
        }
    }
    documents
        .retain(|document| document.lines().any(|line| !line.trim().is_empty() && !line.starts_with('#')));
    documents
}
