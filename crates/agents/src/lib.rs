//! What agents and people can ask for: one file per tool, each with its name, its input, its output and what it does.
//!
//! Tools write specs and read statuses. They never read what a Secret holds, so none can come out of them.

pub mod services;
