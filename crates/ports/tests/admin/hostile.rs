//! Names, interruptions, half a power and curious logs, on a real server.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use api::claims::RoleType;
use ports::admin::{Act, Admin, Asked, Error, Server};

use crate::contract::{as_user, database, done, drop_role, login, looked, owner, password, title};
use crate::ground::{DEADLINE, Ground, LOOK, chief, client, execute};

pub async fn names_that_would_be_statements_are_names(ground: &Ground) {
    let (live, server) = (&ground.live, ground.server());
    let longest = "n".repeat(63);
    let wide = "ü".repeat(31);
    let names = [
        "\"; DROP DATABASE postgres; --",
        "'; DROP ROLE chief; --",
        "back\\slash",
        "select",
        "Case",
        "case",
        "with space",
        "Zoë–データ",
        "$1",
        "line\nfeed",
        &longest,
        &wide,
    ];
    for (row, name) in names.iter().enumerate() {
        let user = format!("row{row}' \"_a");
        done(live, &server, &[owner(name), database(name, name), login(&user, name)]).await;
        done(live, &server, &[password(&user, "it's")]).await;
        let proof = live.prove(&server, &as_user(&user, "it's", name)).await.expect("it gets in");
        assert_eq!((proof.session_user.as_str(), proof.current_user.as_str()), (user.as_str(), *name));
        let base = (*name).to_owned();
        let schema = Act::EnsureSchema { database: base.clone(), schema: base.clone(), owner: base.clone() };
        let reader = format!("reader{row}' \"");
        let grant = Act::Grant {
            database: base.clone(),
            role: reader.clone(),
            creators: BTreeSet::from([base.clone()]),
            rights: BTreeMap::from([(base.clone(), RoleType::ReadOnly)]),
            title: title(),
        };
        done(live, &server, &[schema, owner(&reader), grant, drop_role(&reader, None)]).await;
    }
    for name in names {
        let seen = looked(live, &server, name, &[name]).await;
        assert!(seen.database.is_some_and(|found| found.owner == name), "{name:?}");
        assert_eq!(seen.roles.keys().collect::<Vec<_>>(), [name]);
    }
    let too_long = "n".repeat(64);
    for name in [too_long.as_str(), "nul\0nul", ""] {
        for act in [owner(name), database(name, "select"), database("select", name)] {
            let refused = live.act(&server, &act).await;
            assert!(matches!(refused, Err(Error::Name { .. })), "{name:?}: {refused:?}");
        }
    }
    for (row, name) in names.iter().enumerate() {
        let user = format!("row{row}' \"_a");
        let held = format!("held {row}\"");
        let base = (*name).to_owned();
        let hold = Act::Hold { database: base, held: held.clone(), title: title() };
        let gone = Act::DropDatabase { database: held, title: title() };
        done(live, &server, &[hold, gone, drop_role(&user, Some(name)), drop_role(name, None)]).await;
    }
    assert!(looked(live, &server, "postgres", &["chief"]).await.database.is_some(), "all else is there");
}

pub async fn a_database_that_was_cut_off_half_made_is_finished(ground: &Ground) {
    let (live, server) = (&ground.live, ground.server());
    done(live, &server, &[owner("cut")]).await;
    let mut whole = 0;
    for delay in (0..).map(|step| Duration::from_millis(step * 4)) {
        let make = database("cut", "cut");
        let in_time = tokio::time::timeout(delay, live.act(&server, &make)).await;
        let found = live
            .look(&server, &Asked { database: Some("cut".into()), ..Asked::default() })
            .await
            .expect("a look")
            .database;
        assert!(found.is_none_or(|found| found.mark.is_some() && !found.public), "after {delay:?}");
        again(ground, &make).await;
        again(ground, &Act::DropDatabase { database: "cut".into(), title: title() }).await;
        whole += usize::from(matches!(in_time, Ok(Ok(()))));
        if whole == 2 {
            break;
        }
    }
    done(live, &server, &[drop_role("cut", None)]).await;
    let client = client(ground.port, &chief("postgres")).await.expect("it gets in");
    let sql = "SELECT count(*) FROM pg_database WHERE datname LIKE 'terrace-%' OR datname = 'cut'";
    let left: i64 = client.query_one(sql, &[]).await.expect("it may").get(0);
    assert_eq!(left, 0, "nothing is left");
}

