//! Applications and the data they read.

mod application;
mod config;
mod data_source;

pub use application::Applications;
pub use config::{Config, Issuer};
pub use data_source::DataSources;
