//! Every rule of the kind.

mod going;
mod ground;
mod held;
mod mend;
mod publish;
mod report;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use api::claims::{DatabaseClaim, DatabaseClaimStatus};
use api::conditions::{Reason, SYNCED, Standing};
use api::names::RoleName;
use api::secret::Sealed;
use jiff::Timestamp;
use kit::{Do, Name, Next, Place as Lane, Plan, Refusal};
use ports::admin::Seen;

use crate::claims::config::{Config, Maker};
use crate::claims::guests::Guest;
use crate::claims::makers::{self, Found, Order};
use crate::claims::secret::Held;
use crate::claims::server::Entry;
use crate::claims::step::Step;
use crate::claims::target::{Place, Target};

use ground::Ground;
#[cfg(test)]
pub(super) use ground::mark;

/// How often a server is looked at that is not ready yet.
const MAKING: Duration = Duration::from_secs(2);
/// How often a claim is looked at that waits for a person.
const WAITING: Duration = Duration::from_secs(60);
/// How often a standby is looked at: whoever is about to take over from a primary does so within seconds.
const STANDBY: Duration = Duration::from_secs(5);
/// How often all that a claim says is compared with its server.
const RESYNC: Duration = Duration::from_secs(10 * 60);
/// When a claim is looked at again whose server has too many at once, should nobody wake it.
const PARKED: Duration = Duration::from_secs(10);

/// The plan of this kind.
pub(super) type Drawn = Plan<Step, DatabaseClaimStatus>;

/// What is known when a plan is made.
#[derive(Debug)]
pub struct World {
    /// The time.
    pub(in crate::claims) now: Timestamp,
    /// A password that nobody has seen.
    pub(in crate::claims) fresh: Sealed<String>,
    /// The claim, or the deleted one that it keeps a database for.
    pub(in crate::claims) identity: Name,
    /// What is kept, if the object does that.
    pub(in crate::claims) kept: Option<Kept>,
    /// How things are called on the server.
    pub(in crate::claims) names: Names,
    /// The platform's own namespace.
    pub(in crate::claims) namespace: String,
    /// The configuration in force.
    pub(in crate::claims) config: Arc<Config>,
    /// What is wrong with a newer one.
    pub(in crate::claims) problem: Option<String>,
    /// The server that the claim is on, or asks for if it is on none.
    pub(in crate::claims) target: Result<Target, Refusal>,
    /// Why what it asks for now is not done, in words.
    pub(in crate::claims) moved: Option<String>,
    /// How that server stands.
    pub(in crate::claims) found: Found,
    /// Who made it, or is to make it.
    pub(in crate::claims) maker: Maker,
    /// The notes on its object, if it is made.
    pub(in crate::claims) notes: BTreeMap<String, String>,
    /// What it says of the database and the roles.
    pub(in crate::claims) seen: Option<Seen>,
    /// The name of the Secret.
    pub(in crate::claims) secret: Name,
    /// What the Secret says.
    pub(in crate::claims) held: Held,
    /// Whether what is published gets in.
    pub(in crate::claims) entry: Entry,
    /// Other claims that a server that was made stays for.
    pub(in crate::claims) others: BTreeSet<String>,
    /// Other claims on it that go as well, and before this one.
    pub(in crate::claims) ahead: BTreeSet<String>,
    /// Who else has logins in the database, when the claim goes.
    pub(in crate::claims) guests: Vec<Guest>,
    /// What keeps the database that a claim of this name had before.
    pub(in crate::claims) record: Option<(Name, Kept)>,
    /// What kept it, and keeps nothing any more.
    pub(in crate::claims) empty: Vec<Name>,
    /// The place on the server, for as long as the pass lasts.
    pub(in crate::claims) place: Option<Lane>,
    /// Whether there was none.
    pub(in crate::claims) parked: bool,
}

/// How things are called on the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The database.
    pub(in crate::claims) database: String,
    /// The role that owns it, and what both logins begin with.
    pub(in crate::claims) stem: RoleName,
}

impl Names {
    /// What a claim calls them.
    pub(in crate::claims) fn of(claim: &DatabaseClaim) -> Self {
        let spec = &claim.spec;
        let named = spec.db_name_override.as_ref().or(spec.database_name.as_ref()).map(ToString::to_string);
        let database = named.or_else(|| spec.app_id.clone()).unwrap_or_default();
        Self { database, stem: spec.user_name.clone() }
    }
}

/// A database that was put aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Its name meanwhile.
    pub(in crate::claims) held: String,
    /// Until when; one that cannot be read lasts for ever.
    pub(in crate::claims) until: Option<Timestamp>,
}

