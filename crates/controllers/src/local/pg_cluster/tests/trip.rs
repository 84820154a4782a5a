//! Clusters on a control plane in memory, with servers in memory.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use api::annotations::KEPT_UNTIL;
use api::conditions::READY;
use api::foreign::cnpg::{Backup, Cluster, ClusterStatus};
use api::foreign::find;
use api::secret::Sealed;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kit::testing::{self, Bench, Gate, Scenario};
use kit::{Fault, Name, Outcome, Plan, Reader, Receipt, Refusal, Relation, Room};
use ports::authority;
use ports::postgres::{Error, Fake};
use serde_json::{Value, json};

use super::super::plan::{Door, Held, Step, World};
use super::super::{Clusters, Settings};
use super::KEEP;
use crate::local::gated_postgres::Gated;

/// The room, with everything fixed that the server or the dice draw, so that two runs can be compared.
struct Steady(Clusters<Gated, authority::Fake>);

impl Room for Steady {
    type Kind = Cluster;
    type Status = ClusterStatus;
    type World = World;
    type Step = Step;

    const NAME: &'static str = "pg_cluster";
    const FINALIZER: Option<&'static str> = <Clusters<Gated, authority::Fake> as Room>::FINALIZER;

    fn relations(&self) -> Vec<Relation<Cluster>> {
        self.0.relations()
    }

    async fn observe(&self, cluster: &Cluster, reader: &Reader) -> Result<World, Fault> {
        let mut world = self.0.observe(cluster, reader).await?;
        let fixed = |door: &Door| match door {
            Door::Write => "127.96.0.1".to_owned(),
            Door::Read => "127.96.0.2".to_owned(),
            Door::Any => "127.96.0.3".to_owned(),
        };
        world.addresses.iter_mut().for_each(|(door, address)| *address = fixed(door));
        world.spare = Sealed::new("drawn".into());
        world.spare_superuser = Sealed::new("thrown".into());
        for held in [&mut world.app, &mut world.superuser] {
            if let Held::Ours { version, .. } = held {
                *version = "7".into();
            }
        }
        Ok(world)
    }

    fn plan(&self, cluster: &Cluster, world: &World) -> Result<Plan<Step, ClusterStatus>, Refusal> {
        self.0.plan(cluster, world)
    }

    async fn act(&self, cluster: &Cluster, step: &Step) -> Result<Receipt, Fault> {
        self.0.act(cluster, step).await
    }

    fn failed(status: &mut ClusterStatus, reason: api::conditions::Reason, story: String) {
        Clusters::<Gated, authority::Fake>::failed(status, reason, story);
    }
}

fn manifest(instances: i32) -> Value {
    json!({
        "apiVersion": "postgresql.cnpg.io/v1", "kind": "Cluster",
        "metadata": { "name": "db", "namespace": "default" },
        "spec": { "instances": instances, "imageName": "registry/postgresql:17", "storage": { "size": "1Gi" } },
    })
}

/// The same, with a superuser that can log in.
fn open(instances: i32) -> Value {
    let mut manifest = manifest(instances);
    manifest["spec"]["enableSuperuserAccess"] = true.into();
    manifest
}

fn scenario(gate: &Gate, manifest: Value) -> Scenario<Steady> {
    let fake = Fake::default();
    let servers = Arc::new(Gated { fake: fake.clone(), gate: gate.clone() });
    let room = Clusters::new(servers, Arc::new(authority::Fake::default()), Settings { keep: KEEP });
    // What is looked at every few seconds has settled.
    Scenario::new(Steady(room), manifest)
        .outside(move || fake.dump())
        .patience(Duration::from_secs(1))
        .keeps_something()
}

#[tokio::test]
async fn a_single_server_converges() {
    let bench = testing::converge(|gate| scenario(gate, manifest(1))).await;
    let status = bench.get::<Cluster>("default", "db").await.and_then(|cluster| cluster.status);
    let status = status.expect("it says how it stands");
    assert_eq!(status.phase.as_deref(), Some("Cluster in healthy state"));
    assert_eq!(find(&status.conditions, READY).map(|ready| ready.status.as_str()), Some("True"));
    let root = bench.get::<Secret>("default", "db-ca").await.and_then(|secret| secret.data);
    assert_eq!(root.map(|data| data.into_keys().collect::<Vec<_>>()), Some(vec!["ca.crt".to_owned()]));
}

#[tokio::test]
async fn a_server_with_standbys_converges() {
    let bench = testing::converge(|gate| scenario(gate, manifest(3))).await;
    let slice = bench.get::<EndpointSlice>("default", "db-ro-3").await.expect("a slice for each standby");
    let labels = slice.metadata.labels.unwrap_or_default();
    assert_eq!(labels["kubernetes.io/service-name"], "db-ro");
    assert!(bench.get::<EndpointSlice>("default", "db-rw-1").await.is_some());
    assert!(bench.get::<EndpointSlice>("default", "db-ro-1").await.is_none());
}

