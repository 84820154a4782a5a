//! What a service's plan needs to know.

use k8s_openapi::api::core::v1::{Pod, Service};
use kit::{Fault, Reader};
use ports::forward::Forward;

use super::plan::{World, selects};

pub(super) async fn observe(
    service: &Service,
    reader: &Reader,
    forward: &impl Forward,
) -> Result<World, Fault> {
    let mut pods = reader.list::<Pod>(service.metadata.namespace.as_deref()).await?;
    pods.retain(|pod| selects(service, pod));
    Ok(World { pods, forwards: forward.held() })
}
