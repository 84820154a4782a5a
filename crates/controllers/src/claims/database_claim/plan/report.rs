//! What a claim says of itself when all is done.

use api::claims::{ConnectionInfo, DatabaseClaimStatus, DatabaseStatus, DbState};
use api::conditions::{Reason, SYNCED, Standing};
use api::drift::Drift;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::ground::Ground;
use crate::claims::logins::Published;
use crate::claims::target::Place;

/// The status of a claim that is served.
pub(super) fn ready(
    ground: &Ground<'_>,
    mut status: DatabaseClaimStatus,
    published: &Published,
    drift: Vec<Drift>,
) -> DatabaseClaimStatus {
    let (world, server) = (ground.world, ground.server);
    // Times are kept in whole seconds, as Kubernetes keeps them.
    let whole = |at: Timestamp| Time(Timestamp::from_second(at.as_second()).unwrap_or(at));
    let made_before = status.db_created_at.is_some();
    let issued = Some(whole(published.at));
    let info = ConnectionInfo {
        user_name: Some(published.username.clone()),
        host_name: Some(server.host.clone()),
        port: Some(server.port.to_string()),
        database_name: Some(ground.database().to_owned()),
        ssl_mode: Some(server.ssl_mode),
        user_updated_at: issued.clone(),
    };
    status.error = None;
    status.matched_label.clone_from(&ground.target.label);
    status.db_created_at = status.db_created_at.or_else(|| Some(whole(world.now)));
    status.connection_info_updated_at.clone_from(&issued);
    // At the beginning everything is missing, and nothing has drifted.
    status.drift = if made_before { drift } else { Vec::new() };
    let before = status.active_db.take().unwrap_or_default();
    status.active_db = Some(active(ground, before, &info));
    status.connection_info = Some(info);
    if let Some(active) = &mut status.active_db {
        active.db_create_at.clone_from(&status.db_created_at);
        active.connection_updated_at.clone_from(&issued);
        active.user_updated_at = issued;
    }
    let message =
        format!("database {} on {} is served as {}", ground.database(), server.place(), published.username);
    status.ready(Reason::Available, message);
    let (good, reason, words) = match (&world.moved, &world.problem) {
        (Some(moved), _) => (false, Reason::Code("MigrationNeeded".into()), moved.clone()),
        (None, Some(problem)) => {
            let words = format!(
                "the configuration of before is in force, because the new one cannot be read: {problem}"
            );
            (false, Reason::InvalidConfiguration, words)
        }
        (None, None) => (true, Reason::Available, "the server is as the claim says".to_owned()),
    };
    status.say(SYNCED, Some(good), reason, words);
    status
}

fn active(ground: &Ground<'_>, before: DatabaseStatus, info: &ConnectionInfo) -> DatabaseStatus {
    let (state, made) = match &ground.target.place {
        Place::Known(_) => (DbState::UsingSharedHost, None),
        Place::Made(made) => (DbState::Ready, Some(made)),
        Place::Source(_) => (DbState::UsingExistingDb, None),
    };
    DatabaseStatus {
        db_state: Some(state),
        // What was asked for when the server was made: a later wish is a migration.
        db_version: before.db_version.or_else(|| made.and_then(|made| made.version.clone())),
        shape: before.shape.or_else(|| made.and_then(|made| made.shape.clone())),
        min_storage_gb: before
            .min_storage_gb
            .or_else(|| made.and_then(|made| made.storage_gb).and_then(|size| i32::try_from(size).ok())),
        max_storage_gb: before.max_storage_gb.or(ground.claim.spec.max_storage_gb),
        type_: before.type_.or(Some(ground.claim.spec.type_)),
        match_label: ground.target.label.clone(),
        connection_info: Some(info.clone()),
        ..DatabaseStatus::default()
    }
}
