use api::infra::S3Bucket;
use kit::{Fault, Name, Reader, Room};
use ports::aws::{Account, Aws, Content, Error, Whereabouts};

use super::S3Buckets;
use super::plan::{Found, Here, asked};
use crate::infra::desk::{Visitor, World};
use crate::infra::farewell::untouched;

/// Looks for the bucket in the account of its provider.
pub(super) async fn observe(
    room: &S3Buckets,
    bucket: &S3Bucket,
    reader: &Reader,
) -> Result<World<Found>, Fault> {
    let going = bucket.metadata.deletion_timestamp.is_some();
    let visitor = Visitor {
        room: S3Buckets::NAME,
        name: Name::of(bucket),
        going,
        bell: &room.bell,
        provider: &bucket.spec.provider_ref,
    };
    // What stays as it is needs nobody who may look at it.
    let ignored = going && untouched(&bucket.metadata, bucket.spec.deletion_policy);
    let aws = &room.desk.aws;
    room.desk
        .look(
            reader,
            visitor,
            async |account| {
                if ignored { Ok(None) } else { found(aws, &account, bucket).await }
            },
        )
        .await
}

/// Reads what the plan compares and no more, since each setting is a call; tags always, since the mark is among them.
async fn found(aws: &Aws, account: &Account, bucket: &S3Bucket) -> Result<Option<Found>, Error> {
    let name = &bucket.spec.bucket_name;
    match aws.whereabouts(account, name).await? {
        Whereabouts::Absent => return Ok(None),
        Whereabouts::Elsewhere(region) => return Ok(Some(Found::Elsewhere(region))),
        Whereabouts::Hidden(error) => return Ok(Some(Found::Hidden(error))),
        Whereabouts::Here => {}
    }
    if bucket.metadata.deletion_timestamp.is_some() {
        let (live, content) =
            tokio::try_join!(aws.bucket(account, name, &[]), aws.bucket_content(account, name))?;
        return Ok(live.map(|bucket| Found::Here(Box::new(Here { bucket, content }))));
    }
    let live = aws.bucket(account, name, &asked(bucket)).await?;
    Ok(live.map(|bucket| Found::Here(Box::new(Here { bucket, content: Content::default() }))))
}
