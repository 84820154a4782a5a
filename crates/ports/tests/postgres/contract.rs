//! What every implementation of the port keeps.

use std::collections::BTreeSet;

use ports::postgres::{Backup, Error, Fake, Instance, Key, Postgres, Run, Seen, Source, Stop};

use crate::machine::{
    DEADLINE, LOOK, Machine, facts, instance, key, login, settings, streaming, superuser, there, until, up,
};

pub async fn real_servers_keep_the_contract(machine: &Machine) {
    keeps_the_contract(&machine.live, machine.major()).await;
}

pub async fn the_fake_keeps_the_contract(_: &Machine) {
    let fake = Fake::default();
    let newest = fake.builds().into_keys().next_back().expect("the fake has a build");
    keeps_the_contract(&fake, newest).await;
}

pub async fn keeps_the_contract(postgres: &impl Postgres, major: u32) {
    let cluster = key("0c0ffee0-0001");
    assert_eq!(postgres.look(&cluster).await.expect("a look"), Seen::default());
    let refused = postgres.make(&cluster, 1, 3).await;
    assert!(matches!(refused, Err(Error::NoBuild { major: 3, .. })), "{refused:?}");
    for _ in 0..2 {
        postgres.make(&cluster, 1, major).await.expect("it is made");
    }
    let made = there(postgres, &cluster, 1).await;
    assert_eq!((made.major, made.standby, made.run), (Some(major), false, Run::Stopped));
    postgres.configure(&cluster, 1, &settings("one", true)).await.expect("it is configured");
    for _ in 0..2 {
        postgres.start(&cluster, 1).await.expect("it starts");
    }
    let facts = up(postgres, &cluster, 1).await;
    assert_eq!((facts.in_recovery, facts.settings.as_deref(), facts.archives), (false, Some("one"), true));
    for _ in 0..2 {
        postgres.grant(&cluster, 1, &login()).await.expect("it is granted");
    }
    let seen = postgres.look(&cluster).await.expect("a look");
    assert_eq!((seen.granted.as_deref(), seen.highest), (Some("login"), 1));
    lets_the_superuser_in(postgres, &cluster).await;
    fails_over(postgres, &cluster).await;
    backs_up(postgres, &cluster, major).await;
}

async fn lets_the_superuser_in(postgres: &impl Postgres, cluster: &Key) {
    let held = async || postgres.look(cluster).await.expect("a look").superuser;
    assert_eq!(held().await, None);
    for mark in ["first", "first", "second"] {
        postgres.superuser(cluster, 1, Some(&superuser(mark))).await.expect("it is let in");
        assert_eq!(held().await.as_deref(), Some(mark));
    }
    assert_eq!(postgres.look(cluster).await.expect("a look").granted.as_deref(), Some("login"));
    for _ in 0..2 {
        postgres.superuser(cluster, 1, None).await.expect("it is shut out");
        assert_eq!(held().await, None);
    }
    let nowhere = postgres.superuser(cluster, 7, Some(&superuser("third"))).await;
    assert!(nowhere.is_err(), "there is no such instance");
}

