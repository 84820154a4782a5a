//! All rooms of a process: their queues, their passes, their metrics.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use api::conditions::Standing as _;
use futures::FutureExt;
use futures::future::BoxFuture;
use kube::core::ApiResource;
use kube::{Client, Resource};
use prometheus_client::registry::Registry;
use serde_json::Value;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::address::{Name, Object};
use crate::caches::Caches;
use crate::census::{self, Stand};
use crate::draft::{Draft, draft};
use crate::fault::{Fault, Retry};
use crate::metrics::{Metrics, RoomMetrics};
use crate::queue::{Queue, Verdict};
use crate::reader::Reader;
use crate::room::{Room, Wake};
use crate::run::{Outcome, reconcile, status};
use crate::shelf::Shelf;
use crate::time::{Clock, Dice};
use crate::tools::Tools;

/// How many passes of one kind run side by side. They mostly wait for answers.
const CONCURRENCY: usize = 16;
/// How long passes may go on after the house was asked to stop.
const LAST_ORDERS: Duration = Duration::from_secs(5);

/// All rooms of a process.
pub struct House {
    tools: Tools,
    rooms: Vec<Arc<dyn AnyRoom>>,
    concurrency: usize,
    metrics: Arc<Metrics>,
    stop: CancellationToken,
}

impl House {
    /// A house without rooms, on one client.
    pub fn new(client: Client, stop: CancellationToken) -> Self {
        let caches = Caches::new(client.clone(), stop.clone());
        let tools = Tools::new(Reader::cached(client, caches));
        Self { tools, rooms: Vec::new(), concurrency: CONCURRENCY, metrics: Arc::new(Metrics::new()), stop }
    }

    /// The same, with another clock and other dice.
    #[must_use]
    pub fn with(mut self, clock: Arc<dyn Clock>, dice: Dice) -> Self {
        self.tools = Tools::new(self.tools.reader().clone().with(clock, dice));
        self
    }

    /// How many passes of one kind may run side by side.
    #[must_use]
    pub fn concurrency(mut self, passes: usize) -> Self {
        self.concurrency = passes.max(1);
        self
    }

    /// The same, with one more room.
    #[must_use]
    pub fn room<R: Room>(self, room: R) -> Self {
        self.any(entered(room))
    }

    /// The same, with one more room of any kind.
    #[must_use]
    pub fn any(mut self, room: Arc<dyn AnyRoom>) -> Self {
        self.metrics.enroll(|registry| room.enroll(registry));
        self.rooms.push(room);
        self
    }

    /// What the rooms count.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// Reads what the rooms read, from the same caches.
    pub fn reader(&self) -> &Reader {
        self.tools.reader()
    }

    /// Runs all rooms until the house is asked to stop; passes that have begun are let end.
    pub async fn run(self) {
        let mut tasks = JoinSet::new();
        for room in self.rooms {
            let metrics = self.metrics.room(room.name());
            let floor = Floor {
                tools: self.tools.clone().counted(metrics.clone()),
                concurrency: self.concurrency,
                metrics,
                stop: self.stop.clone(),
            };
            tasks.spawn(async move { room.open(floor).await });
        }
        while let Some(ended) = tasks.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "a room has ended");
            }
        }
    }
}

/// What a room stands on.
pub struct Floor {
    tools: Tools,
    concurrency: usize,
    metrics: RoomMetrics,
    stop: CancellationToken,
}

/// A room whose kind is not known here.
pub trait AnyRoom: Send + Sync {
    /// Its name, in metrics and logs.
    fn name(&self) -> &'static str;
    /// Its kind.
    fn resource(&self) -> ApiResource;
    /// Makes known what it counts beside its passes.
    fn enroll(&self, registry: &mut Registry);
    /// Runs its passes until the floor is asked to stop.
    fn open(&self, floor: Floor) -> BoxFuture<'static, ()>;
    /// What a pass over an object would do.
    fn draft<'a>(&'a self, tools: &'a Tools, object: Value) -> BoxFuture<'a, Result<Draft, Fault>>;
}

/// A room as one of many.
pub fn entered<R: Room>(room: R) -> Arc<dyn AnyRoom> {
    Arc::new(Entered(Arc::new(room)))
}

struct Entered<R>(Arc<R>);

impl<R: Room> AnyRoom for Entered<R> {
    fn name(&self) -> &'static str {
        R::NAME
    }

    fn resource(&self) -> ApiResource {
        ApiResource::erase::<R::Kind>(&())
    }

    fn enroll(&self, registry: &mut Registry) {
        self.0.enroll(registry);
    }

    fn open(&self, floor: Floor) -> BoxFuture<'static, ()> {
        open(self.0.clone(), floor).boxed()
    }

    fn draft<'a>(&'a self, tools: &'a Tools, object: Value) -> BoxFuture<'a, Result<Draft, Fault>> {
        async move {
            let object = serde_json::from_value(object).map_err(|error| {
                Fault::cluster(
                    format!("cannot read a {}", R::Kind::kind(&())),
                    kube::Error::SerdeError(error),
                )
            })?;
            draft(&*self.0, tools, &object).await
        }
        .boxed()
    }
}