/// Until it succeeds: the server may still be at what was cut off.
async fn again(ground: &Ground, act: &Act) {
    let again = async {
        let mut ticks = tokio::time::interval(LOOK);
        while ground.live.act(&ground.server(), act).await.is_err() {
            ticks.tick().await;
        }
    };
    tokio::time::timeout(DEADLINE, again).await.expect("it succeeds in the end");
}

pub async fn an_administrator_without_all_power_is_enough(ground: &Ground) {
    let sql = "CREATE ROLE manager LOGIN CREATEROLE CREATEDB PASSWORD 'manages'";
    execute(ground, &chief("postgres"), sql).await.expect("it may");
    let password_of = |word: &str| word.to_owned().into();
    let server = Server { user: "manager".into(), password: password_of("manages"), ..ground.server() };
    let live = &ground.live;
    done(live, &server, &[owner("half"), database("half", "half"), login("half_a", "half")]).await;
    done(live, &server, &[password("half_a", "first")]).await;
    let user = as_user("half_a", "first", "half");
    live.prove(&server, &user).await.expect("it gets in");
    execute(ground, &user, "CREATE TABLE t (n int)").await.expect("it owns the schema");
    let schema = Act::EnsureSchema { database: "half".into(), schema: "s".into(), owner: "half".into() };
    let grant = Act::Grant {
        database: "half".into(),
        role: "half_reader".into(),
        creators: BTreeSet::from(["half".to_owned()]),
        rights: BTreeMap::from([
            ("s".to_owned(), RoleType::Regular),
            ("public".to_owned(), RoleType::ReadOnly),
        ]),
        title: title(),
    };
    done(live, &server, &[schema, owner("half_reader"), grant]).await;
    let seen = looked(live, &server, "half", &["half_reader"]).await;
    assert!(!seen.superuser);
    let content = seen.database.and_then(|found| found.content).expect("it can be seen");
    assert_eq!(content.grants["half_reader"].len(), 2, "{content:?}");
    let hold = Act::Hold { database: "half".into(), held: "half-held".into(), title: title() };
    let gone = Act::DropDatabase { database: "half-held".into(), title: title() };
    done(live, &server, &[drop_role("half_reader", Some("half")), hold, gone]).await;
    done(live, &server, &[drop_role("half_a", Some("half")), drop_role("half", None)]).await;
    let left = looked(live, &server, "half", &["half", "half_a", "half_reader"]).await;
    assert!(left.roles.is_empty() && left.database.is_none(), "{left:?}");
}

pub async fn no_log_holds_a_password(ground: &Ground) {
    let (live, server) = (&ground.live, ground.server());
    let word = "never-in-a-log-31415926";
    done(live, &server, &[owner("quiet"), login("quiet_a", "quiet"), password("quiet_a", word)]).await;
    let wrong = as_user("quiet_a", "never-in-a-log-either", "postgres");
    let refused = live.prove(&server, &wrong).await.expect_err("it is wrong");
    let good = as_user("quiet_a", word, "postgres");
    live.prove(&server, &good).await.expect("it is right");
    let log = ground.log();
    assert!(log.contains("SCRAM-SHA-256$"), "statements are logged");
    assert!(!log.contains("never-in-a-log"));
    assert!(!format!("{refused} {refused:?} {server:?} {good:?}").contains("never-in-a-log"));
    done(live, &server, &[drop_role("quiet_a", None), drop_role("quiet", None)]).await;
}
