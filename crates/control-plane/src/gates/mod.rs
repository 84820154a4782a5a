//! Pure checks a request passes before anything is written: names, metadata, selectors, rights, quotas.
//!
//! Nothing here reads a clock, a file or the store; what must be known is handed in.

pub mod bootstrap;
pub mod impersonation;
pub mod limits;
pub mod metadata;
pub mod names;
pub mod quantity;
pub mod quota;
pub mod rbac;
pub mod reviews;
pub mod selector;
