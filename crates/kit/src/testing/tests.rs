//! The two tests must be able to fail: rooms that are broken on purpose, each in one way.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use api::apps::{Application, ApplicationStatus};
use api::conditions::{Reason, Standing};
use futures::FutureExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use parking_lot::Mutex;
use serde_json::json;

use super::*;
use crate::{Child, Do, Fault, Next, Plan, Reader, Receipt, Refusal, Relation, Retry, Room};

/// What a toy does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    None,
    WritesEachPass,
    CallsEachPass,
    DrawsNames,
    CountsInsteadOfLooking,
    SaysItOnce,
    LeavesAThing,
    SwallowsErrors,
    LeavesAnObject,
    NeverRests,
}

/// A thing outside for each object, and a ConfigMap that tells of it.
struct Toys {
    flaw: Flaw,
    gate: Gate,
    yard: Yard,
}

type Yard = Arc<Mutex<Vec<String>>>;

struct World {
    roll: u64,
    there: bool,
    told: bool,
}

#[derive(Debug)]
enum Step {
    Put(String),
    Take(String),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Put(thing) => write!(f, "put {thing}"),
            Self::Take(thing) => write!(f, "take {thing}"),
        }
    }
}

fn outside(broken: Broken) -> Fault {
    Fault::outside("yard", Retry::Backoff, broken)
}

impl Room for Toys {
    type Kind = Application;
    type Status = ApplicationStatus;
    type World = World;
    type Step = Step;

    const NAME: &'static str = "toys";
    const FINALIZER: Option<&'static str> = Some("terrace.dev/toys");

    fn relations(&self) -> Vec<Relation<Application>> {
        vec![Relation::child::<ConfigMap>()]
    }

    async fn observe(&self, object: &Application, reader: &Reader) -> Result<World, Fault> {
        let there = async { self.yard.lock().contains(&object.name_any()) };
        let there = self.gate.read("look", there).await.map_err(outside)?;
        let told = !reader.children::<ConfigMap, _>(object).await?.is_empty();
        Ok(World { roll: reader.dice().roll(), there, told })
    }

    fn plan(&self, object: &Application, world: &World) -> Result<Plan<Step, ApplicationStatus>, Refusal> {
        let mut status = object.status.clone().unwrap_or_default();
        let name = object.name_any();
        if object.metadata.deletion_timestamp.is_some() {
            let left = self.flaw == Flaw::LeavesAThing;
            let last = if left { Vec::new() } else { vec![Do::Outside(Step::Take(name))] };
            return Ok(Plan::release(last, status));
        }
        let mut steps = Vec::new();
        let put = match self.flaw {
            Flaw::CallsEachPass => true,
            Flaw::CountsInsteadOfLooking => status.url.is_none(),
            _ => !world.there,
        };
        if put {
            steps.push(Do::Outside(Step::Put(name.clone())));
        }
        if self.flaw != Flaw::DrawsNames || status.url.is_none() {
            let data = if self.flaw == Flaw::WritesEachPass { world.roll.to_string() } else { name.clone() };
            let called = if self.flaw == Flaw::DrawsNames { format!("{name}-{}", world.roll) } else { name };
            let map: ConfigMap = serde_json::from_value(json!({
                "metadata": { "name": called, "namespace": object.namespace(), "generateName": "toy-" }, "data": { "thing": data },
            }))
            .expect("a ConfigMap");
            let child = Child::of(&map);
            let kept = self.flaw == Flaw::LeavesAnObject;
            steps.push(Do::Apply(Box::new(if kept { child.unowned() } else { child })));
        }
        if self.flaw != Flaw::SaysItOnce || !world.told {
            status.url = Some("http://toy".into());
        }
        status.ready(Reason::Available, "the thing is in the yard");
        let next = match self.flaw {
            Flaw::NeverRests => {
                status.observed_generation = Some(world.roll.cast_signed());
                Next::After(Duration::from_secs(1))
            }
            _ => Next::OnChange,
        };
        let plan = if self.flaw == Flaw::DrawsNames { Plan::part } else { Plan::whole };
        Ok(plan(steps, status, next))
    }

