//! Every rule of queues.

use std::collections::BTreeMap;
use std::fmt;

use api::conditions::{SYNCED, holds};
use api::drift::Drift;
use api::infra::{SQSQueue, SQSQueueSpec, SQSQueueStatus, Tags};
use kit::{Do, Name, Next, Plan, Refusal};
use ports::aws::Queue;
use serde_json::{Value, json};

use crate::infra::course::{Case, Mend, field, observes};
use crate::infra::desk::{Open, RETRY, Sight, World};
use crate::infra::farewell::{Farewell, farewell, untouched};
use crate::infra::report::Report;
use crate::infra::step::Step;
use crate::infra::tags::{self, OWNER};

/// What is asked of SQS.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// Makes the queue with its settings.
    Create { name: String, attributes: BTreeMap<String, String>, tags: Tags },
    /// Changes settings.
    Set { url: String, attributes: BTreeMap<String, String> },
    /// Sets tags.
    Tag { url: String, tags: Tags },
    /// Takes tags off.
    Untag { url: String, keys: Vec<String> },
    /// Deletes the queue.
    Delete { url: String },
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = |url: &str| url.rsplit('/').next().unwrap_or_default().to_owned();
        let keys = |map: &BTreeMap<String, String>| map.keys().cloned().collect::<Vec<_>>().join(", ");
        match self {
            Self::Create { name, .. } => write!(f, "create queue {name}"),
            Self::Set { url, attributes } => write!(f, "set {} of queue {}", keys(attributes), last(url)),
            Self::Tag { url, tags } => write!(f, "tag queue {} with {}", last(url), keys(tags)),
            Self::Untag { url, keys } => write!(f, "take tags {} off queue {}", keys.join(", "), last(url)),
            Self::Delete { url } => write!(f, "delete queue {}", last(url)),
        }
    }
}

/// The plan for one pass over one queue.
pub(super) fn plan(
    queue: &SQSQueue,
    world: &World<Queue>,
) -> Result<Plan<Step<Call>, SQSQueueStatus>, Refusal> {
    let mut status = queue.status.clone().unwrap_or_default();
    let going = queue.metadata.deletion_timestamp.is_some();
    let open = match &world.sight {
        Sight::Open(open) => open,
        Sight::Parked => return Ok(Plan::part(Vec::new(), status, Next::OnChange)),
        Sight::Closed(..) if going && untouched(&queue.metadata, queue.spec.deletion_policy) => {
            return Ok(Plan::release(Vec::new(), status));
        }
        Sight::Closed(reason, message) => {
            status.unseen(reason.clone(), message.clone());
            return Ok(Plan::part(Vec::new(), status, Next::After(RETRY)));
        }
    };
    if going {
        return Ok(leave(queue, open, status));
    }
    let (spec, own) = (&queue.spec, Name::of(queue));
    let wanted = tags::wanted(&open.default_tags, &spec.tags, &own);
    let mends = open.found.iter().flat_map(|live| mends(live, spec, &wanted, &status));
    let case = Case {
        meta: &queue.metadata,
        what: format!("queue {}", spec.queue_name),
        account: open.account.clone(),
        live: open.found.as_ref().map(|live| &live.tags),
        tags: &wanted,
        own: &spec.tags,
        mends: mends.collect(),
        make: vec![create(spec, &wanted)],
        waiting: None,
        now: world.now,
    };
    if let Some(live) = &open.found {
        report(live, &mut status);
    }
    let mut plan = case.settle(status);
    // Only what was compared and set counts as set.
    if holds(&plan.status.conditions, SYNCED) && !observes(&queue.metadata) {
        plan.status.settings = settings(spec).map(|(setting, _)| setting.field.to_owned()).collect();
    }
    Ok(plan)
}

fn leave(queue: &SQSQueue, open: &Open<Queue>, status: SQSQueueStatus) -> Plan<Step<Call>, SQSQueueStatus> {
    let live = open.found.as_ref();
    let tags = live.map(|live| &live.tags);
    let end = farewell(&queue.metadata, queue.spec.deletion_policy, tags, &status.tag_keys);
    let call = live.and_then(|Queue { url, .. }| match end {
        Farewell::Leave => None,
        Farewell::Unmark => Some(Call::Untag { url: url.clone(), keys: vec![OWNER.to_owned()] }),
        Farewell::Delete => Some(Call::Delete { url: url.clone() }),
    });
    let step = |call| Do::Outside(Step { account: open.account.clone(), call, fields: Vec::new() });
    Plan::release(call.map(step).into_iter().collect(), status)
}

/// A setting: its field in the spec, AWS's name for it, and what it is if nobody asks for anything.
struct Setting {
    field: &'static str,
    name: &'static str,
    default: &'static str,
}

