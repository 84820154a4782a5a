//! Every rule by table, and clusters through the two tests of every kind.

mod failover;
mod life;
mod roles;
mod superuser;
mod trip;

use std::collections::{BTreeMap, BTreeSet};

use api::conditions::READY;
use api::foreign::cnpg::Cluster;
use api::foreign::find;
use api::secret::Sealed;
use jiff::{Timestamp, ToSpan};
use k8s_openapi::ByteString;
use kit::{Do, Next};
use ports::authority::Facts as Certified;
use ports::postgres::{Facts, Instance, Lsn, Number, Run, Seen, There};
use serde_json::{Value, json};

use super::plan::{Door, Held, Step, World, plan};

/// How long deleted data is kept in these tests.
const KEEP: std::time::Duration = std::time::Duration::from_secs(72 * 3600);
const UID: &str = "0f1e2d3c-0000-0000-0000-000000000000";

fn start() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().expect("a time")
}

fn cluster(spec: Value) -> Cluster {
    let mut spec = spec;
    if spec["instances"].is_null() {
        spec["instances"] = 1.into();
    }
    let value = json!({
        "apiVersion": "postgresql.cnpg.io/v1", "kind": "Cluster", "spec": spec,
        "metadata": { "name": "db", "namespace": "team", "uid": UID },
    });
    serde_json::from_value(value).expect("a Cluster")
}

fn empty() -> World {
    let address = |door: Door, last: u8| (door, format!("127.96.0.{last}"));
    World {
        now: start(),
        builds: [(15, "15.18".to_owned()), (17, "17.2".to_owned())].into(),
        seen: Seen::default(),
        certificate: None,
        root_pem: "root".into(),
        unreachable: None,
        addresses: [address(Door::Write, 1), address(Door::Read, 2), address(Door::Any, 3)].into(),
        slices: Vec::new(),
        app: Held::Nothing,
        given: None,
        superuser: Held::Nothing,
        given_superuser: None,
        given_roles: BTreeMap::new(),
        archive: false,
        origin: None,
        kept: None,
        namespace_goes: false,
        spare: Sealed::new("drawn".into()),
        spare_superuser: Sealed::new("thrown".into()),
        silent: BTreeMap::new(),
    }
}

fn names() -> BTreeSet<String> {
    let mut names = BTreeSet::from(["localhost".to_owned(), "127.0.0.1".to_owned()]);
    for (door, last) in [("rw", 1), ("ro", 2), ("r", 3)] {
        names.insert(format!("127.96.0.{last}"));
        names.extend(["", ".team", ".team.svc"].map(|suffix| format!("db-{door}{suffix}")));
    }
    names
}

fn certified() -> Certified {
    Certified {
        names: names(),
        not_before: start(),
        not_after: start() + 2160.hours(),
        signed_here: true,
        key_fits: true,
    }
}

/// An instance that runs: its port tells its number.
fn up(number: Number, standby: bool, lsn: u64) -> There {
    let port = 20_000 + u16::try_from(number).expect("a small number");
    let facts = Facts {
        port,
        in_recovery: standby,
        timeline: 1,
        lsn: Lsn(lsn),
        streaming: standby,
        ..Facts::default()
    };
    There {
        major: Some(17),
        standby,
        fenced: false,
        follows: standby.then_some(20_001),
        settings: None,
        run: Run::Up(facts),
    }
}

fn stopped(there: There) -> There {
    There { run: Run::Stopped, ..there }
}

fn ended(there: There, failures: u32) -> There {
    There { run: Run::Ended { at: start(), story: "signal 9".into(), failures }, ..there }
}

fn starting(there: There, story: Option<&str>) -> There {
    There { run: Run::Starting { since: start(), port: 1, story: story.map(str::to_owned) }, ..there }
}

fn fenced(there: There) -> There {
    There { fenced: true, standby: true, ..stopped(there) }
}

/// A world with these instances, in which settings, certificate and login are as they should be.
fn settled(cluster: &Cluster, instances: Vec<(Number, There)>, world: World) -> World {
    let mut world = World { certificate: world.certificate.or_else(|| Some(certified())), ..world };
    let asks = World {
        seen: Seen { instances: [(1, Instance::There(up(1, false, 0)))].into(), ..Seen::default() },
        ..world.clone()
    };
    let plan = plan(KEEP, cluster, &asks).expect("a plan");
    let (mut settings, mut granted, mut superuser) = (None, None, None);
    for step in plan.steps {
        match step {
            Do::Outside(Step::Configure { settings: wanted, .. }) => settings = Some(wanted.mark),
            Do::Outside(Step::Grant { login, .. }) => granted = Some(login.mark),
            Do::Outside(Step::Superuser { login, .. }) => superuser = login.map(|login| login.mark),
            Do::Create(child) => {
                let made = Held::Ours { data: Sealed::new(data(&child.body)), version: "7".into() };
                match child.name().name.as_str() {
                    "db-app" => world.app = made,
                    _ => world.superuser = made,
                }
            }
            _ => {}
        }
    }
    let dressed = |(number, there): (Number, There)| {
        (number, Instance::There(There { settings: there.settings.or_else(|| settings.clone()), ..there }))
    };
    world.seen.highest = instances.iter().map(|(number, _)| *number).max().unwrap_or_default();
    world.seen.instances = instances.into_iter().map(dressed).collect();
    world.seen.granted = granted.or(world.seen.granted);
    world.seen.superuser = superuser.or(world.seen.superuser);
    world
}

/// The data of a Secret.
fn data(body: &Value) -> BTreeMap<String, String> {
    let read: BTreeMap<String, ByteString> =
        serde_json::from_value(body["data"].clone()).expect("the data of a Secret");
    read.into_iter().map(|(key, value)| (key, String::from_utf8_lossy(&value.0).into_owned())).collect()
}

/// Steps on the machine, and those on objects that are not made every time.
fn acts(steps: &[Do<Step>]) -> String {
    let told = steps.iter().filter(|step| !matches!(step, Do::Apply(_)));
    told.map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Who is behind each Service.
fn shown(steps: &[Do<Step>]) -> String {
    let mut doors: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for step in steps {
        if let Do::Apply(child) = step
            && child.resource().kind == "EndpointSlice"
        {
            let service = child.body["metadata"]["labels"]["kubernetes.io/service-name"].clone();
            let port = child.body["ports"][0]["port"].as_u64().unwrap_or_default();
            let door = service.as_str().unwrap_or_default().trim_start_matches("db-").to_owned();
            doors.entry(door).or_default().push((port % 100).to_string());
        }
    }
    let told = ["rw", "ro", "r"].map(|door| match doors.get(door) {
        Some(ports) => format!("{door}={}", ports.join("+")),
        None => format!("{door}="),
    });
    told.join(" ")
}

/// The plan in one line: steps, who is seen, phase and why, whether it is ready, when it is looked again.
fn told(cluster: &Cluster, world: &World) -> String {
    let plan = match plan(KEEP, cluster, world) {
        Ok(plan) => plan,
        Err(refusal) => return format!("refused: {}", refusal.message),
    };
    let ready = find(&plan.status.conditions, READY).map_or("-", |ready| ready.status.as_str());
    let phase = plan.status.phase.clone().unwrap_or_default();
    let why = plan.status.phase_reason.clone().map_or_else(String::new, |why| format!(": {why}"));
    let next = match plan.next {
        Next::After(delay) => format!("{}ms", delay.as_millis()),
        other => format!("{other:?}"),
    };
    format!("{} | {} | {phase}{why} | {ready} | {next}", acts(&plan.steps), shown(&plan.steps))
}
