use std::sync::Arc;
use std::time::Duration;

use api::apps::{Application, ApplicationStatus};
use api::conditions::{BUILT, EXPOSED, READY, find};
use api::foreign::certmanager::Certificate;
use api::foreign::kpack;
use api::foreign::traefik::IngressRoute;
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::networking::v1::Ingress;
use kit::testing::{Bench, Gate, Scenario};
use kit::{Do, Name, Object, Plan, Refusal};
use kube::api::{Api, Patch, PatchParams};
use kube::core::NamespaceResourceScope;
use kube::{Client, Resource};
use serde_json::{Value, json};

use super::plan::{Attached, World, dying, plan};
use super::{Applications, application_of, first_label};
use crate::apps::{Config, Issuer};

/// The time in all tables.
const NOON: &str = "2026-01-01T12:00:00Z";
/// Five and fifteen minutes before.
const FIVE_BEFORE: &str = "2026-01-01T11:55:00Z";
const FIFTEEN_BEFORE: &str = "2026-01-01T11:45:00Z";

fn config() -> Config {
    Config {
        registry_prefix: "registry.example".into(),
        ..Config::under("apps.example".parse().expect("a host"))
    }
}

fn with_issuer() -> Config {
    let issuer = Some(Issuer { name: "letters".into(), kind: "ClusterIssuer".into() });
    Config { issuer, ..config() }
}

/// The application `team/hello`, with a spec and a status.
fn app_with(spec: Value, status: Value) -> Application {
    let body = json!({
        "apiVersion": "iaf.io/v1alpha1",
        "kind": "Application",
        "metadata": {
            "name": "hello", "namespace": "team", "uid": "u1", "generation": 2,
            "creationTimestamp": "2026-01-01T10:00:00Z",
        },
        "spec": spec,
        "status": status,
    });
    serde_json::from_value(body).expect("an application")
}

fn app(spec: Value) -> Application {
    app_with(spec, json!({}))
}

fn by_image() -> Value {
    json!({ "image": "nginx:1" })
}

fn by_git() -> Value {
    json!({ "git": { "url": "https://git.example/hello", "revision": "main" } })
}

fn with(mut spec: Value, more: Value) -> Value {
    for (key, value) in more.as_object().expect("fields") {
        spec[key] = value.clone();
    }
    spec
}

fn read<K: serde::de::DeserializeOwned>(body: Value) -> Option<Arc<K>> {
    Some(Arc::new(serde_json::from_value(body).expect("an object of its kind")))
}

/// A world with every kind, in which nothing is there yet.
fn empty() -> World {
    World {
        now: NOON.parse::<Timestamp>().expect("a time"),
        kpack: true,
        traefik: true,
        cert_manager: true,
        ..World::default()
    }
}

/// A Deployment that runs `nginx:1`, with so many copies available, the last of them lost five minutes ago.
fn deployed(available: i32) -> Value {
    let lost = json!([{ "type": "Available", "status": "False", "lastTransitionTime": FIVE_BEFORE }]);
    json!({
        "metadata": { "name": "hello", "namespace": "team" },
        "spec": {
            "replicas": 1,
            "selector": {},
            "template": { "spec": { "containers": [{ "name": "app", "image": "nginx:1" }] } },
        },
        "status": {
            "replicas": 1, "updatedReplicas": 1, "availableReplicas": available,
            "conditions": if available == 0 { lost } else { json!([]) },
        },
    })
}

fn running(available: i32) -> World {
    World { deployment: read(deployed(available)), ..empty() }
}

/// The Deployment whose new version has one pod beside the one that serves.
fn rolling() -> World {
    let mut deployment = deployed(1);
    deployment["status"]["replicas"] = json!(2);
    World { deployment: read(deployment), ..empty() }
}

/// kpack's answer to the spec of [`by_git`].
fn kpack_image(status: Value) -> Value {
    json!({
        "metadata": { "name": "hello", "namespace": "team", "generation": 1 },
        "spec": {
            "tag": "registry.example/team/hello",
            "builder": { "kind": "ClusterBuilder", "name": "terrace" },
            "serviceAccountName": "default",
            "source": { "git": { "url": "https://git.example/hello", "revision": "main" } },
            "failedBuildHistoryLimit": 10,
        },
        "status": status,
    })
}

fn building() -> Value {
    kpack_image(json!({ "conditions": [{ "type": "Ready", "status": "Unknown", "message": "step detect" }] }))
}

fn built() -> Value {
    let ready = json!([{ "type": "Ready", "status": "True" }]);
    kpack_image(json!({ "latestImage": "registry.example/team/hello@sha256:1", "conditions": ready }))
}

fn build_failed() -> Value {
    let ready = json!([{ "type": "Ready", "status": "False", "message": "main.go:3: undefined: x" }]);
    kpack_image(json!({ "latestImage": "registry.example/team/hello@sha256:0", "conditions": ready }))
}

fn imaged(image: Value, world: World) -> World {
    World { image: read(image), ..world }
}

/// A pod that was made at a time, whose container stands as given.
fn pod(created: &str, container: Value) -> Value {
    let mut status =
        json!({ "name": "app", "ready": false, "restartCount": 0, "image": "nginx:1", "imageID": "" });
    for (key, value) in container.as_object().expect("fields") {
        status[key] = value.clone();
    }
    json!({
        "metadata": {
            "name": "hello-1", "namespace": "team", "creationTimestamp": created,
            "labels": { "iaf.io/application": "hello", "pod-template-hash": created.replace(':', "-") },
        },
        "status": { "containerStatuses": [status] },
    })
}

fn crashing(created: &str) -> Value {
    let container = json!({
        "restartCount": 3,
        "state": { "waiting": { "reason": "CrashLoopBackOff" } },
        "lastState": { "terminated": { "exitCode": 1, "reason": "Error" } },
    });
    pod(created, container)
}

fn ready(created: &str) -> Value {
    pod(created, json!({ "ready": true, "state": { "running": { "startedAt": created } } }))
}

