//! `ProductValidator`: checks the values of a product on a pull request's head, and marks the commit.
//!
//! The host tells nobody when a branch moves, so it is asked again and again. A commit is marked as good only if every
//! rule could be checked and holds: rules in CUE cannot be checked here, and the mark says so. Nothing is fetched that a
//! schema refers to. Values are never repeated in a message.

mod act;
mod observe;
mod plan;
#[cfg(test)]
mod tests;

use api::projects::{ProductValidator, ProductValidatorStatus, Repository};
use kit::{Fault, Index, Name, Plan, Reader, Receipt, Refusal, Relation, Room};
use ports::git::Git;
use ports::oci::Oci;

use plan::{Step, World};

/// Validators by the repository that they name.
const BY_REPOSITORY: Index<ProductValidator> =
    Index { name: "validator by repository", keys: |validator| vec![repository_of(validator).to_string()] };

/// The room of `ProductValidator`.
pub struct ProductValidators<G, O> {
    git: G,
    oci: O,
}

impl<G: Git, O: Oci> ProductValidators<G, O> {
    /// Validators that reach hosts and registries so.
    pub fn new(git: G, oci: O) -> Self {
        Self { git, oci }
    }
}

impl<G: Git, O: Oci> Room for ProductValidators<G, O> {
    type Kind = ProductValidator;
    type Status = ProductValidatorStatus;
    type World = World;
    type Step = Step;

    const NAME: &'static str = "product_validator";

    fn relations(&self) -> Vec<Relation<ProductValidator>> {
        vec![Relation::indexed::<Repository>(BY_REPOSITORY, |repository| {
            vec![Name::of(repository).to_string()]
        })]
    }

    async fn observe(&self, validator: &ProductValidator, reader: &Reader) -> Result<World, Fault> {
        observe::observe(self, validator, reader).await
    }

    fn plan(
        &self,
        validator: &ProductValidator,
        world: &World,
    ) -> Result<Plan<Step, ProductValidatorStatus>, Refusal> {
        plan::plan(validator, world)
    }

    async fn act(&self, _: &ProductValidator, step: &Step) -> Result<Receipt, Fault> {
        act::act(&self.git, step).await
    }
}

/// The repository that a validator names.
fn repository_of(validator: &ProductValidator) -> Name {
    let named = &validator.spec.repository_ref;
    let own = Name::of(validator).namespace;
    Name::new(named.namespace.as_ref().map_or(own, ToString::to_string), named.name.as_str())
}
