//! Servers as `Cluster`s of CloudNativePG.

use api::foreign::LocalRef;
use api::foreign::cnpg::{Bootstrap, Cluster, ClusterSpec, Recovery, SERVER_IMAGE, Storage};
use k8s_openapi::api::core::v1::Secret;
use kit::Child;
use kube::ResourceExt;

use super::{Found, Order, login, meta};
use crate::claims::target::Made;

/// What CloudNativePG says of a cluster that serves.
const HEALTHY: &str = "Cluster in healthy state";
/// Storage of a server for which nobody says how much, in GiB.
const STORAGE_GB: u32 = 10;

pub(super) fn wanted(order: &Order<'_>) -> Child {
    let made = order.made;
    let recovery = |backup: &String| Bootstrap {
        recovery: Some(Recovery { backup: Some(LocalRef { name: backup.clone() }), ..Recovery::default() }),
        ..Bootstrap::default()
    };
    let spec = ClusterSpec {
        instances: 1,
        image_name: made.version.as_ref().map(|version| format!("{SERVER_IMAGE}:{version}")),
        bootstrap: made.restore_from.as_ref().map(recovery),
        storage: Storage {
            size: Some(format!("{}Gi", made.storage_gb.unwrap_or(STORAGE_GB))),
            ..Storage::default()
        },
        enable_superuser_access: Some(true),
        ..ClusterSpec::default()
    };
    Child::of(&Cluster { metadata: meta(order, made.name.clone()), spec, status: None }).unowned()
}

/// The Secret with the superuser's login.
pub(super) fn secret(name: &str) -> String {
    format!("{name}-superuser")
}

pub(super) fn judged(cluster: &Cluster, secret: Option<&Secret>, made: &Made) -> Found {
    let status = cluster.status.clone().unwrap_or_default();
    let phase = status.phase.unwrap_or_else(|| "has not begun".to_owned());
    let told = match status.phase_reason {
        Some(reason) if reason != phase => format!("Cluster {}: {phase}: {reason}", made.name),
        _ => format!("Cluster {}: {phase}", made.name),
    };
    if phase != HEALTHY && status.ready_instances.unwrap_or_default() == 0 {
        return Found::Making(told);
    }
    match login(secret, ["host", "port"], made, None) {
        Some(mut server) => {
            // CloudNativePG names a Service in its own namespace, and programs are in others.
            if !server.host.contains(['.', ':']) && server.host != "localhost" {
                server.host = format!("{}.{}.svc", server.host, cluster.namespace().unwrap_or_default());
            }
            Found::Ready(server.into())
        }
        None => Found::Making(format!("Cluster {} has not published its superuser yet", made.name)),
    }
}
