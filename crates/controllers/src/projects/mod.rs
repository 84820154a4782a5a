//! Projects, their repositories and registries, and what is delivered through them (`mpas.ocm.software`).

mod project;

pub use project::Projects;
