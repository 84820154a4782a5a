//! Defaults of the kinds that make pods.

use serde_json::{Value, json};

use super::{claim_spec, pod, says};
use crate::kinds::builtin::fields::{Fields, each, ensure, fill, is_empty, object};

/// Kinds of the group `apps`.
pub(super) fn apps(kind: &str, map: &mut Fields) {
    if kind == "ControllerRevision" {
        map.entry("revision").or_insert_with(|| json!(0));
        return;
    }
    ensure(map, "status");
    let spec = ensure(map, "spec");
    template(spec);
    match kind {
        "Deployment" => deployment(spec),
        "ReplicaSet" => fill(spec, "replicas", 1),
        "StatefulSet" => stateful_set(spec),
        "DaemonSet" => daemon_set(spec),
        _ => {}
    }
}

/// The pod template in `template`.
pub(super) fn template(spec: &mut Fields) {
    let template = ensure(spec, "template");
    ensure(template, "metadata");
    pod::pod_spec(ensure(template, "spec"));
}

fn deployment(spec: &mut Fields) {
    fill(spec, "replicas", 1);
    let strategy = ensure(spec, "strategy");
    fill(strategy, "type", "RollingUpdate");
    if says(strategy, "type", "RollingUpdate") {
        let rolling = ensure(strategy, "rollingUpdate");
        fill(rolling, "maxUnavailable", "25%");
        fill(rolling, "maxSurge", "25%");
    }
    fill(spec, "revisionHistoryLimit", 10);
    fill(spec, "progressDeadlineSeconds", 600);
}

fn stateful_set(spec: &mut Fields) {
    fill(spec, "replicas", 1);
    fill(spec, "podManagementPolicy", "OrderedReady");
    let strategy = ensure(spec, "updateStrategy");
    if strategy.get("type").is_none_or(is_empty) {
        strategy.insert("type".into(), json!("RollingUpdate"));
        ensure(strategy, "rollingUpdate");
    }
    if let Some(rolling) = object(strategy, "rollingUpdate") {
        fill(rolling, "partition", 0);
    }
    let retention = ensure(spec, "persistentVolumeClaimRetentionPolicy");
    fill(retention, "whenDeleted", "Retain");
    fill(retention, "whenScaled", "Retain");
    fill(spec, "revisionHistoryLimit", 10);
    for claim in each(spec, "volumeClaimTemplates") {
        fill(claim, "apiVersion", "v1");
        fill(claim, "kind", "PersistentVolumeClaim");
        claim_spec(ensure(claim, "spec"));
        fill(ensure(claim, "status"), "phase", "Pending");
    }
}

fn daemon_set(spec: &mut Fields) {
    let strategy = ensure(spec, "updateStrategy");
    fill(strategy, "type", "RollingUpdate");
    if says(strategy, "type", "RollingUpdate") {
        let rolling = ensure(strategy, "rollingUpdate");
        fill(rolling, "maxUnavailable", 1);
        fill(rolling, "maxSurge", 0);
    }
    fill(spec, "revisionHistoryLimit", 10);
}

/// A Job, which also takes its template's labels if it has none.
pub(super) fn job(map: &mut Fields) {
    ensure(map, "status");
    let spec = ensure(map, "spec");
    job_spec(spec);
    if spec.get("parallelism").is_none() {
        if spec.get("completions").is_none() {
            spec.insert("completions".into(), json!(1));
        }
        spec.insert("parallelism".into(), json!(1));
    }
    let patient = spec.get("backoffLimitPerIndex").is_some();
    fill(spec, "backoffLimit", if patient { i64::from(i32::MAX) } else { 6 });
    fill(spec, "completionMode", "NonIndexed");
    fill(spec, "suspend", false);
    let policy = if spec.get("podFailurePolicy").is_some() { "Failed" } else { "TerminatingOrFailed" };
    fill(spec, "podReplacementPolicy", policy);
    fill(spec, "manualSelector", false);
    let labels = spec.get("template").and_then(|template| template.pointer("/metadata/labels")).cloned();
    let metadata = ensure(map, "metadata");
    if let Some(labels) = labels.filter(|_| metadata.get("labels").is_none_or(is_empty)) {
        metadata.insert("labels".into(), labels);
    }
}

/// The part that a CronJob's template shares.
fn job_spec(spec: &mut Fields) {
    template(spec);
    let rules = object(spec, "podFailurePolicy").map(|policy| each(policy, "rules"));
    for rule in rules.into_iter().flatten() {
        each(rule, "onPodConditions").for_each(|pattern| fill(pattern, "status", "True"));
    }
}

/// A CronJob.
pub(super) fn cron_job(map: &mut Fields) {
    ensure(map, "status");
    let spec = ensure(map, "spec");
    fill(spec, "concurrencyPolicy", "Allow");
    fill(spec, "suspend", Value::Bool(false));
    fill(spec, "successfulJobsHistoryLimit", 3);
    fill(spec, "failedJobsHistoryLimit", 1);
    let job = ensure(spec, "jobTemplate");
    ensure(job, "metadata");
    job_spec(ensure(job, "spec"));
}
