use std::path::PathBuf;
use std::sync::Arc;

use api::foreign::{find, kpack::Image};
use kit::testing::{self, Broken, Gate, Scenario};
use kit::{Name, Next, Room as _};
use ports::build::{Builds, Error, Fake, Limits, Login, Order, Progress, Stage};
use serde_json::{Value, json};
use tokio::sync::broadcast;

use super::plan::{World, image_of, plan};
use super::{Config, Images};

const ONE: &str = "1111111111111111111111111111111111111111";
const TWO: &str = "2222222222222222222222222222222222222222";

fn git() -> Value {
    json!({ "git": { "url": "https://example.com/shop.git", "revision": "main" } })
}

fn blob(url: &str) -> Value {
    json!({ "blob": { "url": url } })
}

fn image(source: &Value, last: Option<&str>, annotation: Option<&str>) -> Image {
    let annotations = annotation.map(|value| json!({ "image.kpack.io/additionalBuildNeeded": value }));
    let status = last.map(|last| json!({ "latestBuildRef": last, "buildCounter": 1, "latestImage": "old" }));
    let image = json!({
        "apiVersion": "kpack.io/v1alpha2",
        "kind": "Image",
        "metadata": {
            "name": "shop", "namespace": "team", "uid": "u", "generation": 4, "annotations": annotations,
        },
        "spec": { "tag": "registry/team/shop", "source": source },
        "status": status,
    });
    serde_json::from_value(image).expect("an image")
}

/// The plan in one line; the digest of the wish is left out.
fn told(image: &Image, world: &World) -> String {
    let plan = match plan(image, world) {
        Ok(plan) => plan,
        Err(refusal) => return format!("refused: {}", refusal.message),
    };
    let mut words: Vec<String> = plan.steps.iter().map(ToString::to_string).collect();
    if let Some(ready) = find(&plan.status.conditions, "Ready") {
        let (reason, message) =
            (ready.reason.clone().unwrap_or_default(), ready.message.clone().unwrap_or_default());
        words.push(format!("{} {reason}: {message}", ready.status));
        let latest = plan.status.latest_image.unwrap_or_default();
        let why = plan.status.latest_build_reason.unwrap_or_default();
        words.push(format!("{latest} {} {why}", plan.status.build_counter.unwrap_or_default()));
        assert_eq!(plan.status.observed_generation, Some(4));
    }
    words.push(match plan.next {
        Next::OnChange => "on change".into(),
        Next::After(delay) => format!("after {}s", delay.as_secs()),
        Next::Release => "release".into(),
    });
    words.join("; ")
}

/// The name of the first build of this source.
fn first(source: &Value, head: Option<&str>, annotation: Option<&str>) -> String {
    let world = World { build: None, head: head.map(str::to_owned), login: None };
    let plan = plan(&image(source, None, annotation), &world).expect("a plan");
    plan.status.latest_build_ref.expect("a build begins")
}

fn running() -> Progress {
    Progress::Running { since: "2026-01-01T00:00:00Z".parse().expect("a time"), stage: Stage::Building }
}

fn done(commit: Option<&str>) -> Progress {
    let (image, language) = ("registry/team/shop@sha256:abc".into(), "go".into());
    Progress::Done { image, language, commit: commit.map(str::to_owned) }
}

fn failed() -> Progress {
    Progress::Failed { stage: Stage::Building, message: "main.go:3: no".into() }
}

