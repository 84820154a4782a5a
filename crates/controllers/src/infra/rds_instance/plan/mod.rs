//! Every rule of database servers.

mod call;
mod farewell;
mod here;
mod objects;
mod password;
mod settings;
mod state;
mod version;

use std::sync::Arc;
use std::time::Duration;

use api::conditions::{READY, Reason, SYNCED, Standing, holds};
use api::foreign::cnpg::{Backup, Cluster};
use api::infra::{RDSInstance, RDSInstanceStatus};
use api::secret::Sealed;
use jiff::Timestamp;
use kit::{Do, Name, Next, Plan, Refusal};
use ports::aws::{Database, NewDatabase};

use crate::infra::course::{Case, Mend, Waiting, observes, owns};
use crate::infra::desk::{self, Open, RETRY, Sight};
use crate::infra::farewell::untouched;
use crate::infra::report::Report;
use crate::infra::step::Step;
use crate::infra::tags;

use password::Word;
use settings::Comparison;
use state::State;

pub use call::Call;
pub(super) use farewell::final_snapshot;
pub(super) use objects::{connection_secret, generated_secret, login_secret, marked};

/// How often it is looked at what AWS is at: most of it takes minutes.
const POLL: Duration = Duration::from_secs(10);
/// How soon it is looked at what was just made in the cluster.
const SOON: Duration = Duration::from_millis(250);

type Planned = Plan<Step<Call>, RDSInstanceStatus>;

/// What is known when a plan is made.
#[derive(Debug)]
pub struct World {
    pub(super) now: Timestamp,
    /// The server, where its provider is.
    pub(super) site: Site,
    /// The password that the administrator is to have.
    pub(super) password: Password,
    /// Whether the Secret of a drawn password is there and ours.
    pub(super) drawn: bool,
    /// The password that was set last, from the Secret with the connection.
    pub(super) applied: Option<Sealed<String>>,
    /// A password that nobody has yet.
    pub(super) spare: Sealed<String>,
}

/// Where a server is.
#[derive(Debug)]
pub(super) enum Site {
    /// In an account of AWS.
    Cloud(Box<desk::World<Database>>),
    /// Beside its object.
    Here(Here),
}

/// What stands for a server beside its object.
#[derive(Clone, Debug)]
pub(super) struct Here {
    /// Whether there are Clusters at all.
    pub(super) served: bool,
    pub(super) cluster: Option<Arc<Cluster>>,
    /// The address of the Service that leads to the primary.
    pub(super) address: Option<String>,
    /// The version of the Secret with the administrator's login.
    pub(super) login_version: Option<String>,
    /// The last snapshot of a server that goes.
    pub(super) backup: Option<Arc<Backup>>,
}

/// The password that the administrator is to have.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Password {
    /// This one.
    Known(Sealed<String>),
    /// One that is not where the spec says.
    Missing(String),
    /// Nobody gave one, and none was drawn yet.
    Undrawn,
}

/// What a server is called where it is: AWS knows small letters only.
pub(super) fn identifier(instance: &RDSInstance) -> String {
    instance.spec.db_instance_identifier.to_ascii_lowercase()
}

/// The plan for one pass over one server.
pub(super) fn plan(instance: &RDSInstance, world: &World) -> Result<Planned, Refusal> {
    if instance.metadata.deletion_timestamp.is_none() {
        objects::check_names(instance)?;
        password::check(instance, world)?;
    }
    match &world.site {
        Site::Cloud(seen) => cloud(instance, world, &seen.sight),
        Site::Here(here) => here::plan(instance, world, here),
    }
}

fn cloud(instance: &RDSInstance, world: &World, sight: &Sight<Database>) -> Result<Planned, Refusal> {
    let mut status = instance.status.clone().unwrap_or_default();
    let going = instance.metadata.deletion_timestamp.is_some();
    let open = match sight {
        Sight::Open(open) => open,
        Sight::Parked => return Ok(Plan::part(Vec::new(), status, Next::OnChange)),
        Sight::Closed(..) if going && untouched(&instance.metadata, instance.spec.deletion_policy) => {
            return Ok(Plan::release(Vec::new(), status));
        }
        Sight::Closed(reason, message) => {
            status.unseen(reason.clone(), message.clone());
            return Ok(Plan::part(Vec::new(), status, Next::After(RETRY)));
        }
    };
    if going {
        return Ok(farewell::leave(instance, world, open, status));
    }
    match &open.found {
        None => Ok(absent(instance, world, open, status)),
        Some(live) => present(instance, world, (open, live), status),
    }
}

