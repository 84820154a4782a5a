use std::collections::{BTreeMap, BTreeSet};

use api::annotations::{HELD_AS, KEPT_UNTIL, RECYCLED};
use api::claims::{DatabaseClaim, DeletePolicy};
use api::names::Side;
use k8s_openapi::api::core::v1::Secret;
use kit::{Fault, Name, Reader, Room};
use kube::ResourceExt;
use ports::admin::{Admin, Asked, Error, Login, Seen, Server};

use super::plan::{Entry, Kept, Names, World, had};
use super::{BY_HELD_FOR, DatabaseClaims, held_for};
use crate::claims::logins::side;
use crate::claims::makers::{self, Found, Stand};
use crate::claims::password;
use crate::claims::secret::Held;
use crate::claims::source;
use crate::claims::target::{self, Place, Target};

/// Looks at the configuration, the server, what the server says of the claim's database and roles, and the Secret.
pub(super) async fn observe<A: Admin>(
    room: &DatabaseClaims<A>,
    claim: &DatabaseClaim,
    reader: &Reader,
) -> Result<World, Fault> {
    let page = room.office.book.page();
    let config = page.config.clone();
    let identity = room.identity(claim);
    let wanted = target::wanted(claim, &identity, &config);
    let active = claim.status.as_ref().and_then(|status| status.active_db.as_ref());
    let target = target::current(claim, &identity, &config);
    let moved = match (active, &wanted, &target) {
        (Some(active), Ok(now), Ok(then)) => target::moved(&claim.spec, active, now, then),
        (Some(_), Err(refusal), Ok(_)) => Some(refusal.message.clone()),
        _ => None,
    };
    let own = Name::of(claim);
    let secret_name = claim.spec.secret_name.as_ref().map_or(own.name.as_str(), |name| name.as_str());
    let secret = reader.get::<Secret>(&own.namespace, secret_name).await?;
    let mut world = World {
        now: reader.now(),
        fresh: password::fresh(reader.dice(), config.passwords),
        kept: kept(claim, &own, &identity),
        names: Names::of(claim),
        namespace: room.office.settings.namespace.clone(),
        problem: page.problem.clone(),
        secret: Name::new(own.namespace.clone(), secret_name),
        held: Held::read(secret.as_deref(), claim.metadata.uid.as_deref()),
        found: Found::Absent,
        maker: config.maker,
        notes: BTreeMap::new(),
        seen: None,
        entry: Entry::Untried,
        others: BTreeSet::new(),
        ahead: BTreeSet::new(),
        record: None,
        place: None,
        parked: false,
        identity,
        config,
        target,
        moved,
    };
    let Ok(target) = world.target.clone() else { return Ok(world) };
    find(room, &mut world, (&target, &own.namespace), reader).await?;
    if claim.metadata.deletion_timestamp.is_some()
        && let Place::Made(made) = &target.place
    {
        others(room, &mut world, (&own, &made.name), reader).await?;
    }
    world.record = record(room, &world, &target, reader).await?;
    let Found::Ready(server) = world.found.clone() else { return Ok(world) };
    world.place = room.office.lanes.enter(&server.place(), (DatabaseClaims::<A>::NAME, &own), &room.bell);
    world.parked = world.place.is_none();
    if world.parked {
        return Ok(world);
    }
    if let Place::Source(_) = &target.place {
        world.names.database.clone_from(&server.database);
    }
    look(room, claim, &mut world, &server).await?;
    Ok(world)
}