fn podded(pods: &[Value], world: World) -> World {
    World { pods: pods.iter().filter_map(|pod| read(pod.clone())).collect(), ..world }
}

type Planned = Plan<std::convert::Infallible, ApplicationStatus>;

fn planned(app: &Application, world: &World, config: &Config) -> Result<Planned, Refusal> {
    plan(app, world, config)
}

/// A plan in one line: the kinds of its steps, the phase, `Ready`, and when to look again.
fn told(app: &Application, world: &World, config: &Config) -> String {
    let plan = match planned(app, world, config) {
        Ok(plan) => plan,
        Err(refusal) => return format!("refused {}: {}", refusal.reason.as_str(), refusal.message),
    };
    let steps = plan.steps.iter().map(|step| match step {
        Do::Apply(child) => child.resource().kind.clone(),
        Do::Patch(address, patch) => format!("patch {} {patch}", address.resource.kind),
        other => format!("unexpected {other}"),
    });
    let steps = steps.collect::<Vec<_>>().join(" ");
    let whole = if plan.whole { "" } else { " and what is there" };
    let phase = plan.status.phase.expect("every plan has a phase");
    format!("{steps}{whole}; {phase:?}; {}; {:?}", said(&plan.status, READY), plan.next)
}

fn said(status: &ApplicationStatus, type_: &str) -> String {
    let condition = find(&status.conditions, type_).expect("it is said");
    format!("{} {}: {}", condition.status, condition.reason, condition.message)
}

fn child(app: &Application, world: &World, config: &Config, kind: &str) -> Value {
    let plan = planned(app, world, config).expect("a plan");
    let children = plan.steps.into_iter().filter_map(|step| match step {
        Do::Apply(child) => Some(*child),
        _ => None,
    });
    children
        .into_iter()
        .find(|child| child.resource().kind == kind)
        .map(|child| child.body)
        .unwrap_or_default()
}

const ALL: &str = "Deployment Service IngressRoute";
const BUILT_ALL: &str = "Image Deployment Service IngressRoute";
const WAITS: &str = "waiting for pods to become available; After(10s)";

/// The seven cases of the design that the phases come from, by its names.
#[test]
fn the_seven_cases_of_the_design_have_their_phases() {
    let was_running = app_with(by_image(), json!({ "phase": "Running", "availableReplicas": 1 }));
    let table = [
        (
            "1: image app, Deployment just created (0 available)",
            app(by_image()),
            running(0),
            format!("{ALL}; Deploying; False Deploying: {WAITS}"),
        ),
        (
            "2: image app, Deployment has 1 available",
            app(by_image()),
            running(1),
            format!("{ALL}; Running; True Deployed: 1 of 1 copies take requests; OnChange"),
        ),
        (
            "3: running app, Deployment drops to 0",
            was_running,
            running(0),
            format!("{ALL}; Deploying; False Deploying: {WAITS}"),
        ),
        (
            "4: kpack app, build still running",
            app(by_git()),
            imaged(building(), empty()),
            "Image and what is there; Building; False Building: the image is being built: step detect; After(5s)".into(),
        ),
        (
            "5: kpack app, build complete, Deployment 0 available",
            app(by_git()),
            imaged(built(), running(0)),
            format!("{BUILT_ALL}; Deploying; False Deploying: {WAITS}"),
        ),
        (
            "6: kpack app, build complete, Deployment 1 available",
            app(by_git()),
            imaged(built(), running(1)),
            format!("{BUILT_ALL}; Running; True Deployed: 1 of 1 copies take requests; OnChange"),
        ),
        (
            "7: availableReplicas always synced",
            app(with(by_image(), json!({ "replicas": 2 }))),
            running(2),
            format!("{ALL}; Running; True Deployed: 2 of 2 copies take requests; OnChange"),
        ),
    ];
    for (case, app, world, want) in table {
        assert_eq!(told(&app, &world, &config()), want, "{case}");
        let status = planned(&app, &world, &config()).expect("a plan").status;
        let available = world.deployment.and_then(|deployment| deployment.status.clone()?.available_replicas);
        assert_eq!(status.available_replicas, available.unwrap_or_default(), "{case}");
        assert_eq!(status.url.as_deref(), Some("http://hello.apps.example"), "{case}");
        assert_eq!(status.observed_generation, Some(2), "{case}");
    }
}

#[test]
fn what_runs_goes_on_running_until_its_successor_is_there() {
    let stale = {
        let mut image = built();
        image["metadata"]["generation"] = json!(2);
        image["status"]["observedGeneration"] = json!(1);
        image
    };
    let of_another_source = {
        let mut image = built();
        image["spec"]["source"]["git"]["revision"] = json!("old");
        image
    };
    let serves = "the version before still serves";
    let keeps = "Image Service IngressRoute and what is there";
    let begins = "False Building: the image is being built";
    let failed = "False BuildFailed: the build failed: main.go:3: undefined: x";
    let table = [
        (
            "nothing is built yet",
            by_git(),
            empty(),
            format!("Image and what is there; Building; {begins}; After(5s)"),
        ),
        (
            "a build fails",
            by_git(),
            imaged(build_failed(), empty()),
            format!("Image and what is there; Failed; {failed}; OnChange"),
        ),
        (
            "a build fails while an older image runs",
            by_git(),
            imaged(build_failed(), running(1)),
            format!("{keeps}; Failed; {failed}; {serves}; OnChange"),
        ),
        (
            "the source becomes a repository",
            by_git(),
            running(1),
            format!("{keeps}; Building; {begins}; {serves}; After(5s)"),
        ),
        (
            "the source becomes an image",
            by_image(),
            imaged(built(), running(1)),
            format!("{ALL}; Running; True Deployed: 1 of 1 copies take requests; OnChange"),
        ),
        (
            "kpack has not seen the new order",
            by_git(),
            imaged(stale, running(1)),
            format!("{keeps}; Building; {begins}; {serves}; After(5s)"),
        ),
        (
            "kpack speaks of the revision before",
            by_git(),
            imaged(of_another_source, running(1)),
            format!("{keeps}; Building; {begins}; {serves}; After(5s)"),
        ),
        (
            "copies come and go without a new image",
            with(by_git(), json!({ "replicas": 3 })),
            imaged(build_failed(), running(1)),
            format!(
                "Image patch Deployment {{\"spec\":{{\"replicas\":3}}}} Service IngressRoute and what is there; Failed; {failed}; {serves}; OnChange"
            ),
        ),
    ];
    for (rule, spec, world, want) in table {
        assert_eq!(told(&app(spec), &world, &config()), want, "{rule}");
    }
}

