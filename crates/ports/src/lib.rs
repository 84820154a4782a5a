//! The outside systems: one folder each, with a trait, a fake and a live implementation that pass one contract suite.

pub mod admin;
pub mod authority;
pub mod aws;
pub mod build;
pub mod forward;
pub mod git;
pub mod homes;
pub mod images;
pub mod loopback;
pub mod oci;
pub mod postgres;
pub mod probe;
pub mod process;
pub mod sources;
pub mod traffic;

mod program;
