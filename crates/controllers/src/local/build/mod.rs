//! kpack's `Image` on one machine: source is built with the machine's own tools.
//!
//! Each wish has a build: another source, another variable, the annotation that asks for one, or a branch that moved.
//! The name of the last build stands in the status and says what it was made for, so a pass can tell whether the world
//! has moved on. Branches are asked now and then what they point to.

use std::fmt;
use std::sync::Arc;

use api::foreign::kpack::{Image, ImageStatus};
use kit::{Bell, Fault, Name, Plan, Reader, Receipt, Refusal, Room};
use ports::build::{Builds, Limits};
use tokio::sync::broadcast::error::RecvError;

mod act;
mod observe;
mod plan;
#[cfg(test)]
mod tests;

/// What the builds of this machine are told.
#[derive(Clone, Debug)]
pub struct Config {
    /// User that the builds of a namespace run as; `None` keeps the platform's. No other program runs as that user.
    pub user: fn(&str) -> Option<u32>,
    /// Bounds of every build.
    pub limits: Limits,
}

/// The room of kpack's `Image`.
pub struct Images<B> {
    builds: Arc<B>,
    config: Config,
    heads: observe::Heads,
    bell: Bell,
}

impl<B: Builds> Images<B> {
    /// The room on these builds. A build that gets on wakes its image, as long as a runtime is there to listen in.
    pub fn new(builds: Arc<B>, config: Config) -> Self {
        let bell = Bell::default();
        tokio::spawn(ring(builds.changes(), bell.clone()));
        Self { builds, config, heads: observe::Heads::default(), bell }
    }
}

/// Wakes the image of each build that changes, until there are no builds any more.
async fn ring(mut changes: tokio::sync::broadcast::Receiver<String>, bell: Bell) {
    loop {
        match changes.recv().await {
            Ok(id) => plan::image_of(&id).into_iter().for_each(|name: Name| bell.ring(name)),
            // What was missed is seen by the pass that comes anyway while a build is under way.
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

impl<B> fmt::Debug for Images<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Images").field("config", &self.config).finish_non_exhaustive()
    }
}

impl<B: Builds> Room for Images<B> {
    type Kind = Image;
    type Status = ImageStatus;
    type World = plan::World;
    type Step = plan::Step;

    const NAME: &'static str = "build";
    const FINALIZER: Option<&'static str> = Some("terrace.dev/build");

    fn bell(&self) -> Option<&Bell> {
        Some(&self.bell)
    }

    async fn observe(&self, image: &Image, reader: &Reader) -> Result<plan::World, Fault> {
        observe::observe(self, image, reader).await
    }

    fn plan(&self, image: &Image, world: &plan::World) -> Result<Plan<plan::Step, ImageStatus>, Refusal> {
        plan::plan(image, world)
    }

    async fn act(&self, image: &Image, step: &plan::Step) -> Result<Receipt, Fault> {
        act::act(self, image, step).await
    }
}
