//! What agents and people can ask for: one file per tool, each with its name, its input, its output and what it does; and
//! the server that agents ask, over the Model Context Protocol and over REST.
//!
//! Tools write specs and read statuses, as the caller and with the caller's rights. They never read what a Secret holds,
//! so none can come out of them.

pub mod apps;
pub mod audit;
pub mod data_sources;
mod door;
mod error;
pub mod git;
pub mod identity;
pub mod limits;
pub mod mcp;
pub mod plans;
pub mod rest;
pub mod server;
pub mod services;
pub mod sessions;
mod there;
pub mod tool;

pub use door::{LINE, LINE_PROTOCOL, Patience};
pub use error::Error;
pub use server::{Agents, Offers, Settings};
