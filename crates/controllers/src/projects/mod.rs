//! Projects, their repositories and registries, and what is delivered through them.

pub mod repository;

pub use repository::Repositories;
