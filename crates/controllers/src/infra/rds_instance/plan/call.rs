//! What is asked of RDS, in words without secrets.

use std::fmt;

use api::infra::Tags;
use ports::aws::{DatabaseChange, NewDatabase};

/// What is asked of RDS.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// Makes the server with its settings.
    Create(Box<NewDatabase>),
    /// Changes settings, or the password.
    Modify { id: String, change: DatabaseChange },
    /// Sets tags.
    Tag { arn: String, tags: Tags },
    /// Takes tags off.
    Untag { arn: String, keys: Vec<String> },
    /// Deletes the server, after a last snapshot of this name.
    Delete { id: String, snapshot: Option<String> },
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = |arn: &str| arn.rsplit(':').next().unwrap_or_default().to_owned();
        match self {
            Self::Create(new) => write!(f, "create database server {}", new.id),
            Self::Modify { id, change } => write!(f, "change {change} of database server {id}"),
            Self::Tag { arn, tags } => {
                let keys: Vec<&str> = tags.keys().map(String::as_str).collect();
                write!(f, "tag database server {} with {}", last(arn), keys.join(", "))
            }
            Self::Untag { arn, keys } => {
                write!(f, "take tags {} off database server {}", keys.join(", "), last(arn))
            }
            Self::Delete { id, snapshot: Some(snapshot) } => {
                write!(f, "delete database server {id} after snapshot {snapshot}")
            }
            Self::Delete { id, snapshot: None } => {
                write!(f, "delete database server {id} without a snapshot")
            }
        }
    }
}
