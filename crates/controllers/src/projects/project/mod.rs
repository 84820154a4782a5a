//! `Project`: one object in; a namespace with an account, its rights and bounds, repositories, registries and their
//! delivery out.
//!
//! What lies in the project's namespace is found again by its labels, since an owner must lie in the same namespace; what
//! lies beside the project is controlled by it. Credentials are tried by the rooms of `Repository` and `OCIRegistry`; here
//! is only seen whether the Secrets are there, and what those rooms say of them. The decision is 0033.

use std::convert::Infallible;

use api::annotations::MANAGED_BY;
use api::foreign::flux::{GitRepository, Kustomization};
use api::projects::tenancy::{PROJECT_LABEL, PROJECT_NAMESPACE_LABEL, namespace_of, pull_secret_of};
use api::projects::{
    OCIRegistry, PROJECT_FINALIZER, Project, ProjectStatus, ProjectSubscriptionBinding, ProjectTargetBinding,
    Repository,
};
use k8s_openapi::api::core::v1::{LimitRange, Namespace, ResourceQuota, Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kit::{Fault, Index, MANAGER, Name, Object, Plan, Reader, Receipt, Refusal, Relation, Room};
use kube::ResourceExt;

mod act;
mod observe;
mod plan;
#[cfg(test)]
mod tests;

/// Projects by the namespace that they have, or want.
const BY_SPACE: Index<Project> =
    Index { name: "project by namespace", keys: |project| vec![namespace_of(&project.name_any())] };
/// Projects by the Secrets with their credentials.
const BY_SECRET: Index<Project> = Index { name: "project by secret", keys: secret_keys };
/// Bindings by their project.
const SUBSCRIPTIONS: Index<ProjectSubscriptionBinding> =
    Index { name: "subscription binding by project", keys: |binding| vec![subscriber(binding).to_string()] };
/// Bindings by their project.
const TARGETS: Index<ProjectTargetBinding> =
    Index { name: "target binding by project", keys: |binding| vec![targeter(binding).to_string()] };

/// The room of `Project`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Projects;

impl Room for Projects {
    type Kind = Project;
    type Status = ProjectStatus;
    type World = plan::World;
    type Step = Infallible;

    const NAME: &'static str = "project";
    const FINALIZER: Option<&'static str> = Some(PROJECT_FINALIZER);

    fn relations(&self) -> Vec<Relation<Project>> {
        vec![
            Relation::child::<Repository>(),
            Relation::child::<OCIRegistry>(),
            // Also of projects of the same name elsewhere: when one goes, the name is free.
            Relation::indexed::<Namespace>(BY_SPACE, |space| vec![space.name_any()]),
            Relation::other::<ServiceAccount>(labelled),
            Relation::other::<Role>(labelled),
            Relation::other::<RoleBinding>(labelled),
            Relation::other::<ResourceQuota>(labelled),
            Relation::other::<LimitRange>(labelled),
            Relation::other::<GitRepository>(labelled),
            Relation::other::<Kustomization>(labelled),
            Relation::other::<Secret>(pulling),
            Relation::indexed::<Secret>(BY_SECRET, |secret| vec![Name::of(secret).to_string()]),
            Relation::other::<ProjectSubscriptionBinding>(|binding| vec![subscriber(binding)]),
            Relation::other::<ProjectTargetBinding>(|binding| vec![targeter(binding)]),
        ]
    }

    async fn observe(&self, project: &Project, reader: &Reader) -> Result<plan::World, Fault> {
        observe::observe(project, reader).await
    }

    fn plan(
        &self,
        project: &Project,
        world: &plan::World,
    ) -> Result<Plan<Infallible, ProjectStatus>, Refusal> {
        plan::plan(project, world)
    }

    async fn act(&self, _: &Project, step: &Infallible) -> Result<Receipt, Fault> {
        act::act(step)
    }
}

/// The project that an object was made for.
fn labelled<K: Object>(object: &K) -> Vec<Name> {
    let labels = object.labels();
    let both = labels.get(PROJECT_NAMESPACE_LABEL).zip(labels.get(PROJECT_LABEL));
    both.map(|(namespace, project)| Name::new(namespace, project)).into_iter().collect()
}

/// The project whose pull secret a Secret is. Deploy keys are the repositories' own matter.
fn pulling(secret: &Secret) -> Vec<Name> {
    let mut names = labelled(secret);
    names.retain(|project| secret.name_any() == pull_secret_of(&project.name));
    names
}

/// Whether an object was made for this project.
fn is_of<K: Object>(project: &Project, object: &K) -> bool {
    let ours = object.labels().get(MANAGED_BY).is_some_and(|manager| manager == MANAGER);
    ours && labelled(object).contains(&Name::of(project))
}

fn subscriber(binding: &ProjectSubscriptionBinding) -> Name {
    let project = &binding.spec.project_ref;
    let own = || binding.namespace().unwrap_or_default();
    Name::new(project.namespace.as_ref().map_or_else(own, ToString::to_string), project.name.as_str())
}

fn targeter(binding: &ProjectTargetBinding) -> Name {
    let project = &binding.spec.project_ref;
    let own = || binding.namespace().unwrap_or_default();
    Name::new(project.namespace.as_ref().map_or_else(own, ToString::to_string), project.name.as_str())
}

fn secret_keys(project: &Project) -> Vec<String> {
    let namespace = project.namespace().unwrap_or_default();
    let names = plan::secrets_of(project).into_iter();
    names.map(|name| Name::new(namespace.clone(), name).to_string()).collect()
}
