//! Claims on databases and on roles in them (`persistance.atlas.infoblox.com`).

mod database_claim;
mod db_role_claim;
mod status;

pub use database_claim::*;
pub use db_role_claim::*;
pub use status::*;
