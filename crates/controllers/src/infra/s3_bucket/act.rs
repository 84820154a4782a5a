use kit::{Fault, Receipt};

use super::plan::{Call, Change};
use crate::infra::Desk;
use crate::infra::step::Step;

pub(super) async fn act(desk: &Desk, step: &Step<Call>) -> Result<Receipt, Fault> {
    let (aws, account) = (&desk.aws, &step.account);
    let Call { bucket, change } = &step.call;
    match change {
        Change::Announce => {}
        Change::Create => aws.create_bucket(account, bucket).await?,
        Change::Tag { tags } => aws.set_bucket_tags(account, bucket, tags).await?,
        Change::Acl { acl, enabling } => aws.set_bucket_acl(account, bucket, *acl, *enabling).await?,
        Change::Versioning { enabled } => aws.set_bucket_versioning(account, bucket, *enabled).await?,
        Change::Encryption(encryption) => aws.set_bucket_encryption(account, bucket, encryption).await?,
        Change::Lifecycle(rules) => aws.set_bucket_lifecycle(account, bucket, rules).await?,
        Change::Cors(rules) => aws.set_bucket_cors(account, bucket, rules).await?,
        Change::Block(block) => aws.set_public_access_block(account, bucket, block).await?,
        Change::RemoveVersions => aws.remove_versions(account, bucket).await?,
        Change::AbortUploads => aws.abort_uploads(account, bucket).await?,
        Change::Delete => aws.delete_bucket(account, bucket).await?,
    }
    Ok(Receipt::Done)
}
