//! The Model Context Protocol: what agents list, read and call, in both eras of the protocol.

mod begun;
mod calls;
pub mod extras;
mod handler;
mod notes;
mod origins;
mod people;
mod progress;
mod prompts;
mod resources;
mod seals;
mod tasks;
#[cfg(test)]
mod tests;
mod visits;
mod watching;

use rmcp::RoleServer;
use rmcp::service::RequestContext;

pub use handler::{Handler, Holder};
pub(crate) use origins::origins;
pub(crate) use seals::Seals;
pub(crate) use tasks::Tasks;
pub(crate) use visits::Visits;
pub(crate) use watching::Watchers;

/// The program at the other end, in its own words.
fn agent(context: &RequestContext<RoleServer>) -> String {
    let said = context.client_info().map(|info| format!("{} {}", info.name, info.version));
    said.unwrap_or_default().chars().filter(|letter| !letter.is_control()).take(100).collect()
}
