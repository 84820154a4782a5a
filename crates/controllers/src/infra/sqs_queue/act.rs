use kit::{Fault, Receipt};

use super::plan::Call;
use crate::infra::Desk;
use crate::infra::step::Step;

pub(super) async fn act(desk: &Desk, step: &Step<Call>) -> Result<Receipt, Fault> {
    let (aws, account) = (&desk.aws, &step.account);
    match &step.call {
        Call::Create { name, attributes, tags } => aws.create_queue(account, name, attributes, tags).await?,
        Call::Set { url, attributes } => aws.set_queue_attributes(account, url, attributes).await?,
        Call::Tag { url, tags } => aws.tag_queue(account, url, tags).await?,
        Call::Untag { url, keys } => aws.untag_queue(account, url, keys).await?,
        Call::Delete { url } => aws.delete_queue(account, url).await?,
    }
    Ok(Receipt::Done)
}
