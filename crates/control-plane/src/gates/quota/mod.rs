//! ResourceQuota: what an object counts for, and when that is too much.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::limits::{list_of, pod_total};
use super::quantity::Quantity;
use crate::status::qualified;

/// Amounts by the name of what they are of.
pub type Amounts = BTreeMap<String, Quantity>;

/// Everything an object counts for: `count/<plural>.<group>`, and for some kinds more.
pub fn usage(group: &str, plural: &str, object: &Value) -> Amounts {
    let one = Quantity::count(1);
    let mut amounts = Amounts::from([(format!("count/{}", qualified(plural, group)), one)]);
    match (group, plural) {
        ("", "pods") => amounts.extend(pod_usage(object)),
        ("", "services") => amounts.extend(service_usage(object)),
        ("", "persistentvolumeclaims") => amounts.extend(claim_usage(object)),
        ("", "secrets" | "configmaps" | "replicationcontrollers" | "resourcequotas") => {
            amounts.insert(plural.into(), one);
        }
        _ => {}
    }
    amounts
}

/// What an update adds: never less than nothing, and only what changes.
pub fn growth(new: &Amounts, old: &Amounts) -> Amounts {
    let grown = new.iter().map(|(name, amount)| {
        let before = old.get(name).copied().unwrap_or(Quantity::ZERO);
        (name.clone(), amount.minus(before))
    });
    grown.filter(|(_, amount)| !amount.is_zero() && !amount.is_negative()).collect()
}

/// The refusal when `hard` does not leave room for `delta` beside `used`.
pub fn exceeded(quota: &str, hard: &Amounts, used: &Amounts, delta: &Amounts) -> Option<String> {
    let used = |name: &str| used.get(name).copied().unwrap_or(Quantity::ZERO);
    let mut told = [Vec::new(), Vec::new(), Vec::new()];
    for (name, wanted) in delta {
        let Some(limit) = hard.get(name) else { continue };
        if used(name).plus(*wanted) > *limit {
            for (list, amount) in told.iter_mut().zip([*wanted, used(name), *limit]) {
                list.push(format!("{name}={amount}"));
            }
        }
    }
    let [requested, used, limited] = told.map(|list| list.join(","));
    (!requested.is_empty())
        .then(|| format!("exceeded quota: {quota}, requested: {requested}, used: {used}, limited: {limited}"))
}

/// Whether a write fits into a ResourceQuota: `Err` tells why it is forbidden, `Ok(Some)` is the new
/// `status.used` to write with it, `Ok(None)` means the quota is not concerned. What is not in `status.used`
/// counts as nothing, so the caller fills it with [`used`] when the quota or its `hard` is new.
pub fn admit(
    quota: &Value,
    group: &str,
    plural: &str,
    new: &Value,
    old: Option<&Value>,
) -> Result<Option<Value>, String> {
    let hard = list_of(&quota["spec"]["hard"]);
    if !in_scope(quota, group, plural, new) {
        return Ok(None);
    }
    let name = quota["metadata"]["name"].as_str().unwrap_or_default();
    if (group, plural, old) == ("", "pods", None) {
        unspecified(&hard, new).map_or(Ok(()), |why| Err(format!("failed quota: {name}: {why}")))?;
    }
    let before = old.filter(|old| in_scope(quota, group, plural, old));
    let before = before.map(|old| usage(group, plural, old)).unwrap_or_default();
    let mut delta = growth(&usage(group, plural, new), &before);
    delta.retain(|name, _| hard.contains_key(name));
    if delta.is_empty() {
        return Ok(None);
    }
    let mut used = list_of(&quota["status"]["used"]);
    if let Some(why) = exceeded(name, &hard, &used, &delta) {
        return Err(why);
    }
    for (name, amount) in delta {
        let sum = used.get(&name).copied().unwrap_or(Quantity::ZERO).plus(amount);
        used.insert(name, sum);
    }
    Ok(Some(to_json(&used)))
}

/// `status.used` of a quota, counted anew from all objects of its namespace, given as group, plural, object.
pub fn used<'a>(quota: &Value, objects: impl IntoIterator<Item = (&'a str, &'a str, &'a Value)>) -> Value {
    let hard = list_of(&quota["spec"]["hard"]);
    let mut sums: Amounts = hard.keys().map(|name| (name.clone(), Quantity::ZERO)).collect();
    for (group, plural, object) in objects {
        if !in_scope(quota, group, plural, object) {
            continue;
        }
        for (name, amount) in usage(group, plural, object) {
            if let Some(sum) = sums.get_mut(&name) {
                *sum = sum.plus(amount);
            }
        }
    }
    to_json(&sums)
}

fn to_json(amounts: &Amounts) -> Value {
    let entries = amounts.iter().map(|(name, amount)| (name.clone(), json!(amount.to_string())));
    Value::Object(entries.collect::<Map<_, _>>())
}

fn pod_usage(pod: &Value) -> Amounts {
    // A pod that has ended holds nothing any more; it only counts as an object.
    if matches!(pod["status"]["phase"].as_str(), Some("Failed" | "Succeeded")) {
        return Amounts::new();
    }
    let overhead = list_of(&pod["spec"]["overhead"]);
    let mut requests = pod_total(pod, "requests");
    let mut limits = pod_total(pod, "limits");
    for (name, amount) in overhead {
        if let Some(limit) = limits.get_mut(&name) {
            *limit = limit.plus(amount);
        }
        let sum = requests.get(&name).copied().unwrap_or(Quantity::ZERO).plus(amount);
        requests.insert(name, sum);
    }
    let mut amounts = compute_usage(&requests, &limits);
    amounts.insert("pods".into(), Quantity::count(1));
    amounts
}

