//! Managed PostgreSQL as a person meets it: the real binary, real servers, real clients.
//!
//! Each story has a platform of its own, and leaves no process and no file behind.

mod backups;
mod broken;
mod canary;
mod cloud_database;
mod failover;
mod kills;
#[path = "../hard/platform.rs"]
#[allow(dead_code, reason = "other stories use the rest of it")]
mod platform;
mod service;
mod sql;
mod story;
mod tenants;
#[path = "../hard/web.rs"]
#[allow(dead_code, reason = "other stories use the rest of it")]
mod web;
