use kit::{Fault, Receipt};

use super::plan::Call;
use crate::infra::Desk;
use crate::infra::step::Step;

pub(super) async fn act(desk: &Desk, step: &Step<Call>) -> Result<Receipt, Fault> {
    let (aws, account) = (&desk.aws, &step.account);
    match &step.call {
        Call::Launch(launch) => aws.launch_machine(account, launch).await?,
        Call::Set { id, setting } => aws.set_machine(account, id, setting).await?,
        Call::Monitor { id, on } => aws.monitor_machine(account, id, *on).await?,
        Call::GiveProfile { id, profile } => aws.give_profile(account, id, profile).await?,
        Call::SwapProfile { association, profile } => aws.swap_profile(account, association, profile).await?,
        Call::TakeProfile { association } => aws.take_profile(account, association).await?,
        Call::Tag { id, tags } => aws.tag_machine(account, id, tags).await?,
        Call::Untag { id, keys } => aws.untag_machine(account, id, keys).await?,
        Call::Start { id } => aws.start_machine(account, id).await?,
        Call::Stop { id } => aws.stop_machine(account, id).await?,
        Call::Terminate { id } => aws.terminate_machine(account, id).await?,
    }
    Ok(Receipt::Done)
}
