//! Statuses that speak through conditions, whoever's kind they belong to.

use k8s_openapi::api::apps::v1::{
    DeploymentCondition, DeploymentStatus, ReplicaSetCondition, ReplicaSetStatus,
};
use k8s_openapi::api::core::v1::{NodeCondition, NodeStatus, PodCondition, PodStatus, ServiceStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{READY, Reason, Statement, set};
use crate::foreign::ForeignCondition;

/// The time of a transition that nobody has dated yet.
const UNDATED: Time = Time(Timestamp::UNIX_EPOCH);

/// A status that speaks through conditions.
pub trait Standing:
    Clone + Default + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// Says something of one type. The time of transition is set when the status is written, not here.
    fn say(&mut self, type_: &str, status: Option<bool>, reason: Reason, message: impl Into<String>);

    /// The conditions, where they are those of our own kinds: the loop adds `Reconciling` and `Stalled` to them.
    fn conditions_mut(&mut self) -> Option<&mut Vec<Condition>> {
        None
    }

    /// Says that the object is as its spec asks.
    fn ready(&mut self, reason: Reason, message: impl Into<String>) {
        self.say(READY, Some(true), reason, message);
    }

    /// Says that it is not.
    fn not_ready(&mut self, reason: Reason, message: impl Into<String>) {
        self.say(READY, Some(false), reason, message);
    }
}

macro_rules! ours {
    ($($status:ty),* $(,)?) => {$(
        impl Standing for $status {
            fn say(&mut self, type_: &str, status: Option<bool>, reason: Reason, message: impl Into<String>) {
                let statement = Statement { type_, status, reason, message: message.into(), generation: None };
                set(&mut self.conditions, statement, UNDATED);
            }

            fn conditions_mut(&mut self) -> Option<&mut Vec<Condition>> {
                Some(&mut self.conditions)
            }
        }
    )*};
}

ours!(
    crate::apps::ApplicationStatus,
    crate::apps::DataSourceStatus,
    crate::services::ManagedServiceStatus,
    crate::claims::DatabaseClaimStatus,
    crate::claims::DbRoleClaimStatus,
    crate::infra::SQSQueueStatus,
    crate::infra::AWSProviderStatus,
    crate::infra::S3BucketStatus,
    crate::infra::EC2InstanceStatus,
    crate::infra::RDSInstanceStatus,
    crate::projects::ProjectStatus,
    crate::projects::OCIRegistryStatus,
    crate::projects::RepositoryStatus,
    crate::projects::ProductValidatorStatus,
    crate::projects::ProjectSubscriptionBindingStatus,
);

/// One condition, in the words of whoever's kind it belongs to.
struct Told {
    type_: String,
    status: String,
    reason: Option<String>,
    message: Option<String>,
}

/// A condition of another kind: all of them have these four fields, and more that we do not fill.
trait OneCondition: Default {
    fn type_(&self) -> &str;
    fn tell(&mut self, told: Told);
}

macro_rules! one_condition {
    ($($condition:ty),* $(,)?) => {$(
        impl OneCondition for $condition {
            fn type_(&self) -> &str {
                &self.type_
            }

            fn tell(&mut self, told: Told) {
                let Told { type_, status, reason, message } = told;
                self.type_ = type_;
                self.status = status;
                self.reason = reason;
                self.message = message;
            }
        }
    )*};
}

one_condition!(DeploymentCondition, ForeignCondition, NodeCondition, PodCondition, ReplicaSetCondition);

fn tell<C: OneCondition>(conditions: &mut Vec<C>, told: Told) {
    match conditions.iter_mut().find(|held| held.type_() == told.type_) {
        Some(held) => held.tell(told),
        None => {
            let mut condition = C::default();
            condition.tell(told);
            conditions.push(condition);
        }
    }
}

fn told(type_: &str, status: Option<bool>, reason: &Reason, message: String) -> Told {
    let status = match status {
        Some(true) => "True",
        Some(false) => "False",
        None => "Unknown",
    };
    let reason = Some(reason.as_str().into_owned());
    let message = (!message.is_empty()).then_some(message);
    Told { type_: type_.into(), status: status.into(), reason, message }
}

macro_rules! foreign {
    ($($status:ty),* $(,)?) => {$(
        impl Standing for $status {
            fn say(&mut self, type_: &str, status: Option<bool>, reason: Reason, message: impl Into<String>) {
                tell(&mut self.conditions, told(type_, status, &reason, message.into()));
            }
        }
    )*};
}

macro_rules! built_in {
    ($($status:ty),* $(,)?) => {$(
        impl Standing for $status {
            fn say(&mut self, type_: &str, status: Option<bool>, reason: Reason, message: impl Into<String>) {
                let told = told(type_, status, &reason, message.into());
                tell(self.conditions.get_or_insert_default(), told);
            }
        }
    )*};
}

foreign!(
    crate::foreign::kpack::ImageStatus,
    crate::foreign::certmanager::CertificateStatus,
    crate::foreign::cnpg::ClusterStatus,
    crate::foreign::cloud_database::CloudDatabaseClaimStatus,
);
built_in!(DeploymentStatus, NodeStatus, PodStatus, ReplicaSetStatus);

impl Standing for ServiceStatus {
    fn say(&mut self, type_: &str, status: Option<bool>, reason: Reason, message: impl Into<String>) {
        let statement = Statement { type_, status, reason, message: message.into(), generation: None };
        set(self.conditions.get_or_insert_default(), statement, UNDATED);
    }
}

/// A backup has no conditions: whether it is good stands in its phase, and why not in its error.
impl Standing for crate::foreign::cnpg::BackupStatus {
    fn say(&mut self, type_: &str, status: Option<bool>, _: Reason, message: impl Into<String>) {
        if type_ == READY {
            self.error = (status != Some(true)).then(|| message.into());
        }
    }
}

/// The status of a kind that has none: whatever is said stays unsaid, so nothing is ever written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Silent {}

impl Standing for Silent {
    fn say(&mut self, _: &str, _: Option<bool>, _: Reason, _: impl Into<String>) {}
}