#[test]
fn a_status_tells_image_and_build_as_soon_as_they_are_known() {
    let table = [
        ("an image that is given", by_image(), empty(), "nginx:1 - True Available: the image is given"),
        ("nothing yet", by_git(), empty(), "- building Unknown Building: the image is being built"),
        (
            "an older one runs",
            by_git(),
            imaged(building(), running(1)),
            "nginx:1 step detect Unknown Building: the image is being built: step detect",
        ),
        (
            "built",
            by_git(),
            imaged(built(), running(1)),
            "registry.example/team/hello@sha256:1 succeeded True Available: built registry.example/team/hello@sha256:1",
        ),
        (
            "failed",
            by_git(),
            imaged(build_failed(), empty()),
            "- main.go:3: undefined: x False BuildFailed: the build failed: main.go:3: undefined: x",
        ),
    ];
    for (rule, spec, world, want) in table {
        let status = planned(&app(spec), &world, &config()).expect("a plan").status;
        let or_dash = |text: &Option<String>| text.clone().unwrap_or("-".into());
        let got = format!(
            "{} {} {}",
            or_dash(&status.latest_image),
            or_dash(&status.build_status),
            said(&status, BUILT)
        );
        assert_eq!(got, want, "{rule}");
    }
}

#[test]
fn pods_that_do_not_come_up_say_why_at_once_and_count_as_failed_after_a_while() {
    let terminated =
        pod(FIVE_BEFORE, json!({ "state": { "terminated": { "exitCode": 137, "reason": "OOMKilled" } } }));
    let ended =
        pod(FIVE_BEFORE, json!({ "state": { "terminated": { "exitCode": 0, "reason": "Completed" } } }));
    let restarted = pod(
        FIVE_BEFORE,
        json!({
            "restartCount": 1,
            "state": { "running": { "startedAt": NOON } },
            "lastState": { "terminated": { "exitCode": 2, "reason": "Error" } },
        }),
    );
    let waiting = |reason: &str, message: &str| {
        pod(FIVE_BEFORE, json!({ "state": { "waiting": { "reason": reason, "message": message } } }))
    };
    let deaf = |since: &str| pod(since, json!({ "state": { "running": { "startedAt": since } } }));
    let mut unplaced = pod(FIVE_BEFORE, json!({}));
    unplaced["status"] = json!({ "conditions": [{ "type": "PodScheduled", "status": "False", "message": "0/3 nodes are available" }] });
    let mut leaving = crashing(FIVE_BEFORE);
    leaving["metadata"]["deletionTimestamp"] = json!(NOON);
    let mut refused = deployed(0);
    refused["status"]["conditions"] = json!([{ "type": "ReplicaFailure", "status": "True", "message": "exceeded quota", "lastTransitionTime": FIVE_BEFORE }]);
    let words = |world: World, words: &str| World { last_words: Some(words.into()), ..world };
    let deaf_story = "pod hello-1 runs, but nothing answers on port 8080; the program must listen on 0.0.0.0 and on the port in PORT";
    let mut lost_long_ago = deployed(0);
    lost_long_ago["status"]["conditions"][0]["lastTransitionTime"] = json!(FIFTEEN_BEFORE);
    let lost_long_ago = || World { deployment: read(lost_long_ago.clone()), ..empty() };
    let table = [
        (
            "a crash loop with its last line",
            words(podded(&[crashing(FIVE_BEFORE)], running(0)), "starting\nno \u{1b}database\n\n"),
            "Deploying; False CrashLoopBackOff: pod hello-1 exited with code 1, 3 restarts; its last line: no  database; After(10s)",
        ),
        (
            "a program that ends at once",
            podded(&[ended], running(0)),
            "Deploying; False CrashLoopBackOff: pod hello-1 exited with code 0, 0 restarts; an application must keep running; After(10s)",
        ),
        (
            "a program that takes too much memory",
            podded(&[terminated], running(0)),
            "Deploying; False CrashLoopBackOff: pod hello-1 exited with code 137 (OOMKilled), 0 restarts; After(10s)",
        ),
        (
            "one that was just started again",
            podded(&[restarted], running(0)),
            "Deploying; False CrashLoopBackOff: pod hello-1 exited with code 2, 1 restart; After(10s)",
        ),
        (
            "an image that cannot be fetched",
            podded(&[waiting("ErrImagePull", "not found")], running(0)),
            "Deploying; False ImagePullBackOff: pod hello-1 cannot fetch image nginx:1: ErrImagePull: not found; After(10s)",
        ),
        (
            "a Secret that is not there",
            podded(&[waiting("CreateContainerConfigError", "secret \"x\" not found")], running(0)),
            "Deploying; False CreateContainerConfigError: pod hello-1 cannot start: CreateContainerConfigError: secret \"x\" not found; After(10s)",
        ),
        (
            "a pod that is being made",
            podded(&[waiting("ContainerCreating", "")], running(0)),
            "Deploying; False Deploying: waiting for pods to become available; After(10s)",
        ),
        (
            "one that never listens",
            podded(&[deaf(FIVE_BEFORE)], running(0)),
            &format!("Deploying; False ProbeFailing: {deaf_story}; After(10s)"),
        ),
        (
            "one that has just begun",
            podded(&[deaf(NOON)], running(0)),
            "Deploying; False Deploying: waiting for pods to become available; After(10s)",
        ),
        (
            "a cluster without room",
            podded(&[unplaced], lost_long_ago()),
            "Deploying; False Deploying: pod hello-1 cannot be placed: 0/3 nodes are available; After(10s)",
        ),
        (
            "pods that nobody may make",
            World { deployment: read(refused), ..empty() },
            "Deploying; False Deploying: pods cannot be made: exceeded quota; After(10s)",
        ),
        (
            "a pod on its way out is no news",
            podded(&[leaving], running(0)),
            "Deploying; False Deploying: waiting for pods to become available; After(10s)",
        ),
        (
            "for too long",
            podded(&[crashing(FIFTEEN_BEFORE)], lost_long_ago()),
            "Failed; False CrashLooping: no copy came up for 10 min: pod hello-1 exited with code 1, 3 restarts; After(30s)",
        ),
        (
            "for too long without listening",
            podded(&[deaf(FIFTEEN_BEFORE)], lost_long_ago()),
            &format!("Failed; False CrashLooping: no copy came up for 10 min: {deaf_story}; After(30s)"),
        ),
        (
            "an old pod that served until five minutes ago",
            podded(&[crashing(FIFTEEN_BEFORE)], running(0)),
            "Deploying; False CrashLoopBackOff: pod hello-1 exited with code 1, 3 restarts; After(10s)",
        ),
        (
            "a new version gets its own time",
            podded(&[crashing(FIFTEEN_BEFORE), crashing(FIVE_BEFORE)], lost_long_ago()),
            "Deploying; False CrashLoopBackOff: pod hello-1 exited with code 1, 3 restarts; After(10s)",
        ),
        (
            "recovery brings it back",
            podded(&[ready(FIFTEEN_BEFORE)], running(1)),
            "Running; True Deployed: 1 of 1 copies take requests; OnChange",
        ),
        (
            "a new version that fails beside one that serves",
            podded(&[ready(FIFTEEN_BEFORE), crashing(FIVE_BEFORE)], rolling()),
            "Running; False CrashLoopBackOff: the version before still serves; the roll-out of the new one is stuck: pod hello-1 exited with code 1, 3 restarts; After(10s)",
        ),
        (
            "a new version that comes up beside one that fails",
            podded(&[crashing(FIFTEEN_BEFORE), ready(FIVE_BEFORE)], rolling()),
            "Running; True Deployed: 1 of 1 copies take requests; OnChange",
        ),
        (
            "one copy of the same version that fails",
            podded(&[crashing(FIVE_BEFORE)], running(1)),
            "Running; True Deployed: 1 of 1 copies take requests; pod hello-1 exited with code 1, 3 restarts; After(10s)",
        ),
    ];
    for (rule, world, want) in table {
        assert_eq!(told(&app(by_image()), &world, &config()), format!("{ALL}; {want}"), "{rule}");
    }
}

