//! One arm per step.

use kit::{Fault, Receipt};
use ports::postgres::Postgres;

use super::plan::Step;

/// Does one step on the machine.
pub(super) async fn act<P: Postgres>(postgres: &P, step: &Step) -> Result<Receipt, Fault> {
    match step {
        Step::BackUp { cluster, number, backup } => postgres.back_up(cluster, *number, backup).await?,
        Step::Discard(backup) => postgres.discard(backup).await?,
    }
    Ok(Receipt::Done)
}
