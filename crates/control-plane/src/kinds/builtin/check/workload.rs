//! Rules of the kinds that make pods.

use serde_json::{Value, json};

use super::{Causes, pod, selects};
use crate::kinds::builtin::fields::{at, is_empty, list, text};
use crate::status::Cause;

const MISMATCH: &str = "`selector` does not match template `labels`";
const FROZEN_SET: &str = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
     'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
const CHANGEABLE_SET: [&str; 7] = [
    "replicas",
    "template",
    "updateStrategy",
    "minReadySeconds",
    "ordinals",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
];

/// Kinds of the group `apps`.
pub(super) fn apps(causes: &mut Causes, kind: &str, object: &Value, old: Option<&Value>) {
    if kind == "ControllerRevision" {
        causes.immutable(object, old, &["data"]);
        return;
    }
    let spec = at(object, &["spec"]).unwrap_or(&Value::Null);
    let numbers = ["replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"];
    causes.not_negative(spec, &numbers, "spec");
    selector(causes, kind, spec);
    let claims: Vec<String> = list(spec, &["volumeClaimTemplates"])
        .iter()
        .map(|claim| text(claim, &["metadata", "name"]).to_owned())
        .collect();
    pod::pod_spec(causes, &spec["template"]["spec"], "spec.template.spec", &claims);
    let policy = at(spec, &["template", "spec", "restartPolicy"]);
    causes.one_of("spec.template.spec.restartPolicy", policy, &["Always"]);
    if kind == "Deployment" {
        strategy(causes, spec);
    }
    if kind != "StatefulSet" {
        causes.immutable(object, old, &["spec", "selector"]);
    } else if let Some(old) = old {
        let rest = |spec: &Value| {
            let mut spec = spec.as_object().cloned().unwrap_or_default();
            CHANGEABLE_SET.iter().for_each(|key| drop(spec.shift_remove(*key)));
            spec
        };
        if rest(spec) != rest(&old["spec"]) {
            causes.add(Cause::forbidden("spec", FROZEN_SET));
        }
    }
}

fn selector(causes: &mut Causes, kind: &str, spec: &Value) {
    let selector = at(spec, &["selector"]);
    let labels = at(spec, &["template", "metadata", "labels"]);
    // A DaemonSet without a selector is told of its labels alone.
    if selector.is_none() && kind != "DaemonSet" {
        causes.add(Cause::required("spec.selector", ""));
    }
    let empty = selector.is_some_and(|selector| {
        list(selector, &["matchExpressions"]).is_empty()
            && at(selector, &["matchLabels"]).is_none_or(is_empty)
    });
    if empty {
        let noun = match kind {
            "StatefulSet" => "statefulset",
            "DaemonSet" => "daemonset",
            _ => "deployment",
        };
        let why = format!("empty selector is invalid for {noun}");
        causes.invalid("spec.selector", selector.unwrap_or(&Value::Null), &why);
    } else if !selects(selector, labels) {
        causes.invalid("spec.template.metadata.labels", labels.unwrap_or(&Value::Null), MISMATCH);
    }
}

fn strategy(causes: &mut Causes, spec: &Value) {
    match text(spec, &["strategy", "type"]) {
        "Recreate" if at(spec, &["strategy", "rollingUpdate"]).is_some() => {
            let why = "may not be specified when strategy `type` is 'Recreate'";
            causes.add(Cause::forbidden("spec.strategy.rollingUpdate", why));
        }
        "Recreate" => {}
        "RollingUpdate" => {
            let zero = |name: &str| {
                let value = at(spec, &["strategy", "rollingUpdate", name]);
                value == Some(&json!(0)) || value == Some(&json!("0%"))
            };
            if zero("maxUnavailable") && zero("maxSurge") {
                let value = &spec["strategy"]["rollingUpdate"]["maxUnavailable"];
                let why = "may not be 0 when `maxSurge` is 0";
                causes.invalid("spec.strategy.rollingUpdate.maxUnavailable", value, why);
            }
        }
        _ => causes.add(Cause::not_supported(
            "spec.strategy",
            &spec["strategy"],
            &["Recreate", "RollingUpdate"],
        )),
    }
    let number = |name: &str| spec[name].as_i64().unwrap_or(0);
    if at(spec, &["progressDeadlineSeconds"]).is_some()
        && number("progressDeadlineSeconds") <= number("minReadySeconds")
    {
        let value = &spec["progressDeadlineSeconds"];
        causes.invalid("spec.progressDeadlineSeconds", value, "must be greater than minReadySeconds");
    }
}

