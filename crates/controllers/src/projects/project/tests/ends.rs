//! Deletion always ends, in whatever order its parts were taken away by hand and whatever call breaks; and it takes
//! nothing of anybody else's.

use std::time::Duration;

use kit::Outcome;
use kit::testing::Trouble;
use proptest::prelude::*;

use super::*;

/// How long one story may take on a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// What happens to a project.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// Somebody deletes a part by hand.
    Remove(usize),
    /// The n-th call from now on breaks.
    Break(usize, Trouble),
    /// The others get to work, and a pass runs.
    Pass,
    /// Flux is gone from now on.
    FluxGoes,
    /// The rooms of repositories and registries rest from now on.
    RoomsRest,
    /// The project is deleted.
    Leave,
}

fn event() -> impl Strategy<Value = Event> {
    let trouble = prop_oneof![Just(Trouble::Fail), Just(Trouble::TimeOut), Just(Trouble::Kill)];
    prop_oneof![
        6 => Just(Event::Pass),
        6 => (0..PARTS).prop_map(Event::Remove),
        4 => (1..40usize, trouble).prop_map(|(nth, trouble)| Event::Break(nth, trouble)),
        1 => Just(Event::FluxGoes),
        1 => Just(Event::RoomsRest),
        1 => Just(Event::Leave),
    ]
}

const PARTS: usize = 12;

async fn remove(bench: &Bench, part: usize) {
    let (within, own) = ("mpas-shop", "mpas-system");
    match part {
        0 => bench.delete::<Namespace>(&Name::new("", within)).await,
        1 => bench.delete::<ServiceAccount>(&Name::new(within, within)).await,
        2 => bench.delete::<Role>(&Name::new(within, within)).await,
        3 => bench.delete::<RoleBinding>(&Name::new(within, within)).await,
        4 => bench.delete::<Role>(&Name::new(own, within)).await,
        5 => bench.delete::<RoleBinding>(&Name::new(own, within)).await,
        6 => bench.delete::<Repository>(&Name::new(own, "shop")).await,
        7 => bench.delete::<GitRepository>(&Name::new(within, "shop")).await,
        8 => bench.delete::<Kustomization>(&Name::new(within, "shop-products")).await,
        9 => bench.delete::<Kustomization>(&Name::new(within, "shop-bindings-targets")).await,
        10 => bench.delete::<Secret>(&Name::new(within, "mpas-shop-registries")).await,
        _ => bench.delete::<OCIRegistry>(&Name::new(own, "shop-own")).await,
    }
}

/// What is not the project's, much as it looks like it.
async fn strangers(bench: &Bench) {
    let flux = |kind: &str, name: &str, spec: Value| {
        let group = if kind == "GitRepository" { "source" } else { "kustomize" };
        json!({ "apiVersion": format!("{group}.toolkit.fluxcd.io/v1"), "kind": kind, "spec": spec,
                "metadata": { "name": name, "namespace": "mpas-other", "labels": labels("other") } })
    };
    let mut space = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "mpas-other" } });
    space["metadata"]["labels"] = labels("other");
    let source = json!({ "kind": "GitRepository", "name": "shop" });
    let mine = json!({ "apiVersion": "mpas.ocm.software/v1alpha1", "kind": "Repository",
        "metadata": { "name": "shop-theirs", "namespace": "mpas-system", "labels": labels("shop") },
        "spec": { "provider": "local", "org": "team", "name": "theirs" } });
    let role = json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "rules": [],
        "metadata": { "name": "theirs", "namespace": "mpas-system", "labels": labels("shop") } });
    let all = [
        space,
        flux("GitRepository", "shop", json!({ "url": "http://x", "interval": "1m" })),
        flux(
            "Kustomization",
            "shop-products",
            json!({ "interval": "1m", "prune": true, "sourceRef": source }),
        ),
        mine,
        role,
        secret("own", json!({ "username": "me", "password": "me" })),
    ];
    for manifest in all {
        bench.create(manifest).await;
    }
}

fn labels(project: &str) -> Value {
    json!({ "mpas.ocm.software/project": project, "mpas.ocm.software/project-namespace": "mpas-system",
            "app.kubernetes.io/managed-by": "terrace" })
}

