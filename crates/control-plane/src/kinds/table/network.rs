//! Services, what stands behind them and what stands before them.

use jiff::Timestamp;
use serde_json::Value;

use super::fields::{
    NONE, UNKNOWN, UNSET, age, annotation, at, cells, first_three, has, int, list, name, set_or, text,
    text_or, texts,
};
use super::selector;

/// The cells of a service.
pub(super) fn service(object: &Value, now: Timestamp) -> Vec<Value> {
    let address = texts(object, "spec.clusterIPs").first().copied();
    let port = |port: &Value| {
        let (number, protocol) = (int(port, "port"), text(port, "protocol"));
        match int(port, "nodePort") {
            node @ 1.. => format!("{number}:{node}/{protocol}"),
            _ => format!("{number}/{protocol}"),
        }
    };
    let ports = list(object, "spec.ports").iter().map(port).collect::<Vec<_>>().join(",");
    cells![
        name(object),
        text(object, "spec.type"),
        address.unwrap_or_else(|| text_or(object, "spec.clusterIP", NONE)),
        external_address(object),
        if ports.is_empty() { NONE.into() } else { ports },
        age(object, now),
        selector::labels(at(object, "spec.selector")),
    ]
}

/// The cells of an endpoints object.
pub(super) fn endpoints(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![name(object), endpoint_addresses(object), age(object, now)]
}

/// The cells of an endpoint slice.
pub(super) fn endpoint_slice(object: &Value, now: Timestamp) -> Vec<Value> {
    let port = |port: &Value| match at(port, "port").as_i64() {
        Some(number) => number.to_string(),
        None => set_or(port, "name", "*").to_owned(),
    };
    let ports: Vec<String> = list(object, "ports").iter().map(port).collect();
    let addresses = list(object, "endpoints").iter().flat_map(|endpoint| texts(endpoint, "addresses"));
    let addresses: Vec<String> = addresses.map(str::to_owned).collect();
    let shown = |items: &[String]| Some(first_three(items)).filter(|text| !text.is_empty());
    cells![
        name(object),
        text(object, "addressType"),
        shown(&ports).unwrap_or_else(|| UNSET.into()),
        shown(&addresses).unwrap_or_else(|| UNSET.into()),
        age(object, now),
    ]
}

/// The cells of an ingress.
pub(super) fn ingress(object: &Value, now: Timestamp) -> Vec<Value> {
    let secured = !list(object, "spec.tls").is_empty();
    cells![
        name(object),
        set_or(object, "spec.ingressClassName", NONE),
        hosts(list(object, "spec.rules")),
        balancer(object).join(","),
        if secured { "80, 443" } else { "80" },
        age(object, now),
    ]
}

/// The cells of an ingress class.
pub(super) fn ingress_class(object: &Value, now: Timestamp) -> Vec<Value> {
    let is_default = annotation(object, "ingressclass.kubernetes.io/is-default-class") == "true";
    let parameters = at(object, "spec.parameters");
    let parameters = if parameters.is_null() {
        NONE.to_owned()
    } else {
        let mut kind = text(parameters, "kind").to_owned();
        if let Some(group) = at(parameters, "apiGroup").as_str() {
            kind = format!("{kind}.{group}");
        }
        format!("{kind}/{}", text(parameters, "name"))
    };
    let mark = if is_default { " (default)" } else { "" };
    cells![format!("{}{mark}", name(object)), text(object, "spec.controller"), parameters, age(object, now)]
}

/// The cells of a network policy.
pub(super) fn network_policy(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![name(object), selector::shown(at(object, "spec.podSelector")), age(object, now)]
}

/// The cells of a service address range.
pub(super) fn service_cidr(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![name(object), texts(object, "spec.cidrs").join(","), age(object, now)]
}

/// The cells of a service address.
pub(super) fn ip_address(object: &Value, _: Timestamp) -> Vec<Value> {
    let parent = at(object, "spec.parentRef");
    let parent = if parent.is_null() {
        NONE.to_owned()
    } else {
        let resource =
            crate::status::qualified(text(parent, "resource"), text(parent, "group")).to_lowercase();
        let parts = [resource.as_str(), text(parent, "namespace"), text(parent, "name")];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
    };
    cells![name(object), parent]
}

fn external_address(object: &Value) -> String {
    let mut addresses = texts(object, "spec.externalIPs");
    let none = match text(object, "spec.type") {
        "ClusterIP" | "NodePort" => NONE,
        "LoadBalancer" => {
            addresses.splice(0..0, balancer(object));
            "<pending>"
        }
        "ExternalName" => return text(object, "spec.externalName").to_owned(),
        _ => return UNKNOWN.into(),
    };
    if addresses.is_empty() { none.into() } else { addresses.join(",") }
}

/// What the load balancer answers at: each address or host name once, sorted.
fn balancer(object: &Value) -> Vec<&str> {
    let points = list(object, "status.loadBalancer.ingress").iter();
    let mut shown: Vec<&str> = points.map(|point| text_or(point, "ip", text(point, "hostname"))).collect();
    shown.retain(|point| !point.is_empty());
    shown.sort_unstable();
    shown.dedup();
    shown
}

fn endpoint_addresses(object: &Value) -> String {
    if !has(object, "subsets") || list(object, "subsets").is_empty() {
        return NONE.into();
    }
    let mut shown = Vec::new();
    for subset in list(object, "subsets") {
        let addresses = || list(subset, "addresses").iter().map(|address| text(address, "ip"));
        // A headless service may have no ports at all.
        if list(subset, "ports").is_empty() {
            shown.extend(addresses().map(str::to_owned));
        }
        for port in list(subset, "ports") {
            shown.extend(addresses().map(|address| host_port(address, int(port, "port"))));
        }
    }
    first_three(&shown)
}

fn host_port(address: &str, port: i64) -> String {
    if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") }
}

/// The first three hosts. What is left is counted in rules, named or not, as the original does.
fn hosts(rules: &[Value]) -> String {
    const SHOWN: usize = 3;
    let mut shown = Vec::new();
    let mut more = false;
    for rule in rules {
        more |= shown.len() == SHOWN;
        if !more && !text(rule, "host").is_empty() {
            shown.push(text(rule, "host"));
        }
    }
    match shown.join(",") {
        hosts if more => format!("{hosts} + {} more...", rules.len() - SHOWN),
        hosts if hosts.is_empty() => "*".into(),
        hosts => hosts,
    }
}
