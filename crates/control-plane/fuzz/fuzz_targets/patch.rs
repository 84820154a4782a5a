//! A document, a patch and maybe a schema, one JSON text a line: no patch panics, a merge patch and an apply settle.
#![no_main]

use control_plane::kinds::schema::Schema;
use control_plane::merge::{self, Manager};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|text: &str| {
    let mut lines = text.lines().map(serde_json::from_str::<Value>);
    let (Some(Ok(document)), Some(Ok(patch))) = (lines.next(), lines.next()) else { return };
    let schema = lines.next().and_then(Result::ok).map(|node| Schema::parse(&node));

    let mut patched = document.clone();
    if merge::json_patch(&mut patched, &patch).is_err() {
        assert_eq!(patched, document, "a patch that fails changes nothing");
    }
    let mut patched = document.clone();
    let _ = merge::strategic(&mut patched, &patch, schema.as_ref());

    let mut merged = document.clone();
    let _ = merge::merge_patch(&mut merged, &patch);
    let once = merged.clone();
    let _ = merge::merge_patch(&mut merged, &patch);
    assert_eq!(merged, once, "a merge patch settles");

    let by = Manager { name: "fuzz", api_version: "v1", subresource: "", now: jiff::Timestamp::UNIX_EPOCH };
    if let Ok(applied) = merge::apply(Some(&document), &patch, schema.as_ref(), &by, true) {
        let again = merge::apply(Some(&applied), &patch, schema.as_ref(), &by, false);
        assert_eq!(again.ok(), Some(applied), "an apply settles");
    }
    let mut tracked = patch.clone();
    merge::track(Some(&document), &mut tracked, schema.as_ref(), &by);
});
