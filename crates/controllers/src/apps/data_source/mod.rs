//! `DataSource`: data that operators offer.
//!
//! It is ready when its Secret is there and has every key that it maps. Secrets are not watched: a platform must not
//! hold all of them in memory to know of a few; they are looked at now and then.

use std::convert::Infallible;

use api::apps::{DataSource, DataSourceStatus};
use kit::{Fault, Plan, Reader, Receipt, Refusal, Room};

mod act;
mod observe;
mod plan;
#[cfg(test)]
mod tests;

/// The room of `DataSource`.
#[derive(Clone, Copy, Debug, Default)]
pub struct DataSources;

impl Room for DataSources {
    type Kind = DataSource;
    type Status = DataSourceStatus;
    type World = plan::World;
    type Step = Infallible;

    const NAME: &'static str = "data_source";

    async fn observe(&self, source: &DataSource, reader: &Reader) -> Result<plan::World, Fault> {
        observe::observe(source, reader).await
    }

    fn plan(
        &self,
        source: &DataSource,
        world: &plan::World,
    ) -> Result<Plan<Infallible, DataSourceStatus>, Refusal> {
        Ok(plan::plan(source, world))
    }

    async fn act(&self, _: &DataSource, step: &Infallible) -> Result<Receipt, Fault> {
        act::act(step)
    }
}
