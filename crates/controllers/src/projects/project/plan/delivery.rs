//! What Flux is asked for: one source per repository, one kustomization per directory.

use api::foreign::LocalRef;
use api::foreign::flux::{
    Dependency, GitReference, GitRepository, GitRepositorySpec, Kustomization, KustomizationSpec, SourceRef,
};
use api::projects::tenancy::{account_of, deploy_key_of, namespace_of};
use api::projects::{Project, Repository};
use kit::{Child, Do};
use kube::ResourceExt;

use super::{Step, World, hosts, place};

/// The directories of a repository, and the one that must be applied before (seed 004, Git Repositories).
const DIRECTORIES: [(&str, Option<&str>); 5] = [
    ("subscriptions", None),
    ("targets", None),
    ("bindings/targets", None),
    ("bindings/subscriptions", Some("bindings/targets")),
    ("products", None),
];
/// How soon after a failure is tried again: a team that mends a manifest should not wait for the next interval.
const RETRY: &str = "30s";

/// Delivers every repository whose address is known.
pub(super) fn steps(project: &Project, world: &World) -> Vec<Step> {
    let mut children = Vec::new();
    for repository in hosts::repositories(project) {
        let name = repository.name_any();
        let there = world.repositories.iter().find(|there| there.name_any() == name);
        let Some(url) = there.and_then(|there| address(there)) else { continue };
        children.push(Child::of(&source(project, &repository, url)).unowned());
        for (directory, before) in DIRECTORIES {
            children.push(Child::of(&kustomization(project, &name, directory, before)).unowned());
        }
    }
    children.into_iter().map(|child| Do::Apply(Box::new(child))).collect()
}

/// The names of the sources that the spec comes to, whether their addresses are known or not.
pub(super) fn sources(project: &Project) -> Vec<String> {
    hosts::repositories(project).iter().map(ResourceExt::name_any).collect()
}

/// The names of the kustomizations of a source.
pub(super) fn kustomizations(source: &str) -> Vec<String> {
    DIRECTORIES.iter().map(|(directory, _)| name_of(source, directory)).collect()
}

/// Where the repository is fetched from: once its deploy key is let in, and not before.
fn address(repository: &Repository) -> Option<String> {
    let status = repository.status.as_ref().filter(|status| status.deploy_key.is_some())?;
    status.deploy_url.clone().or_else(|| status.url.clone())
}

fn name_of(source: &str, directory: &str) -> String {
    format!("{source}-{}", directory.replace('/', "-"))
}

fn source(project: &Project, repository: &Repository, url: String) -> GitRepository {
    let name = repository.name_any();
    let branch = Some(project.spec.git.default_branch.clone());
    let spec = GitRepositorySpec {
        url,
        interval: project.spec.flux.interval.to_string(),
        reference: Some(GitReference { branch, ..GitReference::default() }),
        secret_ref: Some(LocalRef { name: deploy_key_of(&name) }),
        ..GitRepositorySpec::default()
    };
    let within = namespace_of(&project.name_any());
    GitRepository { metadata: place::meta(project, &within, name), spec, status: None }
}

/// No target namespace: what a manifest says is what is tried, as the account, and RBAC refuses what is not the project's.
fn kustomization(project: &Project, source: &str, directory: &str, before: Option<&str>) -> Kustomization {
    let depends = before.map(|before| Dependency { name: name_of(source, before), namespace: None });
    let spec = KustomizationSpec {
        interval: project.spec.flux.interval.to_string(),
        retry_interval: Some(RETRY.to_owned()),
        source_ref: SourceRef { kind: "GitRepository".into(), name: source.to_owned(), namespace: None },
        path: Some(format!("./{directory}")),
        prune: project.spec.prune,
        service_account_name: Some(account_of(&project.name_any())),
        depends_on: depends.into_iter().collect(),
        ..KustomizationSpec::default()
    };
    let within = namespace_of(&project.name_any());
    let metadata = place::meta(project, &within, name_of(source, directory));
    Kustomization { metadata, spec, status: None }
}
