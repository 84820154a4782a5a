//! `AWSProvider`: an account, a region, and how to log in.
//!
//! STS is asked who we are, every five minutes and whenever the credentials change. A provider that is deleted stays until
//! no resource names it any more: without it none of them could be deleted.

mod act;
mod observe;
mod plan;
#[cfg(test)]
mod tests;

use std::convert::Infallible;

use api::conditions::{Reason, Standing};
use api::infra::{AWS_PROVIDER_FINALIZER, AWSProvider, AWSProviderStatus};
use k8s_openapi::api::core::v1::Secret;
use kit::{ALL_PASSES, Fault, Index, Name, Plan, Reader, Receipt, Refusal, Relation, Room};
use prometheus_client::registry::Registry;

use super::Desk;
use super::metrics::Calls;
use plan::World;

/// Providers by the Secrets that they name.
const BY_SECRET: Index<AWSProvider> = Index { name: "provider by secret", keys: secrets };

/// The room of `AWSProvider`.
pub struct AWSProviders {
    desk: Desk,
}

impl AWSProviders {
    /// The room, at a desk.
    pub fn new(desk: Desk) -> Self {
        Self { desk }
    }
}

impl Room for AWSProviders {
    type Kind = AWSProvider;
    type Status = AWSProviderStatus;
    type World = World;
    type Step = Infallible;

    const NAME: &'static str = "aws_provider";
    const FINALIZER: Option<&'static str> = Some(AWS_PROVIDER_FINALIZER);

    fn passes(&self) -> Option<usize> {
        Some(ALL_PASSES)
    }

    fn relations(&self) -> Vec<Relation<AWSProvider>> {
        vec![Relation::indexed::<Secret>(BY_SECRET, |secret| vec![Name::of(secret).to_string()])]
    }

    /// All rooms of AWS share their clients, so one of them tells of the calls.
    fn enroll(&self, registry: &mut Registry) {
        registry.register_collector(Box::new(Calls(self.desk.aws.clone())));
    }

    async fn observe(&self, provider: &AWSProvider, reader: &Reader) -> Result<World, Fault> {
        observe::observe(&self.desk, provider, reader).await
    }

    fn plan(
        &self,
        provider: &AWSProvider,
        world: &World,
    ) -> Result<Plan<Infallible, AWSProviderStatus>, Refusal> {
        plan::plan(provider, world)
    }

    async fn act(&self, _: &AWSProvider, step: &Infallible) -> Result<Receipt, Fault> {
        act::act(step)
    }

    fn failed(status: &mut AWSProviderStatus, reason: Reason, story: String) {
        status.ready = false;
        status.not_ready(reason, story);
    }

    fn refused(status: &mut AWSProviderStatus, refusal: &Refusal) {
        Self::failed(status, refusal.reason.clone(), refusal.message.clone());
    }
}

fn secrets(provider: &AWSProvider) -> Vec<String> {
    let own = Name::of(provider).namespace;
    let spec = &provider.spec;
    let whole = spec.credentials_secret.iter().map(|named| (&named.name, &named.namespace));
    let keys = [&spec.access_key_id_ref, &spec.secret_access_key_ref];
    let keys = keys.into_iter().flatten().map(|named| (&named.name, &named.namespace));
    let place = |namespace: &Option<api::names::Label>| {
        namespace.as_ref().map_or(own.clone(), |namespace| namespace.to_string())
    };
    whole
        .chain(keys)
        .map(|(name, namespace)| Name::new(place(namespace), name.as_str()).to_string())
        .collect()
}
