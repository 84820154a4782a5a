//! What clients do to pods beside writing them.

use std::sync::Arc;

use http::StatusCode;
use serde_json::{Value, json};

use super::update::{self, Next, Part};
use super::{Answer, Call, Content, body, delete};
use crate::server::Server;
use crate::status::{Cause, Reason, Status};

/// `pods/binding`: names the node a pod runs on, once.
pub(super) async fn bind(server: &Arc<Server>, call: &Call) -> Result<Answer, Status> {
    let binding = body::document(call)?.value;
    let node = binding["target"]["name"].as_str().unwrap_or_default().to_owned();
    if node.is_empty() {
        let cause = Cause::required("target.name", "");
        return Err(Status::invalid("", "Binding", &call.path.name, vec![cause]));
    }
    let make = |old: &Value| {
        if let Some(there) = old["spec"]["nodeName"].as_str().filter(|there| !there.is_empty()) {
            return Err(
                call.conflict(&format!("pod {} is already assigned to node {there:?}", call.path.name))
            );
        }
        let mut object = old.clone();
        object["spec"]["nodeName"] = json!(node);
        Ok(Next { object, duplicates: Vec::new(), tracked: false })
    };
    update::change(server, call, Part::Binding, &make).await?;
    let done =
        json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 });
    Ok(Answer::created(Content::Other(done)))
}

/// `pods/eviction`: a deletion that a disruption budget may refuse.
pub(super) async fn evict(server: &Arc<Server>, call: &Call) -> Result<Answer, Status> {
    let eviction = body::document(call)?.value;
    let pod = server.store.get(&call.key()).ok_or_else(|| call.not_found())?;
    for budget in server.objects("poddisruptionbudgets.policy", Some(&call.path.namespace)) {
        let selector = crate::gates::selector::LabelSelector::from_json(&budget["spec"]["selector"]);
        let meant = selector.is_ok_and(|selector| selector.matches(&|key| pod.facts().label(key)));
        if meant && budget["status"]["disruptionsAllowed"].as_i64().unwrap_or(0) <= 0 {
            let message = "Cannot evict pod as it would violate the pod's disruption budget.";
            return Err(Status::new(StatusCode::TOO_MANY_REQUESTS, Reason::TooManyRequests, message));
        }
    }
    let mut call = call.clone();
    call.path.subresource.clear();
    call.body =
        eviction["deleteOptions"].as_object().map(|o| json!(o).to_string()).unwrap_or_default().into();
    call.content_type = "application/json".into();
    delete::one(server, &call).await?;
    let done =
        json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 });
    Ok(Answer::created(Content::Other(done)))
}
