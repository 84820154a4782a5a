//! How a pod stands, in the words that its owner, its Service and the roll-out share.

use std::net::{Ipv4Addr, SocketAddr};

use api::annotations::PORT;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;

/// Whether a pod counts: it has not ended, and nobody asked it to.
pub(super) fn active(pod: &Pod) -> bool {
    !over(pod) && pod.metadata.deletion_timestamp.is_none()
}

/// Whether a pod has ended for good.
pub(super) fn over(pod: &Pod) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

/// The phase of a pod.
pub(super) fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

/// Whether a pod is ready.
pub(super) fn ready(pod: &Pod) -> bool {
    ready_condition(pod).is_some_and(|(ready, _)| ready)
}

/// Since when a pod is ready, if it is.
pub(super) fn ready_since(pod: &Pod) -> Option<Timestamp> {
    ready_condition(pod).filter(|(ready, _)| *ready).map(|(_, since)| since)
}

fn ready_condition(pod: &Pod) -> Option<(bool, Timestamp)> {
    let conditions = pod.status.as_ref()?.conditions.as_deref()?;
    let found = conditions.iter().find(|condition| condition.type_ == "Ready")?;
    let since = found.last_transition_time.as_ref().map_or(Timestamp::UNIX_EPOCH, |time| time.0);
    Some((found.status == "True", since))
}

/// When a pod that is ready counts as available: once it has been ready for long enough.
pub(super) fn available_at(pod: &Pod, min_ready_seconds: i32) -> Option<Timestamp> {
    let wait = SignedDuration::from_secs(i64::from(min_ready_seconds));
    ready_since(pod).map(|since| since.saturating_add(wait).unwrap_or(since))
}

/// The port of this machine that stands for a container port of a pod.
pub(super) fn loopback_port(pod: &Pod, container_port: i32) -> Option<u16> {
    let annotations = pod.metadata.annotations.as_ref()?;
    annotations.get(&format!("{PORT}{container_port}"))?.parse().ok()
}

/// Every address at which a pod can be reached.
pub(super) fn addresses(pod: &Pod) -> Vec<SocketAddr> {
    let annotations = pod.metadata.annotations.iter().flatten();
    let ports = annotations.filter(|(key, _)| key.starts_with(PORT));
    let ports = ports.filter_map(|(_, value)| value.parse::<u16>().ok());
    ports.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port))).collect()
}
