//! Credentials for git repositories. An agent names one and says what it is for; the secret itself is typed by a person,
//! on a page of the platform's own or at a terminal, and goes from there into a Secret that no agent may read.

pub mod add;
pub mod delete;
mod entries;
mod form;
pub mod host;
pub mod list;
pub(crate) mod page;
mod paper;
pub mod store;
#[cfg(test)]
mod tests;

pub(crate) use entries::Entries;