/// Settings that can be changed, in the order of the spec, with AWS's defaults:
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html>. A policy or a key that
/// is empty is none.
const SETTINGS: [Setting; 9] = [
    setting("contentBasedDeduplication", "ContentBasedDeduplication", "false"),
    setting("delaySeconds", "DelaySeconds", "0"),
    setting("maximumMessageSize", "MaximumMessageSize", "1048576"),
    setting("messageRetentionPeriod", "MessageRetentionPeriod", "345600"),
    setting("visibilityTimeout", "VisibilityTimeout", "30"),
    setting("receiveMessageWaitTimeSeconds", "ReceiveMessageWaitTimeSeconds", "0"),
    setting("deadLetterQueue", "RedrivePolicy", ""),
    setting("kmsMasterKeyId", "KmsMasterKeyId", ""),
    setting("kmsDataKeyReusePeriodSeconds", "KmsDataKeyReusePeriodSeconds", "300"),
];

const fn setting(field: &'static str, name: &'static str, default: &'static str) -> Setting {
    Setting { field, name, default }
}

/// What the spec says of each of [`SETTINGS`], as AWS writes it.
fn values(spec: &SQSQueueSpec) -> [Option<String>; 9] {
    let number = |value: Option<i32>| value.map(|value| value.to_string());
    let redrive = spec.dead_letter_queue.as_ref().map(|dead| {
        json!({ "deadLetterTargetArn": dead.target_arn, "maxReceiveCount": dead.max_receive_count })
            .to_string()
    });
    [
        spec.fifo_queue.then(|| spec.content_based_deduplication.to_string()),
        number(spec.delay_seconds),
        number(spec.maximum_message_size),
        number(spec.message_retention_period),
        number(spec.visibility_timeout),
        number(spec.receive_message_wait_time_seconds),
        redrive,
        spec.kms_master_key_id.clone(),
        number(spec.kms_data_key_reuse_period_seconds),
    ]
}

/// The settings that the spec names.
fn settings(spec: &SQSQueueSpec) -> impl Iterator<Item = (&'static Setting, String)> {
    SETTINGS.iter().zip(values(spec)).filter_map(|(setting, value)| Some((setting, value?)))
}

fn create(spec: &SQSQueueSpec, wanted: &Tags) -> Call {
    let mut attributes: BTreeMap<_, _> =
        settings(spec).map(|(setting, value)| (setting.name.to_owned(), value)).collect();
    if spec.fifo_queue {
        attributes.insert("FifoQueue".to_owned(), "true".to_owned());
    }
    Call::Create { name: spec.queue_name.clone(), attributes, tags: wanted.clone() }
}

fn mends(live: &Queue, spec: &SQSQueueSpec, wanted: &Tags, status: &SQSQueueStatus) -> Vec<Mend<Call>> {
    let mut set = BTreeMap::new();
    let mut fields: Vec<Drift> = Vec::new();
    for (setting, value) in SETTINGS.iter().zip(values(spec)) {
        // What was set before and is not asked for any more goes back; what was never asked for is others' business.
        let held = status.settings.iter().any(|field| field == setting.field);
        let Some(value) = value.or_else(|| held.then(|| setting.default.to_owned())) else { continue };
        let actual = live.attributes.get(setting.name).map_or("", String::as_str);
        if !same(&value, actual) {
            fields.push(field(setting.field, &value, actual));
            set.insert(setting.name.to_owned(), value);
        }
    }
    let url = || live.url.clone();
    let retag = tags::compare(&live.tags, wanted, &status.tag_keys);
    let (added, removed) = retag.split();
    let tag = Mend { fields: added, call: Call::Tag { url: url(), tags: retag.set } };
    let untag = Mend { fields: removed, call: Call::Untag { url: url(), keys: retag.remove } };
    let all = [Mend { fields, call: Call::Set { url: url(), attributes: set } }, tag, untag];
    all.into_iter().filter(|mend| !mend.fields.is_empty()).collect()
}

/// Policies are JSON, and AWS orders them as it likes.
fn same(wanted: &str, actual: &str) -> bool {
    let read = |text: &str| -> Option<Value> { serde_json::from_str(text).ok().map(loose) };
    wanted == actual || (read(wanted).is_some() && read(wanted) == read(actual))
}

/// Numbers within a policy come back as text from some.
fn loose(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields.into_iter().map(|(key, value)| (key, loose(value))).collect(),
        Value::Number(number) => Value::String(number.to_string()),
        other => other,
    }
}

fn report(live: &Queue, status: &mut SQSQueueStatus) {
    let count = |name: &str| live.attributes.get(name).and_then(|count| count.parse().ok());
    status.queue_url = Some(live.url.clone());
    status.queue_arn = live.attributes.get("QueueArn").cloned();
    status.approximate_number_of_messages = count("ApproximateNumberOfMessages");
    status.approximate_number_of_messages_not_visible = count("ApproximateNumberOfMessagesNotVisible");
    status.approximate_number_of_messages_delayed = count("ApproximateNumberOfMessagesDelayed");
}
