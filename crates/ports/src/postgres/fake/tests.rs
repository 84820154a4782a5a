use std::collections::BTreeSet;

use kit::Name;

use super::super::{Backup, Instance, Key, Number, Postgres, Run, Settings, Source, There};
use super::Fake;

fn key() -> Key {
    Key { name: Name::new("team", "db"), uid: "u".into() }
}

async fn there(fake: &Fake, number: Number) -> Option<There> {
    match fake.look(&key()).await.expect("it looks").instances.remove(&number) {
        Some(Instance::There(there)) => Some(there),
        _ => None,
    }
}

/// A primary and two standbys that it waits for.
async fn three() -> Fake {
    let fake = Fake::default();
    let settings = Settings { mark: "m".into(), ..Settings::default() };
    fake.make(&key(), 1, 17).await.expect("it is made");
    fake.configure(&key(), 1, &settings).await.expect("it is configured");
    fake.start(&key(), 1).await.expect("it starts");
    for number in [2, 3] {
        fake.copy(&key(), number, 1).await.expect("a copy begins");
        assert_eq!(there(&fake, number).await, None, "it is on its way");
        assert!(there(&fake, number).await.is_some(), "it is there");
        fake.configure(&key(), number, &settings).await.expect("it is configured");
        fake.start(&key(), number).await.expect("it starts");
    }
    fake.wait_for(&key(), 1, &BTreeSet::from([2, 3])).await.expect("it waits");
    fake
}

#[tokio::test]
async fn the_standby_that_has_most_has_every_acknowledged_commit() {
    let fake = three().await;
    let name = key().name;
    assert_eq!(fake.look(&key()).await.expect("it looks").synchronous, BTreeSet::from([2, 3]));
    assert!(fake.write(&name));
    fake.deafen(&name, 2, true);
    assert!(fake.write(&name), "the other one has it");
    fake.deafen(&name, 3, true);
    assert!(!fake.write(&name), "nobody has it");
    fake.crash(&name, 1);
    fake.fence(&key(), 1).await.expect("it is fenced");
    assert!(fake.start(&key(), 1).await.is_err(), "what is fenced does not start");
    fake.promote(&key(), 3).await.expect("it is promoted");
    let (acknowledged, reached) = fake.reached(&name);
    assert!(reached.is_some_and(|reached| reached >= acknowledged));
    assert_eq!(fake.writable(&name), [3]);
    fake.follow(&key(), 2, 3).await.expect("it follows");
    fake.deafen(&name, 2, false);
    fake.rejoin(&key(), 1, 3).await.expect("it rejoins");
    assert!(matches!(there(&fake, 2).await.map(|there| there.run), Some(Run::Up(facts)) if facts.streaming));
    let old = there(&fake, 1).await.expect("it is back");
    assert!(old.standby && !old.fenced);
}

#[tokio::test]
async fn a_retired_cluster_comes_back_from_its_backup() {
    let fake = three().await;
    fake.retire(&key(), "b").await.expect("it is retired");
    assert!(fake.look(&key()).await.expect("it looks").instances.is_empty());
    assert!(matches!(fake.backup("b").await.expect("it is asked"), Some(Backup::Done(_))));
    let other = Key { uid: "v".into(), ..key() };
    let source = Source { backup: "b".into(), until: None };
    fake.restore(&other, 1, &source).await.expect("it begins");
    let seen = |seen: super::Seen| seen.instances.get(&1).cloned();
    assert!(matches!(seen(fake.look(&other).await.expect("it looks")), Some(Instance::Coming { .. })));
    assert!(matches!(seen(fake.look(&other).await.expect("it looks")), Some(Instance::There(_))));
    fake.discard("b").await.expect("it is removed");
    assert_eq!(fake.backup("b").await.expect("it is asked"), None);
}

#[tokio::test]
async fn a_refused_call_changes_nothing() {
    let fake = three().await;
    fake.before_each(|call| match call {
        "remove" => Err(super::Error::Unfit("not now".into())),
        _ => Ok(()),
    });
    assert!(fake.remove(&key(), 2).await.is_err());
    assert!(there(&fake, 2).await.is_some());
    fake.before_each(|_| Ok(()));
    fake.remove(&key(), 2).await.expect("it is removed");
    assert_eq!(fake.look(&key()).await.expect("it looks").highest, 3);
}
