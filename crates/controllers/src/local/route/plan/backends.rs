//! Who answers at a port of a Service.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use k8s_openapi::api::core::v1::{Service, ServicePort};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

use super::World;
use super::wish::{Port, Target};

/// On an `EndpointSlice`: the Service that it belongs to.
const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// Services and their endpoints, by namespace and name.
pub(super) struct Directory<'a> {
    services: HashMap<(&'a str, &'a str), &'a Service>,
    slices: HashMap<(&'a str, &'a str), Vec<&'a EndpointSlice>>,
}

impl<'a> Directory<'a> {
    pub(super) fn of(world: &'a World) -> Self {
        let mut services = HashMap::with_capacity(world.services.len());
        for service in &world.services {
            let meta = &service.metadata;
            let key =
                (meta.namespace.as_deref().unwrap_or_default(), meta.name.as_deref().unwrap_or_default());
            services.insert(key, &**service);
        }
        let mut slices: HashMap<_, Vec<_>> = HashMap::with_capacity(world.slices.len());
        for slice in &world.slices {
            let meta = &slice.metadata;
            let Some(service) = meta.labels.as_ref().and_then(|labels| labels.get(SERVICE_NAME)) else {
                continue;
            };
            let key = (meta.namespace.as_deref().unwrap_or_default(), service.as_str());
            slices.entry(key).or_default().push(&**slice);
        }
        Self { services, slices }
    }

    /// The addresses of those who are ready, in order. A Service that is not there yet has none.
    pub(super) fn backends(&self, namespace: &str, target: Target<'_>) -> Result<Vec<SocketAddr>, String> {
        let key = (namespace, target.service);
        let Some(service) = self.services.get(&key) else { return Ok(Vec::new()) };
        let sought = sought(service, target)?;
        let slices = self.slices.get(&key).map_or(&[][..], Vec::as_slice);
        let mut found: Vec<SocketAddr> = slices.iter().flat_map(|slice| at(slice, sought)).collect();
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }
}

/// A port as endpoints know it.
#[derive(Clone, Copy)]
enum Sought<'a> {
    /// By the name that the Service gives it; the empty name is a name too.
    Name(&'a str),
    /// By its number, where the Service speaks of no ports.
    Number(i32),
    /// Any.
    Any,
}

fn sought<'a>(service: &'a Service, target: Target<'a>) -> Result<Sought<'a>, String> {
    let spec = service.spec.as_ref();
    let ports = spec.and_then(|spec| spec.ports.as_deref()).unwrap_or_default();
    let named = |port: &'a ServicePort| Sought::Name(port.name.as_deref().unwrap_or_default());
    let found = match target.port {
        Port::Only if ports.len() == 1 => ports.first(),
        Port::Only => None,
        Port::Number(number) => ports.iter().find(|port| port.port == number),
        Port::Name(name) => ports.iter().find(|port| port.name.as_deref() == Some(name)),
    };
    match (found, target.port) {
        (Some(port), _) => Ok(named(port)),
        // Services that are only a name need not speak of ports; their endpoints do.
        (None, Port::Number(number)) if ports.is_empty() => Ok(Sought::Number(number)),
        (None, Port::Name(name)) if ports.is_empty() => Ok(Sought::Name(name)),
        (None, Port::Only) if ports.is_empty() => Ok(Sought::Any),
        (None, port) => Err(format!("Service {} has no port {port}", target.service)),
    }
}

/// The addresses of one slice's ready endpoints.
fn at<'s>(slice: &'s EndpointSlice, sought: Sought<'s>) -> impl Iterator<Item = SocketAddr> + 's {
    let ports = slice.ports.as_deref().unwrap_or_default().iter().filter(move |port| match sought {
        Sought::Name(name) => port.name.as_deref().unwrap_or_default() == name,
        Sought::Number(number) => port.port == Some(number),
        Sought::Any => true,
    });
    let ready = |endpoint: &&Endpoint| is_ready(endpoint);
    ports.filter_map(|port| u16::try_from(port.port?).ok()).flat_map(move |port| {
        let addresses =
            slice.endpoints.iter().flatten().filter(ready).flat_map(|endpoint| &endpoint.addresses);
        // Names are not addresses: the gateway looks nothing up.
        addresses
            .filter_map(|address| address.parse::<IpAddr>().ok())
            .map(move |ip| SocketAddr::new(ip, port))
    })
}

/// What is not said is read as Kubernetes reads it: ready, serving as far as ready, and not on its way out.
fn is_ready(endpoint: &Endpoint) -> bool {
    let Some(conditions) = &endpoint.conditions else { return true };
    let ready = conditions.ready.unwrap_or(true);
    ready && conditions.serving.unwrap_or(ready) && !conditions.terminating.unwrap_or(false)
}
