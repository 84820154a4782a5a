//! `DbRoleClaim`: two logins of its own in the database of a `DatabaseClaim`, with rights per schema and no others.
//!
//! The rights are held by a role that nobody logs in as; both logins are that role from their login on, and their passwords
//! rotate as those of a `DatabaseClaim` do. A source in another namespace has to agree, and may change its mind: then
//! nobody gets in any more, and the rights are taken. Without any rights the source's own connection is copied.

use std::time::Instant;

use api::claims::{DB_ROLE_CLAIM_FINALIZER, DatabaseClaim, DbRoleClaim, DbRoleClaimStatus};
use api::conditions::{Reason, SYNCED, Standing};
use k8s_openapi::api::core::v1::Secret;
use kit::{ALL_PASSES, Bell, Fault, Index, Name, Plan, Reader, Receipt, Refusal, Relation, Room};
use ports::admin::Admin;

use super::Office;
use super::guests::BY_SOURCE;
use super::step::Step;

mod act;
mod observe;
mod plan;
#[cfg(test)]
mod tests;

/// Claims that copy a Secret, by that.
const BY_COPIED: Index<DbRoleClaim> = Index { name: "role claim by the Secret that it copies", keys: copied };

/// The room of `DbRoleClaim`.
pub struct DbRoleClaims<A> {
    office: Office<A>,
    bell: Bell,
}

impl<A: Admin> DbRoleClaims<A> {
    /// The room, in an office.
    pub fn new(office: Office<A>) -> Self {
        let bell = office.bell.clone();
        Self { office, bell }
    }
}

impl<A: Admin> Room for DbRoleClaims<A> {
    type Kind = DbRoleClaim;
    type Status = DbRoleClaimStatus;
    type World = plan::World;
    type Step = Step;

    const NAME: &'static str = "db_role_claim";
    const FINALIZER: Option<&'static str> = Some(DB_ROLE_CLAIM_FINALIZER);

    fn serves(&self, claim: &DbRoleClaim) -> bool {
        claim.spec.class == self.office.settings.class
    }

    fn passes(&self) -> Option<usize> {
        Some(ALL_PASSES)
    }

    fn relations(&self) -> Vec<Relation<DbRoleClaim>> {
        vec![
            Relation::child::<Secret>(),
            Relation::indexed::<DatabaseClaim>(BY_SOURCE, |source| vec![Name::of(source).to_string()]),
            Relation::indexed::<Secret>(BY_COPIED, |secret| vec![Name::of(secret).to_string()]),
        ]
    }

    fn bell(&self) -> Option<&Bell> {
        Some(&self.bell)
    }

    async fn observe(&self, claim: &DbRoleClaim, reader: &Reader) -> Result<plan::World, Fault> {
        let begun = Instant::now();
        let world = observe::observe(self, claim, reader).await;
        self.office.metrics.loaded(world.is_ok(), begun.elapsed());
        world
    }

    fn plan(
        &self,
        claim: &DbRoleClaim,
        world: &plan::World,
    ) -> Result<Plan<Step, DbRoleClaimStatus>, Refusal> {
        plan::plan(claim, world)
    }

    async fn act(&self, _: &DbRoleClaim, step: &Step) -> Result<Receipt, Fault> {
        act::act(&self.office, step).await
    }

    fn failed(status: &mut DbRoleClaimStatus, reason: Reason, story: String) {
        status.error = Some(story.clone());
        status.say(SYNCED, Some(false), reason.clone(), story.clone());
        status.not_ready(reason, story);
    }

    fn refused(status: &mut DbRoleClaimStatus, refusal: &Refusal) {
        Self::failed(status, refusal.reason.clone(), refusal.message.clone());
    }
}

/// Whoever has rights of its own does not mind the login of its source.
fn copied(claim: &DbRoleClaim) -> Vec<String> {
    let secret = claim.status.as_ref().and_then(|status| status.source_secret.clone());
    secret.filter(|_| claim.spec.schema_role_map.is_empty()).into_iter().collect()
}
