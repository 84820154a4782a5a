//! The Model Context Protocol: what agents list, read and call, in both eras of the protocol.

mod handler;
mod people;
mod seals;

pub use handler::{Handler, Holder};
pub(crate) use seals::Seals;
