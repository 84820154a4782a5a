use api::apps::DataSource;
use k8s_openapi::api::core::v1::Secret;
use kit::{Fault, Reader};

use super::plan::World;

/// Looks at the Secret, and keeps the names of its keys only.
pub(super) async fn observe(source: &DataSource, reader: &Reader) -> Result<World, Fault> {
    let secret = &source.spec.secret_ref;
    let found = reader.get::<Secret>(secret.namespace.as_str(), secret.name.as_str()).await?;
    let keys = found.map(|secret| secret.data.iter().flatten().map(|(key, _)| key.clone()).collect());
    Ok(World { keys })
}
