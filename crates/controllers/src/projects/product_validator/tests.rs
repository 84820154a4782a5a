use std::time::Duration;

use api::conditions::{READY, find};
use api::projects::{GitProvider, ProductValidator, ProductValidatorStatus, ValidationOutcome, Visibility};
use jiff::Timestamp;
use k8s_openapi::ByteString;
use kit::testing::{Bench, Gate, Scenario, converge, sweep};
use kit::{Do, Name};
use ports::git::{self, CommitWish, Git as _, Host, Mark, Place, PullRequestWish, Verdict, Wish};
use ports::oci;
use serde_json::{Value, json};

use super::ProductValidators;
use super::plan::{CONTEXT, Head, Rule, Sight, World, plan};
use crate::projects::gated::Gated;

type Room = ProductValidators<Gated<git::Fake>, Gated<oci::Fake>>;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const VALUES: &str = "products/shop/values.yaml";
const SCHEMA: &str =
    r#"{"type":"object","properties":{"replicas":{"type":"integer","minimum":1}},"required":["replicas"]}"#;

fn place() -> Place {
    let host =
        Host { provider: GitProvider::Local, domain: None, insecure: false, username: None, token: None };
    Place { host, owner: "team".into(), organization: true, name: "shop".into() }
}

fn encoded(text: &str) -> Value {
    serde_json::to_value(ByteString(text.as_bytes().to_vec())).expect("bytes are JSON")
}

fn manifest(spec: Value) -> Value {
    let mut whole = json!({ "repositoryRef": { "name": "shop" }, "valuesPath": VALUES });
    whole.as_object_mut().expect("an object").extend(spec.as_object().expect("an object").clone());
    json!({
        "apiVersion": "mpas.ocm.software/v1alpha1", "kind": "ProductValidator",
        "metadata": { "name": "shop", "namespace": "team" }, "spec": whole,
    })
}

fn object(spec: Value) -> ProductValidator {
    serde_json::from_value(manifest(spec)).expect("a validator")
}

/// What is planned, in words, and what is said.
fn planned(sight: Sight) -> String {
    let world = World { now: Timestamp::UNIX_EPOCH, sight };
    let planned = match plan(&object(json!({ "pullRequest": 1 })), &world) {
        Ok(planned) => planned,
        Err(refusal) => return format!("refused: {}", refusal.message),
    };
    let mut words: Vec<String> = planned.steps.iter().map(Do::to_string).collect();
    let ready = find(&planned.status.conditions, READY).expect("it says how it stands");
    words.push(format!("ready {} {}", ready.status, ready.reason));
    words.join(" | ")
}

fn open(values: Option<&str>, rules: &[&str], mark: Option<Mark>) -> Sight {
    let rules = rules.iter().map(|text| Rule { name: "schema".into(), text: Some(text.as_bytes().to_vec()) });
    let head = Head { commit: COMMIT.into(), values: values.map(|values| values.as_bytes().to_vec()), mark };
    Sight::Open { place: Box::new(place()), head, rules: rules.collect() }
}