#[test]
fn the_last_lines_are_asked_of_the_container_that_died() {
    let again = json!({
        "restartCount": 1,
        "state": { "running": { "startedAt": NOON } },
        "lastState": { "terminated": { "exitCode": 1 } },
    });
    let table = [
        ("nobody died", vec![ready(NOON)], "-"),
        (
            "one waits to be started again",
            vec![ready(FIFTEEN_BEFORE), crashing(NOON)],
            "team/hello-1 app false",
        ),
        ("one runs again", vec![pod(NOON, again)], "team/hello-1 app true"),
    ];
    for (rule, pods, want) in table {
        let got = dying(&podded(&pods, empty()).pods);
        let got =
            got.map_or("-".into(), |found| format!("{} {} {}", found.pod, found.container, found.again));
        assert_eq!(got, want, "{rule}");
    }
}

#[test]
fn scaled_to_zero_is_stopped_and_never_running() {
    let spec = with(by_image(), json!({ "replicas": 0 }));
    let want = "Deploying; False Stopped: scaled to zero; set spec.replicas to start it; OnChange";
    for world in [empty(), running(0), running(1), podded(&[crashing(FIFTEEN_BEFORE)], running(0))] {
        assert_eq!(told(&app(spec.clone()), &world, &config()), format!("{ALL}; {want}"));
    }
    let deployment = child(&app(spec), &empty(), &config(), "Deployment");
    assert_eq!(deployment["spec"]["replicas"], 0);
}

#[test]
fn a_host_has_one_holder() {
    let other = |namespace: &str, created: &str, host: Value, url: Value| {
        let body = json!({
            "apiVersion": "iaf.io/v1alpha1", "kind": "Application",
            "metadata": { "name": "hello", "namespace": namespace, "creationTimestamp": created },
            "spec": { "image": "nginx:1", "host": host },
            "status": { "url": url },
        });
        read::<Application>(body)
    };
    let none = Value::Null;
    let mine = || json!("http://hello.apps.example");
    let (older, younger) = ("2026-01-01T09:00:00Z", "2026-01-01T11:00:00Z");
    let held = || {
        let why = "host hello.apps.example is held by an Application in another namespace; choose another in spec.host";
        format!("Deployment Service; Running; False HostConflict: {why}; OnChange")
    };
    let free = format!("{ALL}; Running; True Deployed: 1 of 1 copies take requests; OnChange");
    let table = [
        (
            "an older one of the same name",
            other("other", older, none.clone(), none.clone()),
            none.clone(),
            held(),
        ),
        ("a younger one", other("other", younger, none.clone(), none.clone()), none.clone(), free.clone()),
        (
            "as old, and earlier by name",
            other("a", "2026-01-01T10:00:00Z", none.clone(), none.clone()),
            none.clone(),
            held(),
        ),
        (
            "as old, and later by name",
            other("z", "2026-01-01T10:00:00Z", none.clone(), none.clone()),
            none.clone(),
            free.clone(),
        ),
        (
            "a younger one that asks for it by name",
            other("other", younger, json!("hello.apps.example"), none.clone()),
            none.clone(),
            free.clone(),
        ),
        (
            "a younger one that serves under it",
            other("other", younger, none.clone(), mine()),
            none.clone(),
            held(),
        ),
        (
            "an older one cannot take it",
            other("other", older, none.clone(), none.clone()),
            mine(),
            free.clone(),
        ),
        (
            "another port is the same host",
            other("other", younger, none.clone(), json!("https://hello.apps.example:8443")),
            none.clone(),
            held(),
        ),
        ("both say so, the older counts", other("other", older, none.clone(), mine()), mine(), held()),
        (
            "the same label elsewhere",
            other("other", older, json!("hello.example.org"), none.clone()),
            none.clone(),
            free.clone(),
        ),
    ];
    for (rule, neighbour, url, want) in table {
        let world = World { neighbours: neighbour.into_iter().collect(), ..running(1) };
        let app = app_with(by_image(), json!({ "url": url }));
        assert_eq!(told(&app, &world, &config()), want, "{rule}");
        let status = planned(&app, &world, &config()).expect("a plan").status;
        assert_eq!(status.url.is_none(), want != free, "{rule}");
        assert_eq!(said(&status, EXPOSED).starts_with("False HostConflict"), want != free, "{rule}");
    }
}

