//! From the first instance to the last word.

use std::collections::BTreeMap;

use api::annotations::KEPT_UNTIL;
use api::conditions::READY;
use api::foreign::cnpg::Cluster;
use api::foreign::find;
use api::secret::Sealed;
use jiff::ToSpan;
use kit::{Do, Next};
use ports::postgres::{Facts, Instance, Number, Run, Seen, There};
use serde_json::{Value, json};

use super::super::plan::{Given, Held, Origin, Step, World, plan};
use super::super::{CONTINUOUS_ARCHIVING, STORAGE_SUFFICIENT};
use super::{KEEP, UID, acts, certified, cluster, data, empty, ended, settled, start, stopped, told, up};
use api::annotations::SERVICE_SPEC;

fn of(image: &str) -> Cluster {
    cluster(json!({ "imageName": image }))
}

fn holding(instance: Instance) -> World {
    World { seen: Seen { instances: [(1, instance)].into(), highest: 1, ..Seen::default() }, ..empty() }
}

#[test]
fn the_first_instance_comes_from_nothing_or_from_a_backup() {
    let first = "Setting up primary";
    let restored = |time: Option<&str>| {
        let target = time.map(|time| json!({ "targetTime": time }));
        cluster(
            json!({ "bootstrap": { "recovery": { "backup": { "name": "b" }, "recoveryTarget": target } } }),
        )
    };
    let from =
        |phase: &str| World { origin: Some(Origin { uid: "u".into(), phase: phase.into() }), ..empty() };
    let broken = |seconds: i64| World {
        now: start() + seconds.seconds(),
        ..holding(Instance::Broken { story: "no space".into(), at: start() })
    };
    let lost = World { seen: Seen { granted: Some("m".into()), highest: 1, ..Seen::default() }, ..empty() };
    let table = vec![
        (
            "made",
            of("registry/postgresql:17.2-bookworm@sha256:00"),
            empty(),
            format!("make 1 of PostgreSQL 17 | rw= ro= r= | {first}: the first server is made, of PostgreSQL 17 | False | 500ms"),
        ),
        (
            "of the newest build, if nobody says",
            of("registry:5000/postgresql"),
            empty(),
            format!("make 1 of PostgreSQL 17 | rw= ro= r= | {first}: the first server is made, of PostgreSQL 17 | False | 500ms"),
        ),
        (
            "from a backup",
            restored(Some("2026-01-01T00:00:00Z")),
            from("completed"),
            format!("restore 1 | rw= ro= r= | {first}: the first server is being made from a backup | False | 500ms"),
        ),
        (
            "from a backup that is not ready",
            restored(None),
            from("running"),
            format!(" | rw= ro= r= | {first}: it is made from Backup b, which is running and not completed | False | 30000ms"),
        ),
        (
            "from a backup that is not there",
            restored(None),
            empty(),
            format!(" | rw= ro= r= | {first}: it is made from Backup b, which does not exist in this namespace | False | 30000ms"),
        ),
        (
            "until no time",
            restored(Some("yesterday")),
            from("completed"),
            "refused: targetTime \"yesterday\" is not a time such as 2026-01-01T12:00:00Z".into(),
        ),
        (
            "from no backup",
            cluster(json!({ "bootstrap": { "recovery": {} } })),
            empty(),
            "refused: spec.bootstrap.recovery names no backup; name a Backup in this namespace".into(),
        ),
        (
            "on its way",
            of("postgresql:17"),
            holding(Instance::Coming { since: start() }),
            format!(" | rw= ro= r= | {first}: the first server is being made | False | 500ms"),
        ),
        (
            "failed",
            of("postgresql:17"),
            broken(10),
            " | rw= ro= r= | Unable to create required cluster objects: the first server could not be made: no space; it is tried again | False | 20000ms".into(),
        ),
        (
            "failed a while ago",
            of("postgresql:17"),
            broken(31),
            format!("make 1 of PostgreSQL 17 | rw= ro= r= | {first}: the first server is made, of PostgreSQL 17 | False | 500ms"),
        ),
        (
            "lost",
            of("postgresql:17"),
            lost,
            " | rw= ro= r= | Cluster is unrecoverable and needs manual intervention: its data is gone from this machine; delete it, and restore a backup of it under the same name | False | 30000ms".into(),
        ),
    ];
    for (what, cluster, world, want) in table {
        assert_eq!(told(&cluster, &world), want, "{what}");
    }
}

