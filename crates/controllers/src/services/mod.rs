//! Databases that the platform runs for applications.

mod config;
mod managed_service;

pub use config::Config;
pub use managed_service::ManagedServices;
