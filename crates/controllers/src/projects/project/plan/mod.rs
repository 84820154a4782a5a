//! Every rule of the kind.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use api::conditions::{CREDENTIALS_VALID, NAMESPACE_READY, Reason, Standing};
use api::foreign::flux::{GitRepository, Kustomization};
use api::projects::tenancy::{PROJECT_LABEL, PROJECT_NAMESPACE_LABEL, account_of, namespace_of};
use api::projects::{
    Inventory, InventoryEntry, OCIRegistry, Project, ProjectStatus, Repository, RepositoryRef,
};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kit::{Address, Do, Next, Plan, Refusal};
use kube::ResourceExt;

use super::is_of;

mod bounds;
mod delivery;
mod farewell;
mod hosts;
mod place;
mod pull;
pub(super) mod rights;
mod verdict;

/// How often is looked while something else is waited for; changes wake the project before.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// How soon after the namespace was made the rest follows, where its own event does not come before.
const AT_ONCE: Duration = Duration::from_secs(1);

/// One step of a plan.
type Step = Do<Infallible>;

/// What is known when a plan is made.
#[derive(Default)]
pub struct World {
    /// The time.
    pub now: Timestamp,
    /// The Namespace of the project's name, whoever made it.
    pub space: Option<Arc<Namespace>>,
    /// The Secrets with credentials that are there, by name.
    pub secrets: BTreeMap<String, Arc<Secret>>,
    /// The repositories that the project controls.
    pub repositories: Vec<Arc<Repository>>,
    /// The registries that the project controls.
    pub registries: Vec<Arc<OCIRegistry>>,
    /// Whether the kinds of Flux are served.
    pub flux: bool,
    /// The sources in the project's namespace, whoever made them.
    pub sources: Vec<Arc<GitRepository>>,
    /// The kustomizations in the project's namespace, whoever made them.
    pub kustomizations: Vec<Arc<Kustomization>>,
    /// What else was made for the project and is not on its way out, in the order in which it is taken away.
    pub made: Vec<Address>,
    /// Subscription bindings that name the project, sorted.
    pub subscriptions: Vec<String>,
    /// Target bindings that name the project, sorted.
    pub targets: Vec<String>,
}

/// The Secrets that a project takes credentials from, each once.
pub(super) fn secrets_of(project: &Project) -> BTreeSet<String> {
    let registries = project.spec.oci.iter().flat_map(|oci| &oci.registries);
    let named = registries.filter_map(|registry| registry.credentials.as_ref());
    let all = project.spec.git.credentials.iter().chain(named);
    all.map(|credentials| credentials.secret_ref.name.to_string()).collect()
}

/// The plan for one pass over one project.
pub(super) fn plan(project: &Project, world: &World) -> Result<Plan<Infallible, ProjectStatus>, Refusal> {
    let mut status = project.status.clone().unwrap_or_default();
    status.observed_generation = project.metadata.generation;
    if project.metadata.deletion_timestamp.is_some() {
        return Ok(farewell::leave(project, world, status));
    }
    hosts::distinct(project)?;
    status.subscriptions.clone_from(&world.subscriptions);
    status.targets.clone_from(&world.targets);
    if let Some(message) = missing(project, world) {
        status.say(CREDENTIALS_VALID, Some(false), Reason::CredentialsMissing, message.clone());
        return Ok(Plan::wait(status, Reason::CredentialsMissing, message, LOOK_AGAIN));
    }
    if let Some((reason, message)) = closed(project, world) {
        status.say(NAMESPACE_READY, Some(false), reason.clone(), message.clone());
        return Ok(Plan::wait(status, reason, message, LOOK_AGAIN));
    }
    if world.space.is_none() {
        let message = format!("namespace {} is being made", namespace_of(&project.name_any()));
        status.say(NAMESPACE_READY, Some(false), Reason::Provisioning, message.clone());
        status.not_ready(Reason::Provisioning, message);
        return Ok(Plan::part(vec![place::space(project)], status, Next::After(AT_ONCE)));
    }
    let mut steps = place::steps(project, world);
    steps.extend(hosts::steps(project));
    if world.flux {
        steps.extend(delivery::steps(project, world));
    }
    status.service_account_name = Some(account_of(&project.name_any()));
    status.repository_ref = first(project);
    status.inventory = Some(inventory(project, world, &steps));
    if project.spec.prune {
        steps.extend(farewell::strays(project, world));
    }
    let ready = verdict::tell(project, world, &mut status);
    let delay = if ready { project.spec.interval.duration().max(LOOK_AGAIN) } else { LOOK_AGAIN };
    Ok(Plan::part(steps, status, Next::After(delay)))
}

