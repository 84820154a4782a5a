use std::sync::Arc;

use api::conditions::{READY, Reason, find};
use api::infra::{AWSProvider, AWSProviderStatus};
use k8s_openapi::api::core::v1::Secret;
use kit::testing::{Bench, Gate, Scenario, converge};
use kit::{Name, Room};
use ports::aws::{Aws, Identity};
use serde_json::{Value, json};

use super::plan::{Answer, World, plan};
use super::{AWSProviders, secrets};
use crate::infra::Desk;
use crate::infra::provider::{self, noteworthy};

const NOW: &str = "2026-01-01T12:00:00Z";

fn provider(spec: Value, status: Value) -> AWSProvider {
    let mut manifest = json!({
        "apiVersion": "aws-infra-operator.runner.codes/v1alpha1", "kind": "AWSProvider",
        "metadata": { "name": "dev", "namespace": "default", "generation": 2 },
        "spec": { "region": "eu-central-1" },
        "status": status,
    });
    for (field, value) in spec.as_object().expect("an object") {
        manifest["spec"][field] = value.clone();
    }
    serde_json::from_value(manifest).expect("a provider")
}

fn told(status: Value, answer: Answer) -> String {
    let world = World { now: NOW.parse().expect("a time"), answer };
    let plan = plan(&provider(json!({}), status), &world).expect("nothing is refused");
    let AWSProviderStatus {
        ready, account_id, caller_identity, last_authentication_time, conditions, ..
    } = plan.status;
    let said = find(&conditions, READY)
        .map_or("-".to_owned(), |said| format!("{}/{} {}", said.status, said.reason, said.message));
    let dated = last_authentication_time.is_some_and(|at| at.0.to_string() == NOW);
    let who = [account_id, caller_identity].map(Option::unwrap_or_default).join(" ");
    format!("{ready} {}; {who}; dated {dated}; {:?}", said.trim_end(), plan.next)
}

#[test]
fn every_answer_has_its_plan() {
    let known = || Answer::Known(Identity { account: "123456789012".into(), arn: "arn:me".into() });
    let leaving = |users: usize| Answer::Leaving {
        users: (1..=users).map(|n| format!("SQSQueue default/{n}")).collect(),
    };
    let missing = Answer::Unusable(Reason::CredentialsMissing, "Secret default/aws does not exist".into());
    let at = |time: &str| {
        json!({
            "ready": true, "accountID": "123456789012", "callerIdentity": "arn:old", "lastAuthenticationTime": time,
        })
    };
    let young = || at("2026-01-01T11:58:00Z");
    let table = [
        (json!({}), known(), "true True/Available; 123456789012 arn:me; dated true; After(300s)"),
        (young(), known(), "true True/Available; 123456789012 arn:me; dated false; After(300s)"),
        (
            at("2026-01-01T11:57:30Z"),
            known(),
            "true True/Available; 123456789012 arn:me; dated true; After(300s)",
        ),
        (json!({}), Answer::Local, "true True/Available; 000000000000 local; dated true; After(300s)"),
        (
            young(),
            missing,
            "false False/CredentialsMissing Secret default/aws does not exist; 123456789012 arn:old; dated false; After(60s)",
        ),
        (young(), leaving(0), "true -; 123456789012 arn:old; dated false; Release"),
        (
            young(),
            leaving(1),
            "true True/Deleting SQSQueue default/1 still need it; it goes when they are gone; 123456789012 arn:old; dated false; After(5s)",
        ),
        (
            young(),
            leaving(7),
            "true True/Deleting SQSQueue default/1, SQSQueue default/2, SQSQueue default/3, SQSQueue default/4, SQSQueue default/5 and 2 more still need it; it goes when they are gone; 123456789012 arn:old; dated false; After(5s)",
        ),
    ];
    for (row, (status, answer, want)) in table.into_iter().enumerate() {
        assert_eq!(told(status, answer), want, "row {row}");
    }
}

#[test]
fn a_login_that_failed_is_not_ready() {
    let mut status = AWSProviderStatus { ready: true, ..AWSProviderStatus::default() };
    AWSProviders::failed(&mut status, Reason::Code("ExpiredToken".into()), "AWS: no".into());
    assert!(!status.ready);
    let said = find(&status.conditions, READY).expect("it says so");
    assert_eq!((said.status.as_str(), said.reason.as_str()), ("False", "ExpiredToken"));
}

#[test]
fn the_secrets_that_a_provider_names_wake_it() {
    let table = [
        (json!({}), vec![]),
        (json!({ "credentialsSecret": { "name": "aws" } }), vec!["default/aws"]),
        (json!({ "credentialsSecret": { "name": "aws", "namespace": "vault" } }), vec!["vault/aws"]),
        (
            json!({
                "accessKeyIDRef": { "name": "id", "key": "k" },
                "secretAccessKeyRef": { "name": "key", "namespace": "vault", "key": "k" },
            }),
            vec!["default/id", "vault/key"],
        ),
    ];
    for (spec, want) in table {
        assert_eq!(secrets(&provider(spec.clone(), json!({}))), want, "{spec}");
    }
}

