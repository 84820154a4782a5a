//! The server that a claim's database is on: found, found again when the claim is gone, and asked whether a login gets in.

use api::claims::{DatabaseClaim, DatabaseStatus};
use kit::{Fault, Name, Reader, Refusal};
use ports::admin::{Admin, Error, Login, Server};
use serde_json::json;

use super::Office;
use super::config::Config;
use super::makers::{self, Found};
use super::source;
use super::target::{self, Place, Target};

/// The server that a claim is on, or asks for if it is on none.
pub(super) fn target(claim: &DatabaseClaim, identity: &Name, config: &Config) -> Result<Target, Refusal> {
    match claim.status.as_ref().and_then(|status| status.active_db.as_ref()) {
        Some(active) => target::settled(claim, active, identity, config),
        None => target::wanted(claim, identity, config),
    }
}

/// The server that a claim was on, from what was noted of it.
pub(super) fn noted(
    noted: &DatabaseStatus,
    identity: &Name,
    config: &Config,
) -> Option<Result<Target, Refusal>> {
    let owner = noted.connection_info.as_ref().and_then(|info| info.user_name.clone());
    let spec = serde_json::from_value(json!({ "userName": owner })).ok()?;
    let claim = DatabaseClaim::new(&identity.name, spec);
    Some(target::settled(&claim, noted, identity, config))
}

/// How that server stands. The namespace is the claim's.
pub(super) async fn find<A: Admin>(
    office: &Office<A>,
    target: &Target,
    namespace: &str,
    reader: &Reader,
) -> Result<Found, Fault> {
    let system = office.settings.namespace.as_str();
    match &target.place {
        Place::Known(known) => source::known(reader, known, system).await,
        Place::Made(made) => makers::find(reader, made, system, &office.book.page().config).await,
        Place::Source(database) => source::source(reader, database, namespace).await,
    }
}

/// Whether a login gets in.
pub(super) async fn admits<A: Admin>(admin: &A, server: &Server, login: &Login) -> Result<bool, Error> {
    match admin.prove(server, login).await {
        Ok(proof) => Ok(proof.session_user == login.role),
        Err(Error::Denied { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}