#[test]
fn no_version_is_ever_changed_and_one_that_is_missing_is_told() {
    let waits = |why: &str| format!(" | rw= ro= r= | Waiting for user action: {why} | False | 30000ms");
    let old = || There { major: Some(15), ..up(1, false, 10) };
    let there = |there: There| holding(Instance::There(there));
    let without = |world: World| World { builds: [(17, "17.2".to_owned())].into(), ..world };
    let table = vec![
        (
            of("postgresql:16"),
            empty(),
            waits(
                "PostgreSQL 16 is not on this machine (there is 15.18, 17.2); `terrace postgres install 16` fetches it",
            ),
        ),
        (
            of("postgresql"),
            World { builds: BTreeMap::new(), ..empty() },
            waits("no PostgreSQL is on this machine; `terrace postgres install 17` fetches one"),
        ),
        (
            of("postgresql:17"),
            there(old()),
            waits(
                "its data is of PostgreSQL 15 and stays so, and spec.imageName asks for 17; ask for 15 again, or make a new cluster of PostgreSQL 17 and move the data with pg_dump",
            ),
        ),
        (
            of("postgresql:15"),
            without(there(stopped(old()))),
            waits(
                "PostgreSQL 15 is not on this machine (there is 17.2); `terrace postgres install 15` fetches it",
            ),
        ),
    ];
    for (cluster, world, want) in table {
        assert_eq!(told(&cluster, &world), want);
    }
    let runs = told(&of("postgresql:15"), &without(there(old())));
    assert!(runs.starts_with("certify, grant app on 1"), "one that runs goes on: {runs}");
}

#[test]
fn a_micro_is_ready_after_three_passes() {
    let cluster = cluster(json!({}));
    let no_address = World { addresses: BTreeMap::new(), ..empty() };
    let made = told(&cluster, &no_address);
    assert!(made.starts_with("make 1 of PostgreSQL 17 |"), "{made}");
    let here = holding(Instance::There(stopped(up(1, false, 10))));
    let waits = World { addresses: BTreeMap::new(), ..here.clone() };
    assert!(told(&cluster, &waits).starts_with(" |"), "not without a certificate");
    let started = told(&cluster, &here);
    assert!(started.starts_with("certify, configure 1, start 1 |"), "{started}");
    let running = settled(&cluster, vec![(1, up(1, false, 10))], empty());
    let first =
        World { app: Held::Nothing, seen: Seen { granted: None, ..running.seen.clone() }, ..running.clone() };
    assert_eq!(
        told(&cluster, &first),
        "grant app on 1, create Secret team/db-app | rw=1 ro= r=1 | Cluster in healthy state | True | 200ms"
    );
    assert_eq!(told(&cluster, &running), " | rw=1 ro= r=1 | Cluster in healthy state | True | 30000ms");
}

fn three() -> Vec<(Number, There)> {
    let serves = [(2, ports::postgres::Lsn(10)), (3, ports::postgres::Lsn(10))];
    let led = match up(1, false, 10).run {
        Run::Up(facts) => Facts { waits_for: [2, 3].into(), serves: serves.into(), ..facts },
        _ => Facts::default(),
    };
    vec![(1, There { run: Run::Up(led), ..up(1, false, 10) }), (2, up(2, true, 10)), (3, up(3, true, 10))]
}

fn synced(mut world: World) -> World {
    world.seen.synchronous = [2, 3].into();
    world
}

