//! What this machine is, and the objects that stand for it.

use anyhow::Context;
use controllers::local::node::Machine;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::networking::v1::IngressClass;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::place;

/// The name of this machine's node.
pub(crate) const NODE: &str = "local";
/// The version of Kubernetes that the machine behaves like.
const VERSION: &str = concat!("v1.36.4+terrace-", env!("CARGO_PKG_VERSION"));
/// Pods that one machine takes, as a kubelet does by default.
const PODS: u64 = 110 * 20;
/// The first user that programs run as; users of people and packages lie below, those of containers from 100,000 to
/// 165,535 mostly.
const FIRST_USER: u32 = 200_000;
/// How many users there are for the programs of namespaces, and as many for their builds, and for their databases.
const USERS: u32 = 1_000_000;

/// Writes the objects that stand for this machine and its gateway, unless they are there.
pub(crate) async fn furnish(client: &Client) -> anyhow::Result<()> {
    let params = PatchParams::apply("terrace").force();
    let nodes = Api::<Node>::all(client.clone());
    if nodes.get_opt(NODE).await?.is_none() {
        let node = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": { "name": NODE, "labels": { "kubernetes.io/hostname": NODE, "kubernetes.io/os": "linux" } },
        });
        nodes
            .patch(NODE, &params, &Patch::Apply(node))
            .await
            .context("cannot make the node of this machine")?;
    }
    let classes = Api::<IngressClass>::all(client.clone());
    if classes.get_opt("terrace").await?.is_none() {
        let class = json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "IngressClass",
            "metadata": {
                "name": "terrace",
                "annotations": { "ingressclass.kubernetes.io/is-default-class": "true" },
            },
            "spec": { "controller": "terrace.dev/gateway" },
        });
        classes
            .patch("terrace", &params, &Patch::Apply(class))
            .await
            .context("cannot make the gateway's class")?;
    }
    Ok(())
}

/// What this machine is.
pub(crate) fn facts() -> Machine {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let memory_kib = read("/proc/meminfo").lines().find_map(|line| {
        line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    });
    let system = read("/etc/os-release")
        .lines()
        .find_map(|line| Some(line.strip_prefix("PRETTY_NAME=")?.trim_matches('"').to_owned()));
    Machine {
        name: NODE.into(),
        processors: std::thread::available_parallelism().map_or(1, |count| count.get() as u64),
        memory_bytes: memory_kib.unwrap_or_default() * 1024,
        pods: PODS,
        kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        system: system.unwrap_or_else(|| "Linux".into()),
        architecture: match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        }
        .into(),
        version: VERSION.into(),
    }
}

/// A container runtime that works without further ado: podman, or docker where its daemon is.
pub(crate) fn container_runtime() -> Option<Vec<String>> {
    let path = std::env::var_os("PATH")?;
    let on_path = |name: &str| std::env::split_paths(&path).any(|dir| dir.join(name).is_file());
    if on_path("podman") {
        return Some(vec!["podman".into()]);
    }
    let daemon = std::path::Path::new("/var/run/docker.sock").exists();
    (daemon && on_path("docker")).then(|| vec!["docker".into()])
}

/// The user that the programs of a namespace run as, where the platform may choose.
pub(crate) fn user_of_programs(namespace: &str) -> Option<u32> {
    place::is_root().then(|| FIRST_USER + number(namespace))
}

/// The user that the builds of a namespace run as: no program runs as this one.
pub(crate) fn user_of_builds(namespace: &str) -> Option<u32> {
    place::is_root().then(|| FIRST_USER + USERS + number(namespace))
}

/// The user that the databases of a namespace run as: neither its programs nor its builds can reach their files.
pub(crate) fn user_of_databases(namespace: &str) -> Option<u32> {
    place::is_root().then(|| FIRST_USER + 2 * USERS + number(namespace))
}

/// A number for a namespace, the same each time.
fn number(namespace: &str) -> u32 {
    let digest = Sha256::digest(namespace);
    u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]) % USERS
}
