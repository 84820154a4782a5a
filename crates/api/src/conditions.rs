//! What an object says of itself: the types of its conditions, and the reasons it gives.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::{Schema, SchemaGenerator, json_schema};

mod standing;
#[cfg(test)]
mod tests;

pub use standing::{Silent, Standing};

/// The object is as its spec asks.
pub const READY: &str = "Ready";
/// Work is under way.
pub const RECONCILING: &str = "Reconciling";
/// Nothing more will happen until a person changes something.
pub const STALLED: &str = "Stalled";
/// An application's image is built.
pub const BUILT: &str = "Built";
/// An application can be reached under its host.
pub const EXPOSED: &str = "Exposed";
/// The outside world agrees with a claim.
pub const SYNCED: &str = "Synced";
/// A resource is not deleted, because something would be lost.
pub const DELETION_BLOCKED: &str = "DeletionBlocked";
/// A project's git and registry credentials exist and work.
pub const CREDENTIALS_VALID: &str = "CredentialsValid";
/// A project's namespace, ServiceAccount and roles are there.
pub const NAMESPACE_READY: &str = "NamespaceReady";
/// A project's git repositories are there.
pub const REPOSITORIES_READY: &str = "RepositoriesReady";
/// A project's registries are there.
pub const REGISTRIES_READY: &str = "RegistriesReady";
/// A project's repositories are being applied.
pub const DELIVERY_READY: &str = "DeliveryReady";

/// Longest reason that Kubernetes takes.
const REASON_MAX: usize = 1024;

/// Why a condition has the status it has: one word for programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// All is as asked.
    Available,
    /// The application runs.
    Deployed,
    /// Pods are coming up.
    Deploying,
    /// The application is scaled to zero.
    Stopped,
    /// An image is being built.
    Building,
    /// The build ended without an image.
    BuildFailed,
    /// The pods have been dying for too long.
    CrashLooping,
    /// A pod dies and is started again and again.
    CrashLoopBackOff,
    /// A pod's image cannot be fetched.
    ImagePullBackOff,
    /// A pod runs, and nothing answers on its port.
    ProbeFailing,
    /// Another application holds the host.
    HostConflict,
    /// A kind that is needed is not installed.
    KindMissing,
    /// The resource is being made.
    Provisioning,
    /// Applications still use it.
    StillBound,
    /// It is going away.
    Deleting,
    /// The spec cannot be met.
    InvalidSpec,
    /// The platform's configuration cannot be used.
    InvalidConfiguration,
    /// Something it needs is not ready yet.
    DependencyNotReady,
    /// No fragment key matches the instance label.
    LabelNotMatched,
    /// Credentials that are named do not exist.
    CredentialsMissing,
    /// Credentials exist and were refused.
    CredentialsInvalid,
    /// The other namespace has not agreed.
    ConsentMissing,
    /// Data is moving to another server.
    Migrating,
    /// A person has to agree first.
    AwaitingApproval,
    /// A resource of that name exists and is not ours.
    NotOurs,
    /// A bucket is not empty, or something else would be lost.
    WouldLoseData,
    /// The world differs from the spec.
    Drifted,
    /// The world differed from the spec, and was put back.
    DriftCorrected,
    /// The bucket is there and configured.
    BucketReady,
    /// The resource could not be made.
    CreationFailed,
    /// A step failed and will be tried again.
    Failed,
    /// The code that an outside system gave.
    Code(String),
}