#[test]
fn resources_are_woken_by_what_matters_to_them() {
    let ready = json!({ "ready": true });
    let old = provider(json!({}), ready.clone());
    let dated = provider(json!({}), json!({ "ready": true, "lastAuthenticationTime": NOW }));
    assert!(!noteworthy(&old, &dated), "that it was asked again matters to nobody");
    assert!(noteworthy(&old, &provider(json!({}), json!({ "ready": false }))));
    assert!(noteworthy(&old, &provider(json!({ "defaultTags": { "a": "b" } }), ready.clone())));
    let mut shared = provider(json!({}), ready);
    shared.metadata.annotations = Some([("terrace.dev/allow-from".to_owned(), "shop".to_owned())].into());
    assert!(noteworthy(&old, &shared));
}

fn secret(namespace: &str, annotations: Value, data: Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": "aws", "namespace": namespace, "annotations": annotations }, "stringData": data,
    })
}

/// The account that a provider describes beside one Secret, or why there is none. Nothing of the Secret may be in it.
async fn described(bench: &Bench, held: Option<Value>, spec: Value) -> String {
    let name = held.as_ref().map(|held| {
        let namespace = held["metadata"]["namespace"].as_str().expect("it says where");
        Name::new(namespace, "aws")
    });
    if let Some(held) = held {
        bench.create(held).await;
    }
    let found =
        provider::account(bench.tools().reader(), &provider(spec, json!({}))).await.expect("it is read");
    if let Some(name) = name {
        bench.delete::<Secret>(&name).await;
    }
    match found {
        Err((reason, message)) => format!("{}: {message}", reason.as_str()),
        Ok(account) => {
            let told = format!("{account:?}");
            assert!(!told.contains("CANARY"), "a secret is shown: {told}");
            match account.login {
                ports::aws::Login::WebIdentity { role } => role,
                ports::aws::Login::Keys { id, secret, token } => {
                    let token = token.map(|token| token.open().clone()).unwrap_or_default();
                    format!("{} {} {token} {:?}", id.open(), secret.open(), account.role.is_some())
                }
            }
        }
    }
}

#[tokio::test]
async fn an_account_is_what_its_secrets_say_if_they_may_be_used() {
    let bench = Bench::start().await;
    let keys = || json!({ "accessKeyID": "AKIA1", "secretAccessKey": " CANARY\n" });
    let aws_keys = json!({
        "AWS_ACCESS_KEY_ID": "AKIA2", "AWS_SECRET_ACCESS_KEY": "CANARY", "AWS_SESSION_TOKEN": "token-CANARY",
    });
    let whole = || json!({ "credentialsSecret": { "name": "aws" } });
    let elsewhere = || json!({ "credentialsSecret": { "name": "aws", "namespace": "vault" } });
    let parts = |key: &str| {
        json!({
            "accessKeyIDRef": { "name": "aws", "key": "accessKeyID" },
            "secretAccessKeyRef": { "name": "aws", "key": key },
        })
    };
    let here = |data: Value| Some(secret("default", json!({}), data));
    let there = |annotations: Value| Some(secret("vault", annotations, keys()));
    let refused = "ConsentMissing: Secret vault/aws is in another namespace and does not allow this one; its owner can, with the annotation terrace.dev/allow-from: default";
    let role = "arn:aws:iam::123456789012:role/terrace";
    let table = [
        (None, json!({ "roleARN": role }), role),
        (
            None,
            json!({}),
            "CredentialsMissing: no credentials: set roleARN, credentialsSecret, or accessKeyIDRef and secretAccessKeyRef",
        ),
        (None, whole(), "CredentialsMissing: Secret default/aws does not exist"),
        (
            here(json!({ "accessKeyID": "AKIA1" })),
            whole(),
            "CredentialsMissing: Secret default/aws lacks accessKeyID or secretAccessKey",
        ),
        (
            here(json!({ "accessKeyID": "AKIA1", "secretAccessKey": " " })),
            whole(),
            "CredentialsMissing: Secret default/aws lacks accessKeyID or secretAccessKey",
        ),
        (here(keys()), whole(), "AKIA1 CANARY  false"),
        (here(aws_keys), whole(), "AKIA2 CANARY token-CANARY false"),
        (here(keys()), parts("secretAccessKey"), "AKIA1 CANARY  false"),
        (here(keys()), parts("nothing"), "CredentialsMissing: Secret default/aws has no key nothing"),
        (None, elsewhere(), refused),
        (there(json!({})), elsewhere(), refused),
        (there(json!({ "terrace.dev/allow-from": "shop,defaults" })), elsewhere(), refused),
        (there(json!({ "terrace.dev/allow-from": "shop, default" })), elsewhere(), "AKIA1 CANARY  false"),
    ];
    for (row, (held, spec, want)) in table.into_iter().enumerate() {
        assert_eq!(described(&bench, held, spec).await, want, "row {row}");
    }
}

#[tokio::test]
async fn this_machine_needs_no_credentials_and_settles() {
    let local = |_: &Gate| {
        let manifest = json!({
            "metadata": { "name": "here", "namespace": "default" }, "spec": { "region": "local", "endpoint": "local" },
        });
        Scenario::new(AWSProviders::new(Desk::new(Arc::new(Aws::default()))), manifest)
            .patience(std::time::Duration::from_secs(60))
    };
    let bench = converge(local).await;
    let found = bench.get::<AWSProvider>("default", "here").await.expect("it is there");
    assert!(found.status.expect("a status").ready);
}
