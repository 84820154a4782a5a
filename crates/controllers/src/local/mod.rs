//! One machine: what a cluster's own controllers, its kubelet and other people's operators do, as rooms of the same
//! loop. Objects become processes, routes and certificates, and nobody who reads the objects can tell the difference.

pub mod build;
pub mod certificate;
pub mod cloud_database;
pub mod deployment;
pub mod node;
pub mod pg_backup;
pub mod pg_cluster;
pub mod pod;
pub mod replica_set;
pub mod route;
pub mod service;

mod code;
#[cfg(test)]
mod gated_postgres;
mod memory;
mod quantity;
mod readiness;
mod selection;
