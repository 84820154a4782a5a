//! Projects, their repositories and registries, and what is delivered through them (`mpas.ocm.software`).

mod project;
pub mod repository;

pub use project::Projects;
pub use repository::Repositories;