/// A server that is to be made. Its password is kept before that.
fn absent(
    instance: &RDSInstance,
    world: &World,
    open: &Open<Database>,
    mut status: RDSInstanceStatus,
) -> Planned {
    forget(&mut status);
    if !observes(&instance.metadata)
        && let Some(plan) = password::awaited(instance, world, &status)
    {
        return plan;
    }
    let spec = &instance.spec;
    let wanted = tags::wanted(&open.default_tags, &spec.tags, &Name::of(instance));
    let made = match &world.password {
        Password::Known(password) => Some(NewDatabase {
            id: identifier(instance),
            engine: spec.engine.clone(),
            master_username: spec.master_username.clone(),
            password: password.clone(),
            db_name: spec.db_name.clone(),
            storage_encrypted: spec.storage_encrypted,
            settings: settings::wanted(spec),
            tags: wanted.clone(),
        }),
        Password::Missing(_) | Password::Undrawn => None,
    };
    let message = format!("{} is being made", what(instance));
    let case = Case {
        meta: &instance.metadata,
        what: what(instance),
        account: open.account.clone(),
        live: None,
        tags: &wanted,
        own: &instance.spec.tags,
        make: made.into_iter().map(|new| Call::Create(Box::new(new))).collect(),
        mends: Vec::new(),
        waiting: Some(Waiting { reason: Reason::Provisioning, message, delay: POLL }),
        now: world.now,
    };
    let mut plan = case.settle(status);
    if let (Password::Known(password), false) = (&world.password, plan.steps.is_empty()) {
        plan.steps.insert(0, objects::begun(instance, password));
    }
    plan
}

/// A server that is there.
fn present(
    instance: &RDSInstance,
    world: &World,
    (open, live): (&Open<Database>, &Database),
    mut status: RDSInstanceStatus,
) -> Result<Planned, Refusal> {
    let (meta, spec) = (&instance.metadata, &instance.spec);
    let ours = owns(meta, &live.tags, &status.tag_keys);
    let met = status.observed_generation == meta.generation;
    let compared = match ours || observes(meta) || settings::adopts(meta) {
        true => settings::compare(spec, live, met)?,
        false => Comparison::default(),
    };
    let wanted = tags::wanted(&open.default_tags, &spec.tags, &Name::of(instance));
    let state = state::of(&live.status);
    report(live, &mut status);
    let mends = mends(live, &compared, tags::compare(&live.tags, &wanted, &status.tag_keys), state);
    let changes = mends.iter().any(|mend| matches!(mend.call, Call::Modify { .. }));
    let case = Case {
        meta,
        what: what(instance),
        account: open.account.clone(),
        live: Some(&live.tags),
        tags: &wanted,
        own: &instance.spec.tags,
        make: Vec::new(),
        mends,
        waiting: state::waiting(instance, live, &compared, changes && !observes(meta)),
        now: world.now,
    };
    let plan = case.settle(status.clone());
    if !plan.steps.is_empty() && !state.takes_changes() {
        return Ok(held(instance, live, &plan, status));
    }
    let takes = ours || plan.steps.iter().any(marks);
    match observes(meta) || !takes {
        true => Ok(plan),
        false => Ok(connected(instance, world, (open, live), plan)),
    }
}

