//! Every rule of the kind.

mod leave;
mod mend;
mod report;

use std::sync::Arc;
use std::time::Duration;

use api::annotations::{ALLOW_FROM, ROTATE};
use api::claims::{DatabaseStatus, DbRoleClaim, DbRoleClaimStatus};
use api::conditions::{Reason, SYNCED, Standing};
use api::connection::{Connection, DSN};
use api::secret::Sealed;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kit::{Do, Name, Next, Place as Lane, Plan, Refusal};
use kube::ResourceExt;
use ports::admin::{Content, Powers, Seen, Server, Title};

use crate::claims::guests::Guest;
use crate::claims::logins::{Hour, Pair, Published};
use crate::claims::makers::Found;
use crate::claims::secret::{self, Held, Issued};
use crate::claims::step::Step;

/// How often it is looked whether the last session has ended, or a server is there.
const SOON: Duration = Duration::from_secs(2);
/// How often a claim is looked at that waits for a person.
const WAITING: Duration = Duration::from_secs(60);
/// How often all that a claim says is compared with its server.
const RESYNC: Duration = Duration::from_secs(10 * 60);
/// When a claim is looked at again whose server has too many at once, should nobody wake it.
const PARKED: Duration = Duration::from_secs(10);

/// The plan of this kind.
type Drawn = Plan<Step, DbRoleClaimStatus>;

/// What is known when a plan is made.
pub struct World {
    /// The time.
    pub(super) now: Timestamp,
    /// A password that nobody has seen.
    pub(super) fresh: Sealed<String>,
    /// How long a password is good.
    pub(super) period: Duration,
    /// What is wrong with a newer configuration.
    pub(super) problem: Option<String>,
    /// The name of the source.
    pub(super) origin: Name,
    /// How it stands.
    pub(super) source: Source,
    /// The database that the claim's roles are in, if that is known.
    pub(super) site: Option<Site>,
    /// What its server says.
    pub(super) sight: Sight,
    /// The name of the Secret.
    pub(super) secret: Name,
    /// What the Secret says.
    pub(super) held: Held,
    /// The Secret itself.
    pub(super) own: Option<Arc<Secret>>,
    /// The source's Secret.
    pub(super) copied: Option<Copied>,
}

/// How a source stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// It is in another namespace and does not agree, or is not there: which of the two is told to nobody.
    Denied { gone: bool },
    /// It is not there.
    Gone,
    /// It is being deleted.
    Leaving,
    /// It cannot be used yet, and why.
    Waiting(String),
    /// Its database can be used.
    Served,
}

/// A database, and the claim's roles in it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Site {
    pub(super) database: String,
    /// The role that owns it, or stands for who does.
    pub(super) owner: String,
    pub(super) guest: Guest,
    /// All that is needed to find it again.
    pub(super) noted: DatabaseStatus,
}

/// What a server says.
pub(super) enum Sight {
    /// It was not asked.
    Unknown,
    /// It cannot be asked.
    Closed(Found),
    /// It has too many at once.
    Parked,
    /// This, and whether what is published gets in. The place on it lasts as long as the pass.
    Open { server: Arc<Server>, seen: Box<Seen>, gets_in: Option<bool>, _place: Lane },
}

/// The Secret of a source.
pub(super) struct Copied {
    pub(super) name: Name,
    pub(super) secret: Arc<Secret>,
    pub(super) issued: Issued,
}

/// A claim, and the server that its roles are on.
struct Ground<'a> {
    claim: &'a DbRoleClaim,
    world: &'a World,
    site: &'a Site,
    server: &'a Arc<Server>,
    seen: &'a Seen,
    content: &'a Content,
    gets_in: Option<bool>,
    title: Title,
}

