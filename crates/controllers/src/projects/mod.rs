//! Projects, their repositories and registries, and what is delivered through them.

mod forge;
#[cfg(test)]
mod gated;
mod pantry;
pub mod product_validator;

pub use product_validator::ProductValidators;
