//! Every tool for applications as agents call it, and tables of hostile input for what they stand on.

mod git_urls;
mod pushes;
pub(crate) mod stage;
mod tools;
mod untrusted;
