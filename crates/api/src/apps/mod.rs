//! Applications and the data they read (`iaf.io`).

mod application;
mod data_source;

pub use application::*;
pub use data_source::*;
