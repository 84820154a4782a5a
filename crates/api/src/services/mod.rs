//! Managed services (`iaf.io`).

mod binding;
mod managed_service;
mod size;

pub use binding::*;
pub use managed_service::*;
pub use size::*;
