//! What cert-manager does in a cluster: a Certificate becomes a Secret, signed by the platform's own authority and
//! renewed in time.

mod act;
mod observe;
mod plan;
#[cfg(test)]
mod tests;

use api::conditions::{READY, Reason, Standing};
use api::foreign::certmanager::{Certificate, CertificateStatus};
use api::foreign::find;
use k8s_openapi::api::core::v1::Secret;
use kit::{Fault, Index, Name, Plan, Reader, Receipt, Refusal, Relation, Room};
use ports::authority::Authority;

pub use plan::{Step, World};

/// What an issuer is called if nobody says otherwise.
pub const ISSUER: &str = "terrace";
/// The type of the condition that speaks of a certificate on its way.
const ISSUING: &str = "Issuing";
/// On the Secret: how often its certificate was issued.
const REVISION: &str = "cert-manager.io/certificate-revision";

/// Certificates by the Secret that they are to fill.
const BY_SECRET: Index<Certificate> = Index {
    name: "secret",
    keys: |certificate| {
        let namespace = certificate.metadata.namespace.clone().unwrap_or_default();
        vec![Name::new(namespace, &*certificate.spec.secret_name).to_string()]
    },
};

/// The certificates of this machine.
pub struct Certificates<A> {
    authority: A,
    issuer: String,
}

impl<A: Authority> Certificates<A> {
    /// Certificates that an authority signs when they name it as `ClusterIssuer` by this name.
    pub fn new(authority: A, issuer: impl Into<String>) -> Self {
        Self { authority, issuer: issuer.into() }
    }
}

impl<A: Authority> Room for Certificates<A> {
    type Kind = Certificate;
    type Status = CertificateStatus;
    type World = World;
    type Step = Step;

    const NAME: &'static str = "certificate";

    fn relations(&self) -> Vec<Relation<Certificate>> {
        vec![
            Relation::child::<Secret>(),
            // Also those of others: when one goes away, its name is free.
            Relation::indexed::<Secret>(BY_SECRET, |secret| vec![Name::of(secret).to_string()]),
        ]
    }

    async fn observe(&self, certificate: &Certificate, reader: &Reader) -> Result<World, Fault> {
        observe::observe(&self.authority, certificate, reader).await
    }

    fn plan(
        &self,
        certificate: &Certificate,
        world: &World,
    ) -> Result<Plan<Step, CertificateStatus>, Refusal> {
        plan::plan(&self.issuer, certificate, world)
    }

    async fn act(&self, certificate: &Certificate, step: &Step) -> Result<Receipt, Fault> {
        act::act(&self.authority, certificate, step)
    }

    /// A renewal that fails leaves a certificate that is still good: only the renewal is said to have failed.
    fn failed(status: &mut CertificateStatus, reason: Reason, story: String) {
        status.say(ISSUING, Some(false), reason.clone(), story.clone());
        if find(&status.conditions, READY).is_none_or(|ready| ready.status != "True") {
            status.not_ready(reason, story);
        }
    }
}
