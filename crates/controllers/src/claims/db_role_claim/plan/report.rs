//! What a claim says of itself when all is done.

use api::claims::{DbRoleClaimStatus, SchemasStatus};
use api::conditions::{READY, Reason, SYNCED, Standing, holds};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

use super::mend::{Mended, word};
use super::{Copied, Ground};
use crate::claims::logins::Published;

/// The status of a claim with logins of its own. `steady` if its spec is as it was, `changed` if its Secret changes.
pub(super) fn logins(
    ground: &Ground<'_>,
    status: DbRoleClaimStatus,
    published: &Published,
    (mended, steady, changed): (&Mended, bool, bool),
) -> DbRoleClaimStatus {
    // What is made for the first time, or because the spec asks for it now, has not drifted.
    let settled = steady && holds(&status.conditions, READY);
    let mut status = served(ground, status, &published.username, changed);
    status.user_updated_at = Some(whole(published.at));
    status.drift = if settled { mended.drift.clone() } else { Vec::new() };
    if mended.rights || status.schemas_roles_updated_at.is_none() {
        status.schemas_roles_updated_at = Some(whole(ground.world.now));
    }
    let rights = ground.claim.spec.schema_role_map.iter();
    let role = |login: &String| if *login == published.username { "in use" } else { "idle" };
    let logins = ground.site.guest.logins();
    let logins = logins.iter().map(|login| (login.clone(), role(login).to_owned()));
    let holder = (ground.site.guest.holder.to_string(), "holds the rights".to_owned());
    status.schemas_status = Some(SchemasStatus {
        schemastatus: rights.map(|(schema, right)| (schema.to_string(), word(*right).to_owned())).collect(),
        rolestatus: logins.chain([holder]).collect(),
    });
    status
}

/// The status of a claim that copies the source's connection.
pub(super) fn copied(
    ground: &Ground<'_>,
    status: DbRoleClaimStatus,
    copied: &Copied,
    changed: bool,
) -> DbRoleClaimStatus {
    let mut status = served(ground, status, &copied.issued.username, changed);
    status.user_updated_at = copied.issued.at.map(whole);
    status.source_secret_resource_version = copied.secret.resource_version();
    status.schemas_roles_updated_at = None;
    status.schemas_status = None;
    status.drift = Vec::new();
    status
}

fn served(
    ground: &Ground<'_>,
    mut status: DbRoleClaimStatus,
    username: &str,
    changed: bool,
) -> DbRoleClaimStatus {
    let world = ground.world;
    let now = Some(whole(world.now));
    let made = world.own.as_ref().and_then(|own| own.creation_timestamp());
    status.error = None;
    status.matched_source_claim = Some(world.origin.to_string());
    status.source_secret = world.copied.as_ref().map(|copied| copied.name.to_string());
    status.source_secret_resource_version = None;
    status.source_db = Some(ground.site.noted.clone());
    status.username = Some(username.to_owned());
    status.secret_created_at = match made {
        Some(made) => status.secret_created_at.or(Some(made)),
        None => now.clone(),
    };
    status.secret_updated_at = match changed {
        true => now,
        false => status.secret_updated_at.or_else(|| status.secret_created_at.clone()),
    };
    let (database, place) = (&ground.site.database, ground.server.place());
    status.ready(Reason::Available, format!("database {database} on {place} is served as {username}"));
    let (good, reason, words) = match &world.problem {
        Some(problem) => {
            let words = format!(
                "the configuration of before is in force, because the new one cannot be read: {problem}"
            );
            (false, Reason::InvalidConfiguration, words)
        }
        None => (true, Reason::Available, "the server is as the claim says".to_owned()),
    };
    status.say(SYNCED, Some(good), reason, words);
    status
}

/// Times are kept in whole seconds, as Kubernetes keeps them.
fn whole(at: Timestamp) -> Time {
    Time(Timestamp::from_second(at.as_second()).unwrap_or(at))
}