#[test]
fn instances_come_and_go_one_at_a_time_and_numbers_are_not_used_again() {
    let sized = |instances: i32| cluster(json!({ "instances": instances }));
    let one = settled(&sized(1), vec![(1, up(1, false, 10))], empty());
    let coming = |mut world: World| {
        world.seen.instances.insert(2, Instance::Coming { since: start() });
        world
    };
    let broken = |mut world: World, seconds: i64| {
        world.seen.instances.insert(2, Instance::Broken { story: "no space".into(), at: start() });
        World { now: start() + seconds.seconds(), ..world }
    };
    let removed = |mut world: World| {
        world.seen.highest = 7;
        world
    };
    let all = || synced(settled(&sized(3), three(), empty()));
    let copying = "Creating a new replica";
    let fails = "instance 2 could not be copied, which is tried again: no space";
    let table = vec![
        ("two are missing", sized(3), one.clone(), format!("copy 1 to 2 | rw=1 ro= r=1 | {copying}: one more is copied from the primary | False | 200ms")),
        ("one is on its way", sized(3), coming(one.clone()), format!(" | rw=1 ro= r=1 | {copying}: instance 2 is being copied | False | 500ms")),
        ("numbers", sized(3), removed(one.clone()), format!("copy 1 to 8 | rw=1 ro= r=1 | {copying}: one more is copied from the primary | False | 200ms")),
        ("it failed", sized(2), broken(one.clone(), 30), format!(" | rw=1 ro= r=1 | {copying}: {fails} | False | 500ms")),
        ("it failed a while ago", sized(2), broken(one, 31), format!("copy 1 to 2 | rw=1 ro= r=1 | {copying}: {fails} | False | 200ms")),
        ("all are there", sized(3), all(), " | rw=1 ro=2+3 r=1+2+3 | Cluster in healthy state | True | 2000ms".into()),
        (
            "too many",
            sized(1),
            all(),
            "1 waits for {2}, remove 3 | rw=1 ro=2+3 r=1+2+3 | Waiting for the instances to become active: there are more instances than 1: one goes | False | 200ms".into(),
        ),
    ];
    for (what, cluster, world, want) in table {
        assert_eq!(told(&cluster, &world), want, "{what}");
    }
}

#[test]
fn a_cluster_that_was_whole_once_stays_ready_when_a_standby_is_lost() {
    let mut cluster = cluster(json!({ "instances": 3 }));
    let world = synced(settled(&cluster, three(), empty()));
    let whole = plan(KEEP, &cluster, &world).expect("a plan").status;
    let names = whole.instance_names.join(" ");
    assert_eq!(
        (whole.instances, whole.ready_instances, names.as_str()),
        (Some(3), Some(3), "db-1 db-2 db-3")
    );
    assert_eq!((whole.current_primary.as_deref(), whole.timeline_id), (Some("db-1"), Some(1)));
    assert_eq!(
        (whole.write_service.as_deref(), whole.read_service.as_deref()),
        (Some("db-rw"), Some("db-r"))
    );
    let versions = whole.secrets_resource_version.clone().and_then(|all| all.application_secret_version);
    assert_eq!(versions.as_deref(), Some("7"));
    let mut hurt = three();
    hurt[2].1 = ended(up(3, true, 10), 0);
    let hurt = synced(settled(&cluster, hurt, empty()));
    let want = "1 waits for {2}, start 3, delete EndpointSlice team/db-r-3 | rw=1 ro=2 r=1+2 | Waiting for the instances to become active: instance 3 has ended and is started again: signal 9";
    let hurt = World { slices: vec!["db-r-3".into(), "db-rw-1".into()], ..hurt };
    let sorted = |line: String| {
        let (steps, rest) = line.split_once(" | ").expect("a line");
        let mut steps: Vec<&str> = steps.split(", ").collect();
        steps.sort_unstable();
        format!("{} | {rest}", steps.join(", "))
    };
    assert_eq!(sorted(told(&cluster, &hurt)), sorted(format!("{want} | False | 200ms")));
    cluster.status = Some(whole);
    assert_eq!(sorted(told(&cluster, &hurt)), sorted(format!("{want} | True | 200ms")));
    let mut dead = three();
    dead[0].1 = ended(up(1, false, 10), 0);
    let dead = synced(settled(&cluster, dead, empty()));
    assert_eq!(
        told(&cluster, &dead),
        "fence 1, promote 2 | rw=2 ro=3 r=2+3 | Failing over: instance 1 has ended: signal 9; instance 2 takes over | True | 200ms"
    );
    let status = plan(KEEP, &cluster, &dead).expect("a plan").status;
    assert_eq!(status.current_primary.as_deref(), Some("db-2"));
}

