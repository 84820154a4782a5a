//! Rooms in a house: who wakes whom, in which order, and how many at once.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use api::apps::{Application, ApplicationStatus, DataSource, DataSourceStatus};
use api::conditions::{Reason, Standing};
use k8s_openapi::api::core::v1::ConfigMap;
use kit::testing::{Bench, Gate};
use kit::{Child, Do, Fault, House, Metrics, Name, Next, Plan, Reader, Receipt, Refusal, Relation, Room};
use kube::ResourceExt;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Notes who is worked on, and waits at a door that the test opens.
#[derive(Clone)]
struct Workers(Arc<Floor>);

struct Floor {
    door: Semaphore,
    notes: Mutex<Notes>,
}

#[derive(Default)]
struct Notes {
    inside: HashMap<String, usize>,
    most: usize,
    begun: usize,
    ended: Vec<(String, i32)>,
    overlaps: bool,
}

impl Workers {
    fn new() -> Self {
        Self(Arc::new(Floor { door: Semaphore::new(0), notes: Mutex::default() }))
    }

    fn begun(&self) -> usize {
        self.0.notes.lock().begun
    }

    fn ended(&self) -> usize {
        self.0.notes.lock().ended.len()
    }
}

impl Room for Workers {
    type Kind = Application;
    type Status = ApplicationStatus;
    type World = ();
    type Step = String;

    const NAME: &'static str = "workers";

    async fn observe(&self, _: &Application, _: &Reader) -> Result<(), Fault> {
        Ok(())
    }

    fn plan(&self, app: &Application, (): &()) -> Result<Plan<String, ApplicationStatus>, Refusal> {
        let mut status = app.status.clone().unwrap_or_default();
        status.ready(Reason::Deployed, "done");
        Ok(Plan::whole(vec![Do::Outside("work".into())], status, Next::OnChange))
    }

    async fn act(&self, app: &Application, _: &String) -> Result<Receipt, Fault> {
        let name = app.name_any();
        {
            let mut notes = self.0.notes.lock();
            notes.begun += 1;
            let inside = notes.inside.entry(name.clone()).or_default();
            *inside += 1;
            let twice = *inside > 1;
            notes.overlaps |= twice;
            notes.most = notes.most.max(notes.inside.values().sum());
        }
        self.0.door.acquire().await.expect("the door is never closed").forget();
        let mut notes = self.0.notes.lock();
        notes.inside.insert(name.clone(), 0);
        notes.ended.push((name, app.spec.replicas));
        Ok(Receipt::Done)
    }
}

/// A ConfigMap for each DataSource, which lies in no namespace.
struct Signs;

impl Room for Signs {
    type Kind = DataSource;
    type Status = DataSourceStatus;
    type World = ();
    type Step = String;

    const NAME: &'static str = "signs";

    fn relations(&self) -> Vec<Relation<DataSource>> {
        vec![Relation::child::<ConfigMap>()]
    }

    async fn observe(&self, _: &DataSource, _: &Reader) -> Result<(), Fault> {
        Ok(())
    }

    fn plan(&self, source: &DataSource, (): &()) -> Result<Plan<String, DataSourceStatus>, Refusal> {
        let mut status = source.status.clone().unwrap_or_default();
        status.ready(Reason::Available, "the sign is up");
        let sign = json!({ "metadata": { "name": source.name_any(), "namespace": "default" } });
        let sign = serde_json::from_value::<ConfigMap>(sign).expect("a ConfigMap");
        Ok(Plan::whole(vec![Do::Apply(Box::new(Child::of(&sign)))], status, Next::OnChange))
    }

    async fn act(&self, _: &DataSource, _: &String) -> Result<Receipt, Fault> {
        Ok(Receipt::Done)
    }
}

struct Running {
    bench: Bench,
    gate: Gate,
    metrics: Arc<Metrics>,
    _stop: DropGuard,
}

async fn run<R: Room>(room: R, concurrency: usize) -> Running {
    let bench = Bench::start().await;
    let gate = Gate::default();
    let stop = CancellationToken::new();
    let house = House::new(gate.client(bench.plane().service()), stop.clone());
    let house = house.concurrency(concurrency).room(room);
    let metrics = house.metrics().clone();
    tokio::spawn(house.run());
    Running { bench, gate, metrics, _stop: stop.drop_guard() }
}

