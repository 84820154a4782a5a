//! The commands for applications. They need nothing but the API: the platform may be anywhere.

pub(crate) mod connect;
pub(crate) mod delete;
pub(crate) mod deploy;
mod follow;
pub(crate) mod list;
pub(crate) mod logs;
mod name;
mod pack;
pub(crate) mod progress;
pub(crate) mod rollback;
mod stream;
pub(crate) mod table;
#[cfg(test)]
mod tests;
mod write;

use agents::apps::source;
pub(crate) use agents::apps::stand;
