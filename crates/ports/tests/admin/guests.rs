//! Databases in which others have rights: they can be put aside and dropped, and so can everybody's roles.

use std::collections::{BTreeMap, BTreeSet};

use api::claims::RoleType;
use ports::admin::{Act, Admin, Login};

use crate::contract::{as_user, database, done, drop_role, login, looked, owner, password, title};
use crate::ground::{Ground, client, execute};

/// A database of `host` in which `guest` may do everything, also with what comes later, and owns a table.
async fn furnished(ground: &Ground) -> (Login, Login) {
    let rights = Act::Grant {
        database: "host".into(),
        role: "guest".into(),
        creators: BTreeSet::from(["host".to_owned()]),
        rights: BTreeMap::from([("public".to_owned(), RoleType::Admin)]),
        title: title(),
    };
    let acts = [
        owner("host"),
        login("host_a", "host"),
        password("host_a", "hosts"),
        database("host", "host"),
        owner("guest"),
        login("guest_a", "guest"),
        password("guest_a", "visits"),
        rights,
    ];
    done(&ground.live, &ground.server(), &acts).await;
    let (host, guest) = (as_user("host_a", "hosts", "host"), as_user("guest_a", "visits", "host"));
    execute(ground, &host, "CREATE TABLE public.theirs (n int)").await.expect("an owner may");
    execute(ground, &guest, "CREATE TABLE public.own (n int)").await.expect("a guest may");
    execute(ground, &guest, "SELECT n FROM public.theirs").await.expect("what comes later counts");
    (host, guest)
}

async fn nothing_is_left(ground: &Ground) {
    let roles = ["host", "host_a", "host-held", "guest", "guest_a"];
    let seen = looked(&ground.live, &ground.server(), "host", &roles).await;
    assert!(seen.database.is_none() && seen.roles.is_empty(), "{seen:?}");
}

pub async fn a_database_with_guests_is_put_aside_taken_back_and_dropped(ground: &Ground) {
    let (live, server) = (&ground.live, ground.server());
    let (_, guest) = furnished(ground).await;
    let _session = client(ground.port, &guest).await.expect("it gets in");
    let (base, aside) = ("host".to_owned(), "host-held".to_owned());
    let rename = |from: &str, to: &str| Act::RenameRole { from: from.into(), to: to.into(), title: title() };
    let hold = Act::Hold { database: base.clone(), held: aside.clone(), title: title() };
    let release = Act::Release { held: aside.clone(), database: base, title: title() };
    done(live, &server, &[hold.clone(), rename("host", "host-held")]).await;
    done(live, &server, &[rename("host-held", "host"), release]).await;
    execute(ground, &guest, "SELECT n FROM public.theirs").await.expect("it may what it might before");
    done(live, &server, &[hold]).await;
    // What a guest may do in it cannot be taken from it now, so it has to be shown out before.
    assert!(live.act(&server, &drop_role("guest", None)).await.is_err());
    let gone = Act::DropDatabase { database: aside, title: title() };
    done(live, &server, &[gone, drop_role("host_a", None), drop_role("host", None)]).await;
    done(live, &server, &[drop_role("guest_a", None), drop_role("guest", None)]).await;
    nothing_is_left(ground).await;
}

pub async fn guests_are_shown_out_and_what_they_own_is_the_owner_s(ground: &Ground) {
    let (live, server) = (&ground.live, ground.server());
    let (host, guest) = furnished(ground).await;
    let _session = client(ground.port, &guest).await.expect("it gets in");
    let base = "host".to_owned();
    let acts = [
        Act::Lock { role: "guest_a".into(), title: title() },
        Act::Close { database: base.clone(), title: title() },
        drop_role("guest_a", Some("host")),
        drop_role("guest", Some("host")),
    ];
    done(live, &server, &acts).await;
    execute(ground, &host, "DROP TABLE public.own").await.expect("it is the owner's now");
    let hold = Act::Hold { database: base, held: "host-held".into(), title: title() };
    let gone = Act::DropDatabase { database: "host-held".into(), title: title() };
    done(live, &server, &[hold, gone, drop_role("host_a", None), drop_role("host", None)]).await;
    nothing_is_left(ground).await;
}

pub async fn an_owner_goes_before_its_guests_where_the_database_stays(ground: &Ground) {
    let (live, server) = (&ground.live, ground.server());
    furnished(ground).await;
    done(live, &server, &[drop_role("host_a", None), drop_role("host", None)]).await;
    done(live, &server, &[drop_role("guest_a", None), drop_role("guest", None)]).await;
    let gone = Act::DropDatabase { database: "host".into(), title: title() };
    done(live, &server, &[gone]).await;
    nothing_is_left(ground).await;
}
