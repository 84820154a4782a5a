//! Every situation by table, and backups through the two tests of every kind.

use std::sync::Arc;
use std::time::Duration;

use api::annotations::KEPT_UNTIL;
use api::foreign::cnpg::Backup;
use jiff::{Timestamp, ToSpan};
use kit::testing::{self, Bench, Gate, Scenario};
use kit::{Name, Next, Room as _};
use ports::postgres::{
    Backup as Progress, Copied, Facts, Fake, Instance, Key, Lsn, Number, Postgres, Run, Seen, Settings, There,
};
use serde_json::{Value, json};

use super::Backups;
use super::plan::{Served, World, plan};
use crate::local::gated_postgres::Gated;

fn start() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().expect("a time")
}

fn backup(until: Option<&str>, phase: Option<&str>) -> Backup {
    let annotations = until.map(|until| json!({ KEPT_UNTIL: until }));
    let value = json!({
        "apiVersion": "postgresql.cnpg.io/v1", "kind": "Backup",
        "metadata": { "name": "b", "namespace": "team", "uid": "u", "annotations": annotations },
        "spec": { "cluster": { "name": "db" } },
        "status": phase.map(|phase| json!({ "phase": phase })),
    });
    serde_json::from_value(value).expect("a Backup")
}

fn world(progress: Option<Progress>) -> World {
    World { now: start(), progress, cluster: None, goes: false }
}

fn up(standby: bool, streaming: bool, archives: bool) -> There {
    let run = Run::Up(Facts { in_recovery: standby, streaming, archives, ..Facts::default() });
    There { major: Some(17), standby, fenced: false, follows: None, settings: None, run }
}

fn of(instances: Vec<There>) -> World {
    let numbered = (1..).zip(instances.into_iter().map(Instance::There));
    let seen = Seen { instances: numbered.collect(), ..Seen::default() };
    let key = Key { name: Name::new("team", "db"), uid: "c".into() };
    World { cluster: Some(Served { key, seen }), ..world(None) }
}

fn done() -> Progress {
    let ended = start() + 5.seconds();
    let (first, last) = (Some(Lsn(0x0100_0028)), Some(Lsn(0x1_0000_0001)));
    Progress::Done(Copied { major: 17, began: start(), ended, first, last, bytes: 1 })
}

fn told(backup: &Backup, world: &World) -> String {
    let plan = plan(backup, world);
    let mut words: Vec<String> = plan.steps.iter().map(ToString::to_string).collect();
    words.push(plan.status.phase.unwrap_or_default());
    words.extend(plan.status.error);
    words.push(match plan.next {
        Next::After(delay) => format!("{}s", delay.as_secs()),
        other => format!("{other:?}"),
    });
    words.join("; ")
}

#[test]
fn every_situation_has_its_plan() {
    let plain = || backup(None, None);
    let kept = || backup(Some("2026-01-04T00:00:00Z"), None);
    let running = Progress::Running { since: start() };
    let failed = Progress::Failed { story: "no space".into() };
    let (primary, standby) = (|| up(false, false, true), || up(true, true, false));
    let gone = "the data of the deleted cluster is not on this machine";
    let table: Vec<(&str, Backup, World, String)> = vec![
        (
            "there is no such cluster",
            plain(),
            world(None),
            "pending; Cluster \"db\" does not exist in this namespace; 30s".into(),
        ),
        ("nobody is up", plain(), of(vec![]), "pending; 1s".into()),
        ("the archive is off", plain(), of(vec![up(false, false, false)]), "pending; 1s".into()),
        ("only standbys are up", plain(), of(vec![standby()]), "pending; 1s".into()),
        ("the primary alone", plain(), of(vec![primary()]), "back up team/db from 1; started; 1s".into()),
        (
            "a standby is asked first",
            plain(),
            of(vec![primary(), up(true, false, false), standby()]),
            "back up team/db from 3; started; 1s".into(),
        ),
        (
            "it was begun, and the platform ended",
            backup(None, Some("running")),
            of(vec![primary()]),
            "back up team/db from 1; started; 1s".into(),
        ),
        ("under way", plain(), world(Some(running)), "running; 1s".into()),
        ("done", plain(), world(Some(done())), "completed; OnChange".into()),
        ("failed", plain(), world(Some(failed)), "failed; no space; OnChange".into()),
        (
            "it was done, and the copy is lost",
            backup(None, Some("completed")),
            of(vec![primary()]),
            "failed; the copy is no longer on this machine; OnChange".into(),
        ),
        ("kept", kept(), world(Some(done())), "completed; 259200s".into()),
        ("kept, and on its way", kept(), World { goes: true, ..world(None) }, "pending; 1s".into()),
        ("kept, and not there", kept(), world(None), format!("failed; {gone}; 30s")),
        (
            "kept long enough",
            backup(Some("2026-01-01T00:00:00Z"), Some("completed")),
            world(Some(done())),
            "delete Backup team/b; completed; OnChange".into(),
        ),
        (
            "kept until nobody knows when",
            backup(Some("soon"), None),
            world(Some(done())),
            "completed; OnChange".into(),
        ),
    ];
    for (what, backup, world, want) in table {
        assert_eq!(told(&backup, &world), want, "{what}");
    }
    let mut leaving = plain();
    leaving.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(start()));
    assert_eq!(told(&leaving, &world(Some(done()))), "discard; ; Release");
}

