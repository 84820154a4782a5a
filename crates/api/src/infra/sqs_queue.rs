//! `SQSQueue`: a queue of messages.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AwsDeletionPolicy, ProviderRef, Tags};
use crate::{conditions, drift::Drift, rules::unchanging};

/// Keeps a queue's object until its policy has been carried out.
pub const SQS_QUEUE_FINALIZER: &str = "aws-infra-operator.runner.codes/sqsqueue-finalizer";

/// Which queue, and how it is set up. Settings that are left out are left alone; one that is taken out of the spec goes back
/// to AWS's default.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[kube(group = "aws-infra-operator.runner.codes", version = "v1alpha1", kind = "SQSQueue", namespaced)]
#[kube(status = "SQSQueueStatus", shortname = "sqs", category = "terrace", derive = "PartialEq")]
#[kube(doc = "A queue in SQS.")]
#[kube(printcolumn = r#"{"name":"Queue","type":"string","jsonPath":".spec.queueName"}"#)]
#[kube(printcolumn = r#"{"name":"Ready","type":"boolean","jsonPath":".status.ready"}"#)]
#[kube(
    printcolumn = r#"{"name":"Messages","type":"integer","jsonPath":".status.approximateNumberOfMessages"}"#
)]
#[kube(printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#)]
#[x_kube(validation = Rule::new("self.fifoQueue == self.queueName.endsWith('.fifo')").message("the name of a FIFO queue, and of no other, ends in .fifo").field_path(".queueName"))]
#[x_kube(validation = Rule::new("!self.contentBasedDeduplication || self.fifoQueue").message("contentBasedDeduplication is for FIFO queues only").field_path(".contentBasedDeduplication"))]
#[x_kube(validation = Rule::new("!has(self.kmsDataKeyReusePeriodSeconds) || has(self.kmsMasterKeyId)").message("kmsDataKeyReusePeriodSeconds is for queues with a kmsMasterKeyId only").field_path(".kmsDataKeyReusePeriodSeconds"))]
pub struct SQSQueueSpec {
    /// Account and region.
    #[x_kube(validation = unchanging("providerRef is immutable: the queue would stay behind in its account"))]
    pub provider_ref: ProviderRef,
    /// Name of the queue.
    #[schemars(length(min = 1, max = 80), regex(pattern = r"^[a-zA-Z0-9_-]+(\.fifo)?$"))]
    #[x_kube(validation = unchanging("queueName is immutable: make a new queue"))]
    pub queue_name: String,
    /// Whether messages keep their order and come once.
    #[serde(default)]
    #[x_kube(validation = unchanging("fifoQueue is immutable: make a new queue"))]
    pub fifo_queue: bool,
    /// Whether equal messages count as one, in a FIFO queue.
    #[serde(default)]
    pub content_based_deduplication: bool,
    /// Seconds before a message can be received.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 900))]
    pub delay_seconds: Option<i32>,
    /// Largest message, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1024, max = 1_048_576))]
    pub maximum_message_size: Option<i32>,
    /// Seconds that a message is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 60, max = 1_209_600))]
    pub message_retention_period: Option<i32>,
    /// Seconds that a received message is hidden from others.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 43_200))]
    pub visibility_timeout: Option<i32>,
    /// Seconds that a receiver waits for a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 20))]
    pub receive_message_wait_time_seconds: Option<i32>,
    /// Where messages go that nobody can deal with. Taken out of the spec, they go nowhere any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dead_letter_queue: Option<DeadLetterQueue>,
    /// Key of KMS that messages are encrypted with. Taken out of the spec, they are encrypted with SQS's own key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048))]
    pub kms_master_key_id: Option<String>,
    /// Seconds that a data key is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 60, max = 86_400))]
    pub kms_data_key_reuse_period_seconds: Option<i32>,
    /// Its tags, beside the provider's.
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    #[schemars(schema_with = "super::reference::tags")]
    pub tags: Tags,
    /// What happens to the queue when this object is deleted.
    #[serde(default)]
    pub deletion_policy: AwsDeletionPolicy,
}

/// Where messages go that nobody can deal with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeadLetterQueue {
    /// ARN of that queue.
    #[schemars(length(max = 2048), regex(pattern = r"^arn:[a-z-]+:sqs:[a-z0-9-]+:[0-9]{12}:.+$"))]
    pub target_arn: String,
    /// How often a message may be received before it goes there.
    #[schemars(range(min = 1, max = 1000))]
    pub max_receive_count: i32,
}

/// How the queue stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SQSQueueStatus {
    /// Whether it is there and set up.
    #[serde(default)]
    pub ready: bool,
    /// Its URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "queueURL")]
    pub queue_url: Option<String>,
    /// Its ARN.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "queueARN")]
    pub queue_arn: Option<String>,
    /// Messages that can be received, about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approximate_number_of_messages: Option<i64>,
    /// Messages that were received and not deleted yet, about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approximate_number_of_messages_not_visible: Option<i64>,
    /// Messages that cannot be received yet, about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approximate_number_of_messages_delayed: Option<i64>,
    /// When it was last compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_sync_time: Option<Time>,
    /// What differed from the spec when it was last compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub drift: Vec<Drift>,
    /// The keys of the tags that were set from the spec and the provider. Kept here because AWS does not say who set a tag:
    /// what others set is left alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    #[schemars(length(max = 50), inner(length(max = 128)))]
    pub tag_keys: Vec<String>,
    /// The settings that were set from the spec, by their names there. Kept here because AWS does not say who set one: what
    /// is taken out of the spec is put back to its default, and what others set is left alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    #[schemars(length(max = 20), inner(length(max = 64)))]
    pub settings: Vec<String>,
    /// The generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What it says of itself: `Ready`, `Reconciling`, `Stalled`, and what its kind adds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::schema")]
    pub conditions: Vec<Condition>,
}
