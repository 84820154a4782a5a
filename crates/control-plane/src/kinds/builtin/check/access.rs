//! Rules of roles and their bindings.

use serde_json::Value;

use super::Causes;
use crate::kinds::Kind;
use crate::kinds::builtin::fields::{at, is_empty, list, text};
use crate::status::Cause;

const GROUP: &str = "rbac.authorization.k8s.io";

/// A Role, ClusterRole, RoleBinding or ClusterRoleBinding.
pub(super) fn rbac(causes: &mut Causes, kind: &Kind, object: &Value, old: Option<&Value>) {
    for (place, rule) in list(object, &["rules"]).iter().enumerate() {
        policy_rule(causes, rule, &format!("rules[{place}]"), kind.namespaced);
    }
    if kind.kind.ends_with("Binding") {
        let roles: &[&str] = if kind.namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
        let role = at(object, &["roleRef"]).unwrap_or(&Value::Null);
        let empty = Value::from("");
        causes.one_of("roleRef.apiGroup", role.get("apiGroup"), &[GROUP]);
        causes.one_of("roleRef.kind", Some(role.get("kind").unwrap_or(&empty)), roles);
        causes.require("roleRef.name", role.get("name"), "");
        for (place, subject) in list(object, &["subjects"]).iter().enumerate() {
            subject_rules(causes, subject, &format!("subjects[{place}]"), kind.namespaced);
        }
        if old.is_some_and(|old| old["roleRef"] != *role) {
            causes.invalid("roleRef", role, "cannot change roleRef");
        }
    }
}

fn policy_rule(causes: &mut Causes, rule: &Value, path: &str, namespaced: bool) {
    let empty = |field: &str| rule.get(field).is_none_or(is_empty);
    causes.require(format!("{path}.verbs"), rule.get("verbs"), "verbs must contain at least one value");
    if !empty("nonResourceURLs") {
        let field = format!("{path}.nonResourceURLs");
        if namespaced {
            let why = "namespaced rules cannot apply to non-resource URLs";
            causes.invalid(field.clone(), &rule["nonResourceURLs"], why);
        }
        if !["apiGroups", "resources", "resourceNames"].into_iter().all(empty) {
            let why = "rules cannot apply to both regular resources and non-resource URLs";
            causes.invalid(field, &rule["nonResourceURLs"], why);
        }
        return;
    }
    let groups = "resource rules must supply at least one api group";
    causes.require(format!("{path}.apiGroups"), rule.get("apiGroups"), groups);
    let resources = "resource rules must supply at least one resource";
    causes.require(format!("{path}.resources"), rule.get("resources"), resources);
}

fn subject_rules(causes: &mut Causes, subject: &Value, path: &str, namespaced: bool) {
    let group = subject.get("apiGroup").cloned().unwrap_or_else(|| Value::from(""));
    let field = format!("{path}.apiGroup");
    match text(subject, &["kind"]) {
        "ServiceAccount" => {
            causes.one_of(field, Some(&group), &[""]);
            if !namespaced {
                causes.require(format!("{path}.namespace"), subject.get("namespace"), "");
            }
        }
        "User" | "Group" => causes.one_of(field, Some(&group), &[GROUP]),
        kind => {
            let kinds = ["ServiceAccount", "User", "Group"];
            causes.add(Cause::not_supported(format!("{path}.kind"), &Value::from(kind), &kinds));
        }
    }
}
