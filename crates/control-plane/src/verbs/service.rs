//! The addresses and ports that the server gives to services.

use std::collections::HashSet;
use std::net::IpAddr;

use serde_json::{Map, Value, json};

use crate::server::Server;
use crate::status::{Cause, Status};

/// Ports of the machine that services may be given, as in the original.
const NODE_PORTS: std::ops::RangeInclusive<i64> = 30000..=32767;

/// What only services with an address have.
const ADDRESSED: [&str; 6] = [
    "clusterIP",
    "clusterIPs",
    "ipFamilies",
    "ipFamilyPolicy",
    "internalTrafficPolicy",
    "externalTrafficPolicy",
];

/// Gives a service its address, one of the loopback network so that it can be reached on one machine, and its
/// ports of the machine. Headless services have no address, external ones neither.
pub(crate) fn allocate(server: &Server, service: &mut Value) -> Result<(), Status> {
    let own = service["metadata"]["uid"].clone();
    let name = service["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let Some(spec) = service["spec"].as_object_mut() else { return Ok(()) };
    if spec.get("type").is_some_and(|kind| kind == "ExternalName") {
        spec.retain(|key, _| !ADDRESSED.contains(&key.as_str()));
        return Ok(());
    }
    let others: Vec<Value> = server
        .objects("services", None)
        .into_iter()
        .filter(|other| other["metadata"]["uid"] != own)
        .map(|mut other| other["spec"].take())
        .collect();
    let invalid = |cause: Cause| Status::invalid("", "Service", &name, vec![cause]);
    address(spec, &others).map_err(invalid)?;
    node_ports(spec, &others).map_err(invalid)
}

fn address(spec: &mut Map<String, Value>, others: &[Value]) -> Result<(), Cause> {
    let given = spec.get("clusterIP").and_then(Value::as_str).unwrap_or_default().to_owned();
    if !matches!(given.as_str(), "" | "None") && given.parse::<IpAddr>().is_err() {
        let why = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        return Err(Cause::invalid("spec.clusterIPs[0]", &json!(given), why));
    }
    let taken: HashSet<&str> = others.iter().filter_map(|other| other["clusterIP"].as_str()).collect();
    let address = match given.as_str() {
        "" => {
            let all = (0..=255u8).flat_map(|high| (1..=254u8).map(move |low| format!("127.96.{high}.{low}")));
            let free = all.skip(1).find(|address| !taken.contains(address.as_str()));
            let used_up = "failed to allocate an IP address: 127.96.0.0/16 is used up";
            free.ok_or_else(|| Cause::invalid("spec.clusterIPs", &json!([]), used_up))?
        }
        _ => given,
    };
    spec.entry("clusterIPs").or_insert_with(|| json!([address]));
    spec.insert("clusterIP".into(), json!(address));
    spec.entry("ipFamilies").or_insert_with(|| json!(["IPv4"]));
    spec.entry("ipFamilyPolicy").or_insert_with(|| json!("SingleStack"));
    Ok(())
}

fn node_ports(spec: &mut Map<String, Value>, others: &[Value]) -> Result<(), Cause> {
    let kind = spec.get("type").and_then(Value::as_str).unwrap_or_default();
    let wanted = match kind {
        "NodePort" => true,
        "LoadBalancer" => spec.get("allocateLoadBalancerNodePorts") != Some(&json!(false)),
        _ => return Ok(()),
    };
    let ports_of = |spec: &Value| spec["ports"].as_array().cloned().unwrap_or_default();
    let mut taken: HashSet<i64> =
        others.iter().flat_map(ports_of).filter_map(|port| port["nodePort"].as_i64()).collect();
    let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
    for (place, port) in ports.into_iter().flatten().enumerate() {
        let field = format!("spec.ports[{place}].nodePort");
        let given = port["nodePort"].as_i64().unwrap_or(0);
        if given == 0 {
            let free = NODE_PORTS.clone().find(|number| wanted && !taken.contains(number));
            if let Some(free) = free {
                port["nodePort"] = json!(free);
                taken.insert(free);
            }
        } else if !NODE_PORTS.contains(&given) {
            let why = "provided port is not in the valid range. The range of valid ports is 30000-32767";
            return Err(Cause::invalid(field, &json!(given), why));
        } else if !taken.insert(given) {
            return Err(Cause::invalid(field, &json!(given), "provided port is already allocated"));
        }
    }
    Ok(())
}