/// With one standby and a superuser: every call that a single server needs is made here, too.
#[tokio::test]
async fn no_broken_call_changes_what_becomes_of_a_server_with_a_standby() {
    testing::sweep(|gate| scenario(gate, open(2))).await;
}

#[tokio::test]
async fn a_superuser_is_let_in_and_shut_out_again() {
    let drive = Drive::start(1).await;
    drive.settle().await;
    let secret = async || drive.bench.get::<Secret>("default", "db-superuser").await;
    assert!(secret().await.is_none());
    for _ in 0..2 {
        drive.bench.patch::<Cluster>(&drive.name, json!({ "spec": { "enableSuperuserAccess": true } })).await;
        drive.pass().await;
        drive.settle().await;
        assert!(drive.fake.dump().contains("to its superuser as well"), "{}", drive.fake.dump());
        let held = secret().await.and_then(|secret| secret.data).expect("there is a login");
        let app = drive.bench.get::<Secret>("default", "db-app").await.and_then(|secret| secret.data);
        assert_ne!(app.expect("there is a login")["password"], held["password"]);
        drive.bench.patch::<Cluster>(&drive.name, json!({ "spec": { "enableSuperuserAccess": null } })).await;
        drive.pass().await;
        drive.settle().await;
        assert!(!drive.fake.dump().contains("to its superuser as well"), "{}", drive.fake.dump());
        assert!(secret().await.is_none());
    }
}

/// A cluster that is driven by hand.
struct Drive {
    bench: Bench,
    fake: Fake,
    room: Clusters<Fake, authority::Fake>,
    name: Name,
}

impl Drive {
    async fn start(instances: i32) -> Self {
        let bench = Bench::start().await;
        let fake = Fake::default();
        let signs = Arc::new(authority::Fake::default());
        let room = Clusters::new(Arc::new(fake.clone()), signs, Settings { keep: KEEP });
        bench.create(manifest(instances)).await;
        Self { bench, fake, room, name: Name::new("default", "db") }
    }

    /// One pass, after which no two take writes and nothing is lost.
    async fn pass(&self) {
        let pause = match self.bench.pass(&self.room, &self.name).await {
            Ok(Outcome::After(delay)) => delay,
            Ok(_) | Err(_) => Duration::from_secs(1),
        };
        self.bench.clock().advance(pause);
        let writable = self.fake.writable(&self.name);
        assert!(writable.len() <= 1, "{writable:?} take writes");
        let (acknowledged, reached) = self.fake.reached(&self.name);
        assert!(
            reached.is_none_or(|reached| reached >= acknowledged),
            "{acknowledged} was lost: {reached:?}"
        );
    }

    async fn status(&self) -> ClusterStatus {
        let found = self.bench.get::<Cluster>("default", "db").await.and_then(|cluster| cluster.status);
        found.unwrap_or_default()
    }

    /// Passes until all is well.
    async fn settle(&self) {
        for _ in 0..60 {
            self.pass().await;
            if self.status().await.phase.as_deref() == Some("Cluster in healthy state") {
                // One more, in which the primary begins to wait for those that came last.
                self.pass().await;
                return;
            }
        }
        panic!("it does not get well: {:?}\n{}", self.status().await, self.fake.dump());
    }
}

#[tokio::test]
async fn a_standby_takes_over_and_the_old_primary_rejoins() {
    let drive = Drive::start(3).await;
    drive.settle().await;
    assert!(drive.fake.write(&drive.name));
    drive.fake.crash(&drive.name, 1);
    drive.pass().await;
    assert_eq!(drive.fake.writable(&drive.name), [2]);
    let status = drive.status().await;
    assert_eq!(
        (status.phase.as_deref(), status.current_primary.as_deref()),
        (Some("Failing over"), Some("db-2"))
    );
    let leads = drive.bench.get::<EndpointSlice>("default", "db-rw-2").await;
    assert!(leads.is_some(), "clients are led to it at once");
    assert!(drive.bench.get::<EndpointSlice>("default", "db-rw-1").await.is_none());
    drive.settle().await;
    assert!(drive.fake.write(&drive.name));
    let status = drive.status().await;
    assert_eq!((status.instances, status.ready_instances, status.timeline_id), (Some(3), Some(3), Some(2)));
    assert!(drive.fake.dump().contains("waits for {1, 3}"), "{}", drive.fake.dump());
}

