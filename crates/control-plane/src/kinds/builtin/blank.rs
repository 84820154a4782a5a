//! What an object is before anything is written in it.

use serde_json::{Value, json};

use crate::kinds::Kind;

/// The parts that every object of the kind has, even a new one: the original counts them as nobody's, so a
/// manager owns what it writes into them, but not them.
pub fn blank(kind: &Kind) -> Value {
    if !kind.builtin {
        return json!({});
    }
    let template = || json!({ "metadata": {}, "spec": { "containers": [] } });
    let spec = match kind.kind.as_str() {
        "Event" => {
            return json!({ "involvedObject": {}, "source": {}, "regarding": {}, "deprecatedSource": {} });
        }
        "RoleBinding" | "ClusterRoleBinding" => return json!({ "roleRef": {} }),
        "PodTemplate" => return json!({ "template": template() }),
        "Pod" => json!({ "containers": [] }),
        "Deployment" => json!({ "strategy": {}, "template": template() }),
        "DaemonSet" | "StatefulSet" => json!({ "updateStrategy": {}, "template": template() }),
        "ReplicaSet" | "Job" => json!({ "template": template() }),
        "CronJob" => json!({ "jobTemplate": { "metadata": {}, "spec": { "template": template() } } }),
        "PersistentVolumeClaim" => json!({ "resources": {} }),
        "NetworkPolicy" => json!({ "podSelector": {} }),
        "CustomResourceDefinition" => json!({ "names": {} }),
        _ => json!({}),
    };
    json!({ "spec": spec, "status": {} })
}
