use std::sync::Arc;
use std::time::Duration;

use api::claims::{ConnectionInfo, DatabaseClaim, DatabaseClaimStatus, DatabaseStatus, DbRoleClaim, DbState};
use api::conditions::{READY, find, holds};
use k8s_openapi::api::core::v1::Secret;
use kit::{Fault, Name, Reader, Refusal, Room};
use kube::ResourceExt;
use ports::admin::{Admin, Asked, Error, Login, Seen, Server};

use super::DbRoleClaims;
use super::plan::{Copied, Sight, Site, Source, World};
use crate::claims::config::Config;
use crate::claims::guests::{self, Guest};
use crate::claims::logins::side;
use crate::claims::makers::Found;
use crate::claims::password;
use crate::claims::secret::Held;
use crate::claims::server::{self, Entry};
use crate::claims::source::allows;
use crate::claims::target::{self, Target};

/// How long a claim that goes waits for a server that nobody answers for, when its source is gone, too.
const UNANSWERED: Duration = Duration::from_secs(10 * 60);

/// Looks at the source, the Secrets, the server of the source, and what that says of the claim's roles and rights.
pub(super) async fn observe<A: Admin>(
    room: &DbRoleClaims<A>,
    claim: &DbRoleClaim,
    reader: &Reader,
) -> Result<World, Fault> {
    let page = room.office.book.page();
    let (own, origin) = (Name::of(claim), guests::source(claim));
    let found = reader.get::<DatabaseClaim>(&origin.namespace, &origin.name).await?;
    let secret_name = claim.spec.secret_name.as_ref().map_or(own.name.as_str(), |name| name.as_str());
    let secret = reader.get::<Secret>(&own.namespace, secret_name).await?;
    let place = located(claim, found.as_deref(), &origin, &page.config);
    let mut world = World {
        now: reader.now(),
        fresh: password::fresh(reader.dice(), page.config.passwords),
        period: Duration::from_secs(60 * u64::from(page.config.passwords.rotation_minutes)),
        problem: page.problem.clone(),
        source: standing(found.as_deref(), &origin, &own.namespace, &room.office.settings.class),
        site: place.as_ref().map(|(site, _)| site.clone()),
        sight: Sight::Unknown,
        secret: Name::new(own.namespace.clone(), secret_name),
        held: Held::read(secret.as_deref(), claim.metadata.uid.as_deref()),
        own: secret,
        copied: None,
        origin,
    };
    let goes = claim.metadata.deletion_timestamp.is_some();
    let noted = claim.status.as_ref().is_some_and(|status| status.source_db.is_some());
    let served = !goes && matches!(world.source, Source::Served);
    let waits = !goes && matches!(world.source, Source::Waiting(_));
    if served && let Some(found) = &found {
        world.copied = original(found, reader).await?;
    }
    // The Secret goes first, whether or not the server answers. Who never got in has nothing there.
    let first = !served && world.held.ours().is_some();
    let nothing = !served && !noted;
    let Some((site, target)) = place.filter(|_| !waits && !first && !nothing) else { return Ok(world) };
    world.sight = sight(room, (claim, &world), (&site, target), reader).await?;
    Ok(world)
}

/// How the source stands, and whether it agrees.
fn standing(found: Option<&DatabaseClaim>, origin: &Name, namespace: &str, class: &str) -> Source {
    let goes = |found: &DatabaseClaim| found.metadata.deletion_timestamp.is_some();
    let agrees =
        origin.namespace == namespace || found.is_some_and(|found| allows(found.annotations(), namespace));
    if !agrees {
        return Source::Denied { gone: found.is_none_or(goes) };
    }
    let Some(found) = found else { return Source::Gone };
    if goes(found) {
        return Source::Leaving;
    }
    if found.spec.class != class {
        let words = format!(
            "is of class {}, and this claim of class {class}; both have to be the same",
            found.spec.class
        );
        return Source::Waiting(words);
    }
    match &found.status {
        Some(DatabaseClaimStatus { active_db: Some(_), conditions, .. }) if holds(conditions, READY) => {
            Source::Served
        }
        status => {
            let conditions = status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
            let told = find(conditions, READY).map(|ready| format!(": {}", ready.message));
            Source::Waiting(format!("is not ready yet{}", told.unwrap_or_default()))
        }
    }
}

/// The database that the claim's roles are in: the source's, or the one that it was in when the source was last seen.
fn located(
    claim: &DbRoleClaim,
    found: Option<&DatabaseClaim>,
    origin: &Name,
    config: &Config,
) -> Option<(Site, Result<Target, Refusal>)> {
    let active = found.and_then(|found| Some((found, found.status.as_ref()?.active_db.as_ref()?)));
    let (noted, target) = match active {
        Some((found, active)) => (note(found, active), target::current(found, origin, config)),
        None => {
            let noted = claim.status.as_ref()?.source_db.clone()?;
            let target = server::noted(&noted, origin, config)?;
            (noted, target)
        }
    };
    let info = noted.connection_info.as_ref()?;
    let owner = info.user_name.as_ref()?.parse().ok()?;
    let guest = Guest::of(&Name::of(claim), &owner);
    let site = Site { database: info.database_name.clone()?, owner: owner.to_string(), guest, noted };
    Some((site, target))
}

