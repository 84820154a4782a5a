use kit::{Fault, Receipt};
use ports::admin::Admin;

use crate::claims::Office;
use crate::claims::step::Step;

/// Does one thing on a server.
pub(super) async fn act<A: Admin>(office: &Office<A>, step: &Step) -> Result<Receipt, Fault> {
    let done = step.run(&*office.admin, &office.metrics).await;
    if done.is_err() {
        office.metrics.provisioning_failed();
    }
    done
}