/// A Job.
pub(super) fn job(causes: &mut Causes, object: &Value, old: Option<&Value>) {
    let spec = at(object, &["spec"]).unwrap_or(&Value::Null);
    job_spec(causes, spec, "spec");
    let labels = at(spec, &["template", "metadata", "labels"]);
    match at(spec, &["selector"]) {
        None => causes.add(Cause::required("spec.selector", "")),
        selector if !selects(selector, labels) => {
            causes.invalid("spec.template.metadata.labels", labels.unwrap_or(&Value::Null), MISMATCH);
        }
        Some(_) => {}
    }
    let indexed = text(spec, &["completionMode"]) == "Indexed";
    if !indexed {
        causes.immutable(object, old, &["spec", "completions"]);
    }
    causes.immutable(object, old, &["spec", "selector"]);
    causes.immutable(object, old, &["spec", "template"]);
    for field in ["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"]
    {
        causes.immutable(object, old, &["spec", field]);
    }
}

fn job_spec(causes: &mut Causes, spec: &Value, path: &str) {
    let numbers = [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ];
    causes.not_negative(spec, &numbers, path);
    let mode = at(spec, &["completionMode"]);
    causes.one_of(format!("{path}.completionMode"), mode, &["NonIndexed", "Indexed"]);
    if mode == Some(&json!("Indexed")) {
        causes.require(
            format!("{path}.completions"),
            at(spec, &["completions"]),
            "when completion mode is Indexed",
        );
    }
    pod::pod_spec(causes, &spec["template"]["spec"], &format!("{path}.template.spec"), &[]);
    if matches!(text(spec, &["template", "spec", "restartPolicy"]), "" | "Always") {
        let field = format!("{path}.template.spec.restartPolicy");
        causes.add(Cause::required(field, "valid values: \"OnFailure\", \"Never\""));
    }
}

/// A CronJob.
pub(super) fn cron_job(causes: &mut Causes, object: &Value) {
    let spec = at(object, &["spec"]).unwrap_or(&Value::Null);
    let schedule = text(spec, &["schedule"]);
    // A missing schedule is found by the walk over required fields.
    let words = schedule.split_whitespace().count();
    if !schedule.is_empty() && !schedule.starts_with('@') && words != 5 {
        let why = format!(
            "expected exactly 5 fields, found {words}: {:?}",
            schedule.split_whitespace().collect::<Vec<_>>()
        );
        causes.invalid("spec.schedule", &spec["schedule"], &why.replace("\", \"", " ").replace('"', ""));
    }
    if schedule.contains("TZ") {
        let why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
        causes.invalid("spec.schedule", &spec["schedule"], why);
    }
    let numbers = ["startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"];
    causes.not_negative(spec, &numbers, "spec");
    let policy = at(spec, &["concurrencyPolicy"]);
    causes.one_of("spec.concurrencyPolicy", policy, &["Allow", "Forbid", "Replace"]);
    job_spec(causes, &spec["jobTemplate"]["spec"], "spec.jobTemplate.spec");
}

/// A PodDisruptionBudget.
pub(super) fn disruption_budget(causes: &mut Causes, object: &Value) {
    let spec = at(object, &["spec"]).unwrap_or(&Value::Null);
    if at(spec, &["minAvailable"]).is_some() && at(spec, &["maxUnavailable"]).is_some() {
        causes.invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set");
    }
    causes.not_negative(spec, &["minAvailable", "maxUnavailable"], "spec");
}
