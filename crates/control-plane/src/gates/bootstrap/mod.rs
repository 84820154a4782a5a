//! What a new server holds before anybody wrote anything: namespaces, default roles and their bindings.

mod roles;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

pub use roles::cluster_roles;

use super::rbac::{AUTHENTICATED, MASTERS, RBAC_GROUP, UNAUTHENTICATED};

/// Names of the namespaces that are there from the first start.
pub const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// The namespaces as objects.
pub fn namespaces() -> Vec<Value> {
    NAMESPACES
        .iter()
        .map(|name| {
            json!({
                "apiVersion": "v1", "kind": "Namespace",
                "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
                "spec": {"finalizers": ["kubernetes"]},
                "status": {"phase": "Active"},
            })
        })
        .collect()
}

/// The bindings that make the default roles mean something.
pub fn cluster_role_bindings() -> Vec<Value> {
    vec![
        binding("cluster-admin", &[MASTERS]),
        binding("system:basic-user", &[AUTHENTICATED]),
        binding("system:discovery", &[AUTHENTICATED]),
        binding("system:monitoring", &["system:monitoring"]),
        binding("system:public-info-viewer", &[AUTHENTICATED, UNAUTHENTICATED]),
        binding("system:service-account-issuer-discovery", &["system:serviceaccounts"]),
    ]
}

fn binding(name: &str, groups: &[&str]) -> Value {
    let subject = |group: &&str| json!({"kind": "Group", "apiGroup": RBAC_GROUP, "name": group});
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": default_metadata(name, None),
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": name},
        "subjects": groups.iter().map(subject).collect::<Vec<_>>(),
    })
}

/// Labels and annotations that mark what the server itself put there; `into` names the role it adds to.
fn default_metadata(name: &str, into: Option<&str>) -> Value {
    let mut labels = json!({"kubernetes.io/bootstrapping": "rbac-defaults"});
    if let Some(into) = into {
        labels[aggregation_label(into)] = json!("true");
    }
    let annotations = json!({"rbac.authorization.kubernetes.io/autoupdate": "true"});
    json!({"name": name, "labels": labels, "annotations": annotations})
}

fn aggregation_label(into: &str) -> String {
    format!("{RBAC_GROUP}/aggregate-to-{into}")
}