#[test]
fn a_backup_that_is_done_says_what_it_holds() {
    let status = plan(&backup(None, None), &world(Some(done()))).status;
    assert_eq!((status.backup_id.as_deref(), status.method.as_deref()), (Some("u"), Some("terrace")));
    assert_eq!((status.begin_lsn.as_deref(), status.end_lsn.as_deref()), (Some("0/1000028"), Some("1/1")));
    let times = status.started_at.zip(status.stopped_at).map(|(began, ended)| (began.0, ended.0));
    assert_eq!(times, Some((start(), start() + 5.seconds())));
}

fn manifest(annotations: Option<Value>) -> Value {
    json!({
        "apiVersion": "postgresql.cnpg.io/v1", "kind": "Backup",
        "metadata": { "name": "b", "namespace": "default", "annotations": annotations },
        "spec": { "cluster": { "name": "db" } },
    })
}

fn cluster() -> Value {
    json!({
        "apiVersion": "postgresql.cnpg.io/v1", "kind": "Cluster",
        "metadata": { "name": "db", "namespace": "default" }, "spec": { "instances": 1 },
    })
}

/// A server of this cluster that is up and archives.
async fn serve(fake: &Fake, uid: &str) {
    let key = Key { name: Name::new("default", "db"), uid: uid.to_owned() };
    let settings = Settings { archive: true, mark: "m".into(), ..Settings::default() };
    let number: Number = 1;
    fake.make(&key, number, 17).await.expect("it is made");
    fake.configure(&key, number, &settings).await.expect("it is configured");
    fake.start(&key, number).await.expect("it starts");
}

fn one_backup(gate: &Gate) -> Scenario<Backups<Gated>> {
    let fake = Fake::default();
    let world = fake.clone();
    let room = Backups::new(Arc::new(Gated { fake: fake.clone(), gate: gate.clone() }));
    Scenario::new(room, manifest(None))
        .given(cluster())
        .world(move |client| {
            let fake = world.clone();
            async move {
                let clusters = kube::Api::<api::foreign::cnpg::Cluster>::namespaced(client, "default");
                let cluster = clusters.get("db").await.expect("it was given");
                serve(&fake, &cluster.metadata.uid.unwrap_or_default()).await;
            }
        })
        .outside(move || {
            let dump = fake.dump();
            dump.lines().filter(|line| line.starts_with("backup")).map(|line| format!("{line}\n")).collect()
        })
        .patience(Duration::from_secs(10))
}

#[tokio::test]
async fn a_backup_converges() {
    let bench = testing::converge(one_backup).await;
    let status = bench.get::<Backup>("default", "b").await.and_then(|backup| backup.status);
    let status = status.expect("it says how it stands");
    assert_eq!((status.phase.as_deref(), status.error), (Some("completed"), None));
    assert!(status.begin_lsn.is_some() && status.stopped_at.is_some());
}

#[tokio::test]
async fn no_broken_call_changes_what_becomes_of_a_backup() {
    testing::sweep(one_backup).await;
}

#[tokio::test]
async fn kept_data_goes_when_its_time_is_over() {
    let bench = Bench::start().await;
    let fake = Fake::default();
    let room = Backups::new(Arc::new(fake.clone()));
    let name = Name::new("default", "b");
    let until = bench.tools().reader().now().saturating_add(72.hours()).expect("a time");
    let made = bench.create(manifest(Some(json!({ KEPT_UNTIL: until.to_string() })))).await;
    let uid = made["metadata"]["uid"].as_str().expect("a uid").to_owned();
    serve(&fake, "c").await;
    fake.retire(&Key { name: Name::new("default", "db"), uid: "c".into() }, &uid)
        .await
        .expect("it is retired");
    bench.pass(&room, &name).await.expect("a pass");
    let phase = bench.get::<Backup>("default", "b").await.and_then(|backup| backup.status?.phase);
    assert_eq!(phase.as_deref(), Some("completed"));
    bench.clock().advance(Duration::from_secs(72 * 3600));
    bench.pass(&room, &name).await.expect("it is deleted");
    bench.pass(&room, &name).await.expect("it is let go");
    assert!(bench.get::<Backup>("default", "b").await.is_none());
    assert_eq!(fake.dump(), "", "and the data with it");
}

#[tokio::test]
async fn a_server_that_changes_wakes_the_backups_of_its_cluster() {
    let bench = Bench::start().await;
    let fake = Fake::default();
    let room = Backups::new(Arc::new(fake.clone()));
    bench.create(manifest(None)).await;
    bench.pass(&room, &Name::new("default", "b")).await.expect("a pass");
    let mut rings = room.bell().expect("it listens").listen();
    serve(&fake, "c").await;
    assert_eq!(rings.recv().await.expect("it rings"), Some(Name::new("default", "b")));
}
