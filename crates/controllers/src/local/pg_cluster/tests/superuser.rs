//! The superuser: let in, kept, and shut out again.

use std::collections::BTreeMap;

use api::conditions::READY;
use api::foreign::cnpg::Cluster;
use api::foreign::find;
use api::secret::Sealed;
use kit::Do;
use ports::postgres::Seen;
use serde_json::{Value, json};

use super::super::plan::{Given, Held, World, plan};
use super::{KEEP, acts, cluster, data, empty, settled, stopped, told, up};

fn open() -> Value {
    json!({ "enableSuperuserAccess": true })
}

fn brought() -> Value {
    json!({ "enableSuperuserAccess": true, "superuserSecret": { "name": "mine" } })
}

fn given(username: &str, password: &str) -> World {
    let given =
        Given { username: username.into(), password: Sealed::new(password.into()), version: "1".into() };
    World { given_superuser: Some(given), ..empty() }
}

/// A server of this spec that has run for a while.
fn running(spec: Value, world: World) -> World {
    settled(&cluster(spec), vec![(1, up(1, false, 10))], world)
}

/// The same where the superuser has never been let in.
fn closed(world: World) -> World {
    World { superuser: Held::Nothing, seen: Seen { superuser: None, ..world.seen }, ..world }
}

fn done(cluster: &Cluster, world: &World) -> String {
    acts(&plan(KEEP, cluster, world).expect("a plan").steps)
}

#[test]
fn the_superuser_is_let_in_where_the_spec_says_so_and_nowhere_else() {
    let lets_in = "let the superuser in on 1";
    let shuts_out = "shut the superuser out on 1";
    let other = |world: World| match &world.superuser {
        Held::Ours { data, version } => {
            let mut data = data.open().clone();
            data.insert("host".into(), "x".into());
            World { superuser: Held::Ours { data: Sealed::new(data), version: version.clone() }, ..world }
        }
        Held::Nothing | Held::Foreign => world,
    };
    let down = |mut world: World| {
        let one = (1, ports::postgres::Instance::There(stopped(up(1, false, 10))));
        world.seen.instances = [one].into();
        world
    };
    let table = vec![
        ("nobody asks for it", json!({}), running(json!({}), empty()), String::new()),
        (
            "it is switched off in so many words",
            json!({ "enableSuperuserAccess": false }),
            running(json!({}), empty()),
            String::new(),
        ),
        (
            "a Secret is named, and it is off",
            json!({ "superuserSecret": { "name": "mine" } }),
            running(json!({}), given("postgres", "p")),
            String::new(),
        ),
        (
            "it is switched on",
            open(),
            closed(running(open(), empty())),
            format!("{lets_in}, create Secret team/db-superuser"),
        ),
        ("it is on", open(), running(open(), empty()), String::new()),
        (
            "the address differs",
            open(),
            other(running(open(), empty())),
            "patch Secret team/db-superuser".into(),
        ),
        (
            "the Secret is lost",
            open(),
            World {
                superuser: Held::Nothing,
                spare_superuser: Sealed::new("new".into()),
                ..running(open(), empty())
            },
            format!("{lets_in}, create Secret team/db-superuser"),
        ),
        (
            "it is switched off",
            json!({}),
            running(open(), empty()),
            format!("{shuts_out}, delete Secret team/db-superuser"),
        ),
        (
            "it was shut out, and the Secret is still there",
            json!({}),
            World { seen: running(json!({}), empty()).seen, ..running(open(), empty()) },
            "delete Secret team/db-superuser".into(),
        ),
        ("nobody takes writes", json!({}), down(running(open(), empty())), "configure 1, start 1".into()),
        (
            "it is somebody else's, and nobody asks for it",
            json!({}),
            World { superuser: Held::Foreign, ..running(json!({}), empty()) },
            String::new(),
        ),
        (
            "the owner brings one",
            brought(),
            closed(running(brought(), given("postgres", "p"))),
            lets_in.into(),
        ),
        ("the owner brought one", brought(), running(brought(), given("postgres", "p")), String::new()),
        (
            "the owner changes it",
            brought(),
            World {
                given_superuser: given("postgres", "q").given_superuser,
                ..running(brought(), given("postgres", "p"))
            },
            lets_in.into(),
        ),
        (
            "the owner brings one instead of ours",
            brought(),
            World { given_superuser: given("postgres", "q").given_superuser, ..running(open(), empty()) },
            format!("{lets_in}, delete Secret team/db-superuser"),
        ),
    ];
    for (what, spec, world, want) in table {
        assert_eq!(done(&cluster(spec), &world), want, "{what}");
    }
}

#[test]
fn the_secret_of_the_superuser_has_the_keys_that_cloudnativepg_writes() {
    let made = plan(KEEP, &cluster(open()), &closed(running(open(), empty()))).expect("a plan");
    let child = made.steps.iter().find_map(|step| match step {
        Do::Create(child) => Some(child.clone()),
        _ => None,
    });
    let child = child.expect("it is made");
    assert_eq!((child.body["type"].as_str(), child.owned), (Some("kubernetes.io/basic-auth"), true));
    let want = [
        ("dbname", "*"),
        ("host", "127.96.0.1"),
        ("jdbc-uri", "jdbc:postgresql://127.96.0.1:5432/*?password=thrown&user=postgres"),
        ("password", "thrown"),
        ("pgpass", "127.96.0.1:5432:*:postgres:thrown\n"),
        ("port", "5432"),
        ("uri", "postgresql://postgres:thrown@127.96.0.1:5432/*"),
        ("user", "postgres"),
        ("username", "postgres"),
    ];
    let want: BTreeMap<String, String> = want.map(|(key, value)| (key.into(), value.into())).into();
    assert_eq!(data(&child.body), want);
    let words =
        format!("{:?} {:?}", made.status, made.steps.iter().map(ToString::to_string).collect::<Vec<_>>());
    assert!(!words.contains("thrown"), "{words}");
    let status = plan(KEEP, &cluster(open()), &running(open(), empty())).expect("a plan").status;
    let versions = status.secrets_resource_version.expect("they are told");
    assert_eq!(versions.superuser_secret_version.as_deref(), Some("7"));
}

#[test]
fn what_keeps_the_superuser_out_is_told() {
    let table = vec![
        (
            "somebody else's Secret",
            open(),
            World { superuser: Held::Foreign, ..closed(running(open(), empty())) },
            "Secret db-superuser exists and was not made for this cluster; rename or delete it",
            "False",
        ),
        (
            "the named Secret is missing",
            brought(),
            closed(running(brought(), empty())),
            "Secret mine has no username and password, or does not exist",
            "False",
        ),
        (
            "the named Secret is of somebody else",
            brought(),
            closed(running(brought(), given("me", "p"))),
            "Secret mine is the login of \"me\", and the superuser is called postgres; write that as its username",
            "False",
        ),
    ];
    for (what, spec, world, words, ready) in table {
        let cluster = cluster(spec);
        let line = told(&cluster, &world);
        assert!(line.contains(words), "{what}: {line}");
        let status = plan(KEEP, &cluster, &world).expect("a plan").status;
        let said = find(&status.conditions, READY).map(|said| said.status.as_str());
        assert_eq!(said, Some(ready), "{what}");
    }
}
