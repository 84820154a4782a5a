//! LimitRange: defaults for containers, and bounds for containers, pods and claims.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::quantity::Quantity;
use super::quota::Amounts;

/// Fills in a LimitRange's own gaps for containers: the limit from `max`, the request from the limit or `min`.
pub fn complete(limit_range: &mut Value) {
    let items = limit_range.pointer_mut("/spec/limits").and_then(Value::as_array_mut);
    for item in items.into_iter().flatten().filter(|item| item["type"] == "Container") {
        for (from, to) in [("max", "default"), ("default", "defaultRequest"), ("min", "defaultRequest")] {
            let given = item[from].as_object().cloned().unwrap_or_default();
            for (name, amount) in given {
                if item[to][&name].is_null()
                    && let Some(list) = map_at(item, &[to])
                {
                    list.insert(name, amount);
                }
            }
        }
    }
}

/// Writes the defaults of a LimitRange into a pod's containers, and an annotation that tells so.
pub fn fill(limit_range: &Value, pod: &mut Value) {
    let mut defaults = BTreeMap::from([("limits", BTreeMap::new()), ("requests", BTreeMap::new())]);
    for item in items(limit_range, "Container") {
        for (list, field) in [("limits", "default"), ("requests", "defaultRequest")] {
            let given = item[field].as_object().into_iter().flatten();
            defaults.entry(list).or_default().extend(given);
        }
    }
    let mut told = Vec::new();
    for (field, word) in [("containers", "container"), ("initContainers", "init container")] {
        let containers = pod.pointer_mut(&format!("/spec/{field}")).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            for (list, one) in [("requests", "request"), ("limits", "limit")] {
                let filled = fill_list(container, list, &defaults[list]);
                if !filled.is_empty() {
                    let name = container["name"].as_str().unwrap_or_default();
                    told.push(format!("{} {one} for {word} {name}", filled.join(", ")));
                }
            }
        }
    }
    if !told.is_empty() {
        let text = format!("LimitRanger plugin set: {}", told.join("; "));
        if let Some(annotations) = map_at(pod, &["metadata", "annotations"]) {
            annotations.insert("kubernetes.io/limit-ranger".into(), json!(text));
        }
    }
}

fn fill_list(container: &mut Value, list: &str, defaults: &BTreeMap<&String, &Value>) -> Vec<String> {
    let mut filled = Vec::new();
    for (name, amount) in defaults {
        if container["resources"][list][name.as_str()].is_null()
            && let Some(amounts) = map_at(container, &["resources", list])
        {
            amounts.insert((*name).clone(), (*amount).clone());
            filled.push((*name).clone());
        }
    }
    filled
}

/// The map at a path, made on the way where nothing is; `None` where something else is.
fn map_at<'a>(value: &'a mut Value, path: &[&str]) -> Option<&'a mut Map<String, Value>> {
    let mut map = value.as_object_mut()?;
    for key in path {
        let next = map.entry(*key).or_insert(Value::Null);
        if next.is_null() {
            *next = json!({});
        }
        map = next.as_object_mut()?;
    }
    Some(map)
}

/// Why a LimitRange forbids a new pod or a claim; other kinds always pass.
pub fn check(limit_range: &Value, plural: &str, object: &Value) -> Result<(), String> {
    let mut faults = Vec::new();
    match plural {
        "pods" => {
            for list in ["containers", "initContainers"] {
                for container in object["spec"][list].as_array().into_iter().flatten() {
                    let resources = &container["resources"];
                    let given = Given {
                        kind: "Container",
                        requests: list_of(&resources["requests"]),
                        limits: list_of(&resources["limits"]),
                    };
                    faults.extend(given.faults(limit_range));
                }
            }
            let (requests, limits) = (pod_total(object, "requests"), pod_total(object, "limits"));
            faults.extend(Given { kind: "Pod", requests, limits }.faults(limit_range));
        }
        "persistentvolumeclaims" => {
            let requests = list_of(&object["spec"]["resources"]["requests"]);
            for item in items(limit_range, CLAIM) {
                let given = Given { kind: CLAIM, requests: requests.clone(), limits: Amounts::new() };
                faults.extend(list_of(&item["min"]).iter().filter_map(|(name, min)| given.below(name, *min)));
                let max = list_of(&item["max"]);
                faults.extend(max.iter().filter_map(|(name, max)| given.request_above(name, *max)));
            }
        }
        _ => {}
    }
    match faults.as_slice() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        many => Err(format!("[{}]", many.join(", "))),
    }
}

const CLAIM: &str = "PersistentVolumeClaim";

fn items<'a>(limit_range: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    let items = limit_range["spec"]["limits"].as_array().into_iter().flatten();
    items.filter(move |item| item["type"] == kind)
}