fn configured(spec: Value, world: World) -> BTreeMap<String, String> {
    let cluster = cluster(spec);
    let seen =
        Seen { instances: [(1, Instance::There(stopped(up(1, false, 10))))].into(), ..Seen::default() };
    let plan = plan(KEEP, &cluster, &World { seen, ..world }).expect("a plan");
    let settings = plan.steps.into_iter().find_map(|step| match step {
        Do::Outside(Step::Configure { settings, .. }) => Some(settings),
        _ => None,
    });
    settings.expect("it is configured").parameters
}

#[test]
fn settings_follow_the_memory_and_the_spec_wins() {
    let limits = |memory: &str| json!({ "resources": { "limits": { "memory": memory } } });
    let table = [
        ("256Mi", "64MB", "192MB", "1310kB", "50"),
        ("512Mi", "128MB", "384MB", "1310kB", "100"),
        ("768Mi", "192MB", "576MB", "1310kB", "150"),
        ("1Gi", "256MB", "768MB", "1310kB", "200"),
        ("32Mi", "8MB", "24MB", "409kB", "20"),
        ("64Gi", "16384MB", "49152MB", "16777kB", "1000"),
    ];
    for (memory, buffers, cache, work, connections) in table {
        let held = configured(limits(memory), empty());
        let of = |name: &str| held[name].as_str();
        let got = (of("shared_buffers"), of("effective_cache_size"), of("work_mem"), of("max_connections"));
        assert_eq!(got, (buffers, cache, work, connections), "{memory}");
    }
    let said = json!({ "postgresql": { "parameters": { "Max_Connections": "7", "log_statement": "all" } } });
    let held = configured(said, empty());
    assert_eq!((held["max_connections"].as_str(), held["log_statement"].as_str()), ("7", "all"));
}

#[test]
fn settings_that_need_it_restart_instances_one_after_another_standbys_first() {
    let cluster = cluster(json!({ "instances": 3 }));
    let stale = |numbers: &[Number]| {
        let mut instances = three();
        for (number, there) in &mut instances {
            if let Run::Up(facts) = &mut there.run {
                facts.restart_needed = numbers.contains(number);
            }
        }
        acts(&plan(KEEP, &cluster, &synced(settled(&cluster, instances, empty()))).expect("a plan").steps)
    };
    assert_eq!(stale(&[1, 2, 3]), "stop 2, start 2");
    assert_eq!(stale(&[1, 3]), "stop 3, start 3");
    assert_eq!(stale(&[1]), "stop 1, start 1");
    let mut other = three();
    other[1].1.settings = Some("old".into());
    let world = synced(settled(&cluster, other, empty()));
    assert_eq!(acts(&plan(KEEP, &cluster, &world).expect("a plan").steps), "configure 2");
}

#[test]
fn a_certificate_is_renewed_in_time_and_for_every_name() {
    let cluster = cluster(json!({}));
    let held = || settled(&cluster, vec![(1, up(1, false, 10))], empty());
    let other = |change: fn(&mut ports::authority::Facts)| {
        let mut facts = certified();
        change(&mut facts);
        World { certificate: Some(facts), ..held() }
    };
    let later = |hours: i64| World { now: start() + hours.hours(), ..held() };
    let table = vec![
        ("it is good", later(1439), ""),
        ("a third is left", later(1440), "certify, configure 1"),
        ("there is none", World { certificate: None, ..held() }, "certify"),
        ("a name is missing", other(|facts| drop(facts.names.pop_first())), "certify"),
        ("another authority signed it", other(|facts| facts.signed_here = false), "certify"),
        ("the key is of another", other(|facts| facts.key_fits = false), "certify"),
        ("no address is known", World { addresses: BTreeMap::new(), ..later(1440) }, ""),
    ];
    for (what, world, want) in table {
        assert_eq!(acts(&plan(KEEP, &cluster, &world).expect("a plan").steps), want, "{what}");
    }
}

