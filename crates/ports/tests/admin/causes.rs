//! What goes wrong, each by its own cause.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use api::connection::SslMode;
use kit::{Fault, Retry};
use ports::admin::{Admin, Asked, Error, Live, LiveSettings, Server};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::contract::{database, drop_role, owner, password};
use crate::ground::{DEADLINE, Ground, LOOK, authority, chief, client, execute, free_port, hasty};

fn story(outcome: Result<impl std::fmt::Debug, Error>) -> (Error, Retry) {
    let error = outcome.expect_err("it cannot be");
    (error.clone(), Fault::from(error).retry())
}

pub async fn every_cause_has_its_own_error(ground: &Ground) {
    let (live, server, nothing) = (hasty(4), ground.server(), Asked::default());
    let plain = Server { ssl_mode: SslMode::Disable, ..server.clone() };
    for sql in [
        "CREATE ROLE weak LOGIN PASSWORD 'weak'",
        "CREATE ROLE crowded LOGIN CONNECTION LIMIT 0 PASSWORD 'crowded'",
        "CREATE ROLE reader SUPERUSER LOGIN PASSWORD 'reader'",
        "ALTER ROLE reader SET default_transaction_read_only = on",
    ] {
        execute(ground, &chief("postgres"), sql).await.expect("it may");
    }
    let of = |user: &str| Server { user: user.into(), password: user.to_owned().into(), ..server.clone() };
    let make = owner("of_causes");

    let down = Server { port: free_port(), ..server.clone() };
    let found = story(live.look(&down, &nothing).await);
    assert!(matches!(found, (Error::Unreachable { .. }, Retry::Backoff)), "{found:?}");
    let nowhere = Server { host: "no-such-host.invalid".into(), ..server.clone() };
    let found = story(live.look(&nowhere, &nothing).await);
    assert!(
        matches!(found, (Error::Unreachable { .. } | Error::Timeout { .. }, Retry::Backoff)),
        "{found:?}"
    );
    let silent = Silent::new().await;
    let found = story(live.look(&silent.server(&server), &nothing).await);
    assert!(matches!(found, (Error::Timeout { what: "the login", .. }, Retry::Backoff)), "{found:?}");
    let wrong = Server { password: "wrong".to_owned().into(), ..server.clone() };
    let found = story(ground.live.look(&wrong, &nothing).await);
    assert!(matches!(found, (Error::Denied { .. }, Retry::Slowly)), "{found:?}");
    let found = story(ground.live.look(&of("crowded"), &nothing).await);
    assert!(matches!(found, (Error::TooManyConnections { .. }, Retry::Backoff)), "{found:?}");
    let found = story(ground.live.act(&of("reader"), &make).await);
    assert!(matches!(found, (Error::ReadOnly { .. }, Retry::Backoff)), "{found:?}");
    let found = story(ground.live.act(&of("weak"), &make).await);
    assert!(matches!(found, (Error::Privilege { .. }, Retry::Backoff)), "{found:?}");
    let absent = Server { database: "absent".into(), ..server.clone() };
    let found = story(ground.live.look(&absent, &nothing).await);
    assert!(matches!(found, (Error::Missing { what: "database", .. }, Retry::Backoff)), "{found:?}");
    let refusing = Server { port: speaks_no_tls().await, ..server.clone() };
    let found = story(live.look(&refusing, &nothing).await);
    assert!(matches!(found, (Error::TlsRefused { .. }, Retry::Slowly)), "{found:?}");
    let found = story(ground.live.act(&plain, &database("of_causes", "no\0body")).await);
    assert!(matches!(found, (Error::Name { .. }, Retry::Slowly)), "{found:?}");
    slow_ones_are_given_up(ground).await;
    for role in ["weak", "crowded", "reader"] {
        execute(ground, &chief("postgres"), &format!("DROP ROLE {role}")).await.expect("it may");
    }
}

/// A change that somebody else is at takes too long.
async fn slow_ones_are_given_up(ground: &Ground) {
    let server = ground.server();
    ground.live.act(&server, &owner("slow")).await.expect("it is made");
    let other = client(ground.port, &chief("postgres")).await.expect("it gets in");
    other.batch_execute("BEGIN; ALTER ROLE slow CONNECTION LIMIT 7").await.expect("it may");
    let live = Live::new(LiveSettings { statement: Duration::from_millis(200), ..LiveSettings::default() });
    let found = story(live.act(&server, &password("slow", "x")).await);
    assert!(matches!(found, (Error::Timeout { what: "a statement", .. }, Retry::Backoff)), "{found:?}");
    other.batch_execute("ROLLBACK").await.expect("it may");
    live.act(&server, &password("slow", "x")).await.expect("nobody is at it");
    live.act(&server, &drop_role("slow", None)).await.expect("it goes");
}