/// What a container, a pod or a claim asks for.
struct Given {
    kind: &'static str,
    requests: Amounts,
    limits: Amounts,
}

impl Given {
    fn faults(&self, limit_range: &Value) -> Vec<String> {
        let mut faults = Vec::new();
        for item in items(limit_range, self.kind) {
            faults.extend(list_of(&item["min"]).iter().filter_map(|(name, min)| self.below(name, *min)));
            faults.extend(list_of(&item["max"]).iter().filter_map(|(name, max)| self.above(name, *max)));
            let ratios = list_of(&item["maxLimitRequestRatio"]);
            faults.extend(ratios.iter().filter_map(|(name, ratio)| self.too_far(name, *ratio)));
        }
        faults
    }

    fn below(&self, name: &str, min: Quantity) -> Option<String> {
        let told = format!("minimum {name} usage per {} is {min}", self.kind);
        match (self.requests.get(name), self.limits.get(name)) {
            (None, _) => Some(format!("{told}.  No request is specified")),
            (Some(request), _) if *request < min => Some(format!("{told}, but request is {request}")),
            (_, Some(limit)) if *limit < min => Some(format!("{told}, but limit is {limit}")),
            _ => None,
        }
    }

    fn above(&self, name: &str, max: Quantity) -> Option<String> {
        let told = format!("maximum {name} usage per {} is {max}", self.kind);
        match (self.limits.get(name), self.requests.get(name)) {
            (None, _) => Some(format!("{told}.  No limit is specified")),
            (Some(limit), _) if *limit > max => Some(format!("{told}, but limit is {limit}")),
            (_, Some(request)) if *request > max => Some(format!("{told}, but request is {request}")),
            _ => None,
        }
    }

    fn request_above(&self, name: &str, max: Quantity) -> Option<String> {
        let told = format!("maximum {name} usage per {} is {max}", self.kind);
        match self.requests.get(name) {
            None => Some(format!("{told}.  No request is specified")),
            Some(request) if *request > max => Some(format!("{told}, but request is {request}")),
            Some(_) => None,
        }
    }

    fn too_far(&self, name: &str, most: Quantity) -> Option<String> {
        let told = format!("{name} max limit to request ratio per {} is {most}, but", self.kind);
        let given = |amounts: &Amounts| amounts.get(name).copied().filter(|amount| !amount.is_zero());
        let Some(request) = given(&self.requests) else {
            return Some(format!("{told} no request is specified or request is 0"));
        };
        let Some(limit) = given(&self.limits) else {
            return Some(format!("{told} no limit is specified or limit is 0"));
        };
        let ratio = limit.ratio(request);
        (ratio > most.ratio(Quantity::count(1))).then(|| format!("{told} provided ratio is {ratio:.6}"))
    }
}

/// What a pod asks for in all: its containers together, or its greediest moment of starting; amounts for the
/// pod as a whole go before both.
pub(super) fn pod_total(pod: &Value, list: &str) -> Amounts {
    let spec = &pod["spec"];
    let containers = |field: &str| spec[field].as_array().into_iter().flatten();
    let asked = |container: &Value| list_of(&container["resources"][list]);
    let mut total = Amounts::new();
    for container in containers("containers") {
        add(&mut total, &asked(container));
    }
    let (mut sidecars, mut starting) = (Amounts::new(), Amounts::new());
    for container in containers("initContainers") {
        let mut moment = asked(container);
        if container["restartPolicy"] == "Always" {
            add(&mut total, &moment);
            add(&mut sidecars, &moment);
            moment = sidecars.clone();
        } else {
            add(&mut moment, &sidecars);
        }
        raise(&mut starting, &moment);
    }
    raise(&mut total, &starting);
    let whole = list_of(&spec["resources"][list]).into_iter();
    total.extend(whole.filter(|(name, _)| matches!(name.as_str(), "cpu" | "memory")));
    total
}

/// Reads a list of amounts; what is no quantity is left out, since validation refuses it elsewhere.
pub(super) fn list_of(list: &Value) -> Amounts {
    let entries = list.as_object().into_iter().flatten();
    entries.filter_map(|(name, amount)| Some((name.clone(), Quantity::from_json(amount).ok()?))).collect()
}

fn add(total: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        let sum = total.get(name).map_or(*amount, |sum| sum.plus(*amount));
        total.insert(name.clone(), sum);
    }
}

fn raise(total: &mut Amounts, least: &Amounts) {
    for (name, amount) in least {
        let known = total.get(name).copied().unwrap_or(*amount);
        total.insert(name.clone(), known.max(*amount));
    }
}
