//! Projects, their repositories and registries, and what is delivered through them (`mpas.ocm.software`).

mod forge;
#[cfg(test)]
mod gated;
mod pantry;
pub mod product_validator;
mod project;
pub mod repository;

pub use product_validator::ProductValidators;
pub use project::Projects;
pub use repository::Repositories;
