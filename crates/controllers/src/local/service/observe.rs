//! What a service's plan needs to know.

use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kit::{Fault, Reader};
use ports::forward::Forward;

use super::plan::{SERVICE_NAME, World, selects};

pub(super) async fn observe(
    service: &Service,
    reader: &Reader,
    forward: &impl Forward,
) -> Result<World, Fault> {
    let mut pods = reader.list::<Pod>(service.metadata.namespace.as_deref()).await?;
    pods.retain(|pod| selects(service, pod));
    let selector = service.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    let mut slices = Vec::new();
    if selector.is_none_or(|selector| selector.is_empty()) {
        slices = reader.list::<EndpointSlice>(service.metadata.namespace.as_deref()).await?;
        slices.retain(|slice| {
            let labels = slice.metadata.labels.as_ref();
            labels.and_then(|labels| labels.get(SERVICE_NAME)) == service.metadata.name.as_ref()
        });
    }
    Ok(World { pods, slices, forwards: forward.held() })
}
