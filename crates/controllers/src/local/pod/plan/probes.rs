//! Which questions a container is asked.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::core::v1::Container;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use ports::probe::{Check, Probe, Purpose};

use super::Scene;
use super::launch::exec_check;

/// The probes of a container. One that asks nothing this machine understands is left out.
pub(super) fn probes(scene: &Scene<'_>, one: &Container) -> Vec<Probe> {
    let all = [
        (Purpose::Startup, &one.startup_probe),
        (Purpose::Readiness, &one.readiness_probe),
        (Purpose::Liveness, &one.liveness_probe),
    ];
    all.into_iter().filter_map(|(purpose, probe)| made(scene, one, purpose, probe.as_ref()?)).collect()
}

fn made(scene: &Scene<'_>, one: &Container, purpose: Purpose, probe: &core::Probe) -> Option<Probe> {
    let seconds = |number: Option<i32>, least: i32, otherwise: i32| {
        let number = number.unwrap_or(otherwise).max(least);
        Duration::from_secs(u64::try_from(number).unwrap_or_default())
    };
    let times = |number: Option<i32>, otherwise: u32| {
        number.and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0).unwrap_or(otherwise)
    };
    Some(Probe {
        purpose,
        check: check(scene, one, probe)?,
        delay: seconds(probe.initial_delay_seconds, 0, 0),
        period: seconds(probe.period_seconds, 1, 10),
        timeout: seconds(probe.timeout_seconds, 1, 1),
        successes: times(probe.success_threshold, 1),
        failures: times(probe.failure_threshold, 3),
    })
}

fn check(scene: &Scene<'_>, one: &Container, probe: &core::Probe) -> Option<Check> {
    if let Some(http) = &probe.http_get {
        let address = address(scene, one, http.host.as_deref(), &http.port)?;
        if http.scheme.as_deref().is_some_and(|scheme| scheme.eq_ignore_ascii_case("https")) {
            // Nobody checks the certificate of a probe; that somebody listens is what can be known without one.
            return Some(Check::Tcp(address));
        }
        let headers =
            http.http_headers.iter().flatten().map(|header| (header.name.clone(), header.value.clone()));
        let path = http.path.clone().filter(|path| !path.is_empty()).unwrap_or_else(|| "/".into());
        return Some(Check::Http { address, path, headers: headers.collect() });
    }
    if let Some(tcp) = &probe.tcp_socket {
        return address(scene, one, tcp.host.as_deref(), &tcp.port).map(Check::Tcp);
    }
    if let Some(grpc) = &probe.grpc {
        return Some(Check::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, scene.port(grpc.port)))));
    }
    exec_check(scene, one, probe.exec.as_ref()?.command.as_deref().unwrap_or_default())
}

fn address(scene: &Scene<'_>, one: &Container, host: Option<&str>, port: &IntOrString) -> Option<SocketAddr> {
    let number = match port {
        IntOrString::Int(number) => *number,
        IntOrString::String(name) => {
            let mut ports = one.ports.iter().flatten();
            let named = ports.find(|port| port.name.as_deref() == Some(name)).map(|port| port.container_port);
            named.or_else(|| name.parse().ok())?
        }
    };
    let ip = host.and_then(|host| host.parse::<IpAddr>().ok()).unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    Some(SocketAddr::new(ip, scene.port(number)))
}

/// A hint for who wonders why nobody listens there.
pub(super) fn hint(scene: &Scene<'_>, one: &Container, why: &str) -> &'static str {
    let told =
        one.ports.iter().flatten().next().map(|port| format!("port {}", scene.port(port.container_port)));
    if told.is_some_and(|told| why.ends_with(&told)) { " (told in PORT)" } else { "" }
}
