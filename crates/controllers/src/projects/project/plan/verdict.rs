//! How far a project is, one condition per step.

use api::conditions::{
    CREDENTIALS_VALID, DELIVERY_READY, NAMESPACE_READY, READY, REGISTRIES_READY, REPOSITORIES_READY, Reason,
    Standing, find,
};
use api::foreign::{self, ForeignCondition};
use api::projects::tenancy::{account_of, namespace_of};
use api::projects::{Project, ProjectStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt;

use super::{World, delivery, hosts};

/// How one step stands.
struct Verdict {
    status: Option<bool>,
    reason: Reason,
    message: String,
}

impl Verdict {
    fn yes(message: impl Into<String>) -> Self {
        Self { status: Some(true), reason: Reason::Available, message: message.into() }
    }

    fn no(reason: Reason, message: impl Into<String>) -> Self {
        Self { status: Some(false), reason, message: message.into() }
    }
}

/// How one part stands: what it is, whether it is ready, why not.
struct Part {
    name: String,
    ready: bool,
    reason: String,
    message: String,
}

/// Says how each step stands, and whether all do. Returns whether they do.
pub(super) fn tell(project: &Project, world: &World, status: &mut ProjectStatus) -> bool {
    let name = project.name_any();
    let (repositories, registries) = (repositories(project, world), registries(project, world));
    let place =
        format!("namespace {} with ServiceAccount {} is there", namespace_of(&name), account_of(&name));
    let steps = [
        (CREDENTIALS_VALID, credentials(repositories.iter().chain(&registries))),
        (NAMESPACE_READY, Verdict::yes(place)),
        (REPOSITORIES_READY, all(&repositories, "repositories")),
        (REGISTRIES_READY, all(&registries, "registries")),
        (DELIVERY_READY, delivered(project, world)),
    ];
    let open = steps.iter().find(|(_, verdict)| verdict.status != Some(true));
    let ready = open.is_none();
    match open {
        Some((_, verdict)) => status.not_ready(verdict.reason.clone(), verdict.message.clone()),
        None => status.ready(Reason::Available, format!("namespace {} is delivered to", namespace_of(&name))),
    }
    for (type_, Verdict { status: holds, reason, message }) in steps {
        status.say(type_, holds, reason, message);
    }
    ready
}

/// The credentials, as those say who try them.
fn credentials<'a>(parts: impl Iterator<Item = &'a Part> + Clone) -> Verdict {
    let told = [Reason::CredentialsMissing, Reason::CredentialsInvalid];
    let bad = |part: &&Part| told.iter().any(|reason| reason.as_str() == part.reason);
    if let Some(part) = parts.clone().find(bad) {
        return Verdict::no(Reason::Code(part.reason.clone()), format!("{}: {}", part.name, part.message));
    }
    let untried: Vec<&str> =
        parts.filter(|part| part.reason.is_empty()).map(|part| part.name.as_str()).collect();
    if untried.is_empty() {
        return Verdict::yes("the credentials are there and were not refused");
    }
    let message = format!("the credentials are there, and are being tried by {}", untried.join(", "));
    Verdict { status: None, reason: Reason::Provisioning, message }
}

/// Whether all parts of one step are ready; if not, the first that is not.
fn all(parts: &[Part], what: &str) -> Verdict {
    let Some(open) = parts.iter().find(|part| !part.ready) else {
        return match parts.len() {
            0 => Verdict::yes(format!("no {what} are asked for")),
            count => Verdict::yes(format!("{count} {what} are ready")),
        };
    };
    let message = match open.message.as_str() {
        "" => format!("waiting for {}", open.name),
        said => format!("{}: {said}", open.name),
    };
    Verdict::no(Reason::DependencyNotReady, message)
}

fn delivered(project: &Project, world: &World) -> Verdict {
    if !world.flux {
        let message = "nobody delivers: Flux's GitRepository and Kustomization are not installed";
        return Verdict::no(Reason::KindMissing, message);
    }
    let mut parts = Vec::new();
    for name in delivery::sources(project) {
        let source = world.sources.iter().find(|source| source.name_any() == name);
        let status = source.and_then(|source| source.status.as_ref());
        let said = status.map_or(&[][..], |status| &status.conditions);
        let observed = status.and_then(|status| status.observed_generation);
        let generation = source.and_then(|source| source.metadata.generation);
        parts.push(applied(format!("GitRepository {name}"), said, current(observed, generation)));
        for name in delivery::kustomizations(&name) {
            let found = world.kustomizations.iter().find(|found| found.name_any() == name);
            let status = found.and_then(|found| found.status.as_ref());
            let said = status.map_or(&[][..], |status| &status.conditions);
            let observed = status.and_then(|status| status.observed_generation);
            let generation = found.and_then(|found| found.metadata.generation);
            parts.push(applied(format!("Kustomization {name}"), said, current(observed, generation)));
        }
    }
    all(&parts, "sources and kustomizations")
}

/// Whether a status speaks of the spec as it is. One that does not say is believed.
fn current(observed: Option<i64>, generation: Option<i64>) -> bool {
    observed.zip(generation).is_none_or(|(observed, generation)| observed >= generation)
}

fn applied(name: String, conditions: &[ForeignCondition], current: bool) -> Part {
    let ready = foreign::find(conditions, READY).filter(|_| current);
    let text = |text: Option<&String>| text.cloned().unwrap_or_default();
    Part {
        name,
        ready: ready.is_some_and(|ready| ready.status == "True"),
        reason: text(ready.and_then(|ready| ready.reason.as_ref())),
        message: text(ready.and_then(|ready| ready.message.as_ref())),
    }
}

fn repositories(project: &Project, world: &World) -> Vec<Part> {
    let wanted = hosts::repositories(project).into_iter().map(|wanted| wanted.name_any());
    let part = |name: String| {
        let found = world.repositories.iter().find(|found| found.name_any() == name);
        let status = found.and_then(|found| found.status.as_ref());
        let observed = status.and_then(|status| status.observed_generation);
        let generation = found.and_then(|found| found.metadata.generation);
        let said = status.map_or(&[][..], |status| &status.conditions);
        told(format!("Repository {name}"), said, current(observed, generation))
    };
    wanted.map(part).collect()
}

fn registries(project: &Project, world: &World) -> Vec<Part> {
    let wanted = hosts::registries(project).into_iter().map(|wanted| wanted.name_any());
    let part = |name: String| {
        let found = world.registries.iter().find(|found| found.name_any() == name);
        let status = found.and_then(|found| found.status.as_ref());
        let observed = status.and_then(|status| status.observed_generation);
        let generation = found.and_then(|found| found.metadata.generation);
        let said = status.map_or(&[][..], |status| &status.conditions);
        told(format!("OCIRegistry {name}"), said, current(observed, generation))
    };
    wanted.map(part).collect()
}

fn told(name: String, conditions: &[Condition], current: bool) -> Part {
    let ready = find(conditions, READY).filter(|_| current);
    Part {
        name,
        ready: ready.is_some_and(|ready| ready.status == "True"),
        reason: ready.map(|ready| ready.reason.clone()).unwrap_or_default(),
        message: ready.map(|ready| ready.message.clone()).unwrap_or_default(),
    }
}