#[tokio::test]
async fn a_single_server_that_ends_is_started_again_and_keeps_its_password() {
    let drive = Drive::start(1).await;
    drive.settle().await;
    let data = async || drive.bench.get::<Secret>("default", "db-app").await.and_then(|secret| secret.data);
    let before = data().await.expect("there is a login");
    assert!(before["password"].0.len() >= 22, "at least 128 bits");
    let mut rings = drive.room.bell().expect("it listens").listen();
    drive.fake.crash(&drive.name, 1);
    assert_eq!(rings.recv().await.expect("it rings"), Some(drive.name.clone()));
    drive.pass().await;
    drive.settle().await;
    assert_eq!(data().await, Some(before.clone()));
    drive.bench.delete::<Secret>(&Name::new("default", "db-app")).await;
    drive.settle().await;
    assert_ne!(data().await.expect("there is a login")["password"], before["password"], "it is made anew");
}

#[tokio::test]
async fn deleted_data_is_kept_and_a_new_cluster_is_made_from_it() {
    let drive = Drive::start(1).await;
    drive.settle().await;
    assert!(drive.fake.write(&drive.name));
    let (_, wrote) = drive.fake.reached(&drive.name);
    let uid = drive.bench.get::<Cluster>("default", "db").await.and_then(|cluster| cluster.metadata.uid);
    let kept = format!("db-deleted-{}", &uid.expect("a uid")[..5]);
    drive.bench.delete::<Cluster>(&drive.name).await;
    for _ in 0..3 {
        drive.pass().await;
    }
    assert!(drive.bench.get::<Cluster>("default", "db").await.is_none());
    let backup = drive.bench.get::<Backup>("default", &kept).await.expect("its data is kept");
    assert!(backup.metadata.annotations.is_some_and(|all| all.contains_key(KEPT_UNTIL)));
    let done = json!({ "status": { "phase": "completed" } });
    drive.bench.patch::<Backup>(&Name::new("default", &*kept), done).await;
    let mut again = manifest(1);
    again["spec"]["bootstrap"] = json!({ "recovery": { "backup": { "name": kept } } });
    drive.bench.create(again).await;
    drive.settle().await;
    assert_eq!(drive.fake.reached(&drive.name).1, wrote);
}

#[tokio::test]
async fn instances_follow_the_spec_and_a_backup_turns_the_archive_on() {
    let drive = Drive::start(1).await;
    drive.settle().await;
    for (instances, names) in [(3, "db-1 db-2 db-3"), (2, "db-1 db-2"), (3, "db-1 db-2 db-4")] {
        drive.bench.patch::<Cluster>(&drive.name, json!({ "spec": { "instances": instances } })).await;
        drive.pass().await;
        drive.settle().await;
        assert_eq!(drive.status().await.instance_names.join(" "), names);
    }
    let backup = json!({ "apiVersion": "postgresql.cnpg.io/v1", "kind": "Backup",
        "metadata": { "name": "b", "namespace": "default" }, "spec": { "cluster": { "name": "db" } } });
    drive.bench.create(backup).await;
    drive.pass().await;
    drive.settle().await;
    let status = drive.status().await;
    let archiving = find(&status.conditions, super::super::CONTINUOUS_ARCHIVING);
    assert_eq!(archiving.map(|archiving| archiving.status.as_str()), Some("True"));
}

/// What may happen to a server at any time.
fn blow(fake: &Fake, name: &Name, roll: u64) {
    let number = u32::try_from(roll / 8 % 3 + 1).unwrap_or(1);
    match roll % 8 {
        0 | 1 => fake.crash(name, number),
        2 => fake.freeze(name, number),
        3 => fake.deafen(name, number, true),
        4 => fake.deafen(name, number, false),
        5 => fake.spoil(name, number, true),
        6 => fake.spoil(name, number, false),
        _ => {}
    }
}

#[tokio::test]
async fn whatever_happens_no_two_take_writes_and_nothing_acknowledged_is_lost() {
    let drive = Drive::start(3).await;
    drive.settle().await;
    let state = Arc::new(AtomicU64::new(20_260_101));
    let dice = state.clone();
    // Any sequence will do, as long as it is the same in each run.
    let roll = move || {
        let next = dice.load(Ordering::Relaxed).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        dice.store(next, Ordering::Relaxed);
        next >> 33
    };
    let fails = roll.clone();
    drive.fake.before_each(move |_| match fails() % 20 {
        0 => Err(Error::Unfit("broken by the test".into())),
        _ => Ok(()),
    });
    let mut led = BTreeSet::new();
    for _ in 0..250 {
        if roll() % 3 == 0 {
            blow(&drive.fake, &drive.name, roll());
        }
        drive.fake.write(&drive.name);
        drive.pass().await;
        led.extend(drive.fake.writable(&drive.name));
    }
    assert!(led.len() > 1, "somebody took over: {led:?}");
    drive.fake.before_each(|_| Ok(()));
    for number in 1..=9 {
        drive.fake.spoil(&drive.name, number, false);
        drive.fake.deafen(&drive.name, number, false);
    }
    drive.settle().await;
    assert!(drive.fake.write(&drive.name));
}