#[test]
fn an_archive_is_built_once_for_each_wish() {
    let source = blob("https://example.com/1");
    let last = first(&source, None, None);
    let other = first(&blob("https://example.com/2"), None, None).replace("-build-1-", "-build-2-");
    let asked = first(&source, None, Some("again")).replace("-build-1-", "-build-2-");
    let world = |build: Option<Progress>| World { build, ..World::default() };
    let table = [
        (
            image(&source, None, None),
            world(None),
            format!("start build {last}; Unknown Building: {last} begins;  1 CONFIG; after 5s"),
        ),
        (
            image(&source, Some(&last), None),
            world(None),
            format!("start build {last}; Unknown Building: {last} begins; old 1 ; after 5s"),
        ),
        (
            image(&source, Some(&last), None),
            world(Some(running())),
            format!("Unknown Building: {last} is compiling; old 1 ; after 5s"),
        ),
        (
            image(&source, Some(&last), None),
            world(Some(done(None))),
            "True Available: built as go; registry/team/shop@sha256:abc 1 ; on change".into(),
        ),
        (
            image(&source, Some(&last), None),
            world(Some(failed())),
            "False BuildFailed: main.go:3: no; old 1 ; on change".into(),
        ),
        (
            image(&blob("https://example.com/2"), Some(&last), None),
            world(Some(running())),
            format!(
                "start build {other}; forget build {last}; Unknown Building: {other} begins; old 2 CONFIG; after 5s"
            ),
        ),
        (
            image(&source, Some(&last), Some("again")),
            world(Some(failed())),
            format!(
                "start build {asked}; forget build {last}; Unknown Building: {asked} begins; old 2 CONFIG; after 5s"
            ),
        ),
        (
            image(&json!({}), None, None),
            world(None),
            "refused: spec.source names neither git nor blob; name one".into(),
        ),
        (
            image(&json!({ "git": git()["git"], "blob": source["blob"] }), None, None),
            world(None),
            "refused: spec.source names both git and blob; name one".into(),
        ),
    ];
    for (row, (image, world, want)) in table.into_iter().enumerate() {
        assert_eq!(told(&image, &world), want, "row {row}");
    }
}

#[test]
fn a_branch_is_built_again_when_it_moves() {
    let source = git();
    let (last, blind) = (first(&source, Some(ONE), None), first(&source, None, None));
    assert!(last.ends_with("-1111111111") && blind.ends_with("-unknown"), "{last} {blind}");
    let next = last.replace("-build-1-", "-build-2-").replace("-1111111111", "-2222222222");
    let moved = |from: &str, counter: &str| {
        format!(
            "start build {next}; forget build {from}; Unknown Building: {next} begins; old {counter} COMMIT; after 5s"
        )
    };
    let built = |commit: &str| {
        format!(
            "True Available: built as go from commit {commit}; registry/team/shop@sha256:abc 1 ; after 60s"
        )
    };
    let told = |last: &str, build: Option<Progress>, head: Option<&str>| {
        told(&image(&source, Some(last), None), &World { build, head: head.map(str::to_owned), login: None })
    };
    assert_eq!(told(&last, Some(done(Some(ONE))), Some(ONE)), built(ONE));
    assert_eq!(told(&last, Some(done(Some(ONE))), Some(TWO)), moved(&last, "2"));
    assert_eq!(told(&last, Some(done(Some(ONE))), None), built(ONE), "a silent repository changes nothing");
    assert_eq!(told(&last, Some(failed()), Some(ONE)), "False BuildFailed: main.go:3: no; old 1 ; after 60s");
    assert_eq!(
        told(&last, Some(failed()), Some(TWO)),
        moved(&last, "2"),
        "a commit may mend what another broke"
    );
    assert_eq!(
        told(&last, Some(running()), Some(TWO)),
        moved(&last, "2"),
        "nobody waits for what is outdated"
    );
    let open = format!("Unknown Building: {blind} is compiling; old 1 ; after 5s");
    assert_eq!(told(&blind, Some(running()), Some(TWO)), open, "it will say which commit it was");
    assert_eq!(told(&blind, Some(done(Some(TWO))), Some(TWO)), built(TWO));
    assert_eq!(told(&blind, Some(failed()), Some(TWO)), moved(&blind, "2"), "the repository answers again");
}

