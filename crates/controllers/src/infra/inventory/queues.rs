//! Queues.

use api::infra::{AwsDeletionPolicy, DeadLetterQueue, ProviderRef, SQSQueue, SQSQueueSpec};
use futures::{StreamExt, TryStreamExt, stream};
use ports::aws::{Account, Aws, Error, Queue};
use serde_json::Value;

use super::{AT_A_TIME, Seen, name, tags};

/// The queues of an account, each as the object that asks for what is there.
pub(super) async fn found(
    aws: &Aws,
    account: &Account,
    provider: &ProviderRef,
) -> Result<Vec<Seen<SQSQueue>>, Error> {
    let names = aws.queues(account).await?;
    let looks = names.into_iter().map(async |queue| {
        let live = aws.queue(account, &queue).await?;
        Ok(live.map(|live| Seen {
            object: SQSQueue::new(&name(&queue), spec(&queue, &live, provider)),
            tags: live.tags,
            resource: queue,
        }))
    });
    // One may go while we look.
    stream::iter(looks).buffered(AT_A_TIME).try_filter_map(async |seen| Ok(seen)).try_collect().await
}

fn spec(queue: &str, live: &Queue, provider: &ProviderRef) -> SQSQueueSpec {
    let text = |name: &str| live.attributes.get(name).filter(|value| !value.is_empty());
    let number = |name: &str| text(name).and_then(|value| value.parse().ok());
    let holds = |name: &str| text(name).is_some_and(|value| value == "true");
    let fifo = queue.ends_with(".fifo");
    let encrypted = text("KmsMasterKeyId").is_some();
    SQSQueueSpec {
        provider_ref: provider.clone(),
        queue_name: queue.to_owned(),
        fifo_queue: fifo,
        content_based_deduplication: fifo && holds("ContentBasedDeduplication"),
        delay_seconds: number("DelaySeconds"),
        maximum_message_size: number("MaximumMessageSize"),
        message_retention_period: number("MessageRetentionPeriod"),
        visibility_timeout: number("VisibilityTimeout"),
        receive_message_wait_time_seconds: number("ReceiveMessageWaitTimeSeconds"),
        dead_letter_queue: text("RedrivePolicy").and_then(|policy| dead_letters(policy)),
        kms_master_key_id: text("KmsMasterKeyId").cloned(),
        kms_data_key_reuse_period_seconds: number("KmsDataKeyReusePeriodSeconds").filter(|_| encrypted),
        tags: tags(&live.tags),
        // What somebody else made is not deleted because an object of ours is.
        deletion_policy: AwsDeletionPolicy::Retain,
    }
}

fn dead_letters(policy: &str) -> Option<DeadLetterQueue> {
    let policy: Value = serde_json::from_str(policy).ok()?;
    let count = &policy["maxReceiveCount"];
    let count = count.as_i64().or_else(|| count.as_str()?.parse().ok())?;
    Some(DeadLetterQueue {
        target_arn: policy["deadLetterTargetArn"].as_str()?.to_owned(),
        max_receive_count: i32::try_from(count).ok()?,
    })
}
