//! What becomes of a resource when its object is deleted. Pure.

use api::infra::{AwsDeletionPolicy, Tags};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::course::{observes, owns};

/// What becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Farewell {
    /// It stays as it is.
    Leave,
    /// It stays, without our mark.
    Unmark,
    /// It goes.
    Delete,
}

/// What becomes of a resource, if it is there. One that is not ours, or that is only watched, stays as it is.
pub(super) fn farewell(
    meta: &ObjectMeta,
    policy: AwsDeletionPolicy,
    live: Option<&Tags>,
    held: &[String],
) -> Farewell {
    match live {
        Some(live) if !observes(meta) && owns(meta, live, held) => match policy {
            AwsDeletionPolicy::Delete => Farewell::Delete,
            AwsDeletionPolicy::Retain => Farewell::Leave,
            AwsDeletionPolicy::Orphan => Farewell::Unmark,
        },
        Some(_) | None => Farewell::Leave,
    }
}

/// Whether the resource stays as it is whatever it looks like, so that nobody has to look.
pub(super) fn untouched(meta: &ObjectMeta, policy: AwsDeletionPolicy) -> bool {
    observes(meta) || policy == AwsDeletionPolicy::Retain
}
