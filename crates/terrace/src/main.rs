//! Terrace.
fn main() {}
