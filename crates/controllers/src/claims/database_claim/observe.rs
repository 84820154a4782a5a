use std::collections::{BTreeMap, BTreeSet};

use api::annotations::{HELD_AS, KEPT_UNTIL, RECYCLED};
use api::claims::{DatabaseClaim, DeletePolicy};
use api::names::Side;
use k8s_openapi::api::core::v1::Secret;
use kit::{Fault, Name, Reader, Room};
use kube::ResourceExt;
use ports::admin::{Admin, Asked, Error, Login, Seen, Server};

use super::plan::{Kept, Names, World, had};
use super::{BY_HELD_FOR, DatabaseClaims};
use crate::claims::guests::{BY_SOURCE, Guest};
use crate::claims::logins::side;
use crate::claims::makers::Found;
use crate::claims::password;
use crate::claims::secret::Held;
use crate::claims::server::{self, Entry};
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
        guests: Vec::new(),
        record: None,
        empty: Vec::new(),
        place: None,
        parked: false,
        identity,
        config,
        target,
        moved,
    };
    let Ok(target) = world.target.clone() else { return Ok(world) };
    let stand = server::find(&room.office, &target, &own.namespace, reader).await?;
    (world.maker, world.notes, world.found) = (stand.maker, stand.notes, stand.found);
    look(room, claim, &target, reader, &mut world).await?;
    Ok(world)
}

/// Looks at who else is on the server, and at what it says.
async fn look<A: Admin>(
    room: &DatabaseClaims<A>,
    claim: &DatabaseClaim,
    target: &Target,
    reader: &Reader,
    world: &mut World,
) -> Result<(), Fault> {
    let own = Name::of(claim);
    if claim.metadata.deletion_timestamp.is_some()
        && let Place::Made(made) = &target.place
    {
        others(room, world, (&own, &made.name), reader).await?;
    }
    if claim.metadata.deletion_timestamp.is_some() && world.kept.is_none() {
        let found = reader.indexed(BY_SOURCE, &world.identity.to_string()).await?;
        world.guests = found.iter().map(|guest| Guest::of(&Name::of(&**guest), &world.names.stem)).collect();
    }
    let Found::Ready(server) = world.found.clone() else { return Ok(()) };
    world.place = room.office.lanes.enter(&server.place(), (DatabaseClaims::<A>::NAME, &own), &room.bell);
    world.parked = world.place.is_none();
    if world.parked {
        return Ok(());
    }
    if let Place::Source(_) = &target.place {
        world.names.database.clone_from(&server.database);
    }
    let seen = match room.office.admin.look(&server, &asked(world)).await {
        Ok(seen) => seen,
        // A server that is gone for good keeps nobody who has nothing to do there any more.
        Err(error) if silent(&error) && leaves_all(claim, world) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    records(room, world, (target, &server), reader).await?;
    if claim.metadata.deletion_timestamp.is_none() {
        world.entry = entry(room, &server, &seen, world).await?;
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
    let roles = logins.chain(stem.iter().map(|stem| stem.as_str().to_owned()));
    let roles = roles.chain(world.guests.iter().flat_map(Guest::roles)).collect();
    Asked { database: Some(database.clone()), content: true, roles }
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
    Ok(server::entry(&*room.office.admin, server, &login).await?)
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

/// What keeps the database that a claim of this name had before, if it is on the same server; and what keeps nothing any
/// more, because a pass was cut off after it had taken the database back.
async fn records<A: Admin>(
    room: &DatabaseClaims<A>,
    world: &mut World,
    (target, server): (&Target, &Server),
    reader: &Reader,
) -> Result<(), Fault> {
    if world.kept.is_some() {
        return Ok(());
    }
    let mut found = reader.indexed(BY_HELD_FOR, &world.identity.to_string()).await?;
    found.retain(|record| {
        let there = record.metadata.namespace.as_deref() == Some(room.office.settings.namespace.as_str());
        let on = target::current(record, &world.identity, &world.config);
        there
            && record.metadata.deletion_timestamp.is_none()
            && on.is_ok_and(|on| target::same(&on.place, &target.place))
    });
    // The newest, if the claim came and went more than once.
    found.sort_by_key(|record| {
        std::cmp::Reverse(record.metadata.creation_timestamp.as_ref().map(|time| time.0))
    });
    for record in &found {
        let own = Name::of(&**record);
        let Some(kept) = kept(record, &own, &world.identity) else { continue };
        let asked = Asked { database: Some(kept.held.clone()), ..Asked::default() };
        match room.office.admin.look(server, &asked).await?.database {
            None => world.empty.push(own),
            Some(_) => world.record = world.record.take().or(Some((own, kept))),
        }
    }
    Ok(())
}