/// Asks the server for the claim's database and roles, and whether what is published gets in.
async fn look<A: Admin>(
    room: &DatabaseClaims<A>,
    claim: &DatabaseClaim,
    world: &mut World,
    server: &Server,
) -> Result<(), Fault> {
    let seen = match room.office.admin.look(server, &asked(world)).await {
        Ok(seen) => seen,
        // A server that is gone for good keeps nobody who has nothing to do there any more.
        Err(error) if silent(&error) && leaves_all(claim, world) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    if claim.metadata.deletion_timestamp.is_none() {
        world.entry = entry(room, server, &seen, world).await?;
    }
    world.seen = Some(seen);
    Ok(())
}

/// Whether a claim goes and leaves nothing to be done: nothing was made for it yet, or all of it stays. What is kept, or on
/// its way back, is seen to first.
fn leaves_all(claim: &DatabaseClaim, world: &World) -> bool {
    let stays = claim.spec.delete_policy == DeletePolicy::Recycle || !had(claim);
    let held = world.kept.is_some() || world.record.is_some();
    claim.metadata.deletion_timestamp.is_some() && stays && !held
}

/// Whether a server cannot be spoken to at all.
fn silent(error: &Error) -> bool {
    match error {
        Error::Unreachable { .. }
        | Error::Denied { .. }
        | Error::Timeout { .. }
        | Error::TlsRefused { .. }
        | Error::Certificate { .. } => true,
        Error::TooManyConnections { .. }
        | Error::ReadOnly { .. }
        | Error::Privilege { .. }
        | Error::Busy { .. }
        | Error::NotOurs { .. }
        | Error::Missing { .. }
        | Error::Name { .. }
        | Error::Statement { .. } => false,
    }
}

/// What is kept for a deleted claim, if this object does that.
fn kept(claim: &DatabaseClaim, own: &Name, identity: &Name) -> Option<Kept> {
    let notes = claim.annotations();
    let held = notes.get(HELD_AS).filter(|_| own != identity)?;
    Some(Kept { held: held.clone(), until: notes.get(KEPT_UNTIL).and_then(|until| until.parse().ok()) })
}

fn asked(world: &World) -> Asked {
    let names = &world.names;
    let (database, stem) = match &world.kept {
        Some(kept) => (&kept.held, kept.stem()),
        None => (&names.database, Some(names.stem.clone())),
    };
    let logins = stem.iter().flat_map(|stem| [Side::A, Side::B].map(|side| stem.login(side).to_string()));
    let roles = logins.chain(stem.iter().map(|stem| stem.as_str().to_owned())).collect();
    Asked { database: Some(database.clone()), content: true, roles }
}

/// Looks how the server stands, and who made it.
async fn find<A: Admin>(
    room: &DatabaseClaims<A>,
    world: &mut World,
    (target, namespace): (&Target, &str),
    reader: &Reader,
) -> Result<(), Fault> {
    let system = room.office.settings.namespace.as_str();
    world.found = match &target.place {
        Place::Known(known) => source::known(reader, known, system).await?,
        Place::Source(database) => source::source(reader, database, namespace).await?,
        Place::Made(made) => {
            let Stand { maker, notes, found } = makers::find(reader, made, system, &world.config).await?;
            (world.maker, world.notes) = (maker, notes);
            found
        }
    };
    Ok(())
}

/// Whether the login that is published gets in.
async fn entry<A: Admin>(
    room: &DatabaseClaims<A>,
    server: &Server,
    seen: &Seen,
    world: &World,
) -> Result<Entry, Fault> {
    let Some(issued) = world.held.ours() else { return Ok(Entry::Untried) };
    if side(&world.names.stem, &issued.username).is_none() || seen.database.is_none() {
        return Ok(Entry::Untried);
    }
    let login = Login {
        database: world.names.database.clone(),
        role: issued.username.clone(),
        password: issued.password.clone(),
    };
    match room.office.admin.prove(server, &login).await {
        Ok(proof) if proof.session_user == login.role => Ok(Entry::Good),
        Ok(_) | Err(Error::Denied { .. }) => Ok(Entry::Refused),
        Err(Error::Privilege { .. }) => Ok(Entry::Barred),
        Err(error) => Err(error.into()),
    }
}

/// The other claims whose databases are on a server that was made, as far as they count when this one goes.
async fn others<A: Admin>(
    room: &DatabaseClaims<A>,
    world: &mut World,
    (own, server): (&Name, &str),
    reader: &Reader,
) -> Result<(), Fault> {
    let all = reader.list::<DatabaseClaim>(None).await?;
    for other in &all {
        let (name, identity) = (Name::of(&**other), room.identity(other));
        let target = target::current(other, &identity, &world.config);
        let on_it = matches!(target, Ok(Target { place: Place::Made(made), .. }) if made.name == server);
        if name == *own || !on_it {
            continue;
        }
        let keeps = other.spec.delete_policy == DeletePolicy::Recycle
            || world.config.hold_minutes > 0 && identity == name && had(other);
        if other.metadata.deletion_timestamp.is_none() || keeps {
            world.others.insert(name.to_string());
        } else if name < *own {
            // Of those that go at the same time the first by name waits for nobody.
            world.ahead.insert(name.to_string());
        }
    }
    let recycled = world.notes.iter().filter(|(note, _)| note.starts_with(RECYCLED)).map(|(_, whose)| whose);
    let recycled = recycled.filter(|whose| **whose != world.identity.to_string());
    world.others.extend(recycled.map(|whose| format!("the recycled database of {whose}")));
    Ok(())
}

/// What keeps the database that a claim of this name had before, if it is on the same server.
async fn record<A: Admin>(
    room: &DatabaseClaims<A>,
    world: &World,
    target: &Target,
    reader: &Reader,
) -> Result<Option<(Name, Kept)>, Fault> {
    if world.kept.is_some() {
        return Ok(None);
    }
    let found = reader.indexed(BY_HELD_FOR, &world.identity.to_string()).await?;
    let found = found.iter().filter(|record| {
        let there = record.metadata.namespace.as_deref() == Some(room.office.settings.namespace.as_str());
        let on = target::current(record, &world.identity, &world.config);
        there
            && record.metadata.deletion_timestamp.is_none()
            && !held_for(record).is_empty()
            && on.is_ok_and(|on| target::same(&on.place, &target.place))
    });
    // The newest, if the claim came and went more than once.
    let newest = found.max_by_key(|record| record.metadata.creation_timestamp.as_ref().map(|time| time.0));
    let read = |record: &std::sync::Arc<DatabaseClaim>| {
        let own = Name::of(&**record);
        kept(record, &own, &world.identity).map(|kept| (own, kept))
    };
    Ok(newest.and_then(read))
}
