//! Selectors as clients write them: no text panics.
#![no_main]

use control_plane::gates::selector::{FieldSelector, LabelSelector};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = LabelSelector::parse(text);
    let _ = FieldSelector::parse(text);
});