impl Reason {
    /// The reason as it stands in a condition.
    pub fn as_str(&self) -> Cow<'_, str> {
        Cow::Borrowed(match self {
            Self::Available => "Available",
            Self::Deployed => "Deployed",
            Self::Deploying => "Deploying",
            Self::Stopped => "Stopped",
            Self::Building => "Building",
            Self::BuildFailed => "BuildFailed",
            Self::CrashLooping => "CrashLooping",
            Self::CrashLoopBackOff => "CrashLoopBackOff",
            Self::ImagePullBackOff => "ImagePullBackOff",
            Self::ProbeFailing => "ProbeFailing",
            Self::HostConflict => "HostConflict",
            Self::KindMissing => "KindMissing",
            Self::Provisioning => "Provisioning",
            Self::StillBound => "StillBound",
            Self::Deleting => "Deleting",
            Self::InvalidSpec => "InvalidSpec",
            Self::InvalidConfiguration => "InvalidConfiguration",
            Self::DependencyNotReady => "DependencyNotReady",
            Self::LabelNotMatched => "LabelNotMatched",
            Self::CredentialsMissing => "CredentialsMissing",
            Self::CredentialsInvalid => "CredentialsInvalid",
            Self::ConsentMissing => "ConsentMissing",
            Self::Migrating => "Migrating",
            Self::AwaitingApproval => "AwaitingApproval",
            Self::NotOurs => "NotOurs",
            Self::WouldLoseData => "WouldLoseData",
            Self::Drifted => "Drifted",
            Self::DriftCorrected => "DriftCorrected",
            Self::BucketReady => "BucketReady",
            Self::CreationFailed => "CreationFailed",
            Self::Failed => "Failed",
            Self::Code(code) => return spelled(code),
        })
    }
}

/// Whether nothing more happens for this reason until a person changes something.
pub fn waits_for_people(reason: &str) -> bool {
    let waiting = [
        Reason::BuildFailed,
        Reason::HostConflict,
        Reason::NotOurs,
        Reason::ConsentMissing,
        Reason::AwaitingApproval,
        Reason::WouldLoseData,
    ];
    waiting.iter().any(|waits| waits.as_str() == reason)
}

/// A foreign code in the letters that Kubernetes allows in a reason.
fn spelled(code: &str) -> Cow<'_, str> {
    let mut word: String = code.chars().filter(char::is_ascii).take(REASON_MAX).collect();
    word = word.replace(|c: char| !c.is_ascii_alphanumeric() && c != '_', "_");
    let word = word.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
    if word.is_empty() { Cow::Borrowed("Failed") } else { Cow::Owned(word.to_owned()) }
}

/// The condition of one type.
pub fn find<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Whether the condition of one type is there and true.
pub fn holds(conditions: &[Condition], type_: &str) -> bool {
    find(conditions, type_).is_some_and(|condition| condition.status == "True")
}

/// What is to be said of one type.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement<'a> {
    /// The condition's type.
    pub type_: &'a str,
    /// True, false, or not known.
    pub status: Option<bool>,
    /// Why, for programs.
    pub reason: Reason,
    /// Why, for people.
    pub message: String,
    /// The generation of the object that this was said of.
    pub generation: Option<i64>,
}

/// Says it. The time of transition moves only if the status does.
pub fn set(conditions: &mut Vec<Condition>, statement: Statement<'_>, now: Time) {
    let Statement { type_, status, reason, message, generation } = statement;
    let status = match status {
        Some(true) => "True",
        Some(false) => "False",
        None => "Unknown",
    };
    let held = find(conditions, type_).filter(|held| held.status == status);
    let condition = Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.as_str().into_owned(),
        message,
        observed_generation: generation,
        last_transition_time: held.map_or(now, |held| held.last_transition_time.clone()),
    };
    match conditions.iter_mut().find(|held| held.type_ == type_) {
        Some(held) => *held = condition,
        None => conditions.push(condition),
    }
}

/// The schema of a list of conditions: one entry per type, within the bounds that Kubernetes sets.
pub(crate) fn schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "description": "One thing the object says of itself.",
            "required": ["lastTransitionTime", "message", "reason", "status", "type"],
            "properties": {
                "type": {
                    "type": "string",
                    "description": "What it speaks of: `Ready`, `Reconciling`, `Stalled`, or a type of its own kind.",
                    "maxLength": 316,
                    "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
                },
                "status": {
                    "type": "string",
                    "description": "Whether it holds.",
                    "enum": ["True", "False", "Unknown"],
                },
                "reason": {
                    "type": "string",
                    "description": "Why, as one word for programs.",
                    "minLength": 1,
                    "maxLength": REASON_MAX,
                    "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                },
                "message": {
                    "type": "string",
                    "description": "Why, as a sentence for people. Never a secret.",
                    "maxLength": 32768,
                },
                "lastTransitionTime": {
                    "type": "string",
                    "format": "date-time",
                    "description": "When the status last changed.",
                },
                "observedGeneration": {
                    "type": "integer",
                    "format": "int64",
                    "minimum": 0,
                    "description": "The generation of the object that this was said of.",
                },
            },
        },
    })
}