async fn fails_over(postgres: &impl Postgres, cluster: &Key) {
    postgres.copy(cluster, 2, 1).await.expect("it begins");
    assert!(there(postgres, cluster, 2).await.standby);
    postgres.configure(cluster, 2, &settings("one", true)).await.expect("it is configured");
    postgres.start(cluster, 2).await.expect("it starts");
    streaming(postgres, cluster, 2).await;
    assert!(postgres.promote(cluster, 2).await.is_err(), "there is a primary");

    let both = BTreeSet::from([2]);
    let waits = |seen: &Seen| (seen.synchronous == both).then_some(());
    until(postgres, cluster, "1 serves 2", |seen| facts(seen, 1)?.serves.get(&2).copied()).await;
    postgres.wait_for(cluster, 1, &both).await.expect("it waits");
    if postgres.look(cluster).await.expect("a look").synchronous.is_empty() {
        postgres.wait_for(cluster, 1, &both).await.expect("it waits");
    }
    until(postgres, cluster, "2 is synchronous", waits).await;
    assert_eq!(up(postgres, cluster, 1).await.waits_for, both);

    postgres.fence(cluster, 1).await.expect("it is put aside");
    let aside = there(postgres, cluster, 1).await;
    assert!(aside.fenced && aside.standby && aside.run == Run::Stopped, "{aside:?}");
    let _ = postgres.start(cluster, 1).await;
    assert_eq!(there(postgres, cluster, 1).await.run, Run::Stopped, "what is fenced does not start");
    for _ in 0..2 {
        postgres.promote(cluster, 2).await.expect("it is promoted");
    }
    let promoted = up(postgres, cluster, 2).await;
    assert!(!promoted.in_recovery && promoted.timeline == 2, "{promoted:?}");
    assert_eq!(postgres.look(cluster).await.expect("a look").synchronous, BTreeSet::new());

    postgres.rejoin(cluster, 1, 2).await.expect("it begins");
    let back =
        until(postgres, cluster, "1 is back", |seen| instance(seen, 1).filter(|there| !there.fenced)).await;
    assert!(back.standby && back.follows == Some(promoted.port), "{back:?}");
    postgres.start(cluster, 1).await.expect("it starts");
    streaming(postgres, cluster, 1).await;
    assert!(postgres.remove(cluster, 2).await.is_err(), "the primary stays");
    postgres.remove(cluster, 1).await.expect("it goes");
    let seen = postgres.look(cluster).await.expect("a look");
    assert!(!seen.instances.contains_key(&1) && seen.highest == 2, "{seen:?}");
}

async fn backs_up(postgres: &impl Postgres, cluster: &Key, major: u32) {
    assert_eq!(postgres.backup("0c0ffee0-0002").await.expect("a look"), None);
    postgres.back_up(cluster, 2, "0c0ffee0-0002").await.expect("it begins");
    let copied = done(postgres, "0c0ffee0-0002").await;
    assert_eq!(copied, major);
    postgres.stop(cluster, 2, Stop::Fast).await.expect("it stops");
    assert_eq!(there(postgres, cluster, 2).await.run, Run::Stopped);
    for _ in 0..2 {
        postgres.retire(cluster, "0c0ffee0-0003").await.expect("it goes");
    }
    assert_eq!(postgres.look(cluster).await.expect("a look"), Seen::default());
    assert_eq!(done(postgres, "0c0ffee0-0003").await, major);

    let other = key("0c0ffee0-0004");
    let nothing = Source { backup: "0c0ffee0-9999".into(), until: None };
    assert!(postgres.restore(&other, 1, &nothing).await.is_err(), "there is no such backup");
    let kept = Source { backup: "0c0ffee0-0003".into(), until: None };
    postgres.restore(&other, 1, &kept).await.expect("it begins");
    let coming = postgres.look(&other).await.expect("a look").instances.remove(&1);
    assert!(matches!(coming, Some(Instance::Coming { .. } | Instance::There(_))), "{coming:?}");
    let back = there(postgres, &other, 1).await;
    assert!(!back.standby && back.run == Run::Stopped, "{back:?}");
    for backup in ["0c0ffee0-0002", "0c0ffee0-0003"] {
        postgres.discard(backup).await.expect("it goes");
        assert_eq!(postgres.backup(backup).await.expect("a look"), None);
    }
}

async fn done(postgres: &impl Postgres, backup: &str) -> u32 {
    let look = async {
        let mut ticks = tokio::time::interval(LOOK);
        loop {
            match postgres.backup(backup).await.expect("a look").expect("it was begun") {
                Backup::Done(copied) => return copied.major,
                Backup::Failed { story } => panic!("{story}"),
                Backup::Running { .. } => drop(ticks.tick().await),
            }
        }
    };
    tokio::time::timeout(DEADLINE, look).await.expect("the backup ends")
}
