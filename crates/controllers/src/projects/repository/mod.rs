//! A `Repository` becomes a repository at a host: made or adopted, laid out, with maintainers and a deploy key.
//!
//! The private half of the key is in one Secret and nowhere else: in the namespace of the project that controls the
//! object, or beside the object. A new key is let in before the Secret holds it, and the old one only goes a while later.
//! What the room made at the host is known again by its description (`namespace/name` of the object), a key by its title.

mod act;
mod observe;
mod plan;
#[cfg(test)]
mod tests;

use api::projects::tenancy::{deploy_key_of, namespace_of, project_of};
use api::projects::{REPOSITORY_FINALIZER, Repository, RepositoryStatus};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kit::{Fault, Index, Name, Plan, Reader, Receipt, Refusal, Relation, Room};
use kube::ResourceExt;
use ports::git::Git;

pub use plan::{Deed, Step, World};

/// On the Secret with a deploy key: the `Repository` that it is for, as `namespace/name`.
const MADE_FOR: &str = "mpas.ocm.software/repository";

/// Repositories by the Secrets that they read and write.
const BY_SECRET: Index<Repository> = Index {
    name: "secret",
    keys: |repository| {
        let own = repository.namespace().unwrap_or_default();
        let named = repository.spec.credentials.as_ref().map(|credentials| {
            let name = credentials.secret_ref.name.as_str();
            Name::new(own.as_str(), name).to_string()
        });
        let key = Name::new(home_of(repository), deploy_key_of(&repository.name_any())).to_string();
        named.into_iter().chain([key]).collect()
    },
};

/// Repositories by the namespace that their deploy key goes to.
const BY_HOME: Index<Repository> = Index {
    name: "home",
    keys: |repository| project_of(repository).map(|of| namespace_of(&of)).into_iter().collect(),
};

/// Where the Secret with the deploy key lies.
fn home_of(repository: &Repository) -> String {
    project_of(repository).map_or_else(|| repository.namespace().unwrap_or_default(), |of| namespace_of(&of))
}

/// The repositories, at the hosts behind one port.
pub struct Repositories<G> {
    git: G,
}

impl<G: Git> Repositories<G> {
    /// Repositories at these hosts.
    pub fn new(git: G) -> Self {
        Self { git }
    }
}

impl<G: Git> Room for Repositories<G> {
    type Kind = Repository;
    type Status = RepositoryStatus;
    type World = World;
    type Step = Step;

    const NAME: &'static str = "repository";
    const FINALIZER: Option<&'static str> = Some(REPOSITORY_FINALIZER);

    fn relations(&self) -> Vec<Relation<Repository>> {
        vec![
            Relation::indexed::<Secret>(BY_SECRET, |secret| vec![Name::of(secret).to_string()]),
            Relation::indexed::<Namespace>(BY_HOME, |namespace| vec![namespace.name_any()]),
        ]
    }

    async fn observe(&self, repository: &Repository, reader: &Reader) -> Result<World, Fault> {
        observe::observe(&self.git, repository, reader).await
    }

    fn plan(&self, repository: &Repository, world: &World) -> Result<Plan<Step, RepositoryStatus>, Refusal> {
        plan::plan(repository, world)
    }

    async fn act(&self, _: &Repository, step: &Step) -> Result<Receipt, Fault> {
        act::act(&self.git, step).await
    }
}