    async fn act(&self, _: &Application, step: &Step) -> Result<Receipt, Fault> {
        let work = async {
            let mut yard = self.yard.lock();
            match step {
                Step::Put(thing) => yard.push(thing.clone()),
                Step::Take(thing) => yard.retain(|held| held != thing),
            }
        };
        let done = self.gate.write(step.to_string(), work).await;
        if self.flaw != Flaw::SwallowsErrors {
            done.map_err(outside)?;
        }
        Ok(Receipt::Done)
    }
}

fn toys(flaw: Flaw) -> impl Fn(&Gate) -> Scenario<Toys> {
    move |gate| {
        let yard = Yard::default();
        let room = Toys { flaw, gate: gate.clone(), yard: yard.clone() };
        let app = json!({ "metadata": { "name": "toy" }, "spec": { "image": "toy:1" } });
        Scenario::new(room, app).outside(move || yard.lock().join("\n"))
    }
}

/// What a test complains of; nothing if it passes.
async fn complaint(test: impl Future<Output = ()>) -> String {
    match AssertUnwindSafe(test).catch_unwind().await {
        Ok(()) => String::new(),
        Err(panic) => panic.downcast::<String>().map_or("a panic without words".into(), |words| *words),
    }
}

#[tokio::test]
async fn a_sound_room_passes_both_tests() {
    let bench = converge(toys(Flaw::None)).await;
    let map = bench.get::<ConfigMap>("default", "toy").await.expect("the child is there");
    assert_eq!(map.data.unwrap_or_default()["thing"], "toy");
    sweep(toys(Flaw::None)).await;
}

#[tokio::test]
async fn a_room_that_writes_each_pass_does_not_converge() {
    let table = [
        (Flaw::WritesEachPass, ["does not settle", "PATCH /api/v1/namespaces/default/configmaps/toy"]),
        (Flaw::CallsEachPass, ["does not settle", "put toy"]),
        (Flaw::NeverRests, ["does not settle", "After(1s)"]),
    ];
    for (flaw, wants) in table {
        let told = complaint(async { drop(converge(toys(flaw)).await) }).await;
        for want in wants {
            assert!(told.contains(want), "{flaw:?} should be told with `{want}`, but: {told}");
        }
    }
}

#[tokio::test]
async fn the_sweep_catches_what_only_trouble_shows() {
    let table: [(Flaw, &[&str]); 6] = [
        (Flaw::DrawsNames, &["its creation", "configmaps/toy-", "times out", "+ ConfigMap default/toy-<2>"]),
        (Flaw::CountsInsteadOfLooking, &["its creation", "times out", "+ outside toy #1"]),
        (Flaw::SaysItOnce, &["its creation", "- Application default/toy status url \"http://toy\""]),
        (Flaw::SwallowsErrors, &["its deletion", "fails", "take toy", "+ outside toy"]),
        (Flaw::LeavesAThing, &["undisturbed", "not all is as before", "+ outside toy"]),
        (
            Flaw::LeavesAnObject,
            &["undisturbed", "not all is as before", "+ ConfigMap default/toy data thing"],
        ),
    ];
    for (flaw, wants) in table {
        let told = complaint(sweep(toys(flaw))).await;
        for want in wants {
            assert!(told.contains(want), "{flaw:?} should be told with `{want}`, but: {told}");
        }
    }
}

#[tokio::test]
async fn a_call_fails_before_it_takes_effect_and_times_out_after() {
    let gate = Gate::default();
    let yard = Yard::default();
    let put = || async { yard.lock().push("it".into()) };
    gate.arm(2, Trouble::Fail);
    assert_eq!(gate.write("put", put()).await, Ok(()));
    assert_eq!(gate.write("put", put()).await, Err(Broken::Failed));
    assert_eq!(yard.lock().len(), 1, "a call that failed took effect");
    gate.arm(1, Trouble::TimeOut);
    assert_eq!(gate.write("put", put()).await, Err(Broken::TimedOut));
    assert_eq!(yard.lock().len(), 2, "a call that timed out took no effect");
    gate.arm(1, Trouble::Kill);
    tokio::select! {
        _ = gate.write("put", put()) => panic!("a call that kills came back"),
        () = gate.killed() => {}
    }
    assert_eq!(yard.lock().len(), 3, "a call that kills took no effect");
    let _ = gate.read("look", async {}).await;
    assert_eq!(gate.writes(), ["put"]);
    assert_eq!(gate.take().len(), 2);
    assert!(gate.calls().is_empty());
}