#[test]
fn rivals_are_found_by_the_first_label_of_their_host() {
    let labels = |spec| first_label(&app(spec));
    assert_eq!(labels(by_image()), ["hello"]);
    assert_eq!(labels(with(by_image(), json!({ "host": "shop.example.org" }))), ["shop"]);
}

#[test]
fn pods_wake_the_application_on_their_label() {
    let labelled = read::<Pod>(ready(NOON)).expect("a pod");
    assert_eq!(application_of(&labelled), [hello()]);
    assert!(application_of(&Pod::default()).is_empty());
}

#[test]
fn a_kind_that_is_not_installed_stops_only_what_needs_it() {
    let lacks =
        "nobody can build: images.kpack.io is not installed; install kpack, or name an image in spec.image";
    let without_kpack = |world: World| World { kpack: false, ..world };
    let without_traefik = World { traefik: false, ..running(1) };
    let running_well = "Running; True Deployed: 1 of 1 copies take requests; OnChange";
    let table = [
        (
            "kpack, which is needed",
            by_git(),
            without_kpack(empty()),
            format!(" and what is there; Pending; False KindMissing: {lacks}; OnChange"),
        ),
        (
            "kpack, while an older image runs",
            by_git(),
            without_kpack(running(1)),
            format!(
                "Service IngressRoute and what is there; Running; False KindMissing: {lacks}; the version before still serves; OnChange"
            ),
        ),
        (
            "kpack, which is not needed",
            by_image(),
            without_kpack(running(1)),
            format!("{ALL}; {running_well}"),
        ),
        ("Traefik", by_image(), without_traefik, format!("Deployment Service Ingress; {running_well}")),
    ];
    for (rule, spec, world, want) in table {
        assert_eq!(told(&app(spec), &world, &config()), want, "{rule}");
    }
}

#[test]
fn a_spec_that_cannot_be_met_is_refused() {
    let named = |name: &str| {
        let mut app = app(by_image());
        app.metadata.name = Some(name.into());
        app
    };
    let label = |name: &str| {
        format!(
            "refused InvalidSpec: `{name}` cannot be the name of a Service; choose one of letters, digits and `-` that begins with a letter"
        )
    };
    let none = "refused InvalidSpec: one of image, git and blob must say where the program comes from";
    let two = "refused InvalidSpec: image and blob exclude each other; keep one";
    let table = [
        ("no source", app(json!({})), none.to_owned()),
        ("two sources", app(json!({ "image": "a", "blob": "http://b/c" })), two.to_owned()),
        ("a name with a dot", named("a.b"), label("a.b")),
        ("a name that begins with a digit", named("1st"), label("1st")),
    ];
    for (rule, app, want) in table {
        assert_eq!(told(&app, &running(1), &config()), want, "{rule}");
    }
    let far = Config { base_domain: vec!["a".repeat(62); 4].join(".").parse().expect("a host"), ..config() };
    let told = told(&app(by_image()), &empty(), &far);
    assert!(
        told.starts_with("refused InvalidSpec: no host can be made of the name and the base domain"),
        "{told}"
    );
}

#[test]
fn tls_is_on_where_it_is_asked_for_and_somebody_issues() {
    let certificate = |status: &str| {
        let ready = json!([{ "type": "Ready", "status": status, "message": "being signed" }]);
        read(
            json!({ "metadata": {}, "spec": { "secretName": "hello-tls" }, "status": { "conditions": ready } }),
        )
    };
    let off = with(by_image(), json!({ "tls": { "enabled": false } }));
    let certified = |status: &str| World { certificate: certificate(status), ..running(1) };
    let table = [
        (
            "nobody issues",
            by_image(),
            running(1),
            config(),
            "http://hello.apps.example web; True Available: reached at http://hello.apps.example",
        ),
        (
            "nobody asks",
            off,
            running(1),
            with_issuer(),
            "http://hello.apps.example web; True Available: reached at http://hello.apps.example",
        ),
        (
            "the certificate is not there yet",
            by_image(),
            running(1),
            with_issuer(),
            "https://hello.apps.example websecure hello-tls; False Provisioning: waiting for the certificate of hello.apps.example: it is not issued yet",
        ),
        (
            "it is being signed",
            by_image(),
            certified("False"),
            with_issuer(),
            "https://hello.apps.example websecure hello-tls; False Provisioning: waiting for the certificate of hello.apps.example: being signed",
        ),
        (
            "it is there",
            by_image(),
            certified("True"),
            with_issuer(),
            "https://hello.apps.example websecure hello-tls; True Available: reached at https://hello.apps.example",
        ),
        (
            "cert-manager is not installed",
            by_image(),
            World { cert_manager: false, ..running(1) },
            with_issuer(),
            "http://hello.apps.example web; True KindMissing: reached at http://hello.apps.example without TLS: certificates.cert-manager.io is not installed",
        ),
        (
            "on one machine",
            by_image(),
            running(1),
            Config { http_port: Some(8080), ..config() },
            "http://hello.apps.example:8080 web; True Available: reached at http://hello.apps.example:8080",
        ),
        (
            "on one machine, with TLS",
            by_image(),
            certified("True"),
            Config { https_port: Some(8443), ..with_issuer() },
            "https://hello.apps.example:8443 websecure hello-tls; True Available: reached at https://hello.apps.example:8443",
        ),
        (
            "the usual port is not told",
            by_image(),
            running(1),
            Config { http_port: Some(80), ..config() },
            "http://hello.apps.example web; True Available: reached at http://hello.apps.example",
        ),
        (
            "nothing runs yet",
            by_git(),
            empty(),
            config(),
            "http://hello.apps.example; False DependencyNotReady: http://hello.apps.example is routed once there is something to run",
        ),
    ];
    for (rule, spec, world, config, want) in table {
        let app = app(spec);
        let status = planned(&app, &world, &config).expect("a plan").status;
        let route = child(&app, &world, &config, "IngressRoute");
        let words = [&route["spec"]["entryPoints"][0], &route["spec"]["tls"]["secretName"]];
        let words =
            words.iter().filter_map(|word| word.as_str()).map(|word| format!(" {word}")).collect::<String>();
        assert_eq!(
            format!("{}{words}; {}", status.url.as_deref().unwrap_or_default(), said(&status, EXPOSED)),
            want,
            "{rule}"
        );
        assert_eq!(
            child(&app, &world, &config, "Certificate").is_object(),
            want.contains("hello-tls"),
            "{rule}"
        );
    }
}