/// The plan for one pass over one claim.
pub(super) fn plan(claim: &DbRoleClaim, world: &World) -> Result<Drawn, Refusal> {
    let mut status = claim.status.clone().unwrap_or_default();
    if matches!(world.sight, Sight::Parked) {
        return Ok(Plan::part(Vec::new(), status, Next::After(PARKED)));
    }
    let steady = status.observed_generation == claim.metadata.generation;
    status.observed_generation = claim.metadata.generation;
    if claim.metadata.deletion_timestamp.is_some() {
        return Ok(leave::going(world, status));
    }
    match &world.source {
        Source::Denied { gone } => {
            let words = format!(
                "DatabaseClaim {} is in another namespace and does not allow this one; its owner can, with the annotation {ALLOW_FROM}: {}",
                world.origin, world.secret.namespace
            );
            Ok(leave::denied(world, status, *gone, words))
        }
        Source::Gone => Ok(leave::orphaned(world, status, "does not exist")),
        Source::Leaving => Ok(leave::orphaned(world, status, "is being deleted")),
        Source::Waiting(words) => {
            let words = format!("DatabaseClaim {} {words}", world.origin);
            Ok(waits(status, Reason::DependencyNotReady, words, WAITING))
        }
        Source::Served => {
            unreserved(claim)?;
            Ok(serve(claim, world, status, steady))
        }
    }
}

/// Refuses schemas that belong to servers.
fn unreserved(claim: &DbRoleClaim) -> Result<(), Refusal> {
    let theirs = |schema: &str| schema.starts_with("pg_") || schema == "information_schema";
    match claim.spec.schema_role_map.keys().find(|schema| theirs(schema.as_str())) {
        None => Ok(()),
        Some(schema) => {
            let message = format!("schema `{schema}` belongs to the server; take it out of schemarolemap");
            Err(Refusal::new(Reason::InvalidSpec, message))
        }
    }
}

/// Nothing can be done yet.
fn waits(mut status: DbRoleClaimStatus, reason: Reason, words: String, delay: Duration) -> Drawn {
    status.error = Some(words.clone());
    status.say(SYNCED, Some(false), reason.clone(), words.clone());
    Plan::wait(status, reason, words, delay)
}

/// Why a server cannot be asked.
fn closed(found: &Found) -> String {
    match found {
        Found::Ready(server) => format!("{} was not looked at", server.place()),
        Found::Absent => "its server is not there".to_owned(),
        Found::Making(words) | Found::Wrong(_, words) => words.clone(),
    }
}

/// The roles, their rights and the Secret, in a database that can be used.
fn serve(claim: &DbRoleClaim, world: &World, status: DbRoleClaimStatus, steady: bool) -> Drawn {
    let awaits = |status, words| waits(status, Reason::DependencyNotReady, words, WAITING);
    let (site, server, seen, gets_in) = match (&world.site, &world.sight) {
        (Some(site), Sight::Open { server, seen, gets_in, .. }) => (site, server, &**seen, *gets_in),
        (_, Sight::Closed(found)) => {
            let words = format!("DatabaseClaim {}: {}", world.origin, closed(found));
            return waits(status, Reason::DependencyNotReady, words, SOON);
        }
        (_, Sight::Unknown | Sight::Parked | Sight::Open { .. }) => {
            let words = format!("DatabaseClaim {} does not say where its database is", world.origin);
            return awaits(status, words);
        }
    };
    if seen.recovery {
        let words = format!("server {} only reads: it is a standby; name the primary", server.place());
        return waits(status, Reason::Code("ServerReadOnly".into()), words, WAITING);
    }
    let Some(content) = seen.database.as_ref().and_then(|found| found.content.as_ref()) else {
        let words = format!("database `{}` on {} cannot be entered now", site.database, server.place());
        return waits(status, Reason::DependencyNotReady, words, SOON);
    };
    let title = site.guest.title();
    let foreign =
        |role: &String| seen.roles.get(role).is_some_and(|found| !title.covers(found.mark.as_deref()));
    if let Some(role) = site.guest.roles().iter().find(|role| foreign(role)) {
        let words = format!(
            "role `{role}` on {} was not made by this claim and is left alone; rename the claim",
            server.place()
        );
        return waits(status, Reason::NotOurs, words, WAITING);
    }
    if matches!(world.held, Held::Foreign) {
        let words = format!(
            "Secret {} exists and was not made for this claim; delete or rename it, or choose another secretName",
            world.secret
        );
        return waits(status, Reason::NotOurs, words, WAITING);
    }
    let ground = Ground { claim, world, site, server, seen, content, gets_in, title };
    if !claim.spec.schema_role_map.is_empty() {
        return logins(&ground, status, steady);
    }
    match &world.copied {
        Some(copied) => copy(&ground, copied, status),
        None => awaits(status, format!("the Secret of DatabaseClaim {} is not there yet", world.origin)),
    }
}

