use api::infra::{AWSProvider, EC2Instance, ProviderRef, RDSInstance, S3Bucket, SQSQueue};
use kit::{Fault, Name, Object, Reader};

use super::plan::{Answer, World};
use crate::infra::Desk;
use crate::infra::provider::{self, LOCAL};

/// Asks STS who we are, or, of a provider that goes, who still needs it.
pub(super) async fn observe(desk: &Desk, provider: &AWSProvider, reader: &Reader) -> Result<World, Fault> {
    let now = reader.now();
    let own = Name::of(provider);
    if provider.metadata.deletion_timestamp.is_some() {
        let users = users(reader, &own).await?;
        if users.is_empty() {
            desk.aws.forget(&own.to_string());
        }
        return Ok(World { now, answer: Answer::Leaving { users } });
    }
    if provider.spec.endpoint.as_deref() == Some(LOCAL) {
        return Ok(World { now, answer: Answer::Local });
    }
    let answer = match provider::account(reader, provider).await? {
        Err((reason, message)) => Answer::Unusable(reason, message),
        Ok(account) => Answer::Known(desk.aws.identity(&account).await?),
    };
    Ok(World { now, answer })
}

/// The resources that name a provider.
async fn users(reader: &Reader, own: &Name) -> Result<Vec<String>, Fault> {
    let mut users = of::<S3Bucket>(reader, own, |bucket| &bucket.spec.provider_ref).await?;
    users.extend(of::<RDSInstance>(reader, own, |instance| &instance.spec.provider_ref).await?);
    users.extend(of::<EC2Instance>(reader, own, |instance| &instance.spec.provider_ref).await?);
    users.extend(of::<SQSQueue>(reader, own, |queue| &queue.spec.provider_ref).await?);
    Ok(users)
}

async fn of<K: Object>(
    reader: &Reader,
    own: &Name,
    reference: fn(&K) -> &ProviderRef,
) -> Result<Vec<String>, Fault> {
    let all = reader.list::<K>(None).await?;
    let names = |object: &&std::sync::Arc<K>| {
        provider::named(&Name::of(&***object).namespace, reference(object)) == *own
    };
    Ok(all.iter().filter(names).map(|object| format!("{} {}", K::kind(&()), Name::of(&**object))).collect())
}