async fn strangers_are_there(bench: &Bench) -> Result<(), String> {
    let stands = |there: Option<bool>, what: &str| match there {
        Some(false) => Ok(()),
        other => Err(format!("{what} of somebody else was deleted: {other:?}")),
    };
    let space = bench.get::<Namespace>("", "mpas-other").await;
    stands(space.map(|found| found.metadata.deletion_timestamp.is_some()), "the namespace")?;
    let source = bench.get::<GitRepository>("mpas-other", "shop").await;
    stands(source.map(|found| found.metadata.deletion_timestamp.is_some()), "the source")?;
    let applied = bench.get::<Kustomization>("mpas-other", "shop-products").await;
    stands(applied.map(|found| found.metadata.deletion_timestamp.is_some()), "the kustomization")?;
    let repository = bench.get::<Repository>("mpas-system", "shop-theirs").await;
    stands(repository.map(|found| found.metadata.deletion_timestamp.is_some()), "the repository")?;
    let role = bench.get::<Role>("mpas-system", "theirs").await;
    stands(role.map(|found| found.metadata.deletion_timestamp.is_some()), "the role")?;
    let secret = bench.get::<Secret>("mpas-system", "own").await;
    stands(secret.map(|found| found.metadata.deletion_timestamp.is_some()), "the secret")
}

/// Who of the others still works.
#[derive(Clone, Copy)]
struct Others {
    flux: bool,
    rooms: bool,
}

/// One pass after the others had their turn. True when the project is gone.
async fn pass(bench: &Bench, others: Others) -> bool {
    if others.rooms {
        players::rooms(bench.client()).await;
    }
    if others.flux {
        players::flux(bench.client()).await;
    }
    let ended = bench.attempt(&Projects, &shop()).await;
    let pause = match ended {
        Some(Ok(Outcome::Gone)) => return bench.get::<Project>("mpas-system", "shop").await.is_none(),
        Some(Ok(Outcome::After(delay))) => delay,
        _ => Duration::from_secs(1),
    };
    bench.clock().advance(pause);
    tokio::task::yield_now().await;
    false
}

async fn story(events: Vec<Event>) -> Result<(), String> {
    let bench = Bench::start().await;
    strangers(&bench).await;
    let mut project = small();
    let login = json!({ "secretRef": { "name": "own" } });
    let own = json!([{ "name": "own", "url": "registry.example.com", "credentials": login }]);
    project["spec"]["oci"] = json!({ "registries": own });
    bench.create(project).await;
    let mut others = Others { flux: true, rooms: true };
    for event in events {
        match event {
            Event::Remove(part) => remove(&bench, part).await,
            Event::Break(nth, trouble) => bench.gate().arm(nth, trouble),
            Event::Pass => drop(pass(&bench, others).await),
            Event::FluxGoes => others.flux = false,
            Event::RoomsRest => others.rooms = false,
            Event::Leave => bench.delete::<Project>(&shop()).await,
        }
    }
    bench.delete::<Project>(&shop()).await;
    let end = async { while !pass(&bench, others).await {} };
    if tokio::time::timeout(DEADLINE, end).await.is_err() {
        let project = bench.get::<Project>("mpas-system", "shop").await;
        return Err(format!("its deletion does not end: {:?}", project.and_then(|project| project.status)));
    }
    strangers_are_there(&bench).await?;
    let space = bench.get::<Namespace>("", "mpas-shop").await;
    let repository = bench.get::<Repository>("mpas-system", "shop").await;
    let role = bench.get::<Role>("mpas-system", "mpas-shop").await;
    bench.plane().close().await;
    if space.is_some() || role.is_some() {
        return Err("it is gone, and its namespace or role is still there".into());
    }
    // A repository whose room rests goes when that works again.
    match repository {
        Some(left) if others.rooms || left.metadata.deletion_timestamp.is_none() => {
            Err("it is gone, and its repository stays".into())
        }
        _ => Ok(()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn deletion_always_ends_and_takes_nothing_of_others(events in proptest::collection::vec(event(), 0..24)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
        let told = runtime.block_on(story(events));
        prop_assert_eq!(told, Ok(()));
    }
}

/// The two worst endings by name: nobody is left to finish anything.
#[tokio::test]
async fn without_flux_and_without_rooms_it_ends_all_the_same() {
    let come = [Event::Pass; 5];
    let gone = [Event::FluxGoes, Event::RoomsRest];
    for part in [0, 1, 6, 8] {
        let events = come.into_iter().chain(gone).chain([Event::Remove(part)]).collect();
        assert_eq!(story(events).await, Ok(()), "after part {part} was deleted by hand");
    }
}