/// Logins of its own.
fn logins(ground: &Ground<'_>, mut status: DbRoleClaimStatus, steady: bool) -> Drawn {
    let Ground { claim, world, .. } = ground;
    if status.source_db.is_none() {
        // Noted before anything is made, so that it is found again whatever becomes of the source.
        status.source_db = Some(ground.site.noted.clone());
        let words = format!("logins in database {} are being made", ground.site.database);
        let mut plan = waits(status, Reason::Provisioning, words, Duration::ZERO);
        plan.status.error = None;
        return plan;
    }
    let mended = mend::mend(ground);
    let hour = Hour {
        now: world.now,
        period: world.period,
        held: &world.held,
        gets_in: ground.gets_in,
        asked: claim.annotations().get(ROTATE),
        told: status.username.as_deref(),
        fresh: &world.fresh,
    };
    let (turn, published) = ground.pair().turn(&hour);
    let connection = ground.connection(&published);
    let asked = published.asked.as_ref();
    let child = secret::child(&world.secret, &connection, DSN, published.at, asked);
    let left = hour.left().filter(|left| !left.is_zero()).unwrap_or(hour.period);
    let changed = ground.changes(&child);
    let status = report::logins(ground, status, &published, (&mended, steady, changed));
    let mut steps: Vec<Do<Step>> = mended.steps.into_iter().chain(turn).map(Do::Outside).collect();
    steps.push(Do::Apply(Box::new(child)));
    Plan::whole(steps, status, Next::After(left.min(RESYNC)))
}

/// The source's own connection. Logins that the claim had before go when they are not used any more.
fn copy(ground: &Ground<'_>, copied: &Copied, status: DbRoleClaimStatus) -> Drawn {
    let (world, site) = (ground.world, ground.site);
    let child = secret::copy(&world.secret, &copied.secret);
    let changed = ground.changes(&child);
    let mut steps = vec![Do::Apply(Box::new(child))];
    let gone = leave::removed(site, ground.server, ground.seen);
    steps.extend(gone.steps);
    let next = if gone.sessions == 0 { RESYNC } else { SOON };
    Plan::whole(steps, report::copied(ground, status, copied, changed), Next::After(next))
}

impl Ground<'_> {
    /// The two logins.
    fn pair(&self) -> Pair<'_> {
        let holder = &self.site.guest.holder;
        Pair {
            server: self.server,
            database: &self.site.database,
            stem: holder,
            owner: holder.as_str(),
            powers: Powers::default(),
            title: &self.title,
        }
    }

    /// What programs get.
    fn connection(&self, published: &Published) -> Connection {
        Connection {
            host: self.server.host.clone(),
            read_only_host: None,
            port: self.server.port,
            database: self.site.database.clone(),
            username: published.username.clone(),
            password: published.password.clone(),
            ssl_mode: self.server.ssl_mode,
        }
    }

    /// Whether the Secret is not yet as it is to be.
    fn changes(&self, child: &kit::Child) -> bool {
        let data = self.world.own.as_ref().map(|own| serde_json::json!(own.data));
        data.as_ref() != child.body.get("data")
    }
}