#[test]
fn each_situation_has_its_plan() {
    let mark =
        |verdict, words: &str| Some(Mark { context: CONTEXT.into(), verdict, description: words.into() });
    let good = "products/shop/values.yaml obeys the rules";
    let cue = "replicas: int & >=1";
    let far = r#"{"$ref":"https://schemas.example/x.json"}"#;
    let table = [
        (Sight::Waiting("no branch".into()), "ready False DependencyNotReady"),
        (Sight::Denied, "ready False ConsentMissing"),
        (Sight::Nameless, "refused: pullRequest or branch must say what is checked"),
        (Sight::Over("merged"), "ready True Available"),
        (
            open(Some("replicas: 2"), &[SCHEMA], None),
            "mark 01234567 in team/shop: success: products/shop/values.yaml obeys the rules | ready True Available",
        ),
        (open(Some("replicas: 2"), &[SCHEMA], mark(Verdict::Success, good)), "ready True Available"),
        (
            open(Some("replicas: 0"), &[SCHEMA], mark(Verdict::Success, good)),
            "mark 01234567 in team/shop: failure: /replicas: value is less than the minimum of 1 | ready False ValuesInvalid",
        ),
        (
            open(Some("replicas: hunter2"), &[SCHEMA], None),
            "mark 01234567 in team/shop: failure: /replicas: value is not of type \"integer\" | ready False ValuesInvalid",
        ),
        (
            open(None, &[SCHEMA], None),
            "mark 01234567 in team/shop: failure: products/shop/values.yaml is missing | ready False ValuesInvalid",
        ),
        (
            open(Some("a: ["), &[], None),
            "mark 01234567 in team/shop: failure: products/shop/values.yaml cannot be read as YAML | ready False ValuesInvalid",
        ),
        (
            open(Some(""), &[], None),
            "mark 01234567 in team/shop: success: products/shop/values.yaml can be read; the product has no rules | ready True Available",
        ),
        (
            open(Some("replicas: 2"), &[SCHEMA, cue], None),
            "mark 01234567 in team/shop: pending: schema is no JSON schema; CUE cannot be checked, so people have to | ready False CannotBeChecked",
        ),
        (
            open(Some("replicas: 2"), &[r#"{"replicas":2}"#], None),
            "mark 01234567 in team/shop: pending: schema is no JSON schema; CUE cannot be checked, so people have to | ready False CannotBeChecked",
        ),
        (
            open(Some("replicas: 0"), &[cue, SCHEMA], None),
            "mark 01234567 in team/shop: failure: /replicas: value is less than the minimum of 1 | ready False ValuesInvalid",
        ),
        (
            open(Some("replicas: 2"), &[far], None),
            "mark 01234567 in team/shop: pending: schema is a JSON schema that cannot be used; it must be whole, as nothing is fetched | ready False CannotBeChecked",
        ),
        (
            open(
                Some("replicas: 2"),
                &["$schema: https://json-schema.org/draft/2020-12/schema\nrequired: [x]"],
                None,
            ),
            "mark 01234567 in team/shop: failure: /: \"x\" is a required property | ready False ValuesInvalid",
        ),
    ];
    for (sight, want) in table {
        let told = format!("{sight:?}");
        assert_eq!(planned(sight), want, "{told}");
    }
}

#[test]
fn the_words_of_a_mark_are_never_longer_than_hosts_take() {
    let long = format!(r#"{{"required":["{}"]}}"#, "é".repeat(300));
    let world = World { now: Timestamp::UNIX_EPOCH, sight: open(Some("a: 1"), &[&long], None) };
    let planned = plan(&object(json!({ "pullRequest": 1 })), &world).expect("a plan");
    let [Do::Outside(super::plan::Step::Mark { mark, .. })] = planned.steps.as_slice() else {
        panic!("one mark: {:?}", planned.steps)
    };
    assert_eq!(mark.description.chars().count(), 140);
}

fn pushed(fake: &git::Fake, branch: &str, from: Option<&str>, values: &str) -> String {
    let wish = CommitWish {
        branch: branch.into(),
        from: from.map(Into::into),
        files: [(VALUES.to_owned(), Some(values.as_bytes().to_vec()))].into(),
        author: "Someone".into(),
        email: "someone@example.com".into(),
        message: "Change the values".into(),
    };
    fake.push(&place(), &wish).expect("it is pushed")
}

/// A host with a pull request that changes the values.
fn host(values: &str) -> git::Fake {
    let fake = git::Fake::default();
    let wish = Wish {
        visibility: Visibility::Private,
        default_branch: "main".into(),
        description: "team/shop".into(),
    };
    fake.add_repository(&place(), &wish);
    pushed(&fake, "main", None, "replicas: 1\n");
    pushed(&fake, "product-shop-1.0.0", Some("main"), values);
    let wish = PullRequestWish {
        branch: "product-shop-1.0.0".into(),
        onto: "main".into(),
        title: "shop".into(),
        body: String::new(),
    };
    futures::executor::block_on(fake.propose(&place(), &wish)).expect("it is proposed");
    fake
}

/// A registry with a component whose rule is the schema.
fn registry() -> oci::Fake {
    let fake = oci::Fake::default();
    let at = "component-descriptors/example.com/shop";
    let rule = fake.put_blob("registry.example", at, SCHEMA);
    let says = json!({
        "metadata": { "name": "example.com/shop", "version": "1.0.0" },
        "spec": { "resources": [
            { "name": "rules", "access": { "type": "localBlob", "localReference": rule } },
        ] },
    });
    let layer = fake.put_blob("registry.example", at, says.to_string());
    let kind = "application/vnd.ocm.software.component-descriptor.v3+json";
    let manifest = json!({ "layers": [{ "mediaType": kind, "digest": layer }] });
    fake.put_manifest("registry.example", at, "1.0.0", ("application/json", manifest.to_string()));
    fake
}

fn repository() -> Value {
    json!({
        "apiVersion": "mpas.ocm.software/v1alpha1", "kind": "Repository",
        "metadata": { "name": "shop", "namespace": "team" },
        "spec": { "provider": "local", "owner": "team", "name": "shop" },
    })
}

fn room(fake: &git::Fake, gate: &Gate) -> Room {
    let git = Gated { port: fake.clone(), gate: gate.clone() };
    ProductValidators::new(git, Gated { port: registry(), gate: gate.clone() })
}

fn ruled() -> Value {
    manifest(json!({
        "pullRequest": 1, "schema": encoded(SCHEMA), "rules": [{ "name": "rules" }],
        "component": {
            "name": "example.com/shop", "version": "1.0.0", "registry": { "url": "registry.example" },
        },
    }))
}

fn scenario(gate: &Gate) -> Scenario<Room> {
    let fake = host("replicas: 3\n");
    Scenario::new(room(&fake, gate), ruled())
        .given(repository())
        .patience(Duration::from_secs(30))
        .outside(move || fake.dump())
        .keeps_something()
}

#[tokio::test]
async fn a_validator_converges() {
    let bench = converge(scenario).await;
    let found = bench.get::<ProductValidator>("team", "shop").await.and_then(|found| found.status);
    let status = found.expect("a status");
    assert_eq!(status.last_validated_digest_outcome, Some(ValidationOutcome::Success));
    assert_eq!(find(&status.conditions, READY).expect("it says so").status, "True");
}

#[tokio::test]
async fn a_validator_survives_any_broken_call() {
    sweep(scenario).await;
}

struct Stage {
    bench: Bench,
    fake: git::Fake,
    room: Room,
}

impl Stage {
    async fn start(values: &str, manifest: Value, repository: Value) -> Self {
        let (bench, fake) = (Bench::start().await, host(values));
        bench.create(repository).await;
        bench.create(manifest).await;
        let room = room(&fake, bench.gate());
        Self { bench, fake, room }
    }

    async fn pass(&self, namespace: &str) -> ProductValidatorStatus {
        let name = Name::new(namespace, "shop");
        self.bench.pass(&self.room, &name).await.expect("the pass is good");
        let found = self.bench.get::<ProductValidator>(namespace, "shop").await;
        found.and_then(|found| found.status).expect("a status")
    }
}

#[tokio::test]
async fn a_branch_that_moves_is_checked_again() {
    let stage = Stage::start("replicas: 3\n", ruled(), repository()).await;
    let first = stage.pass("team").await;
    assert_eq!(first.last_validated_digest_outcome, Some(ValidationOutcome::Success));
    let commit = pushed(&stage.fake, "product-shop-1.0.0", None, "replicas: secret-word\n");
    let second = stage.pass("team").await;
    assert_eq!(second.last_validated_digest_outcome, Some(ValidationOutcome::Failed));
    assert_eq!(second.last_validated_commit.as_deref(), Some(commit.as_str()));
    assert_ne!(first.last_validated_digest, second.last_validated_digest);
    let marks = stage.fake.marks(&place(), &commit);
    assert_eq!(marks.iter().map(|mark| mark.verdict).collect::<Vec<_>>(), [Verdict::Failure]);
    let told = serde_json::to_string(&second).expect("a status is JSON");
    assert!(!told.contains("secret-word") && !format!("{marks:?}").contains("secret-word"), "{told}");
    stage.fake.merge(&place(), 1).expect("it is merged");
    let last = stage.pass("team").await;
    assert!(find(&last.conditions, READY).expect("it says so").message.contains("merged"), "{last:?}");
}

#[tokio::test]
async fn a_repository_in_a_foreign_namespace_is_left_alone() {
    let mut foreign = ruled();
    foreign["metadata"]["namespace"] = "mpas-other".into();
    foreign["spec"]["repositoryRef"]["namespace"] = "team".into();
    let stage = Stage::start("replicas: 3\n", foreign, repository()).await;
    let status = stage.pass("mpas-other").await;
    assert_eq!(find(&status.conditions, READY).expect("it says so").reason, "ConsentMissing");
    assert_eq!(stage.fake.calls(), ["propose"], "the host is not even asked");
}
