//! The list of tools, as every agent pays for it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::registry::all;

/// Most that the whole list may weigh (agents.md).
const LIST_MAX: usize = 24 * 1024;

#[test]
fn the_list_of_tools_is_whole_and_small() {
    let tools = all();
    let names: BTreeSet<&str> = tools.iter().map(|tool| tool.name()).collect();
    assert_eq!(names.len(), tools.len(), "each name once");
    let mut sizes = Vec::new();
    for tool in &tools {
        let listed = &tool.listed;
        let name = tool.name();
        let said = |text: Option<&str>| text.is_some_and(|text| !text.trim().is_empty());
        assert!(said(listed.title.as_deref()) && said(listed.description.as_deref()), "{name}");
        let hints = listed.annotations.as_ref().expect("annotations");
        let four =
            [hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint];
        assert!(four.iter().all(Option::is_some), "{name}");
        let output = listed.output_schema.as_ref().expect("an output schema");
        for schema in [&listed.input_schema, output] {
            assert_eq!(schema["type"], "object", "{name}");
            assert!(
                !Value::Object((**schema).clone()).to_string().contains("\"$ref\""),
                "{name} stands alone"
            );
        }
        sizes.push((serde_json::to_vec(listed).expect("JSON").len(), name));
    }
    let listed: Vec<_> = tools.iter().map(|tool| &tool.listed).collect();
    let weight = serde_json::to_vec(&listed).expect("JSON").len();
    println!("{weight} bytes for {} tools: {sizes:?}", tools.len());
    assert!(weight < LIST_MAX, "{weight} bytes: {sizes:?}");
}
