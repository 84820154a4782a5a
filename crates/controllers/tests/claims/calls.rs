//! Each call is broken in turn, to the plane and to the server, in each way a call can break.

use std::time::Duration;

use api::annotations::ROTATE;
use api::claims::DatabaseClaim;
use api::conditions::{READY, find};
use k8s_openapi::api::core::v1::Secret;
use kit::Name;
use kit::testing::{Bench, Gate, Scenario, Trouble, sweep};
use kube::ResourceExt as _;
use kube::api::{Api, Patch, PatchParams};
use ports::admin::Live;
use serde_json::json;
use tokio::runtime::Handle;

use crate::cuts::{HOLD, assert_held};
use crate::gated::Gated;
use crate::ground::{Ground, chief, client};
use crate::stage::{Stage, asked, assert_ready, manifest, plain, room, secrets, text, through};

/// Everything on the server that a claim could have made, one thing per line.
const THINGS: &str = "
SELECT coalesce(string_agg(thing, E'\\n' ORDER BY thing), '') FROM (
  SELECT format('database %s of %s, %s, %s', datname, pg_get_userbyid(datdba), datallowconn,
    shobj_description(oid, 'pg_database')) AS thing FROM pg_database
  UNION ALL
  SELECT format('role %s, %s, %s, %s', rolname, rolcanlogin, rolconfig, shobj_description(oid, 'pg_authid'))
    FROM pg_roles
  UNION ALL
  SELECT format('%s is %s', pg_get_userbyid(member), pg_get_userbyid(roleid)) FROM pg_auth_members) things";

pub async fn a_life_goes_on_after_any_call_that_broke(ground: &Ground) {
    let server = plain(ground, ground.port);
    let port = ground.port;
    sweep(|gate: &Gate| {
        let admin = Gated { admin: Live::default(), gate: gate.clone() };
        let mut scenario = Scenario::new(room(admin, &server, 0), manifest("broken", "broken", "broken"));
        for secret in secrets(&server) {
            scenario = scenario.given(secret);
        }
        scenario
            .draws_passwords()
            .patience(Duration::from_secs(60))
            .world(move |client| asks_and_logs_in(client, port))
            .outside(move || things(port))
    })
    .await;
}

/// Plays whoever uses the claim: logs in with what is published, and asks once for another password.
async fn asks_and_logs_in(plane: kube::Client, port: u16) {
    let secrets: Api<Secret> = Api::namespaced(plane.clone(), "default");
    if let Some(secret) = secrets.get_opt("broken").await.expect("it can be read")
        && let Some(dsn) = text(&secret, "dsn.txt")
    {
        through(port, &dsn).await.expect("what is published gets in");
    }
    let claims: Api<DatabaseClaim> = Api::namespaced(plane, "default");
    let Some(claim) = claims.get_opt("broken").await.expect("it can be read") else { return };
    let conditions = claim.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let ready = find(conditions, READY).is_some_and(|ready| ready.status == "True");
    if ready && !claim.annotations().contains_key(ROTATE) && claim.metadata.deletion_timestamp.is_none() {
        let asked = json!({ "metadata": { "annotations": { ROTATE: "once" } } });
        let asked = claims.patch("broken", &PatchParams::default(), &Patch::Merge(asked)).await;
        asked.expect("an annotation");
    }
}

fn things(port: u16) -> String {
    let look = async {
        let chief = client(port, &chief("postgres")).await.expect("the administrator gets in");
        asked::<String>(&chief, THINGS).await
    };
    tokio::task::block_in_place(|| Handle::current().block_on(look))
}

pub async fn a_held_database_comes_back_after_any_call_that_broke(ground: &Ground) {
    let (bench, server) = (Bench::start().await, plain(ground, ground.port));
    let admin = Gated { admin: Live::default(), gate: bench.gate().clone() };
    let mut stage = Stage::with(ground, &server, HOLD, bench, admin).await;
    let mut broken = 0;
    for trouble in Trouble::ALL {
        for nth in 1.. {
            let some = hold(&mut stage, nth, trouble).await;
            if some == 0 {
                break;
            }
            broken += some;
        }
    }
    println!("       {broken} calls broken in holding, taking back and dropping");
    assert!(broken > 60, "there are more calls than that: {broken}");
}

async fn hold(stage: &mut Stage<'_, Gated<Live>>, nth: usize, trouble: Trouble) -> usize {
    let (name, mut broken) = (Name::new("default", "held"), 0);
    let claim = stage.claim(manifest("held", "held", "held")).await;
    let program = stage.as_program(&claim).await;
    program.batch_execute("CREATE TABLE kept (n int); INSERT INTO kept VALUES (42)").await.expect("it may");
    stage.bench.delete::<DatabaseClaim>(&name).await;
    broken += settle(stage, "putting aside", nth, trouble).await;
    assert_held(stage).await;
    stage.bench.create(manifest("held", "held", "held")).await;
    broken += settle(stage, "taking back", nth, trouble).await;
    let claim = stage.bench.get("default", "held").await.expect("the claim");
    assert_ready(&claim);
    let row: i32 = asked(&stage.as_program(&claim).await, "SELECT n FROM kept").await;
    assert_eq!(row, 42, "{}", stage.doing);
    stage.forget(&claim).await;
    // Whoever deletes what keeps a database has it dropped at once; time would not go back for the next run.
    for kept in stage.claims().await {
        stage.bench.delete::<DatabaseClaim>(&kept).await;
    }
    broken += settle(stage, "dropping", nth, trouble).await;
    stage.nothing_is_left().await;
    broken
}

/// Lets claims settle through a call that breaks; how many did.
async fn settle(stage: &mut Stage<'_, Gated<Live>>, phase: &str, nth: usize, trouble: Trouble) -> usize {
    stage.doing = format!("{phase}, {trouble:?} at call {nth}");
    stage.bench.gate().arm(nth, trouble);
    stage.settle().await;
    usize::from(stage.bench.gate().take().len() >= nth)
}