/// `cpu` and `requests.cpu` from requests, `limits.cpu` from limits; extended resources by requests alone.
fn compute_usage(requests: &Amounts, limits: &Amounts) -> Amounts {
    let mut amounts = Amounts::new();
    for (name, amount) in requests {
        if matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-") {
            amounts.insert(name.clone(), *amount);
        }
        amounts.insert(format!("requests.{name}"), *amount);
    }
    for (name, amount) in limits {
        if matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage") {
            amounts.insert(format!("limits.{name}"), *amount);
        }
    }
    amounts
}

fn service_usage(service: &Value) -> Amounts {
    let spec = &service["spec"];
    let ports: Vec<&Value> = spec["ports"].as_array().into_iter().flatten().collect();
    let fixed = ports.iter().filter(|port| port["nodePort"].as_i64().unwrap_or_default() != 0).count();
    let (balancers, node_ports) = match spec["type"].as_str() {
        Some("NodePort") => (0, ports.len()),
        Some("LoadBalancer") if spec["allocateLoadBalancerNodePorts"] == json!(false) => (1, fixed),
        Some("LoadBalancer") => (1, ports.len()),
        _ => (0, 0),
    };
    let count = |number: usize| Quantity::count(i64::try_from(number).unwrap_or(i64::MAX));
    Amounts::from([
        ("services".into(), count(1)),
        ("services.loadbalancers".into(), count(balancers)),
        ("services.nodeports".into(), count(node_ports)),
    ])
}

fn claim_usage(claim: &Value) -> Amounts {
    let mut amounts = Amounts::from([("persistentvolumeclaims".to_owned(), Quantity::count(1))]);
    if let Some(storage) = list_of(&claim["spec"]["resources"]["requests"]).get("storage") {
        amounts.insert("requests.storage".into(), storage.rounded_up());
    }
    let annotated = &claim["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"];
    let class = annotated.as_str().or(claim["spec"]["storageClassName"].as_str()).unwrap_or_default();
    if !class.is_empty() {
        let by_class = |(name, amount): (&String, &Quantity)| {
            (format!("{class}.storageclass.storage.k8s.io/{name}"), *amount)
        };
        let classed: Vec<_> = amounts.iter().map(by_class).collect();
        amounts.extend(classed);
    }
    amounts
}

/// Compute resources that a quota limits and a container does not say anything about.
fn unspecified(hard: &Amounts, pod: &Value) -> Option<String> {
    let watched = ["cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory"];
    if pod["spec"]["resources"].as_object().is_some_and(|resources| !resources.is_empty()) {
        return None;
    }
    let mut told = Vec::new();
    for name in watched.into_iter().filter(|name| hard.contains_key(*name)) {
        let containers = ["containers", "initContainers"].into_iter();
        let containers = containers.flat_map(|list| pod["spec"][list].as_array().into_iter().flatten());
        let silent: BTreeSet<&str> = containers
            .filter(|container| {
                let resources = &container["resources"];
                let says = compute_usage(&list_of(&resources["requests"]), &list_of(&resources["limits"]));
                !says.contains_key(name)
            })
            .filter_map(|container| container["name"].as_str())
            .collect();
        if !silent.is_empty() {
            told.push(format!("{name} for: {}", silent.into_iter().collect::<Vec<_>>().join(",")));
        }
    }
    (!told.is_empty()).then(|| format!("must specify {}", told.join("; ")))
}

/// Whether a quota's scopes take in the object. Scopes other than the pod ones below take in nothing.
fn in_scope(quota: &Value, group: &str, plural: &str, object: &Value) -> bool {
    let spec = &quota["spec"];
    let plain = spec["scopes"].as_array().into_iter().flatten();
    let plain = plain.map(|scope| json!({"scopeName": scope, "operator": "Exists"}));
    let chosen = spec["scopeSelector"]["matchExpressions"].as_array().into_iter().flatten().cloned();
    plain.chain(chosen).all(|scope| (group, plural) == ("", "pods") && pod_in_scope(&scope, object))
}

fn pod_in_scope(scope: &Value, pod: &Value) -> bool {
    let spec = &pod["spec"];
    let ends = spec["activeDeadlineSeconds"].as_i64().is_some_and(|seconds| seconds >= 0);
    let effortless = || ["requests", "limits"].iter().all(|list| pod_total(pod, list).is_empty());
    match scope["scopeName"].as_str().unwrap_or_default() {
        "Terminating" => ends,
        "NotTerminating" => !ends,
        "BestEffort" => effortless(),
        "NotBestEffort" => !effortless(),
        "PriorityClass" => {
            let class = spec["priorityClassName"].as_str().unwrap_or_default();
            let listed = scope["values"].as_array().is_some_and(|values| values.contains(&json!(class)));
            match scope["operator"].as_str().unwrap_or_default() {
                "In" => listed,
                "NotIn" => !listed,
                "DoesNotExist" => class.is_empty(),
                _ => !class.is_empty(),
            }
        }
        _ => false,
    }
}