async fn open<R: Room>(room: Arc<R>, floor: Floor) {
    let Floor { tools, concurrency, metrics, stop } = floor;
    let Some(caches) = tools.reader().caches().cloned() else { return };
    let queue = Arc::new(Queue::new(tools.reader().dice().clone()));
    let shelf = caches.shelf::<R::Kind>();
    let counted = shelf.clone();
    metrics.census(move || counted.list(None).iter().filter_map(|object| standing::<R>(object)).collect());
    listen(&*room, &caches, &shelf, &queue, &stop);
    tokio::select! { _ = shelf.settled() => {}, () = stop.cancelled() => return }
    shelf.names().into_iter().for_each(|name| queue.wake(name));
    let mut passes = JoinSet::new();
    let concurrency = room.passes().unwrap_or(concurrency);
    loop {
        let name = tokio::select! {
            name = queue.take(), if passes.len() < concurrency => name,
            Some(_) = passes.join_next() => continue,
            () = stop.cancelled() => break,
        };
        metrics.depth(queue.depth());
        let (room, tools, queue, shelf) = (room.clone(), tools.clone(), queue.clone(), shelf.clone());
        let metrics = metrics.clone();
        passes.spawn(async move {
            let verdict = one(&*room, &tools, &metrics, &shelf, &name).await;
            queue.done(&name, verdict);
            metrics.depth(queue.depth());
        });
    }
    let rest = async { while passes.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(LAST_ORDERS, rest).await;
}

/// What an object says of itself; `None` for kinds that speak in other words than ours.
fn standing<R: Room>(object: &R::Kind) -> Option<Stand> {
    status::<R>(object).conditions_mut().map(|conditions| census::stand(conditions))
}

/// Whatever may wake an object of this kind does so from now on.
fn listen<R: Room>(
    room: &R,
    caches: &Caches,
    shelf: &Arc<Shelf<R::Kind>>,
    queue: &Arc<Queue>,
    stop: &CancellationToken,
) {
    let line = queue.clone();
    let wake: Wake = Arc::new(move |name| line.wake(name));
    let own = wake.clone();
    // What only its own report changed is known already.
    shelf.on_change(move |old, new| {
        if !old.is_some_and(|old| only_reported(old, new)) {
            own(Name::of(new));
        }
    });
    for relation in room.relations() {
        (relation.attach)(caches, wake.clone());
    }
    let Some(bell) = room.bell() else { return };
    let (mut rings, all, stop) = (bell.listen(), shelf.clone(), stop.clone());
    tokio::spawn(async move {
        loop {
            let rung = tokio::select! { rung = rings.recv() => rung, () = stop.cancelled() => return };
            match rung {
                Ok(Some(name)) => wake(name),
                Ok(None) | Err(RecvError::Lagged(_)) => all.names().into_iter().for_each(|name| wake(name)),
                Err(RecvError::Closed) => return,
            }
        }
    });
}

/// Whether two states of an object differ in nothing but status and bookkeeping.
fn only_reported<K: Object>(old: &K, new: &K) -> bool {
    let bare = |object: &K| {
        let mut json = serde_json::to_value(object).unwrap_or_default();
        if let Some(fields) = json.as_object_mut() {
            fields.remove("status");
        }
        if let Some(meta) = json.get_mut("metadata").and_then(Value::as_object_mut) {
            meta.remove("resourceVersion");
            meta.remove("managedFields");
        }
        json
    };
    old.meta().uid == new.meta().uid && bare(old) == bare(new)
}

async fn one<R: Room>(
    room: &R,
    tools: &Tools,
    metrics: &RoomMetrics,
    shelf: &Shelf<R::Kind>,
    name: &Name,
) -> Verdict {
    let Some(object) = shelf.get(name) else { return Verdict::Gone };
    let begun = Instant::now();
    let pass = AssertUnwindSafe(reconcile(room, tools, &object)).catch_unwind().await;
    let took = begun.elapsed();
    let Ok(pass) = pass else {
        tracing::error!(room = R::NAME, %name, "pass panicked");
        return Verdict::Failed(Retry::Backoff);
    };
    metrics.passed(&pass, took);
    match pass {
        Ok(outcome) => {
            tracing::debug!(room = R::NAME, %name, ?outcome, ?took, "pass");
            match outcome {
                Outcome::OnChange | Outcome::Refused => Verdict::Settled,
                Outcome::After(delay) => Verdict::After(delay),
                Outcome::Gone => Verdict::Gone,
            }
        }
        Err(fault) => {
            tracing::warn!(room = R::NAME, %name, fault = fault.story(), "pass failed");
            Verdict::Failed(fault.retry())
        }
    }
}
