//! Label and field selectors: the two small languages that lists, watches and policies are asked in.

mod field;
mod label;
#[cfg(test)]
mod tests;

pub use field::{FieldSelector, Term};
pub use label::LabelSelector;