fn app(name: &str) -> Value {
    json!({
        "apiVersion": "iaf.io/v1alpha1", "kind": "Application",
        "metadata": { "name": name }, "spec": { "image": "a:1" },
    })
}

/// Waits until something can be seen.
async fn until<F: Future<Output = bool>>(what: &str, mut seen: impl FnMut() -> F) {
    let looked = tokio::time::timeout(Duration::from_secs(20), async {
        let mut looks = tokio::time::interval(Duration::from_millis(2));
        while !seen().await {
            looks.tick().await;
        }
    });
    assert!(looked.await.is_ok(), "never seen: {what}");
}

#[tokio::test]
async fn so_many_passes_run_at_once_and_no_more() {
    let workers = Workers::new();
    let running = run(workers.clone(), 2).await;
    for name in ["a", "b", "c", "d", "e"] {
        running.bench.create(app(name)).await;
    }
    until("two at work", || async { workers.begun() == 2 }).await;
    workers.0.door.add_permits(100);
    until("all five", || async { workers.ended() >= 5 }).await;
    let notes = workers.0.notes.lock();
    assert_eq!((notes.most, notes.overlaps), (2, false));
}

#[tokio::test]
async fn a_change_during_a_pass_makes_another_after_it_never_beside_it() {
    let workers = Workers::new();
    let running = run(workers.clone(), 8).await;
    running.bench.create(app("a")).await;
    until("the first pass", || async { workers.begun() == 1 }).await;
    let name = Name::new("default", "a");
    for replicas in [2, 3] {
        running.bench.patch::<Application>(&name, json!({ "spec": { "replicas": replicas } })).await;
    }
    // Another object of the kind shows that the changes have arrived: they come in order.
    running.bench.create(app("b")).await;
    until("the other object", || async { workers.begun() == 2 }).await;
    workers.0.door.add_permits(100);
    until("what came last", || async { workers.0.notes.lock().ended.contains(&("a".into(), 3)) }).await;
    let notes = workers.0.notes.lock();
    let of_a: Vec<i32> = notes.ended.iter().filter(|(name, _)| name == "a").map(|(_, seen)| *seen).collect();
    assert_eq!(of_a, [1, 3], "two changes in one pass make one more");
    assert!(!notes.overlaps);
}

#[tokio::test]
async fn a_child_wakes_its_owner_also_one_without_a_namespace() {
    let running = run(Signs, 8).await;
    running
        .bench
        .create(json!({
            "apiVersion": "iaf.io/v1alpha1", "kind": "DataSource", "metadata": { "name": "sales" },
            "spec": {
                "kind": "postgres", "secretRef": { "name": "s", "namespace": "default" },
                "envVarMapping": { "url": "URL" },
            },
        }))
        .await;
    let sign = || running.bench.get::<ConfigMap>("default", "sales");
    until("the sign", || async { sign().await.is_some() }).await;
    let first = sign().await.and_then(|sign| sign.uid());
    running.bench.delete::<ConfigMap>(&Name::new("default", "sales")).await;
    until("another sign", || async { sign().await.is_some_and(|sign| sign.uid() != first) }).await;
    let count = |name: &str| {
        let told = running.metrics.encode();
        let line = told.lines().find(|line| line.starts_with(name)).expect("it is counted").to_owned();
        line.rsplit(' ').next().and_then(|number| number.parse::<usize>().ok()).expect("a number")
    };
    // A pass is counted when it has ended, which is after what it wrote can be seen.
    until("two passes", || async { count(r#"terrace_passes_total{room="signs",outcome="ok"}"#) >= 2 }).await;
    until("rest", || async { count(r#"terrace_queue_depth{room="signs"}"#) == 0 }).await;
    let writes = || count(r#"terrace_writes_total{room="signs"}"#);
    until("every write counted", || async { writes() >= 3 && writes() >= running.gate.writes().len() }).await;
}
