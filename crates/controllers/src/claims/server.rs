//! The server that a claim's database is on: found, found again when the claim is gone, and asked whether a login gets in.

use std::collections::BTreeMap;

use api::claims::{DatabaseClaim, DatabaseStatus};
use kit::{Fault, Name, Reader, Refusal};
use ports::admin::{Admin, Error, Login, Server};
use serde_json::json;

use super::Office;
use super::config::Config;
use super::makers::{self, Stand};
use super::source;
use super::target::{self, Place, Target};

/// How it went to log in with what is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Nobody tried.
    Untried,
    /// It gets in.
    Good,
    /// It is refused.
    Refused,
    /// The login is right, and may not enter: what is mended may be why.
    Barred,
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

/// How that server stands, and who made it. The namespace is the claim's.
pub(super) async fn find<A: Admin>(
    office: &Office<A>,
    target: &Target,
    namespace: &str,
    reader: &Reader,
) -> Result<Stand, Fault> {
    let (system, config) = (office.settings.namespace.as_str(), office.book.page().config.clone());
    let found = match &target.place {
        Place::Known(known) => source::known(reader, known, system).await?,
        Place::Source(database) => source::source(reader, database, namespace).await?,
        Place::Made(made) => return makers::find(reader, made, system, &config).await,
    };
    Ok(Stand { maker: config.maker, notes: BTreeMap::new(), found })
}

/// Whether a login gets in.
pub(super) async fn entry<A: Admin>(admin: &A, server: &Server, login: &Login) -> Result<Entry, Error> {
    match admin.prove(server, login).await {
        Ok(proof) if proof.session_user == login.role => Ok(Entry::Good),
        Ok(_) | Err(Error::Denied { .. }) => Ok(Entry::Refused),
        Err(Error::Privilege { .. }) => Ok(Entry::Barred),
        Err(error) => Err(error),
    }
}
