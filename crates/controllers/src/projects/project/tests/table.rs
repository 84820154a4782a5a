use std::sync::Arc;

use jiff::{Timestamp, ToSpan};
use kit::{Address, Next};
use serde::de::DeserializeOwned;

use super::super::plan::{World, plan};
use super::*;

fn now() -> Timestamp {
    "2026-01-01T12:00:00Z".parse().expect("a time")
}

fn read<K: DeserializeOwned>(value: Value) -> Arc<K> {
    Arc::new(serde_json::from_value(value).expect("an object"))
}

fn meta(namespace: &str, name: &str) -> Value {
    json!({ "name": name, "namespace": namespace, "labels": { "mpas.ocm.software/project": "shop",
        "mpas.ocm.software/project-namespace": "mpas-system", "app.kubernetes.io/managed-by": "terrace" } })
}

fn space() -> Option<Arc<Namespace>> {
    Some(read(json!({ "metadata": meta("", "mpas-shop") })))
}

fn going<K: Object>(object: &Arc<K>, seconds: i64) -> Arc<K> {
    let mut object = (**object).clone();
    let since = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(now() - seconds.seconds());
    object.meta_mut().deletion_timestamp = Some(since);
    Arc::new(object)
}

fn repository(name: &str, conditions: Value, key: bool) -> Arc<Repository> {
    let key = if key { json!({ "secretName": "k", "fingerprint": "f" }) } else { Value::Null };
    let status = json!({ "url": "https://git.example.com/team/shop", "deployURL": "ssh://git@git.example.com/team/shop.git",
        "deployKey": key, "conditions": conditions });
    let spec = json!({ "provider": "local", "org": "team", "name": name });
    read(json!({ "metadata": meta("mpas-system", name), "spec": spec, "status": status }))
}

fn said(status: &str, reason: &str, message: &str) -> Value {
    json!([{ "type": "Ready", "status": status, "reason": reason, "message": message,
             "lastTransitionTime": "2026-01-01T00:00:00Z" }])
}

fn well() -> Value {
    said("True", "Available", "all is well")
}

fn source(name: &str, conditions: Value) -> Arc<GitRepository> {
    read(json!({ "metadata": meta("mpas-shop", name), "spec": { "url": "x", "interval": "1m" },
                 "status": { "conditions": conditions } }))
}

fn kustomization(name: &str, conditions: Value) -> Arc<Kustomization> {
    let spec =
        json!({ "interval": "1m", "prune": true, "sourceRef": { "kind": "GitRepository", "name": "shop" } });
    read(json!({ "metadata": meta("mpas-shop", name), "spec": spec, "status": { "conditions": conditions } }))
}

fn delivered(conditions: &Value) -> Vec<Arc<Kustomization>> {
    ["subscriptions", "targets", "bindings-targets", "bindings-subscriptions", "products"]
        .map(|directory| kustomization(&format!("shop-{directory}"), conditions.clone()))
        .to_vec()
}

fn world() -> World {
    World { now: now(), space: space(), flux: true, ..World::default() }
}

/// All is there and well.
fn calm() -> World {
    World {
        repositories: vec![repository("shop", well(), true)],
        sources: vec![source("shop", well())],
        kustomizations: delivered(&well()),
        ..world()
    }
}

fn told(mut project: Value, leaving: bool, world: &World) -> String {
    if leaving {
        project["metadata"]["deletionTimestamp"] = "2026-01-01T12:00:00Z".into();
    }
    let project: Project = serde_json::from_value(project).expect("a Project");
    let plan = match plan(&project, world) {
        Ok(plan) => plan,
        Err(refusal) => return format!("refused: {}", refusal.message),
    };
    let mut words: Vec<String> = plan.steps.iter().map(ToString::to_string).collect();
    let ready = find(&plan.status.conditions, READY);
    words.extend(ready.map(|ready| format!("{} {}", ready.reason, ready.message)));
    words.push(match plan.next {
        Next::After(delay) => format!("{}s", delay.as_secs()),
        other => format!("{other:?}"),
    });
    words.join("; ")
}

