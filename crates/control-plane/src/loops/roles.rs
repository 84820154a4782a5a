//! Aggregated cluster roles hold the rules of those they select.

use std::sync::Arc;

use super::edit;
use crate::gates::rbac;
use crate::server::{Server, key};
use crate::verbs::update::Part;

const CLUSTER_ROLES: &str = "clusterroles.rbac.authorization.k8s.io";

/// Brings every aggregated role up to date. True when all could be written.
pub(super) async fn tend(server: &Arc<Server>) -> bool {
    let roles = server.objects(CLUSTER_ROLES, None);
    let mut done = true;
    for (name, rules) in rbac::aggregate(&roles) {
        let differs = roles.iter().any(|role| role["metadata"]["name"] == name && role["rules"] != rules);
        if differs {
            let place = key(CLUSTER_ROLES, "", &name);
            done &= edit(server, &place, Part::Main, &|role| role["rules"] = rules.clone()).await;
        }
    }
    done
}
