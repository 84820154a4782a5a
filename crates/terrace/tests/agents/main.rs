//! Agents as they come: the real binary, the official Python client, and callers who mean no good.
//!
//! Each story has a platform of its own, and leaves no process and no file behind.

mod agent;
mod audit;
mod confirmation;
mod db;
mod injection;
mod load;
mod matrix;
#[path = "../hard/platform.rs"]
#[allow(dead_code, reason = "other stories use the rest of it")]
mod platform;
mod story;
#[path = "../hard/web.rs"]
#[allow(dead_code, reason = "other stories use the rest of it")]
mod web;