#[test]
fn the_secret_is_made_once_and_only_corrected_later() {
    let cluster = cluster(json!({ "bootstrap": { "initdb": { "database": "shop", "owner": "sho:p" } } }));
    let running = || settled(&cluster, vec![(1, up(1, false, 10))], empty());
    let made = plan(KEEP, &cluster, &World { app: Held::Nothing, ..running() }).expect("a plan");
    let child = made.steps.iter().find_map(|step| match step {
        Do::Create(child) => Some(child.clone()),
        _ => None,
    });
    let child = child.expect("it is made");
    assert_eq!((child.body["type"].as_str(), child.owned), (Some("kubernetes.io/basic-auth"), true));
    let want = [
        ("dbname", "shop"),
        ("host", "127.96.0.1"),
        ("jdbc-uri", "jdbc:postgresql://127.96.0.1:5432/shop?password=drawn&user=sho%3Ap"),
        ("password", "drawn"),
        ("pgpass", "127.96.0.1:5432:shop:sho\\:p:drawn\n"),
        ("port", "5432"),
        ("uri", "postgresql://sho%3Ap:drawn@127.96.0.1:5432/shop"),
        ("user", "sho:p"),
        ("username", "sho:p"),
    ];
    let want: BTreeMap<String, String> = want.map(|(key, value)| (key.into(), value.into())).into();
    assert_eq!(data(&child.body), want);

    let ours = |change: fn(&mut BTreeMap<String, String>)| {
        let mut data = want.clone();
        change(&mut data);
        World { app: Held::Ours { data: Sealed::new(data), version: "8".into() }, ..running() }
    };
    let table = vec![
        ("as it was", ours(|_| {}), ""),
        (
            "the host differs",
            ours(|data| drop(data.insert("host".into(), "x".into()))),
            "patch Secret team/db-app",
        ),
        (
            "another password",
            ours(|data| drop(data.insert("password".into(), "mine".into()))),
            "grant shop on 1, patch Secret team/db-app",
        ),
        (
            "it was lost",
            World { app: Held::Nothing, spare: Sealed::new("new".into()), ..running() },
            "grant shop on 1, create Secret team/db-app",
        ),
        ("it is somebody else's", World { app: Held::Foreign, ..running() }, ""),
    ];
    for (what, world, want) in table {
        assert_eq!(acts(&plan(KEEP, &cluster, &world).expect("a plan").steps), want, "{what}");
    }
    let moved =
        plan(KEEP, &cluster, &ours(|data| drop(data.insert("host".into(), "x".into())))).expect("a plan");
    let patch = moved.steps.iter().find_map(|step| match step {
        Do::Patch(_, patch) => Some(data(patch)),
        _ => None,
    });
    assert_eq!(patch, Some(want), "the password is untouched");
    let foreign = plan(KEEP, &cluster, &World { app: Held::Foreign, ..running() }).expect("a plan").status;
    let ready = find(&foreign.conditions, READY).expect("it is said");
    let message = "Secret db-app exists and was not made for this cluster; rename or delete it";
    assert_eq!((ready.status.as_str(), ready.message.as_deref()), ("False", Some(message)));
}

#[test]
fn a_login_that_the_owner_brings_is_used_and_followed() {
    let cluster = cluster(json!({ "bootstrap": { "initdb": { "secret": { "name": "mine" } } } }));
    let given = |password: &str| {
        let given =
            Given { username: "me".into(), password: Sealed::new(password.into()), version: "1".into() };
        World { given: Some(given), ..empty() }
    };
    let here = settled(&cluster, vec![(1, up(1, false, 10))], given("a"));
    assert_eq!(acts(&plan(KEEP, &cluster, &here).expect("a plan").steps), "");
    let changed = World { given: given("b").given, ..here.clone() };
    assert_eq!(
        acts(&plan(KEEP, &cluster, &changed).expect("a plan").steps),
        "grant app on 1, patch Secret team/db-app"
    );
    let lacking = told(&cluster, &World { given: None, ..here });
    assert!(lacking.contains("Secret mine has no username and password, or does not exist"), "{lacking}");
}

#[test]
fn an_address_that_is_taken_is_no_address() {
    let cluster = cluster(json!({}));
    let mut world = settled(&cluster, vec![(1, up(1, false, 10))], empty());
    world.unreachable = Some("127.96.0.1:5432 cannot be listened on".into());
    let status = plan(KEEP, &cluster, &world).expect("a plan").status;
    let ready = find(&status.conditions, READY).expect("it says");
    assert_eq!((ready.status.as_str(), ready.message.as_deref()), ("False", world.unreachable.as_deref()));
    assert_eq!(status.phase.as_deref(), Some("Unable to create required cluster objects"));
}

