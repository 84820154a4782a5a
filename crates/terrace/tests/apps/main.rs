//! Applications as a person meets them: the real binary builds, runs, replaces and ends real programs.
//!
//! Each story has a platform of its own, and leaves no process and no file behind.

// What is left out on a machine is said aloud, and so are the last words of a platform whose story failed.
#![allow(clippy::print_stderr)]

mod broken;
mod examples;
mod http;
mod kubectl;
mod phases;
mod plan;
mod platform;
mod tls;
mod watch;