#[test]
fn an_image_that_goes_leaves_nothing() {
    let source = blob("https://example.com/1");
    let last = first(&source, None, None);
    for (last, want) in [
        (None, "forget what builds kept; release".to_owned()),
        (Some(last.as_str()), format!("forget build {last}; forget what builds kept; release")),
    ] {
        let mut image = image(&source, last, None);
        image.metadata.deletion_timestamp =
            Some(serde_json::from_value(json!("2026-01-01T00:00:00Z")).expect("a time"));
        let told = plan(&image, &World::default()).expect("a plan");
        let words: Vec<String> = told.steps.iter().map(ToString::to_string).collect();
        assert_eq!(format!("{}; release", words.join("; ")), want);
        assert_eq!(told.next, Next::Release);
    }
}

#[test]
fn a_build_knows_its_image() {
    let table = [
        ("team.u.shop-build-12-abc", Some(Name::new("team", "shop"))),
        ("team.u.my-build-tool-build-1-abc-unknown", Some(Name::new("team", "my-build-tool"))),
        ("team.u.a.b-build-1-abc", Some(Name::new("team", "a.b"))),
        ("nonsense", None),
        ("team.u.nonsense", None),
    ];
    for (id, want) in table {
        assert_eq!(image_of(id), want, "{id}");
    }
}

/// The fake behind a gate that can break each call.
#[derive(Clone)]
struct Gated {
    fake: Fake,
    gate: Gate,
}

fn broken(broken: Broken) -> Error {
    Error::Files { path: PathBuf::from("builds"), source: broken.into() }
}

impl Builds for Gated {
    async fn start(&self, order: Order) -> Result<(), Error> {
        self.gate.write("start a build", self.fake.start(order)).await.map_err(broken)?
    }

    async fn look(&self, id: &str) -> Result<Option<Progress>, Error> {
        self.gate.read("look at a build", self.fake.look(id)).await.map_err(broken)?
    }

    async fn cancel(&self, id: &str) -> Result<(), Error> {
        self.gate.write("cancel a build", self.fake.cancel(id)).await.map_err(broken)?
    }

    async fn forget(&self, id: &str) -> Result<(), Error> {
        self.gate.write("forget a build", self.fake.forget(id)).await.map_err(broken)?
    }

    async fn head(
        &self,
        url: &str,
        revision: &str,
        user: Option<u32>,
        login: Option<&Login>,
    ) -> Result<Option<String>, Error> {
        self.gate.read("ask a branch", self.fake.head(url, revision, user, login)).await.map_err(broken)?
    }

    async fn clear(&self, namespace: &str, name: &str) -> Result<(), Error> {
        self.gate.write("clear", self.fake.clear(namespace, name)).await.map_err(broken)?
    }

    fn log(&self, namespace: &str, name: &str, number: u64) -> PathBuf {
        self.fake.log(namespace, name, number)
    }

    fn changes(&self) -> broadcast::Receiver<String> {
        self.fake.changes()
    }
}

fn config() -> Config {
    Config { user: |_| None, limits: Limits::default() }
}

/// One image of a branch; every build that begins ends well.
fn one_image(gate: &Gate) -> Scenario<Images<Gated>> {
    let fake = Fake::default();
    fake.point("https://example.com/shop.git", "main", ONE);
    let room = Images::new(Arc::new(Gated { fake: fake.clone(), gate: gate.clone() }), config());
    let world = fake.clone();
    let manifest = json!({
        "metadata": { "name": "shop", "namespace": "default" },
        "spec": { "tag": "registry/default/shop", "source": git() },
    });
    Scenario::new(room, manifest)
        .world(move |_| {
            let fake = world.clone();
            async move { fake.ids().iter().for_each(|id| fake.succeed(id)) }
        })
        .outside(move || {
            fake.ids().iter().filter_map(|id| fake.order(id)).map(|order| order.name + "\n").collect()
        })
        .patience(std::time::Duration::from_secs(30))
}

#[tokio::test]
async fn an_image_converges() {
    let bench = testing::converge(one_image).await;
    let image = bench.get::<Image>("default", "shop").await.expect("it is there");
    let status = image.status.expect("it says how it stands");
    assert!(status.latest_image.is_some_and(|image| image.starts_with("registry/default/shop@sha256:")));
    assert_eq!(status.build_counter, Some(1));
    assert_eq!(find(&status.conditions, "Ready").map(|ready| ready.status.as_str()), Some("True"));
}

