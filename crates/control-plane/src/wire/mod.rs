//! HTTP: from bytes to a [`crate::verbs::Call`] and back. No rule about objects lives here.

pub mod decode;
pub(crate) mod documents;
pub(crate) mod form;
pub(crate) mod listen;
pub(crate) mod metrics;
mod mounted;
mod pages;
pub mod path;
pub mod protobuf;
pub mod query;
mod service;
pub mod yaml;

pub use mounted::{Mounted, Upload};
pub use service::{ApiService, Body, Identified, full, refusal};
