//! How what was made goes again: kustomizations first, since they prune as the account that goes after them.

use std::convert::Infallible;

use api::conditions::{Reason, Standing};
use api::projects::{Project, ProjectStatus};
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Namespace;
use kit::{Address, Do, Next, Object, Plan};
use kube::ResourceExt;
use serde_json::json;

use super::{LOOK_AGAIN, Step, World, delivery, hosts, is_of};

/// How long a part may take to go. A kustomization prunes within seconds, or its driver or its account is gone.
const PATIENCE: SignedDuration = SignedDuration::from_secs(120);

/// Whether a part that does not go is let go by force.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Overdue {
    /// Its finalizers are taken away: it lies in the namespace that goes, and nobody else will.
    Forced,
    /// It goes by itself, some time: its room still has something to do outside.
    Left,
}

/// The end of a project, one stage after the other; each waits until the one before is over.
pub(super) fn leave(
    project: &Project,
    world: &World,
    mut status: ProjectStatus,
) -> Plan<Infallible, ProjectStatus> {
    let (ours, others): (Vec<_>, Vec<_>) =
        world.kustomizations.iter().partition(|part| is_of(project, &***part));
    let sources = world.sources.iter().filter(|part| is_of(project, &***part));
    let stages = [
        ("the kustomizations", stage(world, ours.into_iter().map(|part| &**part), Overdue::Forced)),
        // What a team made itself and nobody pruned. It goes with the namespace, while there is an account to prune as.
        ("the team's kustomizations", stage(world, others.into_iter().map(|part| &**part), Overdue::Forced)),
        ("the sources", stage(world, sources.map(|part| &**part), Overdue::Forced)),
        ("the repositories", stage(world, world.repositories.iter().map(|part| &**part), Overdue::Left)),
        ("the registries", stage(world, world.registries.iter().map(|part| &**part), Overdue::Left)),
    ];
    for (what, steps) in stages {
        if let Some(steps) = steps {
            status.not_ready(Reason::Deleting, format!("{what} are being deleted"));
            return Plan::part(steps, status, Next::After(LOOK_AGAIN));
        }
    }
    let mut steps: Vec<Step> = world.made.iter().map(|made| Do::Delete(made.clone(), None)).collect();
    let Some(space) = world.space.as_deref().filter(|space| is_of(project, *space)) else {
        return Plan::release(steps, status);
    };
    if space.metadata.deletion_timestamp.is_none() {
        steps.push(Do::Delete(Address::of(space), None));
    }
    status.not_ready(Reason::Deleting, going(space));
    Plan::part(steps, status, Next::After(LOOK_AGAIN))
}

/// What is said of a namespace on its way out, with what holds it.
fn going(space: &Namespace) -> String {
    let name = space.name_any();
    let conditions = space.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let held = conditions.filter(|held| held.status == "True").filter_map(|held| held.message.as_deref());
    std::iter::once(format!("namespace {name} is being deleted"))
        .chain(held.map(str::to_owned))
        .collect::<Vec<_>>()
        .join("; ")
}

/// What is done about parts that left the spec: the first stage that is not over.
pub(super) fn strays(project: &Project, world: &World) -> Vec<Step> {
    let sources = delivery::sources(project);
    let kustomizations: Vec<String> =
        sources.iter().flat_map(|source| delivery::kustomizations(source)).collect();
    let registries: Vec<String> = hosts::registries(project).iter().map(ResourceExt::name_any).collect();
    let ours = world.kustomizations.iter().filter(|part| is_of(project, &***part));
    let ours = ours.filter(|part| !kustomizations.contains(&part.name_any())).map(|part| &**part);
    let fetched = world.sources.iter().filter(|part| is_of(project, &***part));
    let fetched = fetched.filter(|part| !sources.contains(&part.name_any())).map(|part| &**part);
    let repositories = world.repositories.iter().filter(|part| !sources.contains(&part.name_any()));
    let dropped = world.registries.iter().filter(|part| !registries.contains(&part.name_any()));
    let stages = [
        stage(world, ours, Overdue::Forced),
        stage(world, fetched, Overdue::Forced),
        stage(world, repositories.map(|part| &**part), Overdue::Left),
    ];
    let mut steps = stages.into_iter().flatten().next().unwrap_or_default();
    steps.extend(stage(world, dropped.map(|part| &**part), Overdue::Left).unwrap_or_default());
    steps
}

/// What is done about parts that are to go; none if there are none, or none that are waited for.
fn stage<'a, K: Object>(
    world: &World,
    parts: impl Iterator<Item = &'a K>,
    overdue: Overdue,
) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let mut waits = false;
    for part in parts {
        let Some(since) = &part.meta().deletion_timestamp else {
            steps.push(Do::Delete(Address::of(part), None));
            continue;
        };
        match (world.now.duration_since(since.0) > PATIENCE, overdue) {
            (true, Overdue::Forced) => {
                let patch = json!({ "metadata": { "finalizers": null } });
                steps.push(Do::Patch(Address::of(part), patch));
            }
            (true, Overdue::Left) => {}
            (false, _) => waits = true,
        }
    }
    (waits || !steps.is_empty()).then_some(steps)
}
