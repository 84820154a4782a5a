//! Managed services (`iaf.io`).

mod managed_service;

pub use managed_service::*;
