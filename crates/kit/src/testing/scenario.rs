//! What happens in a test of a room.

use std::future::Future;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use kube::Client;
use serde_json::Value;

use crate::room::Room;

/// Delays up to this long are let pass. Longer ones are renewals and rare checks, not waiting.
const PATIENCE: Duration = Duration::from_secs(600);

type Play = Box<dyn Fn(Client) -> BoxFuture<'static, ()> + Send + Sync>;

/// One object of a room, what is there before it, and who plays the rest of the world.
pub struct Scenario<R> {
    pub(super) room: R,
    pub(super) object: Value,
    pub(super) given: Vec<Value>,
    pub(super) lacking: Vec<&'static str>,
    pub(super) world: Play,
    pub(super) outside: Box<dyn Fn() -> String + Send + Sync>,
    pub(super) patience: Duration,
    pub(super) keeps: bool,
    pub(super) draws: bool,
    pub(super) looks: Looks,
}

/// Which of the calls that only look are broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Looks {
    /// Every one, in each way.
    Each,
    /// The first at each kind, in one way.
    First,
}

impl<R: Room> Scenario<R> {
    /// A room and the manifest of one of its objects. It lies in `default` if it does not say where.
    pub fn new(room: R, mut object: Value) -> Self {
        let resource = kube::core::ApiResource::erase::<R::Kind>(&());
        object["apiVersion"] = resource.api_version.into();
        object["kind"] = resource.kind.into();
        Self {
            room,
            object,
            given: Vec::new(),
            lacking: Vec::new(),
            world: Box::new(|_| async {}.boxed()),
            outside: Box::new(String::new),
            patience: PATIENCE,
            keeps: false,
            draws: false,
            looks: Looks::Each,
        }
    }

    /// Calls that only look are broken once for each kind that is looked at, and only fail: for a room of so many objects
    /// that the sweep would take minutes. A look that breaks changes nothing, wherever and however it breaks.
    #[must_use]
    pub fn looks_once(mut self) -> Self {
        self.looks = Looks::First;
        self
    }

    /// Another manifest, created before. Its `status` is written, too.
    #[must_use]
    pub fn given(mut self, manifest: Value) -> Self {
        self.given.push(manifest);
        self
    }

    /// A definition that is not installed, by its name (`ingressroutes.traefik.io`). All others are.
    #[must_use]
    pub fn lacking(mut self, definition: &'static str) -> Self {
        self.lacking.push(definition);
        self
    }

    /// Plays the rest of the world before each pass, with a client that nobody disturbs. It looks at what is there and
    /// does what others would do next, so it may be called any number of times.
    #[must_use]
    pub fn world<F>(mut self, play: impl Fn(Client) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.world = Box::new(move |client| play(client).boxed());
        self
    }

    /// What there is outside the cluster, one thing per line: it must be the same in the end, too.
    #[must_use]
    pub fn outside(mut self, dump: impl Fn() -> String + Send + Sync + 'static) -> Self {
        self.outside = Box::new(dump);
        self
    }

    /// How long a delay may be that is let pass before the object counts as settled.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Each attempt draws a new password, so Secrets are compared but for theirs.
    #[must_use]
    pub fn draws_passwords(mut self) -> Self {
        self.draws = true;
        self
    }

    /// Something outlives the object on purpose. Without this, all must be as before when it is gone.
    #[must_use]
    pub fn keeps_something(mut self) -> Self {
        self.keeps = true;
        self
    }
}