/// The account, its rights and the Repository: what a pass applies at the least.
const ROOM: &str = "apply ServiceAccount mpas-shop/mpas-shop; apply Role mpas-shop/mpas-shop; apply RoleBinding mpas-shop/mpas-shop; apply Role mpas-system/mpas-shop; apply RoleBinding mpas-system/mpas-shop; apply Repository mpas-system/shop";
/// What Flux is asked for.
const FLUX: &str = "apply GitRepository mpas-shop/shop; apply Kustomization mpas-shop/shop-subscriptions; apply Kustomization mpas-shop/shop-targets; apply Kustomization mpas-shop/shop-bindings-targets; apply Kustomization mpas-shop/shop-bindings-subscriptions; apply Kustomization mpas-shop/shop-products";

#[test]
fn every_situation_has_its_plan() {
    let failed = said("False", "ReconciliationFailed", "configmaps is forbidden in namespace default");
    let refused = said("False", "CredentialsInvalid", "the provider refused the token");
    let stray = || {
        let mut calm = calm();
        calm.kustomizations.push(kustomization("shop-old-products", well()));
        calm.sources.push(source("shop-old", well()));
        calm.repositories.push(repository("shop-old", well(), true));
        calm
    };
    let without = |mut world: World| {
        world.kustomizations.truncate(5);
        world
    };
    let mut kept = small();
    kept["spec"]["prune"] = json!(false);
    let table: Vec<(&str, Value, World, String)> = vec![
        (
            "there is nothing",
            small(),
            World { space: None, ..world() },
            "create Namespace mpas-shop; Provisioning namespace mpas-shop is being made; 1s".into(),
        ),
        (
            "credentials are missing",
            large(),
            World { space: None, ..world() },
            "CredentialsMissing the spec takes credentials from Secrets that are not in namespace mpas-system: git-token, hub, own; create them; 10s".into(),
        ),
        (
            "the namespace goes",
            small(),
            World { space: space().map(|space| going(&space, 1)), ..world() },
            "Provisioning namespace mpas-shop is being deleted; it is made anew as soon as it is gone; 10s".into(),
        ),
        (
            "the namespace is there",
            small(),
            world(),
            format!("{ROOM}; Provisioning the credentials are there, and are being tried by Repository shop; 10s"),
        ),
        (
            "the repository has no key yet",
            small(),
            World { repositories: vec![repository("shop", said("False", "Provisioning", "a key is being made"), false)], ..world() },
            format!("{ROOM}; DependencyNotReady Repository shop: a key is being made; 10s"),
        ),
        (
            "the token was refused",
            small(),
            World { repositories: vec![repository("shop", refused, false)], ..world() },
            format!("{ROOM}; CredentialsInvalid Repository shop: the provider refused the token; 10s"),
        ),
        (
            "the repository is there",
            small(),
            World { repositories: vec![repository("shop", well(), true)], ..world() },
            format!("{ROOM}; {FLUX}; DependencyNotReady waiting for GitRepository shop; 10s"),
        ),
        (
            "nobody delivers",
            small(),
            World { flux: false, repositories: vec![repository("shop", well(), true)], ..world() },
            format!("{ROOM}; KindMissing nobody delivers: Flux's GitRepository and Kustomization are not installed; 10s"),
        ),
        (
            "a manifest is refused",
            small(),
            World { kustomizations: delivered(&failed), ..calm() },
            format!("{ROOM}; {FLUX}; DependencyNotReady Kustomization shop-subscriptions: configmaps is forbidden in namespace default; 10s"),
        ),
        ("all is well", small(), calm(), format!("{ROOM}; {FLUX}; Available namespace mpas-shop is delivered to; 300s")),
        (
            "an entry left the spec",
            small(),
            stray(),
            format!("{ROOM}; {FLUX}; delete Kustomization mpas-shop/shop-old-products; Available namespace mpas-shop is delivered to; 300s"),
        ),
        (
            "its kustomizations are gone",
            small(),
            without(stray()),
            format!("{ROOM}; {FLUX}; delete GitRepository mpas-shop/shop-old; Available namespace mpas-shop is delivered to; 300s"),
        ),
        (
            "its source is gone",
            small(),
            World { sources: vec![source("shop", well())], ..without(stray()) },
            format!("{ROOM}; {FLUX}; delete Repository mpas-system/shop-old; Available namespace mpas-shop is delivered to; 300s"),
        ),
        ("it is kept", kept, stray(), format!("{ROOM}; {FLUX}; Available namespace mpas-shop is delivered to; 300s")),
    ];
    for (what, project, world, want) in table {
        assert_eq!(told(project, false, &world), want, "{what}");
    }
}