#[tokio::test]
async fn an_image_survives_any_broken_call() {
    testing::sweep(one_image).await;
}

#[tokio::test]
async fn an_order_says_what_the_spec_says_and_a_build_wakes_its_image() {
    let fake = Arc::new(Fake::default());
    let room = Images::new(Arc::clone(&fake), Config { user: |_| Some(7), ..config() });
    let bell = room.bell().expect("it listens").clone();
    let mut rings = bell.listen();
    let mut image = image(&git(), None, None);
    image.spec.source.sub_path = Some("web".into());
    let value = json!({ "env": [{ "name": "A", "value": "$(x)" }, { "name": "B" }] });
    image.spec.build = Some(serde_json::from_value(value).expect("a build"));
    let step = super::plan::Step::Start {
        reference: "shop-build-1-a".into(),
        number: 1,
        commit: Some(ONE.into()),
        login: None,
    };
    room.act(&image, &step).await.expect("it starts");
    let order = fake.order("team.u.shop-build-1-a").expect("it was ordered");
    let revision =
        ports::build::Source::Git { url: "https://example.com/shop.git".into(), revision: ONE.into() };
    assert_eq!((order.source, order.sub_path.as_deref(), order.user), (revision, Some("web"), Some(7)));
    assert_eq!(
        order.env.into_iter().collect::<Vec<_>>(),
        [("A".into(), "$(x)".into()), ("B".into(), String::new())]
    );
    assert_eq!(rings.recv().await.expect("it rings"), Some(Name::new("team", "shop")));
}

#[tokio::test]
async fn a_private_repository_is_asked_with_what_its_namespace_has_for_it() {
    use k8s_openapi::api::core::v1::{Namespace, Secret};
    use kube::api::{Api, PostParams};
    let plane = control_plane::ControlPlane::start().await.expect("starts");
    let client = plane.client();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    for name in ["team", "other"] {
        let object = serde_json::from_value(json!({ "metadata": { "name": name } })).expect("a namespace");
        namespaces.create(&PostParams::default(), &object).await.expect("is created");
    }
    let secrets: Api<Secret> = Api::namespaced(client.clone(), "team");
    let table = [
        ("all", "https://example.com", "kubernetes.io/basic-auth", "wide"),
        ("near", "https://example.com/shop.git", "kubernetes.io/basic-auth", "near"),
        ("far", "https://example.com/shop.git/far", "kubernetes.io/basic-auth", "far"),
        ("odd", "https://example.com/shop.git", "Opaque", "odd"),
    ];
    for (name, host, type_, password) in table {
        let secret = json!({
            "metadata": { "name": name, "annotations": { "kpack.io/git": host } }, "type": type_,
            "stringData": { "username": "ann", "password": password },
        });
        let secret = serde_json::from_value(secret).expect("a Secret");
        secrets.create(&PostParams::default(), &secret).await.expect("is created");
    }
    let fake = Arc::new(Fake::default());
    let url = "https://example.com/shop.git";
    fake.point(url, "main", ONE);
    let (username, password) = ("ann".to_owned(), api::secret::Sealed::new("near".to_owned()));
    fake.lock(url, &Login { prefix: url.into(), username, password });
    let room = Images::new(Arc::clone(&fake), config());
    let reader = kit::Reader::direct(client);
    let mut image = image(&git(), None, None);
    let world = room.observe(&image, &reader).await.expect("it is seen");
    assert_eq!(world.head.as_deref(), Some(ONE));
    let plan = plan(&image, &world).expect("a plan");
    assert!(!format!("{plan:?}").contains("near\""), "what is planned can be printed: {plan:?}");
    image.metadata.namespace = Some("other".into());
    let told = room.observe(&image, &reader).await.expect_err("another namespace has nothing for it");
    assert!(told.story().contains("authentication failed"), "{}", told.story());
}
