//! The addresses and ports that the server gives to services.

use std::collections::HashSet;
use std::net::IpAddr;

use serde_json::{Map, Value, json};

use crate::server::Server;
use crate::status::{Cause, Status};

/// Ports of the machine that services may be given, as in the original.
const NODE_PORTS: std::ops::RangeInclusive<i64> = 30000..=32767;

/// How many numbers there are for the last part of a service's address: 0 and 255 stand for the network itself.
const LOWEST: usize = 254;

/// How many addresses there are for services: those of `127.96.0.0/16`.
const ADDRESSES: usize = 256 * LOWEST;

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
    address(spec, &others, place(&own)).map_err(invalid)?;
    node_ports(spec, &others).map_err(invalid)
}

/// Where in the network the search for a service's address begins. Two platforms on one machine share the network and
/// do not know of each other: were it the same place, each would give out what the other listens on.
fn place(uid: &Value) -> usize {
    let digits = uid.as_str().and_then(|uid| uid.get(..8)).unwrap_or_default();
    usize::from_str_radix(digits, 16).unwrap_or_default() % ADDRESSES
}

fn address(spec: &mut Map<String, Value>, others: &[Value], place: usize) -> Result<(), Cause> {
    let given = spec.get("clusterIP").and_then(Value::as_str).unwrap_or_default().to_owned();
    if !matches!(given.as_str(), "" | "None") && given.parse::<IpAddr>().is_err() {
        let why = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        return Err(Cause::invalid("spec.clusterIPs[0]", &json!(given), why));
    }
    let taken: HashSet<&str> = others.iter().filter_map(|other| other["clusterIP"].as_str()).collect();
    let address = match given.as_str() {
        "" => {
            let mut all = (place..place + ADDRESSES)
                .map(|n| n % ADDRESSES)
                .map(|n| format!("127.96.{}.{}", n / LOWEST, n % LOWEST + 1));
            let free = all.find(|address| !taken.contains(address.as_str()));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn given(uid: &str, others: &[Value]) -> String {
        let mut spec = Map::new();
        address(&mut spec, others, place(&json!(uid))).expect("there is room");
        spec["clusterIP"].as_str().expect("is text").to_owned()
    }

    #[test]
    fn each_service_looks_for_an_address_at_a_place_of_its_own() {
        assert_eq!(given("00000000-", &[]), "127.96.0.1");
        assert_eq!(given("00000105-", &[]), "127.96.1.8");
        let last = format!("{:08x}-", ADDRESSES - 1);
        assert_eq!(given(&last, &[]), "127.96.255.254");
        let others = [json!({ "clusterIP": "127.96.255.254" }), json!({ "clusterIP": "127.96.0.1" })];
        assert_eq!(
            given(&last, &others),
            "127.96.0.2",
            "what is taken is passed over, and the search goes round"
        );
    }
}
