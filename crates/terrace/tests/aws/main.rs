//! Resources in AWS as people meet them: the real binary, kubectl, a server that answers as AWS does, and AWS's own client
//! that looks what came of it.
//!
//! Each story has a platform and an account of its own, and leaves no process and no file behind.

mod account;
mod adoption;
#[path = "../../../controllers/tests/aws/moto.rs"]
#[allow(dead_code, reason = "other tests use the rest of it")]
mod moto;
#[path = "../hard/platform.rs"]
#[allow(dead_code, reason = "other stories use the rest of it")]
mod platform;
mod story;
#[path = "../hard/web.rs"]
#[allow(dead_code, reason = "other stories use the rest of it")]
mod web;
