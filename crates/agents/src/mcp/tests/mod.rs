//! The protocol, spoken to the server's own door on a control plane in memory.

mod prompts;
mod resources;
mod stage;
mod tasks;
mod visits;
mod watching;
