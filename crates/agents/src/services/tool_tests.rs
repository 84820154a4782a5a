//! The six tools as an agent calls them: the names and fields of seed 000, and what a person is asked.

use serde_json::{Value, json};

use crate::apps::tests::stage::{CANARY, Stage};
use crate::tool::Stop;

async fn ready(stage: &Stage, name: &str) {
    stage
        .make(json!({
            "apiVersion": "iaf.io/v1alpha1", "kind": "ManagedService", "metadata": { "name": name },
            "spec": { "type": "postgres", "plan": "small" },
            "status": { "phase": "Ready", "connectionSecretRef": format!("{name}-app"), "message": "ok" },
        }))
        .await;
    stage.make_secret(&format!("{name}-app"), json!({ "password": CANARY })).await;
}

#[tokio::test]
async fn a_database_is_made_bound_and_freed_in_the_words_of_the_seed() {
    let stage = Stage::start().await;
    let wish =
        json!({ "name": "db", "type": "postgres", "plan": "micro", "version": "17", "database": "shop" });
    let made = stage.good("provision_service", wish).await;
    let message = "provisioning started; poll service_status";
    assert_eq!(made, json!({ "name": "db", "type": "postgres", "plan": "micro", "message": message }));
    let seen = stage.good("service_status", json!({ "name": "db" })).await;
    assert_eq!((&seen["phase"], seen.get("connectionEnvVars")), (&json!("Provisioning"), None));
    ready(&stage, "main").await;
    stage.make_app("shop", json!({ "image": "i:1" }), Value::Null).await;
    let pair = json!({ "service_name": "main", "app_name": "shop" });
    let bound = stage.good("bind_service", pair.clone()).await;
    assert_eq!((&bound["bound"], bound["injectedEnvVars"].as_array().map(Vec::len)), (&json!(true), Some(6)));
    assert_eq!(stage.good("bind_service", pair.clone()).await["alreadyBound"], true);
    let listed = stage.good("list_services", json!({})).await;
    let names: Vec<&Value> =
        listed["services"].as_array().expect("a list").iter().map(|row| &row["name"]).collect();
    assert_eq!(names, ["db", "main"]);
    assert_eq!(stage.good("unbind_service", pair).await["unbound"], true);
    stage.end().await;
}

#[tokio::test]
async fn mistakes_come_back_with_what_would_be_right() {
    let stage = Stage::start().await;
    let none = stage.wrong("service_status", json!({ "name": "db" })).await;
    assert_eq!(
        none,
        "invalid name: there is no service \"db\"; there is none yet, provision_service makes one"
    );
    ready(&stage, "main").await;
    stage.make_app("shop", json!({ "image": "i:1" }), Value::Null).await;
    stage.good("provision_service", json!({ "name": "young", "type": "postgres" })).await;
    let bind = |service: &str, app: &str| json!({ "service_name": service, "app_name": app });
    let wish = |plan: &str, version: &str| json!({ "name": "x", "type": "postgres", "plan": plan, "version": version });
    let table = [
        (
            "provision_service",
            wish("huge", ""),
            "invalid plan: \"huge\" is none; there are: micro, small, ha",
        ),
        ("provision_service", wish("micro", "12"), "invalid version: \"12\" is not here; there are: 16, 17"),
        ("provision_service", wish("micro", "new"), "invalid version: \"new\" is none"),
        (
            "service_status",
            json!({ "name": "db" }),
            "invalid name: there is no service \"db\"; there are: main, young",
        ),
        ("service_status", json!({ "name": "main/status" }), "invalid name: "),
        (
            "bind_service",
            bind("main", "none"),
            "invalid name: there is no application \"none\"; there are: shop",
        ),
        (
            "bind_service",
            bind("young", "shop"),
            "service young is not ready: Provisioning; poll service_status every 10 s",
        ),
        (
            "deprovision_service",
            json!({ "name": "db" }),
            "invalid name: there is no service \"db\"; there are: main, young",
        ),
    ];
    for (tool, arguments, want) in table {
        let told = stage.wrong(tool, arguments).await;
        assert!(told.starts_with(want), "{told}");
    }
    stage.good("bind_service", bind("main", "shop")).await;
    let told = stage.wrong("deprovision_service", json!({ "name": "main" })).await;
    assert_eq!(told, "cannot delete: apps still bound: [shop]; call unbind_service for each first");
    stage.end().await;
}

#[tokio::test]
async fn a_database_is_deleted_only_when_a_person_agrees() {
    let stage = Stage::start().await;
    ready(&stage, "main").await;
    let ask = json!({ "name": "main" });
    let question = stage.question("deprovision_service", ask.clone()).await;
    assert_eq!(question.command, format!("terrace service delete main -n {}", stage.ns));
    assert!(question.what.contains("main") && question.what.contains(&stage.session), "{question:?}");
    let plan = question.plan.join("\n");
    for words in [
        "delete managed service main (small, database app",
        "72 h as a Backup",
        "terrace service restore main",
    ] {
        assert!(plan.contains(words), "{plan}");
    }
    assert!(matches!(stage.agreed("deprovision_service", ask.clone(), "0").await, Err(Stop::Ask(_))));
    let gone = stage.agreed("deprovision_service", ask.clone(), &question.hash()).await.expect("is deleted");
    assert_eq!(gone["name"], "main");
    assert!(stage.wrong("deprovision_service", ask).await.contains("there is none yet"));
    stage.end().await;
}
