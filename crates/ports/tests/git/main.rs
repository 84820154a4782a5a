//! Hosts of git: one contract for the fake, this machine, and stand-ins that speak as the hosted ones do; and the door
//! of this machine, as its enemies see it.

mod contract;
mod door;
mod ground;
mod hostile;
