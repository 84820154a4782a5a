//! Projects, their repositories, and what is delivered through them (`mpas.ocm.software`).

mod binding;
mod oci_registry;
mod product_deployment;
mod product_validator;
mod project;
mod reference;
mod repository;
mod target;
pub mod tenancy;

pub use binding::*;
pub use oci_registry::*;
pub use product_deployment::*;
pub use product_validator::*;
pub use project::*;
pub use reference::*;
pub use repository::*;
pub use target::*;