impl Kept {
    /// What the names of its roles begin with.
    pub(in crate::claims) fn stem(&self) -> Option<RoleName> {
        self.held.parse().ok()
    }
}

/// Whether a claim ever had a database with anything in it.
pub(super) fn had(claim: &DatabaseClaim) -> bool {
    let status = claim.status.as_ref();
    status.is_some_and(|status| status.active_db.is_some() || status.db_created_at.is_some())
}

/// The plan for one pass over one claim.
pub(super) fn plan(claim: &DatabaseClaim, world: &World) -> Result<Drawn, Refusal> {
    let mut status = claim.status.clone().unwrap_or_default();
    if world.parked {
        return Ok(Plan::part(Vec::new(), status, Next::After(PARKED)));
    }
    status.observed_generation = claim.metadata.generation;
    if claim.metadata.deletion_timestamp.is_some() {
        return Ok(going::plan(claim, world, status));
    }
    if let Some(kept) = &world.kept {
        return Ok(held::keeping(claim, world, kept, status));
    }
    let target = world.target.clone()?;
    elevated(claim, &target)?;
    match &world.found {
        Found::Absent => provision(world, &target, status),
        Found::Making(words) => Ok(waits(status, Reason::Provisioning, words.clone(), MAKING)),
        Found::Wrong(reason, words) => Ok(waits(status, reason.clone(), words.clone(), WAITING)),
        Found::Ready(server) => {
            let Some(seen) = &world.seen else {
                let words = format!("{} was not looked at", server.place());
                return Ok(waits(status, Reason::Provisioning, words, MAKING));
            };
            Ok(serve(&Ground::new(claim, world, &target, server, seen), status))
        }
    }
}

/// Refuses powers that the configuration does not permit.
fn elevated(claim: &DatabaseClaim, target: &Target) -> Result<(), Refusal> {
    let label = target.label.as_ref().map(|label| format!(" for {label}")).unwrap_or_default();
    let table = [
        (claim.spec.enable_super_user, target.terms.super_user, "enableSuperUser", "allowSuperUser"),
        (
            claim.spec.enable_replication_role,
            target.terms.replication,
            "enableReplicationRole",
            "allowReplicationRole",
        ),
    ];
    match table.into_iter().find(|(asked, allowed, ..)| *asked && !allowed) {
        None => Ok(()),
        Some((_, _, field, key)) => {
            let message = format!(
                "{field} is not permitted{label}: the configuration would have to say {key}: true; take it out, or ask the platform's operators"
            );
            Err(Refusal::new(Reason::InvalidSpec, message))
        }
    }
}

/// Nothing can be done yet.
fn waits(mut status: DatabaseClaimStatus, reason: Reason, words: String, delay: Duration) -> Drawn {
    status.error = (reason != Reason::Provisioning).then(|| words.clone());
    status.say(SYNCED, Some(false), reason.clone(), words.clone());
    Plan::wait(status, reason, words, delay)
}

/// Asks for the server.
fn provision(world: &World, target: &Target, status: DatabaseClaimStatus) -> Result<Drawn, Refusal> {
    let Place::Made(made) = &target.place else {
        return Ok(waits(status, Reason::Provisioning, "the server is not known yet".into(), MAKING));
    };
    let order = Order {
        made,
        namespace: &world.namespace,
        config: &world.config,
        orphan: target.terms.orphan,
        fresh: &world.fresh,
    };
    let children = makers::order(&order)?;
    let steps = children.into_iter().map(|child| Do::Create(Box::new(child))).collect();
    let mut plan = waits(status, Reason::Provisioning, format!("server {} is being made", made.name), MAKING);
    plan.steps = steps;
    Ok(plan)
}

/// The database, its owner and logins, and the Secret, on a server that can be spoken to.
fn serve(ground: &Ground<'_>, status: DatabaseClaimStatus) -> Drawn {
    let Ground { world, server, seen, .. } = ground;
    if seen.recovery {
        let words = format!("server {} only reads: it is a standby; name the primary", server.place());
        return waits(status, Reason::Code("ServerReadOnly".into()), words, STANDBY);
    }
    if let Some(words) = ground.foreign() {
        return waits(status, Reason::NotOurs, words, WAITING);
    }
    if let (Some((record, kept)), true) = (&world.record, seen.database.is_none()) {
        return held::take_back(ground, record, kept, status);
    }
    if matches!(world.held, Held::Foreign) {
        let words = format!(
            "Secret {} exists and was not made for this claim; delete or rename it, or choose another secretName",
            world.secret
        );
        return waits(status, Reason::NotOurs, words, WAITING);
    }
    publish::publish(ground, status)
}
