//! Databases that the platform runs for applications.

mod config;
mod managed_service;

pub use config::Config;
pub(crate) use config::IMAGE;
pub use managed_service::ManagedServices;
