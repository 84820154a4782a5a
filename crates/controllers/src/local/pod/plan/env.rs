//! The environment of a container.

use std::collections::BTreeMap;

use api::secret::Sealed;
use k8s_openapi::api::core::v1::{Container, EnvVar, EnvVarSource, ResourceFieldSelector, Service};

use super::super::super::quantity::thousandths;
use super::Scene;

/// Variables by name. All are sealed, because some hold secrets.
pub(super) type Env = BTreeMap<String, Sealed<String>>;

/// The variable that tells a program where to listen.
const PORT: &str = "PORT";

/// What the pod's spec gives a container; the error says what is missing, in kubelet's words.
pub(super) fn environment(scene: &Scene<'_>, one: &Container) -> Result<Env, String> {
    let services = service_env(scene);
    let mut env = services.clone();
    env.extend(from_env(scene, one)?);
    // What a value may refer to: services, and what stands before it.
    let mut known = services;
    let first = one.ports.iter().flatten().next().map(|port| port.container_port);
    if let Some(first) = first {
        known.insert(PORT.into(), scene.port(first).to_string().into());
        env.insert(PORT.into(), scene.port(first).to_string().into());
    }
    for variable in one.env.iter().flatten() {
        let value = match (&variable.value_from, first) {
            (Some(source), _) => value_from(scene, one, source)?,
            (None, Some(first)) if names_port(variable, first) => Some(scene.port(first).to_string().into()),
            (None, _) => Some(expand(variable.value.as_deref().unwrap_or_default(), &known).into()),
        };
        if let Some(value) = value {
            known.insert(variable.name.clone(), value.clone());
            env.insert(variable.name.clone(), value);
        }
    }
    Ok(env)
}

/// Whether a variable tells the program the port that its container declares.
fn names_port(variable: &EnvVar, port: i32) -> bool {
    variable.name == PORT && variable.value.as_deref() == Some(port.to_string().as_str())
}

/// Replaces `$(NAME)` by what is known, and leaves it as it is if nothing is; `$$` is a dollar.
pub(super) fn expand(text: &str, known: &Env) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            out.push('$');
            rest = after;
        } else if let Some((name, after)) = rest.strip_prefix('(').and_then(|inner| inner.split_once(')')) {
            match known.get(name) {
                Some(value) => out.push_str(value.open()),
                None => out.push_str(&format!("$({name})")),
            }
            rest = after;
        } else {
            out.push('$');
        }
    }
    out.push_str(rest);
    out
}

fn from_env(scene: &Scene<'_>, one: &Container) -> Result<Env, String> {
    let mut env = Env::new();
    for source in one.env_from.iter().flatten() {
        let prefix = source.prefix.clone().unwrap_or_default();
        let mut put = |key: &str, bytes: &[u8]| {
            let value = String::from_utf8_lossy(bytes).into_owned();
            env.insert(format!("{prefix}{key}"), value.into());
        };
        if let Some(map) = &source.config_map_ref {
            match scene.world.supplies.config_maps.get(&map.name).and_then(Option::as_ref) {
                Some(data) => data.iter().for_each(|(key, value)| put(key, value)),
                None if map.optional == Some(true) => {}
                None => return Err(format!("configmap \"{}\" not found", map.name)),
            }
        }
        if let Some(secret) = &source.secret_ref {
            match scene.world.supplies.secrets.get(&secret.name).and_then(Option::as_ref) {
                Some(data) => data.iter().for_each(|(key, value)| put(key, value.open())),
                None if secret.optional == Some(true) => {}
                None => return Err(format!("secret \"{}\" not found", secret.name)),
            }
        }
    }
    Ok(env)
}

fn value_from(
    scene: &Scene<'_>,
    one: &Container,
    source: &EnvVarSource,
) -> Result<Option<Sealed<String>>, String> {
    let text = |bytes: &[u8]| Some(String::from_utf8_lossy(bytes).into_owned().into());
    if let Some(secret) = &source.secret_key_ref {
        let optional = secret.optional == Some(true);
        let held = scene.world.supplies.secrets.get(&secret.name).and_then(Option::as_ref);
        return match (held, held.and_then(|held| held.get(&secret.key))) {
            (_, Some(value)) => Ok(text(value.open())),
            (_, None) if optional => Ok(None),
            (None, None) => Err(format!("secret \"{}\" not found", secret.name)),
            (Some(_), None) => Err(lacking(scene, &secret.key, "Secret", &secret.name)),
        };
    }
    if let Some(map) = &source.config_map_key_ref {
        let optional = map.optional == Some(true);
        let held = scene.world.supplies.config_maps.get(&map.name).and_then(Option::as_ref);
        return match (held, held.and_then(|held| held.get(&map.key))) {
            (_, Some(value)) => Ok(text(value)),
            (_, None) if optional => Ok(None),
            (None, None) => Err(format!("configmap \"{}\" not found", map.name)),
            (Some(_), None) => Err(lacking(scene, &map.key, "ConfigMap", &map.name)),
        };
    }
    if let Some(field) = &source.field_ref {
        return field_of(scene, &field.field_path).map(|value| Some(value.into()));
    }
    match &source.resource_field_ref {
        Some(wanted) => resource_of(scene, one, wanted).map(|value| Some(value.into())),
        None => Ok(None),
    }
}

