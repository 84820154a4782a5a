//! A document and a patch, one JSON text a line: no patch panics, and a merge patch settles.
#![no_main]

use control_plane::merge;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|text: &str| {
    let mut lines = text.lines().map(serde_json::from_str::<Value>);
    let (Some(Ok(document)), Some(Ok(patch))) = (lines.next(), lines.next()) else { return };

    let mut patched = document.clone();
    let _ = merge::json_patch(&mut patched, &patch);

    let mut merged = document;
    let _ = merge::merge_patch(&mut merged, &patch);
    let once = merged.clone();
    let _ = merge::merge_patch(&mut merged, &patch);
    assert_eq!(merged, once, "a merge patch settles");
});
