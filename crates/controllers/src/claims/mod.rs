//! Claims on databases and on roles in them.

pub mod book;
pub mod config;