#[test]
fn archive_and_disk_are_told() {
    let cluster = cluster(json!({ "storage": { "size": "1Gi" } }));
    let said = |world: &World, type_: &str| {
        let status = plan(KEEP, &cluster, world).expect("a plan").status;
        let found = find(&status.conditions, type_).cloned();
        let ready = find(&status.conditions, READY).map(|ready| ready.status.clone());
        assert_eq!(ready.as_deref(), Some("True"));
        found
            .map_or("-".to_owned(), |found| format!("{} {}", found.status, found.message.unwrap_or_default()))
    };
    let filled = |bytes: u64| {
        let mut world = settled(&cluster, vec![(1, up(1, false, 10))], empty());
        world.seen.bytes = bytes;
        world
    };
    assert_eq!(said(&filled((1 << 30) / 100 * 89), STORAGE_SUFFICIENT), "-");
    assert_eq!(
        said(&filled((1 << 30) / 100 * 93), STORAGE_SUFFICIENT),
        "False 92 % of the 1Gi in spec.storage.size are used; delete data, or raise it (it cannot be lowered again)"
    );
    let mut short = filled(1);
    short.seen.free = Some(31 << 20);
    assert_eq!(
        said(&short, STORAGE_SUFFICIENT),
        "False the disk of this machine has 31 MiB of space left; make room on it"
    );
    short.seen.free = Some(32 << 20);
    assert_eq!(said(&short, STORAGE_SUFFICIENT), "-");
    let archiving = |archives: bool| {
        let facts = match up(1, false, 10).run {
            Run::Up(facts) => Facts { archives, ..facts },
            _ => Facts::default(),
        };
        let there = There { run: Run::Up(facts), ..up(1, false, 10) };
        settled(&cluster, vec![(1, there)], World { archive: true, ..empty() })
    };
    assert_eq!(said(&archiving(true), CONTINUOUS_ARCHIVING), "True Continuous archiving is working");
    assert!(said(&archiving(false), CONTINUOUS_ARCHIVING).starts_with("False"));
    assert_eq!(said(&filled(0), CONTINUOUS_ARCHIVING), "-");
}

#[test]
fn the_data_of_a_deleted_cluster_is_kept() {
    let mut gone = cluster(json!({}));
    gone.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(start()));
    gone.metadata.annotations = Some([(SERVICE_SPEC.to_owned(), "{}".to_owned())].into());
    let data = || settled(&cluster(json!({})), vec![(1, up(1, false, 10))], empty());
    let kept = |world: World| World { kept: Some("k".into()), ..world };
    let last = |world: &World| {
        let plan = plan(KEEP, &gone, world).expect("a plan");
        let under = plan.steps.iter().find_map(|step| match step {
            Do::Outside(Step::Retire(uid)) => Some(uid.clone()),
            _ => None,
        });
        format!("{} {} {:?}", acts(&plan.steps), under.unwrap_or_default(), plan.next)
    };
    assert_eq!(last(&data()), "create Backup team/db-deleted-0f1e2  After(200ms)");
    assert_eq!(last(&kept(data())), "retire k Release");
    assert_eq!(last(&empty()), format!("retire {UID} Release"));
    assert_eq!(last(&World { namespace_goes: true, ..data() }), format!("retire {UID} Release"));
    let made = plan(KEEP, &gone, &data()).expect("a plan").steps;
    let Some(Do::Create(child)) = made.first() else { panic!("a Backup is made") };
    assert!(!child.owned, "it outlives the cluster");
    let annotations = &child.body["metadata"]["annotations"];
    assert_eq!(annotations[KEPT_UNTIL], "2026-01-04T00:00:00Z");
    assert_eq!(annotations[SERVICE_SPEC], "{}");
    assert_eq!(child.body["spec"], json!({ "cluster": { "name": "db" }, "method": "terrace" }));
    assert!(matches!(plan(KEEP, &gone, &data()).map(|plan| plan.next), Ok(Next::After(_))));
}
