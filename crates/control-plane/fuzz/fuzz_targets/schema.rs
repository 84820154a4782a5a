//! A schema, a value and maybe an old value, one JSON text a line: nothing panics, pruning and defaulting
//! settle, an unchanged object is never refused, rules end.
#![no_main]

use control_plane::kinds::schema::{Rules, Schema, default, prune, validate, validate_with_rules};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|text: &str| {
    let mut lines = text.lines().map(serde_json::from_str::<Value>);
    let (Some(Ok(node)), Some(Ok(mut value))) = (lines.next(), lines.next()) else { return };
    let old = lines.next().and_then(Result::ok);
    let schema = Schema::parse(&node);

    prune(&schema, &mut value);
    let pruned = value.clone();
    assert!(prune(&schema, &mut value).is_empty(), "pruning settles");
    assert_eq!(value, pruned);

    default(&schema, &mut value);
    let defaulted = value.clone();
    default(&schema, &mut value);
    assert_eq!(value, defaulted, "defaulting settles");

    if !text.contains("embedded-resource") {
        assert!(validate(&schema, &value, Some(&value)).is_empty(), "an unchanged object is never refused");
    }
    let rules = Rules::compile(&node).ok().flatten();
    validate_with_rules(&schema, rules.as_ref(), &value, old.as_ref());
});
