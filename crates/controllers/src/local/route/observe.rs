use kit::{Fault, Reader};
use ports::traffic::Traffic;

use super::plan::World;
use super::{Routes, holds_certificate};

/// Everything that speaks of routes, and the table that is followed.
pub(super) async fn observe<T: Traffic>(room: &Routes<T>, reader: &Reader) -> Result<World, Fault> {
    let mut secrets = reader.list(None).await?;
    secrets.retain(|secret| holds_certificate(secret));
    Ok(World {
        ingress_routes: reader.list(None).await?,
        ingresses: reader.list(None).await?,
        services: reader.list(None).await?,
        slices: reader.list(None).await?,
        secrets,
        followed: room.traffic.followed(),
        said: room.said.lock().clone(),
    })
}
