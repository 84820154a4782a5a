//! The objects beside the project: its repositories and registries, where the credentials are.

use std::collections::BTreeMap;

use api::conditions::Reason;
use api::projects::tenancy::repository_of;
use api::projects::{
    OCIRegistry, OCIRegistrySpec, Project, ProjectRegistry, ProjectRepository, Repository, RepositorySpec,
};
use kit::{Child, Do, Refusal};
use kube::ResourceExt;

use super::{Step, place};

/// Makes the repositories, and the registries after them.
pub(super) fn steps(project: &Project) -> Vec<Step> {
    let repositories = repositories(project).iter().map(Child::of).collect::<Vec<_>>();
    let registries = registries(project).iter().map(Child::of).collect::<Vec<_>>();
    repositories.into_iter().chain(registries).map(|child| Do::Apply(Box::new(child))).collect()
}

/// Refuses entries whose objects would have the same name.
pub(super) fn distinct(project: &Project) -> Result<(), Refusal> {
    let repositories = entries(project).into_iter().map(|entry| entry.name);
    let registries =
        project.spec.oci.iter().flat_map(|oci| &oci.registries).map(|entry| entry.name.to_string());
    alike(project, "Repository", repositories)?;
    alike(project, "OCIRegistry", registries)
}

fn alike(project: &Project, kind: &str, names: impl Iterator<Item = String>) -> Result<(), Refusal> {
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    for name in names {
        let object = repository_of(&project.name_any(), &name);
        if let Some(other) = seen.insert(object.clone(), name.clone()) {
            let message = format!("{other} and {name} would both become {kind} {object}; rename one of them");
            return Err(Refusal::new(Reason::InvalidSpec, message));
        }
    }
    Ok(())
}

/// The entries of the spec; without any there is one, named after the project.
fn entries(project: &Project) -> Vec<ProjectRepository> {
    let git = &project.spec.git;
    if !git.repositories.is_empty() {
        return git.repositories.clone();
    }
    let name = git.repository_name.clone().unwrap_or_else(|| project.name_any());
    vec![ProjectRepository { name, maintainers: Vec::new() }]
}

/// The repositories that the spec comes to, in its order.
pub(super) fn repositories(project: &Project) -> Vec<Repository> {
    entries(project).into_iter().map(|entry| repository(project, entry)).collect()
}

fn repository(project: &Project, entry: ProjectRepository) -> Repository {
    let git = &project.spec.git;
    let mut maintainers = entry.maintainers;
    maintainers.extend(git.maintainers.iter().cloned());
    let mut seen = std::collections::BTreeSet::new();
    maintainers.retain(|person| seen.insert(person.clone()));
    let spec = RepositorySpec {
        provider: git.provider,
        org: git.org.clone(),
        owner: git.owner.clone(),
        is_organization: git.is_organization,
        name: Some(entry.name.clone()),
        repository_name: None,
        maintainers,
        credentials: git.credentials.clone(),
        automatic_pull_request_creation: true,
        visibility: git.visibility,
        default_branch: git.default_branch.clone(),
        domain: git.domain.clone(),
        insecure: git.insecure,
        existing_repository_policy: git.existing_repository_policy,
        commit_template: git.commit_template.clone(),
        interval: Some(git.interval.clone().unwrap_or_else(|| project.spec.interval.clone())),
        deletion_policy: git.deletion_policy,
    };
    let own = project.namespace().unwrap_or_default();
    let name = repository_of(&project.name_any(), &entry.name);
    Repository { metadata: place::meta(project, &own, name), spec, status: None }
}

/// The registries that the spec comes to, in its order.
pub(super) fn registries(project: &Project) -> Vec<OCIRegistry> {
    let entries = project.spec.oci.iter().flat_map(|oci| &oci.registries);
    entries.map(|entry| registry(project, entry)).collect()
}

fn registry(project: &Project, entry: &ProjectRegistry) -> OCIRegistry {
    let spec = OCIRegistrySpec {
        url: entry.url.clone(),
        credentials: entry.credentials.clone(),
        insecure: entry.url.starts_with("http://"),
    };
    let own = project.namespace().unwrap_or_default();
    let name = repository_of(&project.name_any(), entry.name.as_str());
    OCIRegistry { metadata: place::meta(project, &own, name), spec, status: None }
}
