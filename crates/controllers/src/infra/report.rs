//! What the statuses of all resources in AWS say alike.

use api::conditions::{Reason, SYNCED, Standing};
use api::drift::Drift;
use api::infra::{EC2InstanceStatus, RDSInstanceStatus, S3BucketStatus, SQSQueueStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::course::Waiting;

/// The fields that all of them have.
pub(super) struct Parts<'a> {
    pub(super) ready: &'a mut bool,
    pub(super) last_sync_time: &'a mut Option<Time>,
    pub(super) drift: &'a mut Vec<Drift>,
    pub(super) tag_keys: &'a mut Vec<String>,
    pub(super) observed_generation: &'a mut Option<i64>,
}

/// The status of a resource in AWS.
pub(super) trait Report: Standing {
    /// The fields that all of them have.
    fn parts(&mut self) -> Parts<'_>;

    /// Says that the resource is as its spec asks, or what is waited for.
    fn in_sync(&mut self, waiting: Option<&Waiting>) {
        *self.parts().ready = waiting.is_none();
        match waiting {
            None => self.ready(Reason::Available, ""),
            Some(Waiting { reason, message, .. }) => self.not_ready(reason.clone(), message.clone()),
        }
        self.say(SYNCED, Some(true), Reason::Available, "");
    }

    /// Says that nobody could look, and why. What was ready is so as far as anybody knows.
    fn unseen(&mut self, reason: Reason, message: String) {
        if !*self.parts().ready {
            self.not_ready(reason.clone(), message.clone());
        }
        self.say(SYNCED, Some(false), reason, message);
    }

    /// Says that it is not, and why.
    fn out_of_sync(&mut self, reason: Reason, message: String) {
        *self.parts().ready = false;
        self.say(SYNCED, Some(false), reason.clone(), message.clone());
        self.not_ready(reason, message);
    }
}

macro_rules! reports {
    ($($status:ty),* $(,)?) => {$(
        impl Report for $status {
            fn parts(&mut self) -> Parts<'_> {
                Parts {
                    ready: &mut self.ready,
                    last_sync_time: &mut self.last_sync_time,
                    drift: &mut self.drift,
                    tag_keys: &mut self.tag_keys,
                    observed_generation: &mut self.observed_generation,
                }
            }
        }
    )*};
}

reports!(EC2InstanceStatus, RDSInstanceStatus, S3BucketStatus, SQSQueueStatus);