pub async fn certificates_are_judged_as_the_mode_says(ground: &Ground) {
    let (right, wrong) = (Some(ground.ca.clone()), Some(authority().0));
    let table = [
        (SslMode::VerifyFull, "localhost", &right, true),
        (SslMode::VerifyFull, "127.0.0.1", &right, false),
        (SslMode::VerifyFull, "localhost", &wrong, false),
        (SslMode::VerifyFull, "localhost", &None, false),
        (SslMode::VerifyCa, "127.0.0.1", &right, true),
        (SslMode::VerifyCa, "localhost", &wrong, false),
        (SslMode::VerifyCa, "localhost", &None, false),
        (SslMode::Require, "127.0.0.1", &wrong, true),
        (SslMode::Prefer, "127.0.0.1", &None, true),
        (SslMode::Disable, "localhost", &None, true),
    ];
    for (ssl_mode, host, ca, good) in table {
        let server = Server { ssl_mode, host: host.to_owned(), ca: ca.clone(), ..ground.server() };
        let outcome = Live::default().look(&server, &Asked::default()).await;
        match (good, outcome) {
            (true, outcome) => assert!(outcome.is_ok(), "{ssl_mode:?} {host}: {outcome:?}"),
            (false, outcome) => {
                let told = matches!(outcome, Err(Error::Certificate { .. }));
                assert!(told, "{ssl_mode:?} {host}: {outcome:?}");
            }
        }
    }
}

pub async fn a_silent_server_delays_no_other(ground: &Ground) {
    let (live, server) = (Live::default(), ground.server());
    let silent = Silent::new().await;
    let dead = silent.server(&server);
    let mut waiting = Vec::new();
    for _ in 0..8 {
        let (live, dead) = (live.clone(), dead.clone());
        waiting.push(tokio::spawn(async move { live.look(&dead, &Asked::default()).await }));
    }
    silent.accepts(LiveSettings::default().connections).await;
    for _ in 0..40 {
        live.look(&server, &Asked::default()).await.expect("it answers");
    }
    assert!(waiting.iter().all(|look| !look.is_finished()), "the silent one is still waited for");
    assert_eq!(silent.count(), LiveSettings::default().connections, "and by no more than may");
    waiting.iter().for_each(tokio::task::JoinHandle::abort);
}

pub async fn a_server_has_no_more_connections_than_allowed(ground: &Ground) {
    let sql = "CREATE ROLE bounded LOGIN CONNECTION LIMIT 3 PASSWORD 'bounded'";
    execute(ground, &chief("postgres"), sql).await.expect("it may");
    // Nothing is closed meanwhile: the server counts a session until it has noticed its end.
    let live = Live::new(LiveSettings { connections: 3, ..LiveSettings::default() });
    let server = Server { user: "bounded".into(), password: "bounded".to_owned().into(), ..ground.server() };
    let looks = (0..40).map(|_| {
        let (live, server) = (live.clone(), server.clone());
        tokio::spawn(async move { live.look(&server, &Asked::default()).await })
    });
    for look in looks.collect::<Vec<_>>() {
        look.await.expect("it ends").expect("there was a connection left");
    }
    drop(live);
    closed(ground, "of whoever is gone").await;
    let live = Live::new(LiveSettings { idle: Duration::from_millis(100), ..LiveSettings::default() });
    live.look(&server, &Asked::default()).await.expect("there is a connection left");
    closed(ground, "that nobody uses").await;
    execute(ground, &chief("postgres"), "DROP ROLE bounded").await.expect("it may");
}

/// Waits until the bounded role has no session any more.
async fn closed(ground: &Ground, which: &str) {
    let client = client(ground.port, &chief("postgres")).await.expect("it gets in");
    let gone = async {
        let mut ticks = tokio::time::interval(LOOK);
        let count = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'bounded'";
        while client.query_one(count, &[]).await.expect("it may").get::<_, i64>(0) > 0 {
            ticks.tick().await;
        }
    };
    let closed = tokio::time::timeout(DEADLINE, gone).await;
    closed.unwrap_or_else(|_| panic!("a connection {which} is still there"));
}

pub async fn a_standby_only_reads(ground: &Ground) {
    let standby = ground.standby().await;
    let server = Server { port: standby.port, ..ground.server() };
    let live = Live::default();
    assert!(live.look(&server, &Asked::default()).await.expect("it answers").recovery);
    let found = story(live.act(&server, &owner("on_a_standby")).await);
    assert!(matches!(found, (Error::ReadOnly { .. }, Retry::Backoff)), "{found:?}");
}

/// A server that accepts and says nothing.
struct Silent {
    port: u16,
    accepted: Arc<AtomicUsize>,
}

impl Silent {
    async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let accepted = Arc::new(AtomicUsize::new(0));
        let counter = accepted.clone();
        tokio::spawn(async move {
            let mut kept = Vec::new();
            while let Ok((stream, _)) = listener.accept().await {
                kept.push(stream);
                counter.fetch_add(1, Ordering::SeqCst);
            }
        });
        Self { port, accepted }
    }

    fn server(&self, like: &Server) -> Server {
        Server { host: "127.0.0.1".into(), port: self.port, ..like.clone() }
    }

    fn count(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    async fn accepts(&self, want: usize) {
        let wait = async {
            let mut ticks = tokio::time::interval(Duration::from_millis(5));
            while self.count() < want {
                ticks.tick().await;
            }
        };
        tokio::time::timeout(DEADLINE, wait).await.expect("they come");
    }
}

/// The port of a server that answers every request for TLS with no.
async fn speaks_no_tls() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 8];
            let _ = stream.read_exact(&mut request).await;
            let _ = stream.write_all(b"N").await;
        }
    });
    port
}