#[test]
fn an_ingress_stands_in_where_traefik_is_absent() {
    let world = World { traefik: false, ..empty() };
    let classed = Config { ingress_class: Some("nginx".into()), ..with_issuer() };
    let path = json!({ "path": "/", "pathType": "Prefix", "backend": { "service": { "name": "hello", "port": { "name": "http" } } } });
    let rules = json!([{ "host": "hello.apps.example", "http": { "paths": [path] } }]);
    let tls = json!([{ "hosts": ["hello.apps.example"], "secretName": "hello-tls" }]);
    let app = app(by_image());
    let table = [
        ("plain", config(), json!({ "rules": rules })),
        ("with a class and TLS", classed, json!({ "ingressClassName": "nginx", "rules": rules, "tls": tls })),
    ];
    for (rule, config, want) in table {
        assert_eq!(child(&app, &world, &config, "Ingress")["spec"], want, "{rule}");
    }
}

fn attached(mapping: Option<Value>, keys: Option<&[&str]>) -> Attached {
    Attached {
        wanted: serde_json::from_value(json!({ "dataSourceName": "orders", "secretName": "orders-copy" }))
            .expect("one"),
        mapping: mapping.map(|mapping| serde_json::from_value(mapping).expect("a mapping")),
        keys: keys.map(|keys| keys.iter().map(ToString::to_string).collect()),
    }
}

#[test]
fn data_that_is_attached_must_be_there() {
    let spec = with(
        by_image(),
        json!({ "attachedDataSources": [{ "dataSourceName": "orders", "secretName": "orders-copy" }] }),
    );
    let mapping = || Some(json!({ "uri": "ORDERS_URL" }));
    let holds = |why: &str, phase: &str, tail: &str| {
        format!("{phase}; False DependencyNotReady: {why}{tail}; After(30s)")
    };
    let no_source = "DataSource orders does not exist; create it, or detach it in spec.attachedDataSources";
    let no_secret =
        "Secret team/orders-copy with the credentials of DataSource orders does not exist; attach it again";
    let no_key = "Secret team/orders-copy lacks uri of DataSource orders; attach it again";
    let keeps = "Service IngressRoute and what is there; ";
    let serves = "; the version before still serves";
    let table = [
        (
            "no data source",
            attached(None, Some(&["uri"])),
            empty(),
            format!(" and what is there; {}", holds(no_source, "Deploying", "")),
        ),
        (
            "no data source any more",
            attached(None, None),
            running(1),
            format!("{keeps}{}", holds(no_source, "Running", serves)),
        ),
        (
            "no Secret",
            attached(mapping(), None),
            running(1),
            format!("{keeps}{}", holds(no_secret, "Running", serves)),
        ),
        (
            "no key",
            attached(mapping(), Some(&["url"])),
            running(0),
            format!("{keeps}{}", holds(no_key, "Deploying", "")),
        ),
        (
            "all is there",
            attached(mapping(), Some(&["uri"])),
            running(0),
            format!("{ALL}; Deploying; False Deploying: {WAITS}"),
        ),
    ];
    for (rule, attached, world, want) in table {
        let world = World { attached: vec![attached], ..world };
        assert_eq!(told(&app(spec.clone()), &world, &config()), want, "{rule}");
    }
}

/// The variables of the container, as `NAME=value` or `NAME<secret/key`.
fn variables(spec: Value, world: &World) -> String {
    let deployment = child(&app(spec), world, &config(), "Deployment");
    let env = &deployment["spec"]["template"]["spec"]["containers"][0]["env"];
    let told = env.as_array().expect("variables").iter().map(|variable| {
        let name = variable["name"].as_str().unwrap_or_default();
        let secret = &variable["valueFrom"]["secretKeyRef"];
        match (secret["name"].as_str(), secret["key"].as_str()) {
            (Some(secret), Some(key)) => format!("{name}<{secret}/{key}"),
            _ => format!("{name}={}", variable["value"].as_str().unwrap_or("-")),
        }
    });
    told.collect::<Vec<_>>().join(" ")
}

