//! One arm per step.

use kit::{Fault, Receipt};
use ports::forward::Forward;

use super::plan::Step;

pub(super) async fn act(step: &Step, forward: &impl Forward) -> Result<Receipt, Fault> {
    match step {
        Step::Forward(listen, backends) => forward.set(*listen, backends.clone()).await,
        Step::Close(listen) => forward.remove(*listen).await,
    }
    Ok(Receipt::Done)
}
