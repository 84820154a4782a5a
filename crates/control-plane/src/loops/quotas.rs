//! `status.used` of every quota tells what is there.

use std::sync::Arc;

use serde_json::json;

use super::edit;
use crate::server::{Server, key};
use crate::verbs::create;
use crate::verbs::update::Part;

/// Brings the quotas of one namespace up to date.
pub(super) async fn tend(server: &Arc<Server>, namespace: &str) {
    for found in server.objects("resourcequotas", Some(namespace)) {
        let used = create::used(server, &found, namespace);
        let hard = found["spec"]["hard"].clone();
        if found["status"]["used"] == used && found["status"]["hard"] == hard {
            continue;
        }
        let name = found["metadata"]["name"].as_str().unwrap_or_default();
        let place = key("resourcequotas", namespace, name);
        edit(server, &place, Part::Status, &|object| {
            object["status"] = json!({ "hard": hard, "used": used })
        })
        .await;
    }
}
