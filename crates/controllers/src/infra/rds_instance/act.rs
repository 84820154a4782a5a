use kit::{Fault, Receipt};

use super::plan::Call;
use crate::infra::Desk;
use crate::infra::step::Step;

pub(super) async fn act(desk: &Desk, step: &Step<Call>) -> Result<Receipt, Fault> {
    let (aws, account) = (&desk.aws, &step.account);
    match &step.call {
        Call::Create(new) => aws.create_database(account, new).await?,
        Call::Modify { id, change } => aws.modify_database(account, id, change).await?,
        Call::Tag { arn, tags } => aws.tag_database(account, arn, tags).await?,
        Call::Untag { arn, keys } => aws.untag_database(account, arn, keys).await?,
        Call::Delete { id, snapshot } => aws.delete_database(account, id, snapshot.as_deref()).await?,
    }
    Ok(Receipt::Done)
}