#[test]
fn variables_come_in_a_fixed_order_and_the_specs_own_win() {
    let bound = json!([{ "serviceName": "db", "secretName": "db-app" }]);
    let own = |name: &str, value: &str| json!({ "env": [{ "name": name, "value": value }] });
    let six = "PGHOST<db-app/host PGPORT<db-app/port PGDATABASE<db-app/dbname PGUSER<db-app/username PGPASSWORD<db-app/password";
    let both = with(
        by_image(),
        json!({ "boundManagedServices": bound, "env": [
            { "name": "B", "value": "2" }, { "name": "A", "secretKeyRef": { "name": "s", "key": "k" } },
            { "name": "PGPORT", "value": "1" },
        ]}),
    );
    let table = [
        ("the port alone", by_image(), vec![], "PORT=8080".to_owned()),
        ("another port", with(by_image(), json!({ "port": 3000 })), vec![], "PORT=3000".into()),
        ("the port is overruled", with(by_image(), own("PORT", "1")), vec![], "PORT=1".into()),
        (
            "a managed service",
            with(by_image(), json!({ "boundManagedServices": bound })),
            vec![],
            format!("PORT=8080 DATABASE_URL<db-app/uri {six}"),
        ),
        (
            "all of them",
            both,
            vec![attached(
                Some(json!({ "uri": "DATABASE_URL", "b": "B", "x": "X" })),
                Some(&["uri", "b", "x"]),
            )],
            format!(
                "PORT=8080 B=2 A<s/k PGPORT=1 DATABASE_URL<orders-copy/uri X<orders-copy/x {}",
                six.replace("PGPORT<db-app/port ", "")
            ),
        ),
        (
            "a value that Kubernetes would replace",
            with(by_image(), own("A", "$(PORT) $$ $x")),
            vec![],
            "PORT=8080 A=$$(PORT) $$$$ $$x".into(),
        ),
        (
            "a value that a shell would run",
            with(by_image(), own("A", "`id`; \"'\n")),
            vec![],
            "PORT=8080 A=`id`; \"'\n".into(),
        ),
        ("an empty value is none", with(by_image(), own("A", "")), vec![], "PORT=8080 A=-".into()),
    ];
    for (rule, spec, attached, want) in table {
        assert_eq!(variables(spec, &World { attached, ..empty() }), want, "{rule}");
    }
}

#[test]
fn no_host_leaves_the_quotes_of_a_route() {
    for host in ["a`) || Host(`b", "a'b", "a\"b", "a b", "a\n", "A.example", "*.example", "a/b", "a..b", ""] {
        let spec =
            serde_json::from_value::<api::apps::ApplicationSpec>(with(by_image(), json!({ "host": host })));
        assert!(spec.is_err(), "{host:?}");
    }
    let route = child(
        &app(with(by_image(), json!({ "host": "shop.example.org" }))),
        &empty(),
        &config(),
        "IngressRoute",
    );
    assert_eq!(route["spec"]["routes"][0]["match"], "Host(`shop.example.org`)");
}

/// Every child of one application that uses all there is.
#[test]
fn the_children_are_as_they_were_drawn() {
    let spec = json!({
        "git": { "url": "https://git.example/hello", "revision": "v1" },
        "port": 3000, "replicas": 2, "host": "shop.example.org",
        "env": [{ "name": "GREETING", "value": "hello" }, { "name": "TOKEN", "secretKeyRef": { "name": "tokens", "key": "api" } }],
        "attachedDataSources": [{ "dataSourceName": "orders", "secretName": "orders-copy" }],
        "boundManagedServices": [{ "serviceName": "db", "secretName": "db-app" }],
    });
    let mut image = built();
    image["spec"]["source"]["git"]["revision"] = json!("v1");
    let attached = vec![attached(Some(json!({ "uri": "ORDERS_URL" })), Some(&["uri"]))];
    let world = World { attached, ..imaged(image, empty()) };
    let plan = planned(&app(spec), &world, &with_issuer()).expect("a plan");
    let bodies = plan.steps.iter().filter_map(|step| match step {
        Do::Apply(child) => Some(&child.body),
        _ => None,
    });
    let drawn = serde_json::to_string_pretty(&bodies.collect::<Vec<_>>()).expect("JSON");
    assert_eq!(drawn.trim(), include_str!("../../../snapshots/application.json").trim(), "{drawn}");
}

fn room() -> Applications {
    Applications::new(with_issuer())
}

fn hello() -> Name {
    Name::new("team", "hello")
}

/// A manifest of `team/hello`.
fn manifest(spec: Value) -> Value {
    json!({
        "apiVersion": "iaf.io/v1alpha1",
        "kind": "Application",
        "metadata": { "name": "hello", "namespace": "team" },
        "spec": spec,
    })
}

/// What kpack, the controllers of Kubernetes and cert-manager would do next.
async fn others(client: Client) {
    let ready = json!([{ "type": "Ready", "status": "True" }]);
    let latest = "registry.example/team/hello@sha256:1";
    say::<kpack::Image>(&client, json!({ "latestImage": latest, "conditions": ready })).await;
    say::<Deployment>(&client, json!({ "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1 })).await;
    say::<Certificate>(&client, json!({ "conditions": ready })).await;
}

/// Writes the status of `team/hello` of a kind, if there is one.
async fn say<K: Object + Resource<Scope = NamespaceResourceScope>>(client: &Client, status: Value) {
    let api = Api::<K>::namespaced(client.clone(), "team");
    let patch = Patch::Merge(json!({ "status": status }));
    match api.patch_status("hello", &PatchParams::default(), &patch).await {
        Ok(_) => {}
        Err(kube::Error::Api(error)) if error.code == 404 => {}
        Err(error) => panic!("{error}"),
    }
}

/// One application that uses all there is.
fn everything(_: &Gate) -> Scenario<Applications> {
    let spec = json!({
        "git": { "url": "https://git.example/hello" },
        "attachedDataSources": [{ "dataSourceName": "orders", "secretName": "orders-copy" }],
        "env": [{ "name": "EMPTY", "value": "" }, { "name": "A", "value": "$(PORT)" }],
    });
    let source = json!({
        "apiVersion": "iaf.io/v1alpha1", "kind": "DataSource", "metadata": { "name": "orders" },
        "spec": {
            "kind": "postgres",
            "secretRef": { "name": "orders", "namespace": "data" },
            "envVarMapping": { "uri": "ORDERS_URL" },
        },
    });
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "orders-copy", "namespace": "team" },
        "stringData": { "uri": "postgres://" },
    });
    Scenario::new(room(), manifest(spec)).given(source).given(secret).world(others)
}