fn lacking(scene: &Scene<'_>, key: &str, kind: &str, name: &str) -> String {
    format!("couldn't find key {key} in {kind} {}/{name}", scene.namespace())
}

/// A field of the pod itself.
fn field_of(scene: &Scene<'_>, path: &str) -> Result<String, String> {
    let meta = &scene.pod.metadata;
    if let Some((map, key)) = path.strip_suffix("']").and_then(|path| path.split_once("['")) {
        let held = match map {
            "metadata.labels" => meta.labels.as_ref(),
            "metadata.annotations" => meta.annotations.as_ref(),
            _ => return Err(format!("unsupported fieldPath: {path}")),
        };
        return Ok(held.and_then(|held| held.get(key)).cloned().unwrap_or_default());
    }
    Ok(match path {
        "metadata.name" => scene.name().to_owned(),
        "metadata.namespace" => scene.namespace().to_owned(),
        "metadata.uid" => scene.uid().to_owned(),
        "spec.nodeName" => scene.world.node.clone(),
        "spec.serviceAccountName" => scene.spec.service_account_name.clone().unwrap_or_default(),
        "status.hostIP" | "status.podIP" | "status.hostIPs" | "status.podIPs" => "127.0.0.1".to_owned(),
        _ => return Err(format!("unsupported fieldPath: {path}")),
    })
}

/// A limit or request of a container, in units of its divisor, rounded up.
fn resource_of(scene: &Scene<'_>, one: &Container, wanted: &ResourceFieldSelector) -> Result<String, String> {
    let name = wanted.container_name.as_deref().unwrap_or(&one.name);
    let holder = super::all_containers(scene.pod).find(|held| held.name == name);
    let resources = holder.and_then(|held| held.resources.as_ref());
    let (kind, resource) = wanted.resource.split_once('.').unwrap_or(("", &wanted.resource));
    let held = match kind {
        "limits" => resources.and_then(|all| all.limits.as_ref()),
        "requests" => resources.and_then(|all| all.requests.as_ref()),
        _ => return Err(format!("unsupported container resource : {}", wanted.resource)),
    };
    let amount =
        held.and_then(|all| all.get(resource)).and_then(|amount| thousandths(&amount.0)).unwrap_or(0);
    let divisor = wanted.divisor.as_ref().and_then(|divisor| thousandths(&divisor.0));
    let divisor = divisor.filter(|divisor| *divisor > 0).unwrap_or(1000);
    Ok(((amount + divisor - 1) / divisor).to_string())
}

/// Where the services of the namespace are, as kubelet tells it.
fn service_env(scene: &Scene<'_>) -> Env {
    let mut env = Env::new();
    for service in &scene.world.supplies.services {
        describe(service, &mut env);
    }
    env
}

fn describe(service: &Service, env: &mut Env) {
    let Some(spec) = &service.spec else { return };
    let address = spec.cluster_ip.as_deref().filter(|address| !matches!(*address, "" | "None"));
    let ports = spec.ports.as_deref().unwrap_or_default();
    let (Some(address), Some(first)) = (address, ports.first()) else { return };
    let upper = |text: &str| text.to_uppercase().replace('-', "_");
    let name = upper(service.metadata.name.as_deref().unwrap_or_default());
    let mut put = |key: String, value: String| drop(env.insert(key, value.into()));
    put(format!("{name}_SERVICE_HOST"), address.to_owned());
    put(format!("{name}_SERVICE_PORT"), first.port.to_string());
    let url = |protocol: &str, port: i32| format!("{}://{address}:{port}", protocol.to_lowercase());
    put(format!("{name}_PORT"), url(first.protocol.as_deref().unwrap_or("TCP"), first.port));
    for port in ports {
        if let Some(label) = port.name.as_deref().filter(|label| !label.is_empty()) {
            put(format!("{name}_SERVICE_PORT_{}", upper(label)), port.port.to_string());
        }
        let protocol = port.protocol.as_deref().unwrap_or("TCP");
        let stem = format!("{name}_PORT_{}_{}", port.port, protocol.to_uppercase());
        put(stem.clone(), url(protocol, port.port));
        put(format!("{stem}_PROTO"), protocol.to_lowercase());
        put(format!("{stem}_PORT"), port.port.to_string());
        put(format!("{stem}_ADDR"), address.to_owned());
    }
}
