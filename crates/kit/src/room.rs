//! What a kind brings.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use api::conditions::{Reason, Standing};
use kube::core::ApiResource;
use prometheus_client::registry::Registry;

use crate::address::{Name, Object};
use crate::caches::Caches;
use crate::change::Changes;
use crate::fault::Fault;
use crate::plan::{Plan, Receipt, Refusal};
use crate::reader::Reader;
use crate::time::Bell;

/// One kind: how its world is observed, what is planned from it, how the steps outside the cluster are done.
pub trait Room: Send + Sync + 'static {
    /// The kind.
    type Kind: Object;
    /// Its status.
    type Status: Standing;
    /// What is known when a plan is made; time and random numbers are in it.
    type World: Send + Sync;
    /// A step outside the cluster. Its words are printed, so they hold no secret.
    type Step: fmt::Display + fmt::Debug + Send + Sync;

    /// The room's name, in metrics and logs.
    const NAME: &'static str;
    /// Held on every object whose end needs a pass.
    const FINALIZER: Option<&'static str> = None;
    /// Whether an object on its way out gets passes.
    const SEES_DELETION: bool = Self::FINALIZER.is_some();

    /// Whether an object is this room's at all. One that is not is left alone, finalizer and status included.
    fn serves(&self, _: &Self::Kind) -> bool {
        true
    }

    /// How many passes may run side by side, where that is not the house's own number.
    fn passes(&self) -> Option<usize> {
        None
    }

    /// Other kinds that matter here: those of children, and those that wake objects of this kind.
    fn relations(&self) -> Vec<Relation<Self::Kind>> {
        Vec::new()
    }

    /// Makes known what the room counts beside its passes.
    fn enroll(&self, _: &mut Registry) {}

    /// What wakes objects from outside the cluster.
    fn bell(&self) -> Option<&Bell> {
        None
    }

    /// Looks at everything that the plan needs. It writes nothing.
    fn observe(
        &self,
        object: &Self::Kind,
        reader: &Reader,
    ) -> impl Future<Output = Result<Self::World, Fault>> + Send;

    /// Decides: pure, and total.
    fn plan(
        &self,
        object: &Self::Kind,
        world: &Self::World,
    ) -> Result<Plan<Self::Step, Self::Status>, Refusal>;

    /// Does one step outside the cluster. Doing it twice is the same as doing it once.
    fn act(
        &self,
        object: &Self::Kind,
        step: &Self::Step,
    ) -> impl Future<Output = Result<Receipt, Fault>> + Send;

    /// The fields that a step outside the cluster would change, for whoever only wants to know.
    fn changes(&self, _: &Self::Step) -> Changes {
        Vec::new()
    }

    /// Says in a status that a pass failed.
    fn failed(status: &mut Self::Status, reason: Reason, story: String) {
        status.not_ready(reason, story);
    }

    /// Says in a status that the spec cannot be met.
    fn refused(status: &mut Self::Status, refusal: &Refusal) {
        status.not_ready(refusal.reason.clone(), refusal.message.clone());
    }
}

/// A way to find objects of a kind by something that they name.
pub struct Index<K> {
    /// Its name, one per kind and index.
    pub name: &'static str,
    /// What an object is found by.
    pub keys: fn(&K) -> Vec<String>,
}

impl<K> Clone for Index<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Index<K> {}

/// Puts an object into the queue of its room.
pub(crate) type Wake = Arc<dyn Fn(Name) + Send + Sync>;

/// Subscribes to a kind.
type Attach = Box<dyn Fn(&Caches, Wake) + Send + Sync>;

/// Another kind that matters to objects of kind `M`. It is watched once for the whole process, from the moment that it
/// is served; until then there are none of it.
pub struct Relation<M> {
    /// The kind, if objects of it are children: those that a whole plan does not name are deleted.
    pub(crate) child: Option<ApiResource>,
    /// Subscribes to the kind: each change wakes what it should.
    pub(crate) attach: Attach,
    mine: PhantomData<fn(M)>,
}

impl<M: Object> Relation<M> {
    /// A kind of which children are made. A child wakes its owner.
    pub fn child<K: Object>() -> Self {
        let wakes = |object: &K, caches: &Caches| owner::<M, K>(object, caches).into_iter().collect();
        Self { child: Some(ApiResource::erase::<K>(&())), ..Self::attached(wakes) }
    }

    /// A kind whose objects wake those that the function names.
    pub fn other<K: Object>(names: fn(&K) -> Vec<Name>) -> Self {
        Self::attached(move |object: &K, _| names(object))
    }

    /// A kind whose objects wake those of ours that an index finds under the keys that the function names.
    pub fn indexed<K: Object>(index: Index<M>, keys: fn(&K) -> Vec<String>) -> Self {
        Self::noticed(index, keys, |_, _| true)
    }

    /// The same, but only changes that matter wake anybody.
    pub fn noticed<K: Object>(
        index: Index<M>,
        keys: fn(&K) -> Vec<String>,
        matters: fn(&K, &K) -> bool,
    ) -> Self {
        let found = move |object: &K, caches: &Caches| {
            let mine = caches.shelf::<M>();
            keys(object)
                .iter()
                .flat_map(|key| mine.indexed(&index, key))
                .map(|found| Name::of(&*found))
                .collect()
        };
        Self::attached_when(found, matters)
    }

    fn attached<K: Object>(names: impl Fn(&K, &Caches) -> Vec<Name> + Clone + Send + Sync + 'static) -> Self {
        Self::attached_when(names, |_, _| true)
    }

    fn attached_when<K: Object>(
        names: impl Fn(&K, &Caches) -> Vec<Name> + Clone + Send + Sync + 'static,
        matters: fn(&K, &K) -> bool,
    ) -> Self {
        let attach = move |caches: &Caches, wake: Wake| {
            let shelf = caches.shelf::<K>();
            let (names, all) = (names.clone(), wake.clone());
            let shared = caches.clone();
            shelf.on_change(move |old: Option<&K>, new: &K| {
                if old.is_some_and(|old| !matters(old, new)) {
                    return;
                }
                // Also those that the object spoke of before: they have lost something.
                let before = old.map_or_else(Vec::new, |old| names(old, &shared));
                let now = names(new, &shared);
                before.iter().filter(|name| !now.contains(name)).for_each(|name| wake(name.clone()));
                now.into_iter().for_each(|name| wake(name));
            });
            // A kind that comes or goes matters to everybody.
            let mine = caches.shelf::<M>();
            shelf.on_served(move || mine.names().into_iter().for_each(|name| all(name)));
        };
        Self { child: None, attach: Box::new(attach), mine: PhantomData }
    }
}

/// The controller of an object, if it is of kind `M`.
fn owner<M: Object, K: Object>(object: &K, caches: &Caches) -> Option<Name> {
    let group = |api_version: &str| api_version.split_once('/').map_or("", |(group, _)| group).to_owned();
    let owners = object.meta().owner_references.as_deref().unwrap_or_default();
    let owner = owners.iter().find(|owner| owner.controller == Some(true))?;
    let ours = owner.kind == M::kind(&()) && group(&owner.api_version) == M::group(&());
    let wide = Name::new("", owner.name.clone());
    // A kind that lies in no namespace may own what lies in one.
    let found = ours.then(|| caches.shelf::<M>().get(&wide));
    found.map(|found| match found {
        Some(_) => wide,
        None => Name::new(object.meta().namespace.clone().unwrap_or_default(), owner.name.clone()),
    })
}
