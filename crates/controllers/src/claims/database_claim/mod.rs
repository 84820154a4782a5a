//! `DatabaseClaim`: a database, its owner, two logins whose passwords rotate, and a Secret with the one in use.
//!
//! The server is there already, or is made. The database and its roles carry a mark that names the claim, so that they
//! are found again, and nothing else is ever touched. When a claim goes, its database is put aside, and a claim in the
//! platform's own namespace keeps it until the hold ends: whoever makes the claim again meanwhile gets it back.

use std::time::Instant;

use api::annotations::{HELD_AS, HELD_FOR};
use api::claims::{DATABASE_CLAIM_FINALIZER, DatabaseClaim, DatabaseClaimStatus};
use api::conditions::{READY, Reason, SYNCED, Standing, find};
use k8s_openapi::api::core::v1::Secret;
use kit::{ALL_PASSES, Bell, Fault, Index, Name, Plan, Reader, Receipt, Refusal, Relation, Room};
use kube::ResourceExt;
use ports::admin::Admin;
use prometheus_client::registry::Registry;

use super::Office;
use super::step::Step;

mod act;
mod observe;
mod plan;
#[cfg(test)]
mod tests;

/// Claims that keep the database of a deleted one, by that.
const BY_HELD_FOR: Index<DatabaseClaim> = Index { name: "claim by whom it is held for", keys: held_for };
/// Claims that wait for a Secret.
const WAITING: Index<DatabaseClaim> = Index { name: "claim that waits for a login", keys: waiting };
/// The one key of that index.
const WAITS: &str = "waits";

/// The room of `DatabaseClaim`.
pub struct DatabaseClaims<A> {
    office: Office<A>,
    bell: Bell,
}

impl<A: Admin> DatabaseClaims<A> {
    /// The room, in an office.
    pub fn new(office: Office<A>) -> Self {
        let bell = office.bell.clone();
        Self { office, bell }
    }

    /// The claim that an object stands for: itself, or the deleted one that it keeps a database for.
    fn identity(&self, claim: &DatabaseClaim) -> Name {
        let own = Name::of(claim);
        let kept =
            held_for(claim).into_iter().next().filter(|_| own.namespace == self.office.settings.namespace);
        let kept = kept.and_then(|kept| kept.split_once('/').map(|(of, name)| Name::new(of, name)));
        kept.unwrap_or(own)
    }
}

impl<A: Admin> Room for DatabaseClaims<A> {
    type Kind = DatabaseClaim;
    type Status = DatabaseClaimStatus;
    type World = plan::World;
    type Step = Step;

    const NAME: &'static str = "database_claim";
    const FINALIZER: Option<&'static str> = Some(DATABASE_CLAIM_FINALIZER);

    fn serves(&self, claim: &DatabaseClaim) -> bool {
        claim.spec.class == self.office.settings.class
    }

    fn passes(&self) -> Option<usize> {
        Some(ALL_PASSES)
    }

    fn enroll(&self, registry: &mut Registry) {
        self.office.metrics.enroll(registry);
    }

    fn relations(&self) -> Vec<Relation<DatabaseClaim>> {
        vec![Relation::child::<Secret>(), Relation::indexed::<Secret>(WAITING, |_| vec![WAITS.to_owned()])]
    }

    fn bell(&self) -> Option<&Bell> {
        Some(&self.bell)
    }

    async fn observe(&self, claim: &DatabaseClaim, reader: &Reader) -> Result<plan::World, Fault> {
        let begun = Instant::now();
        let world = observe::observe(self, claim, reader).await;
        self.office.metrics.loaded(world.is_ok(), begun.elapsed());
        world
    }

    fn plan(
        &self,
        claim: &DatabaseClaim,
        world: &plan::World,
    ) -> Result<Plan<Step, DatabaseClaimStatus>, Refusal> {
        plan::plan(claim, world)
    }

    async fn act(&self, _: &DatabaseClaim, step: &Step) -> Result<Receipt, Fault> {
        act::act(&self.office, step).await
    }

    fn failed(status: &mut DatabaseClaimStatus, reason: Reason, story: String) {
        status.error = Some(story.clone());
        status.say(SYNCED, Some(false), reason.clone(), story.clone());
        status.not_ready(reason, story);
    }

    fn refused(status: &mut DatabaseClaimStatus, refusal: &Refusal) {
        Self::failed(status, refusal.reason.clone(), refusal.message.clone());
    }
}

fn held_for(claim: &DatabaseClaim) -> Vec<String> {
    let notes = claim.annotations();
    notes.get(HELD_FOR).filter(|_| notes.contains_key(HELD_AS)).cloned().into_iter().collect()
}

fn waiting(claim: &DatabaseClaim) -> Vec<String> {
    let conditions = claim.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let reason = find(conditions, READY).map(|ready| ready.reason.as_str()).unwrap_or_default();
    let waits = [Reason::CredentialsMissing, Reason::CredentialsInvalid, Reason::ConsentMissing];
    waits.iter().any(|waits| waits.as_str() == reason).then(|| WAITS.to_owned()).into_iter().collect()
}