#[tokio::test]
async fn an_application_converges() {
    let bench = kit::testing::converge(everything).await;
    let app = bench.get::<Application>("team", "hello").await.expect("the application");
    let status = app.status.expect("a status");
    assert_eq!(said(&status, READY), "True Deployed: 1 of 1 copies take requests");
    assert_eq!(said(&status, EXPOSED), "True Available: reached at https://hello.apps.example");
    assert!(bench.get::<IngressRoute>("team", "hello").await.is_some());
    assert!(bench.get::<Ingress>("team", "hello").await.is_none());
}

#[tokio::test]
async fn an_application_survives_any_broken_call() {
    kit::testing::sweep(everything).await;
}

#[tokio::test]
async fn an_application_converges_where_nothing_is_installed() {
    let bench = kit::testing::converge(|_| {
        Scenario::new(room(), manifest(by_image()))
            .lacking("images.kpack.io")
            .lacking("ingressroutes.traefik.io")
            .lacking("certificates.cert-manager.io")
            .world(others)
    })
    .await;
    let status =
        bench.get::<Application>("team", "hello").await.and_then(|app| app.status).expect("a status");
    assert!(said(&status, EXPOSED).starts_with("True KindMissing"), "{}", said(&status, EXPOSED));
    assert!(bench.get::<Ingress>("team", "hello").await.is_some());
}

/// What is said after a few passes.
async fn settled(bench: &Bench, name: &Name) -> String {
    for _ in 0..4 {
        bench.pass(&room(), name).await.expect("a pass");
    }
    let app = bench.get::<Application>(&name.namespace, &name.name).await.expect("the application");
    let status = app.status.expect("a status");
    let ready = find(&status.conditions, READY).expect("it is said");
    format!("{:?} {} {}", status.phase.expect("a phase"), ready.status, ready.reason)
}

#[tokio::test]
async fn an_application_lives_through_its_phases() {
    let bench = Bench::start().await;
    let deployment =
        |available: i32| json!({ "status": { "replicas": available, "availableReplicas": available } });
    bench.create(manifest(by_image())).await;
    assert_eq!(settled(&bench, &hello()).await, "Deploying False Deploying");
    let made = bench.get::<Deployment>("team", "hello").await.expect("the Deployment");
    let owner =
        made.metadata.owner_references.and_then(|owners| owners.into_iter().next()).expect("an owner");
    assert_eq!((owner.kind.as_str(), owner.controller), ("Application", Some(true)));

    bench.patch::<Deployment>(&hello(), deployment(1)).await;
    assert_eq!(settled(&bench, &hello()).await, "Running True Deployed");
    bench.patch::<Deployment>(&hello(), deployment(0)).await;
    assert_eq!(settled(&bench, &hello()).await, "Deploying False Deploying");

    // Its pod dies, and for too long.
    let mut crashing = crashing(NOON);
    crashing["apiVersion"] = json!("v1");
    crashing["kind"] = json!("Pod");
    crashing["spec"] = json!({ "containers": [{ "name": "app", "image": "nginx:1" }] });
    bench.create(crashing).await;
    assert_eq!(settled(&bench, &hello()).await, "Deploying False CrashLoopBackOff");
    bench.clock().advance(Duration::from_secs(601));
    assert_eq!(settled(&bench, &hello()).await, "Failed False CrashLooping");
    bench.delete::<Pod>(&Name::new("team", "hello-1")).await;
    bench.patch::<Deployment>(&hello(), deployment(1)).await;
    assert_eq!(settled(&bench, &hello()).await, "Running True Deployed");

    // From an image to a repository and back: what runs goes on running, what is no longer wanted goes.
    bench
        .patch::<Application>(
            &hello(),
            json!({ "spec": { "image": null, "git": { "url": "https://git.example/a" } } }),
        )
        .await;
    assert_eq!(settled(&bench, &hello()).await, "Building False Building");
    assert_eq!(image_of(&bench).await, "nginx:1");
    others(bench.client().clone()).await;
    assert_eq!(settled(&bench, &hello()).await, "Running True Deployed");
    assert_eq!(image_of(&bench).await, "registry.example/team/hello@sha256:1");
    bench
        .patch::<Application>(&hello(), json!({ "spec": { "git": null, "image": "nginx:2", "replicas": 0 } }))
        .await;
    assert_eq!(settled(&bench, &hello()).await, "Deploying False Stopped");
    assert_eq!(image_of(&bench).await, "nginx:2");
    assert!(bench.get::<kpack::Image>("team", "hello").await.is_none());
}

async fn image_of(bench: &Bench) -> String {
    let deployment = bench.get::<Deployment>("team", "hello").await.expect("the Deployment");
    let pod = deployment.spec.and_then(|spec| spec.template.spec).expect("a pod");
    pod.containers.into_iter().next().and_then(|container| container.image).expect("an image")
}

#[tokio::test]
async fn the_second_to_ask_for_a_host_gets_it_when_the_first_goes() {
    let bench = Bench::start().await;
    let second = Name::new("other", "hello");
    bench.create(manifest(by_image())).await;
    assert_eq!(settled(&bench, &hello()).await, "Deploying False Deploying");
    let mut rival = manifest(by_image());
    rival["metadata"]["namespace"] = json!("other");
    bench.create(rival).await;
    assert_eq!(settled(&bench, &second).await, "Deploying False HostConflict");
    assert!(bench.get::<IngressRoute>("other", "hello").await.is_none());
    assert_eq!(settled(&bench, &hello()).await, "Deploying False Deploying");
    bench.patch::<Application>(&hello(), json!({ "spec": { "host": "elsewhere.example" } })).await;
    assert_eq!(settled(&bench, &hello()).await, "Deploying False Deploying");
    assert_eq!(settled(&bench, &second).await, "Deploying False Deploying");
    assert!(bench.get::<IngressRoute>("other", "hello").await.is_some());
}
