//! Volumes, the claims on them and the classes they come from.

use jiff::Timestamp;
use serde_json::Value;

use super::fields::{
    NONE, UNSET, age, amount, annotation, at, cells, count, deleted, flag, has, list, name, set_or, text,
    texts,
};

/// The cells of a persistent volume.
pub(super) fn volume(object: &Value, now: Timestamp) -> Vec<Value> {
    let claim = at(object, "spec.claimRef");
    let claim = if claim.is_null() {
        String::new()
    } else {
        format!("{}/{}", text(claim, "namespace"), text(claim, "name"))
    };
    cells![
        name(object),
        amount(at(object, "spec.capacity.storage")),
        access_modes(object, "spec.accessModes"),
        text(object, "spec.persistentVolumeReclaimPolicy"),
        phase(object),
        claim,
        class(object),
        set_or(object, "spec.volumeAttributesClassName", UNSET),
        text(object, "status.reason"),
        age(object, now),
        set_or(object, "spec.volumeMode", UNSET),
    ]
}

/// The cells of a persistent volume claim.
pub(super) fn claim(object: &Value, now: Timestamp) -> Vec<Value> {
    let bound = !text(object, "spec.volumeName").is_empty();
    cells![
        name(object),
        phase(object),
        text(object, "spec.volumeName"),
        if bound { amount(at(object, "status.capacity.storage")) } else { String::new() },
        if bound { access_modes(object, "status.accessModes") } else { String::new() },
        class(object),
        set_or(object, "spec.volumeAttributesClassName", UNSET),
        age(object, now),
        set_or(object, "spec.volumeMode", UNSET),
    ]
}

/// The cells of a storage class.
pub(super) fn storage_class(object: &Value, now: Timestamp) -> Vec<Value> {
    let marks =
        ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];
    let is_default = marks.iter().any(|mark| annotation(object, mark) == "true");
    let mark = if is_default { " (default)" } else { "" };
    cells![
        format!("{}{mark}", name(object)),
        text(object, "provisioner"),
        set_or(object, "reclaimPolicy", "Delete"),
        set_or(object, "volumeBindingMode", "Immediate"),
        flag(object, "allowVolumeExpansion", false),
        age(object, now),
    ]
}

/// The cells of a volume attributes class.
pub(super) fn attributes_class(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![name(object), text(object, "driverName"), age(object, now)]
}

/// The cells of a volume attachment.
pub(super) fn attachment(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![
        name(object),
        text(object, "spec.attacher"),
        text(object, "spec.source.persistentVolumeName"),
        text(object, "spec.nodeName"),
        flag(object, "status.attached", false),
        age(object, now),
    ]
}

/// The cells of a storage driver's node.
pub(super) fn csi_node(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![name(object), count(object, "spec.drivers"), age(object, now)]
}

/// The cells of a storage driver.
pub(super) fn csi_driver(object: &Value, now: Timestamp) -> Vec<Value> {
    let modes = texts(object, "spec.volumeLifecycleModes").join(",");
    let audiences = || list(object, "spec.tokenRequests").iter().map(|request| text(request, "audience"));
    let tokens = has(object, "spec.tokenRequests").then(|| audiences().collect::<Vec<_>>().join(","));
    cells![
        name(object),
        flag(object, "spec.attachRequired", true),
        flag(object, "spec.podInfoOnMount", false),
        flag(object, "spec.storageCapacity", false),
        tokens.unwrap_or_else(|| UNSET.into()),
        flag(object, "spec.requiresRepublish", false),
        if modes.is_empty() { NONE.into() } else { modes },
        age(object, now),
    ]
}

fn phase(object: &Value) -> &str {
    if deleted(object) { "Terminating" } else { text(object, "status.phase") }
}

/// The class by its old annotation, else by its field.
fn class(object: &Value) -> &str {
    const OLD: &str = "volume.beta.kubernetes.io/storage-class";
    let old = at(object, "metadata.annotations").get(OLD).and_then(Value::as_str);
    old.unwrap_or_else(|| text(object, "spec.storageClassName"))
}

fn access_modes(object: &Value, path: &str) -> String {
    const MODES: [(&str, &str); 4] = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let given = texts(object, path);
    let known = MODES.iter().filter(|(mode, _)| given.contains(mode));
    known.map(|(_, short)| *short).collect::<Vec<_>>().join(",")
}
