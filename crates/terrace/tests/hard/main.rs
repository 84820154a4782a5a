//! The hard stories, on the real binary with real programs: roll-outs under load, kills at the wrong moment, hostile
//! input, and programs that look where they should not.

mod archive;
mod fences;
mod hostile;
mod kills;
mod load;
mod platform;
mod rollouts;
mod web;