/// Adds the password and the connection to the plan of a server that is ours.
fn connected(
    instance: &RDSInstance,
    world: &World,
    (open, live): (&Open<Database>, &Database),
    mut plan: Planned,
) -> Planned {
    let serves = state::of(&live.status).serves() && live.host.is_some();
    let publishes = |plan: &mut Planned, password: &Sealed<String>| {
        plan.steps.push(objects::connection(instance, live, password));
        plan.status.connection_secret_ref = connection_secret(instance).parse().ok();
    };
    match password::word(world, live, plan.status.connection_secret_ref.is_some()) {
        Word::Same(password) if serves => publishes(&mut plan, password),
        Word::Same(_) => {}
        Word::New(password) if state::of(&live.status).takes_settings() => {
            password::set(&mut plan, open, live, password);
            publishes(&mut plan, password);
        }
        Word::New(_) | Word::Pending => {
            let message =
                format!("{} is {}, and gets its new password after that", what(instance), live.status);
            wait(&mut plan, message);
        }
        Word::Lost(password) => {
            plan.steps.push(objects::generated(instance, password));
            plan.next = Next::After(SOON);
        }
        Word::Missing(message) => {
            plan.status.say(SYNCED, Some(false), Reason::CredentialsMissing, message);
            if world.applied.is_none() {
                plan.status.not_ready(Reason::CredentialsMissing, message);
                plan.status.ready = false;
            }
        }
        Word::Unknown => remark(&mut plan, password::UNKNOWN),
    }
    if password::plain(instance) {
        remark(&mut plan, password::PLAIN);
    }
    plan
}

/// Says that a server is not as asked yet, and looks soon.
fn wait(plan: &mut Planned, message: String) {
    plan.status.in_sync(Some(&Waiting { reason: Reason::Provisioning, message, delay: POLL }));
    plan.next = Next::After(POLL);
}

/// Adds something to the status of a server that is ready.
fn remark(plan: &mut Planned, message: &str) {
    if holds(&plan.status.conditions, READY) {
        plan.status.ready(Reason::Available, message);
    }
}

/// Whether a step sets our mark.
fn marks(step: &Do<Step<Call>>) -> bool {
    matches!(step, Do::Outside(Step { call: Call::Tag { tags, .. }, .. }) if tags.contains_key(tags::OWNER))
}

/// What a server is called, for people.
fn what(instance: &RDSInstance) -> String {
    format!("database server {}", identifier(instance))
}

/// Nothing is asked of a server that takes no changes at the moment.
fn held(instance: &RDSInstance, live: &Database, plan: &Planned, mut status: RDSInstanceStatus) -> Planned {
    let told: Vec<String> = plan.steps.iter().map(ToString::to_string).collect();
    let message =
        format!("{} is {}, and takes changes after that: {}", what(instance), live.status, told.join("; "));
    status.out_of_sync(Reason::Provisioning, message);
    Plan::part(Vec::new(), status, Next::After(POLL))
}

fn mends(live: &Database, compared: &Comparison, retag: tags::Retag, state: State) -> Vec<Mend<Call>> {
    let modify = compared
        .within(state)
        .map(|(fields, change)| Mend { fields, call: Call::Modify { id: live.id.clone(), change } });
    let (added, removed): (Vec<_>, Vec<_>) = retag
        .fields
        .into_iter()
        .partition(|drift| !drift.expected.is_empty() || retag.set.contains_key(key(drift)));
    let arn = || live.arn.clone();
    let tag = Mend { fields: added, call: Call::Tag { arn: arn(), tags: retag.set } };
    let untag = Mend { fields: removed, call: Call::Untag { arn: arn(), keys: retag.remove } };
    modify.into_iter().chain([tag, untag]).filter(|mend| !mend.fields.is_empty()).collect()
}

/// The key of the tag that a difference is about.
fn key(drift: &api::drift::Drift) -> &str {
    drift.field.strip_prefix("tags[").and_then(|rest| rest.strip_suffix(']')).unwrap_or_default()
}

fn report(live: &Database, status: &mut RDSInstanceStatus) {
    status.db_instance_arn = Some(live.arn.clone());
    status.endpoint.clone_from(&live.host);
    status.port = live.settings.port.filter(|_| live.host.is_some());
    status.status = Some(live.status.clone());
    status.engine_version.clone_from(&live.settings.engine_version);
    status.allocated_storage = live.settings.storage_gib;
}

/// What was known of a server that is not there any more.
fn forget(status: &mut RDSInstanceStatus) {
    status.db_instance_arn = None;
    status.endpoint = None;
    status.port = None;
    status.status = None;
    status.engine_version = None;
    status.allocated_storage = None;
    status.connection_secret_ref = None;
}