/// What is said of Secrets that are named and are not there.
fn missing(project: &Project, world: &World) -> Option<String> {
    let named = secrets_of(project);
    let missing: Vec<&str> =
        named.iter().filter(|name| !world.secrets.contains_key(*name)).map(String::as_str).collect();
    let namespace = project.namespace().unwrap_or_default();
    let message = || {
        format!(
            "the spec takes credentials from Secrets that are not in namespace {namespace}: {}; create them",
            missing.join(", ")
        )
    };
    (!missing.is_empty()).then(message)
}

/// Why the namespace of the project's name cannot be used, if so.
fn closed(project: &Project, world: &World) -> Option<(Reason, String)> {
    let space = world.space.as_deref()?;
    let name = space.name_any();
    if !is_of(project, space) {
        let labels = space.labels();
        let holder = labels.get(PROJECT_LABEL).zip(labels.get(PROJECT_NAMESPACE_LABEL));
        let message = match holder {
            Some((holder, namespace)) => format!(
                "namespace {name} belongs to project {holder} in namespace {namespace}: delete one of the two projects and make it again under another name"
            ),
            None => format!(
                "namespace {name} exists and was not made for this project: make the project again under another name, or delete the namespace if nobody needs it"
            ),
        };
        return Some((Reason::NotOurs, message));
    }
    let going = space.metadata.deletion_timestamp.is_some();
    let message = format!("namespace {name} is being deleted; it is made anew as soon as it is gone");
    going.then_some((Reason::Provisioning, message))
}

/// The first repository.
fn first(project: &Project) -> Option<RepositoryRef> {
    let name = hosts::repositories(project).first()?.name_any().parse().ok()?;
    Some(RepositoryRef { name, namespace: project.namespace()?.parse().ok()? })
}

/// Everything that the steps make, what a part of the plan does not name yet, and what is kept.
fn inventory(project: &Project, world: &World, steps: &[Step]) -> Inventory {
    let named = steps.iter().filter_map(|step| match step {
        Do::Apply(child) | Do::Create(child) => Some(child.address.clone()),
        Do::Patch(..) | Do::Delete(..) | Do::Outside(_) => None,
    });
    let mut all: Vec<Address> = named.collect();
    all.extend(world.space.iter().map(|space| Address::of(&**space)));
    all.extend(world.repositories.iter().map(|kept| Address::of(&**kept)));
    all.extend(world.registries.iter().map(|kept| Address::of(&**kept)));
    let sources = world.sources.iter().filter(|source| is_of(project, &***source));
    all.extend(sources.map(|kept| Address::of(&**kept)));
    let kustomizations = world.kustomizations.iter().filter(|kept| is_of(project, &***kept));
    all.extend(kustomizations.map(|kept| Address::of(&**kept)));
    let entries: BTreeMap<String, String> = all
        .into_iter()
        .map(|Address { resource, name }| {
            let id = format!("{}_{}_{}_{}", name.namespace, name.name, resource.group, resource.kind);
            (id, resource.version)
        })
        .collect();
    Inventory { entries: entries.into_iter().map(|(id, v)| InventoryEntry { id, v }).collect() }
}
