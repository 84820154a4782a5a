//! Whose an object is: by its controller, by labels, and what makes it so.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, OwnerReference};
use kit::{Address, Do, Object};
use kube::core::{Selector, SelectorExt};
use serde_json::json;

/// Whether labels are those that a selector asks for. A selector that cannot be read selects nothing, and neither does
/// one that asks for nothing.
pub(super) fn selects(selector: &LabelSelector, labels: Option<&BTreeMap<String, String>>) -> bool {
    let none = BTreeMap::new();
    match Selector::try_from(selector.clone()) {
        Ok(selector) => !selector.selects_all() && selector.matches(labels.unwrap_or(&none)),
        Err(_) => false,
    }
}

/// The controller of an object.
pub(super) fn controller(meta: &ObjectMeta) -> Option<&OwnerReference> {
    meta.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
}

/// Whether nobody controls an object that would fit, so that it can be taken in.
pub(super) fn orphan(meta: &ObjectMeta, selector: &LabelSelector) -> bool {
    controller(meta).is_none() && meta.deletion_timestamp.is_none() && selects(selector, meta.labels.as_ref())
}

/// Takes in an object that nobody controls.
pub(super) fn adopt<O: Object, K: Object, S>(owner: &O, object: &K) -> Do<S> {
    let mut owners = object.meta().owner_references.clone().unwrap_or_default();
    owners.extend(owner.controller_owner_ref(&()));
    set_owners(object, &owners)
}

/// Lets go of an object whose labels no longer fit.
pub(super) fn release<O: Object, K: Object, S>(owner: &O, object: &K) -> Do<S> {
    let mut owners = object.meta().owner_references.clone().unwrap_or_default();
    let uid = owner.meta().uid.as_deref().unwrap_or_default();
    owners.retain(|owner| owner.uid != uid);
    set_owners(object, &owners)
}

fn set_owners<K: Object, S>(object: &K, owners: &[OwnerReference]) -> Do<S> {
    // The uid and the version make it the object that was looked at, or nothing.
    let meta = object.meta();
    let version = &meta.resource_version;
    let patch =
        json!({ "metadata": { "ownerReferences": owners, "uid": meta.uid, "resourceVersion": version } });
    Do::Patch(Address::of(object), patch)
}
