//! Claims on databases as people meet them: the real binary, kubectl, real servers, real clients.
//!
//! Each story has a platform of its own, and leaves no process and no file behind.

mod canary;
mod claim;
mod existing;
mod faults;
mod kills;
mod makers;
#[path = "../hard/platform.rs"]
#[allow(dead_code, reason = "other stories use the rest of it")]
mod platform;
mod server;
#[path = "../services/sql.rs"]
mod sql;
mod story;
mod tenants;
#[path = "../hard/web.rs"]
#[allow(dead_code, reason = "other stories use the rest of it")]
mod web;
