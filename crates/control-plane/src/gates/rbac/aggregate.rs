//! ClusterRoles whose rules are the sum of others'.

use serde_json::{Value, json};

use crate::gates::selector::LabelSelector;

/// Names of the aggregated ClusterRoles whose rules must be written anew, and those rules.
///
/// A role may be the sum of roles that are sums themselves, so the sums are taken until nothing changes.
pub fn aggregate(cluster_roles: &[Value]) -> Vec<(String, Value)> {
    let mut roles: Vec<Value> = cluster_roles.to_vec();
    roles.sort_by(|a, b| name(a).cmp(name(b)));
    // A chain of sums is no longer than there are roles; a circle settles or is left as it is.
    for _ in 0..roles.len() {
        let mut changed = false;
        for at in 0..roles.len() {
            let Some(rules) = sum(&roles[at], &roles) else { continue };
            if json!(rules) != roles[at]["rules"] && !(rules.is_empty() && roles[at]["rules"].is_null()) {
                roles[at]["rules"] = json!(rules);
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    let before = |role: &Value| cluster_roles.iter().find(|old| name(old) == name(role));
    let differs = |role: &&Value| before(role).is_some_and(|old| old["rules"] != role["rules"]);
    roles.iter().filter(differs).map(|role| (name(role).to_owned(), role["rules"].clone())).collect()
}

fn sum(role: &Value, roles: &[Value]) -> Option<Vec<Value>> {
    let selectors = role["aggregationRule"]["clusterRoleSelectors"].as_array()?;
    let mut rules: Vec<Value> = Vec::new();
    for selector in selectors {
        // A selector that cannot be read selects nothing, so that a role never grows by mistake.
        let Ok(selector) = LabelSelector::from_json(selector) else { continue };
        let chosen = roles.iter().filter(|other| name(other) != name(role)).filter(|other| {
            let labels = &other["metadata"]["labels"];
            selector.matches(&|key| labels[key].as_str())
        });
        for rule in chosen.flat_map(|other| other["rules"].as_array().into_iter().flatten()) {
            if !rules.contains(rule) {
                rules.push(rule.clone());
            }
        }
    }
    Some(rules)
}

fn name(role: &Value) -> &str {
    role["metadata"]["name"].as_str().unwrap_or_default()
}