/// What is kept of the source: all that is needed to find its server again, and no login.
fn note(found: &DatabaseClaim, active: &DatabaseStatus) -> DatabaseStatus {
    let info = active.connection_info.clone().unwrap_or_default();
    DatabaseStatus {
        db_state: active.db_state,
        db_version: active.db_version.clone(),
        shape: active.shape.clone(),
        type_: active.type_,
        match_label: active.match_label.clone(),
        connection_info: Some(ConnectionInfo {
            user_name: Some(found.spec.user_name.to_string()),
            user_updated_at: None,
            ..info
        }),
        ..DatabaseStatus::default()
    }
}

/// The source's own Secret.
async fn original(found: &DatabaseClaim, reader: &Reader) -> Result<Option<Copied>, Fault> {
    let of = Name::of(found);
    let name = found.spec.secret_name.as_ref().map_or(of.name.as_str(), |name| name.as_str());
    let secret = reader.get::<Secret>(&of.namespace, name).await?;
    // Only what was made for the source: any other is nobody's to give away.
    let theirs = |secret: &Arc<Secret>| match Held::read(Some(secret), found.metadata.uid.as_deref()) {
        Held::Ours(issued) => Some((secret.clone(), issued)),
        Held::Nothing | Held::Foreign => None,
    };
    let copied = secret.as_ref().and_then(theirs);
    Ok(copied.map(|(secret, issued)| Copied { name: Name::new(of.namespace, name), secret, issued }))
}

async fn sight<A: Admin>(
    room: &DbRoleClaims<A>,
    (claim, world): (&DbRoleClaim, &World),
    (site, target): (&Site, Result<Target, Refusal>),
    reader: &Reader,
) -> Result<Sight, Fault> {
    let office = &room.office;
    let target = match target {
        Ok(target) => target,
        Err(refusal) => return Ok(Sight::Closed(Found::Wrong(refusal.reason, refusal.message))),
    };
    let server = match server::find(office, &target, &world.origin.namespace, reader).await?.found {
        Found::Ready(server) => server,
        other => return Ok(Sight::Closed(other)),
    };
    let own = Name::of(claim);
    let Some(place) = office.lanes.enter(&server.place(), (DbRoleClaims::<A>::NAME, &own), &room.bell) else {
        return Ok(Sight::Parked);
    };
    let roles = site.guest.roles().into_iter().chain([site.owner.clone()]).collect();
    let asked = Asked { database: Some(site.database.clone()), content: true, roles };
    let seen = match office.admin.look(&server, &asked).await {
        Err(Error::Unreachable { .. }) if forsaken(claim, world) => return Ok(Sight::Closed(Found::Absent)),
        seen => seen?,
    };
    let gets_in = match world.source {
        Source::Served => gets_in(room, (&server, &seen), site, world).await?,
        Source::Denied { .. } | Source::Gone | Source::Leaving | Source::Waiting(_) => None,
    };
    Ok(Sight::Open { server, seen: Box::new(seen), gets_in, _place: place })
}

/// Whether nobody will ever answer for the server.
fn forsaken(claim: &DbRoleClaim, world: &World) -> bool {
    let gone = matches!(world.source, Source::Gone | Source::Denied { gone: true });
    let since = claim.metadata.deletion_timestamp.as_ref().map(|since| world.now.duration_since(since.0));
    gone && since.is_some_and(|since| since.unsigned_abs() > UNANSWERED)
}

/// Whether the claim's login that is published gets in.
async fn gets_in<A: Admin>(
    room: &DbRoleClaims<A>,
    (server, seen): (&Server, &Seen),
    site: &Site,
    world: &World,
) -> Result<Option<bool>, Fault> {
    let issued = world.held.ours().filter(|issued| side(&site.guest.holder, &issued.username).is_some());
    let Some(issued) = issued.filter(|_| seen.database.is_some()) else { return Ok(None) };
    let login = Login {
        database: site.database.clone(),
        role: issued.username.clone(),
        password: issued.password.clone(),
    };
    Ok(match server::entry(&*room.office.admin, server, &login).await? {
        Entry::Untried => None,
        Entry::Good => Some(true),
        // Whoever may log in and not enter lacks a right that is ours to give.
        Entry::Refused | Entry::Barred => Some(false),
    })
}

impl Site {
    /// Whether the database was there before its claim, which then is not its only creator.
    pub(super) fn is_found(&self) -> bool {
        self.noted.db_state == Some(DbState::UsingExistingDb)
    }
}
