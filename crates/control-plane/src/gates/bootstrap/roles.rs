//! The default ClusterRoles.

use serde_json::{Value, json};

use super::super::rbac::aggregate;
use super::{aggregation_label, default_metadata};

const READ: &[&str] = &["get", "list", "watch"];
const WRITE: &[&str] = &["create", "delete", "deletecollection", "patch", "update"];
const READ_WRITE: &[&str] =
    &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// The default ClusterRoles, with the rules of aggregated ones already summed.
pub fn cluster_roles() -> Vec<Value> {
    let star = ["*"];
    let everything = vec![rule(&star, &star, &star), json!({"nonResourceURLs": ["*"], "verbs": ["*"]})];
    let mut roles = vec![
        sum("admin", None),
        role("cluster-admin", None, everything),
        sum("edit", Some("admin")),
        role("system:aggregate-to-admin", Some("admin"), admin_rules()),
        role("system:aggregate-to-edit", Some("edit"), edit_rules()),
        role("system:aggregate-to-view", Some("view"), view_rules()),
        role("system:basic-user", None, basic_rules()),
        role("system:discovery", None, vec![paths(DISCOVERY)]),
        role("system:monitoring", None, vec![paths(MONITORING)]),
        role("system:public-info-viewer", None, vec![paths(PUBLIC)]),
        role("system:service-account-issuer-discovery", None, vec![paths(ISSUER)]),
        sum("view", Some("edit")),
    ];
    for (name, rules) in aggregate(&roles) {
        if let Some(role) = roles.iter_mut().find(|role| role["metadata"]["name"] == name) {
            role["rules"] = rules;
        }
    }
    roles
}

const DISCOVERY: &[&str] = &[
    "/api",
    "/api/*",
    "/apis",
    "/apis/*",
    "/healthz",
    "/livez",
    "/openapi",
    "/openapi/*",
    "/readyz",
    "/version",
    "/version/",
];
const MONITORING: &[&str] =
    &["/healthz", "/healthz/*", "/livez", "/livez/*", "/metrics", "/metrics/slis", "/readyz", "/readyz/*"];
const PUBLIC: &[&str] = &["/healthz", "/livez", "/readyz", "/version", "/version/"];
const ISSUER: &[&str] = &[
    "/.well-known/openid-configuration",
    "/.well-known/openid-configuration/",
    "/openid/v1/jwks",
    "/openid/v1/jwks/",
];

fn admin_rules() -> Vec<Value> {
    vec![
        rule(&["authorization.k8s.io"], &["localsubjectaccessreviews"], &["create"]),
        rule(&["rbac.authorization.k8s.io"], &["rolebindings", "roles"], READ_WRITE),
    ]
}

fn edit_rules() -> Vec<Value> {
    let reach = ["pods/attach", "pods/exec", "pods/portforward", "pods/proxy", "secrets", "services/proxy"];
    let run = ["pods", "pods/attach", "pods/exec", "pods/portforward", "pods/proxy"];
    let core = [
        "configmaps",
        "persistentvolumeclaims",
        "replicationcontrollers",
        "replicationcontrollers/scale",
        "secrets",
        "serviceaccounts",
        "services",
        "services/proxy",
    ];
    let apps = [
        "daemonsets",
        "deployments",
        "deployments/rollback",
        "deployments/scale",
        "replicasets",
        "replicasets/scale",
        "statefulsets",
        "statefulsets/scale",
    ];
    vec![
        rule(&[""], &reach, READ),
        rule(&[""], &["serviceaccounts"], &["impersonate"]),
        rule(&[""], &run, WRITE),
        rule(&[""], &["pods/eviction"], &["create"]),
        rule(&[""], &core, WRITE),
        rule(&[""], &["serviceaccounts/token"], &["create"]),
        rule(&["", "events.k8s.io"], &["events"], WRITE),
        rule(&["apps"], &apps, WRITE),
        rule(&["autoscaling"], &["horizontalpodautoscalers"], WRITE),
        rule(&["batch"], &["cronjobs", "jobs"], WRITE),
        rule(&["policy"], &["poddisruptionbudgets"], WRITE),
        rule(&["networking.k8s.io"], &["ingresses", "networkpolicies"], WRITE),
        rule(&["coordination.k8s.io"], &["leases"], READ_WRITE),
    ]
}

fn view_rules() -> Vec<Value> {
    let core = [
        "configmaps",
        "endpoints",
        "persistentvolumeclaims",
        "persistentvolumeclaims/status",
        "pods",
        "replicationcontrollers",
        "replicationcontrollers/scale",
        "serviceaccounts",
        "services",
        "services/status",
    ];
    let more = [
        "bindings",
        "limitranges",
        "namespaces/status",
        "pods/log",
        "pods/status",
        "replicationcontrollers/status",
        "resourcequotas",
        "resourcequotas/status",
    ];
    let apps = [
        "controllerrevisions",
        "daemonsets",
        "daemonsets/status",
        "deployments",
        "deployments/scale",
        "deployments/status",
        "replicasets",
        "replicasets/scale",
        "replicasets/status",
        "statefulsets",
        "statefulsets/scale",
        "statefulsets/status",
    ];
    let scalers = ["horizontalpodautoscalers", "horizontalpodautoscalers/status"];
    vec![
        rule(&[""], &core, READ),
        rule(&[""], &more, READ),
        rule(&[""], &["namespaces"], READ),
        rule(&["", "events.k8s.io"], &["events"], READ),
        rule(&["discovery.k8s.io"], &["endpointslices"], READ),
        rule(&["apps"], &apps, READ),
        rule(&["autoscaling"], &scalers, READ),
        rule(&["batch"], &["cronjobs", "cronjobs/status", "jobs", "jobs/status"], READ),
        rule(&["policy"], &["poddisruptionbudgets", "poddisruptionbudgets/status"], READ),
        rule(&["networking.k8s.io"], &["ingresses", "ingresses/status", "networkpolicies"], READ),
    ]
}

fn basic_rules() -> Vec<Value> {
    let access = ["selfsubjectaccessreviews", "selfsubjectrulesreviews"];
    vec![
        rule(&["authorization.k8s.io"], &access, &["create"]),
        rule(&["authentication.k8s.io"], &["selfsubjectreviews"], &["create"]),
    ]
}

fn role(name: &str, into: Option<&str>, rules: Vec<Value>) -> Value {
    let metadata = default_metadata(name, into);
    let api_version = "rbac.authorization.k8s.io/v1";
    json!({"apiVersion": api_version, "kind": "ClusterRole", "metadata": metadata, "rules": rules})
}

/// A role whose rules are those of all roles labelled for it.
fn sum(name: &str, into: Option<&str>) -> Value {
    let mut role = role(name, into, Vec::new());
    let selector = json!({"matchLabels": {aggregation_label(name): "true"}});
    role["aggregationRule"] = json!({"clusterRoleSelectors": [selector]});
    role
}

fn rule(groups: &[&str], resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": groups, "resources": resources, "verbs": verbs})
}

fn paths(urls: &[&str]) -> Value {
    json!({"nonResourceURLs": urls, "verbs": ["get"]})
}