#[test]
fn everything_goes_in_its_order() {
    let mut theirs = (*kustomization("mine", well())).clone();
    theirs.metadata.labels = None;
    let theirs = vec![Arc::new(theirs)];
    let one = || vec![kustomization("shop-products", well())];
    let sources = || vec![source("shop", well())];
    let repositories = || vec![repository("shop", well(), true)];
    let made = || {
        vec![
            Address::new::<Role>("mpas-shop", "mpas-shop"),
            Address::new::<ServiceAccount>("mpas-shop", "mpas-shop"),
        ]
    };
    let whole = |kustomizations| World {
        kustomizations,
        sources: sources(),
        repositories: repositories(),
        made: made(),
        ..world()
    };
    let bare = || World { repositories: Vec::new(), made: made(), ..world() };
    let table: Vec<(&str, World, &str)> = vec![
        (
            "at first",
            whole(one()),
            "delete Kustomization mpas-shop/shop-products; Deleting the kustomizations are being deleted; 10s",
        ),
        (
            "they prune",
            whole(vec![going(&one()[0], 119)]),
            "Deleting the kustomizations are being deleted; 10s",
        ),
        (
            "they never end",
            whole(vec![going(&one()[0], 121)]),
            "patch Kustomization mpas-shop/shop-products; Deleting the kustomizations are being deleted; 10s",
        ),
        (
            "a team's own",
            whole(theirs),
            "delete Kustomization mpas-shop/mine; Deleting the team's kustomizations are being deleted; 10s",
        ),
        (
            "then sources",
            whole(Vec::new()),
            "delete GitRepository mpas-shop/shop; Deleting the sources are being deleted; 10s",
        ),
        (
            "then repositories",
            World { repositories: repositories(), ..bare() },
            "delete Repository mpas-system/shop; Deleting the repositories are being deleted; 10s",
        ),
        (
            "which are waited for",
            World { repositories: vec![going(&repositories()[0], 60)], ..bare() },
            "Deleting the repositories are being deleted; 10s",
        ),
        (
            "but not for ever",
            World { repositories: vec![going(&repositories()[0], 121)], ..bare() },
            "delete Role mpas-shop/mpas-shop; delete ServiceAccount mpas-shop/mpas-shop; delete Namespace mpas-shop; Deleting namespace mpas-shop is being deleted; 10s",
        ),
        (
            "the namespace is on its way",
            World { space: space().map(|space| going(&space, 1)), made: Vec::new(), ..bare() },
            "Deleting namespace mpas-shop is being deleted; 10s",
        ),
        ("all is gone", World { space: None, made: Vec::new(), ..bare() }, "Release"),
        (
            "the namespace is another's",
            World {
                space: Some(read(json!({ "metadata": { "name": "mpas-shop" } }))),
                made: Vec::new(),
                ..bare()
            },
            "Release",
        ),
    ];
    for (what, world, want) in table {
        assert_eq!(told(small(), true, &world), want, "{what}");
    }
}

#[test]
fn names_that_would_become_one_are_refused() {
    let mut project = small();
    project["spec"]["git"]["repositories"] = json!([{ "name": "A_b" }, { "name": "a-b" }]);
    let want = "refused: A_b and a-b would both become Repository shop-a-b; rename one of them";
    assert_eq!(told(project, false, &world()), want);
}

#[test]
fn every_step_is_a_condition() {
    let project: Project = serde_json::from_value(small()).expect("a Project");
    let status = plan(&project, &calm()).expect("a plan").status;
    let told: Vec<&str> = status.conditions.iter().map(|condition| condition.type_.as_str()).collect();
    let want =
        [READY, CREDENTIALS_VALID, NAMESPACE_READY, REPOSITORIES_READY, REGISTRIES_READY, DELIVERY_READY];
    assert_eq!(told, want);
}
