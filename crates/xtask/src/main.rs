//! Generation and tidiness.
fn main() {}
