//! A Kubernetes API server for one machine.
//!
//! It knows no kind of anybody's: built-in kinds are data, the rest arrive as CustomResourceDefinitions.
//! Pure parts (`merge`, `kinds`, `gates`) decide; `verbs` carry a request through them; `store` is the
//! only IO on disk, `wire` the only one on the network.

pub mod gates;
pub mod identity;
pub mod kinds;
mod loops;
pub mod merge;
mod plane;
mod server;
pub mod status;
pub mod store;
mod verbs;
pub mod wire;

pub use plane::{Config, ControlPlane, OpenError};
pub use verbs::rules::{Occasion, Rule};
