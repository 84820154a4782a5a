//! One change after the other.

use std::time::Duration;

use hotload::{Error, FileSource, Pool, Settings, Status};
use tokio_postgres::error::SqlState;

use crate::controller::{Controller, USERS};
use crate::server::{Mount, Server};
use crate::soon;

/// A pool that gives up on a new login soon, so that nobody waits for it here.
fn hasty() -> Settings {
    Settings { tries: 2, pause: Duration::from_millis(5), ..Settings::default() }
}

async fn open(controller: &Controller<'_>) -> Pool {
    let source = FileSource::open(controller.mount.path()).expect("a watch");
    Pool::builder(source).max_size(4).settings(hasty()).open().await.expect("a pool")
}

async fn user(pool: &Pool) -> String {
    let client = pool.get().await.expect("a connection");
    client.query_one("SELECT session_user::text", &[]).await.expect("an answer").get(0)
}

async fn complaint(pool: &Pool, part: &str) -> Status {
    let has = |status: &Status| status.last_error.as_deref().is_some_and(|why| why.contains(part));
    soon(pool.watch().wait_for(has)).await.expect("the pool is there").clone()
}

pub async fn old_passwords_are_dead_after_two_rotations(server: &Server) {
    let mut controller = Controller::new(server).await;
    let pool = open(&controller).await;
    let mut status = pool.watch();
    let (first, password) = (controller.user(), controller.password());
    assert_eq!(user(&pool).await, first);
    for rounds in 2..=3 {
        server.connect(first, &password).await.expect("the first password still works");
        controller.rotate().await;
        controller.arrived(&mut status, rounds).await;
        assert_eq!(user(&pool).await, controller.user());
    }
    let refused = server.connect(first, &password).await.map(drop).expect_err("it is refused");
    assert_eq!(refused.code(), Some(&SqlState::INVALID_PASSWORD));
}

pub async fn a_file_may_be_rewritten_missing_or_wrong(server: &Server) {
    let mut controller = Controller::new(server).await;
    let late = Mount::empty();
    let pool = {
        let source = FileSource::open(late.path()).expect("a watch");
        let opening = tokio::spawn(Pool::builder(source).settings(hasty()).open());
        late.rewrite(&controller.dsn());
        soon(opening).await.expect("it runs").expect("a pool that waited for its file")
    };
    assert_eq!(user(&pool).await, controller.user());
    late.rewrite("nonsense");
    complaint(&pool, "not of the form").await;
    assert_eq!(user(&pool).await, controller.user());
    let dsn = controller.prepare().await;
    late.rewrite(&dsn);
    controller.arrived(&mut pool.watch(), 2).await;
    assert_eq!(user(&pool).await, controller.user());

    controller.rotate().await;
    let pool = open(&controller).await;
    controller.mount.remove();
    complaint(&pool, "No such file").await;
    assert_eq!(user(&pool).await, controller.user());
    controller.rotate().await;
    controller.arrived(&mut pool.watch(), 2).await;
    assert_eq!(user(&pool).await, controller.user());
}

pub async fn a_wrong_password_changes_nothing(server: &Server) {
    let mut controller = Controller::new(server).await;
    let pool = open(&controller).await;
    controller.mount.swap(&server.dsn(USERS[0], "hunter2"));
    let status = complaint(&pool, "try 2 of 2").await;
    let why = status.last_error.expect("a complaint");
    assert!(why.contains("password authentication failed") && !why.contains("hunter2"), "{why}");
    assert_eq!((status.generation.0, user(&pool).await.as_str()), (1, controller.user()));
    controller.rotate().await;
    controller.arrived(&mut pool.watch(), 2).await;
    assert_eq!(pool.status().last_error, None);
}

pub async fn a_login_that_works_later_is_taken_when_it_does(server: &Server) {
    let mut controller = Controller::new(server).await;
    let source = FileSource::open(controller.mount.path()).expect("a watch");
    let patient = Settings { tries: 1000, pause: Duration::from_millis(5), ..Settings::default() };
    let pool = Pool::builder(source).settings(patient).open().await.expect("a pool");
    // The Secret is there before the password is set.
    let (now, next) = (controller.dsn(), controller.announce());
    assert_ne!(now, next);
    controller.mount.swap(&next);
    complaint(&pool, "try 1 of 1000").await;
    assert_ne!(user(&pool).await, controller.user());
    controller.settle().await;
    controller.arrived(&mut pool.watch(), 2).await;
    assert_eq!(user(&pool).await, controller.user());
}

pub async fn a_login_that_dies_leads_back_to_the_one_before(server: &Server) {
    let mut controller = Controller::new(server).await;
    let pool = open(&controller).await;
    let before = controller.user();
    controller.rotate().await;
    controller.arrived(&mut pool.watch(), 2).await;
    let newest = controller.user();
    server.admin().await.batch_execute(&format!("ALTER ROLE {newest} NOLOGIN")).await.expect("it is locked");
    assert_eq!(user(&pool).await, before);
    let status = pool.status();
    assert!(status.fallen_back && status.last_error.is_some_and(|why| why.contains("not permitted")));
    server.admin().await.batch_execute(&format!("ALTER ROLE {newest} LOGIN")).await.expect("it is opened");
    controller.rotate().await;
    controller.arrived(&mut pool.watch(), 3).await;
    assert!(!pool.status().fallen_back);
}

pub async fn connections_wait_for_a_login_when_all_are_dead(server: &Server) {
    let mut controller = Controller::new(server).await;
    let pool = open(&controller).await;
    controller.rotate().await;
    controller.arrived(&mut pool.watch(), 2).await;
    // Two rotations that the pool is not told of: whatever it knows is dead.
    controller.prepare().await;
    let dsn = controller.prepare().await;
    let waiting = tokio::spawn({
        let pool = pool.clone();
        async move { user(&pool).await }
    });
    complaint(&pool, "password authentication failed").await;
    controller.mount.swap(&dsn);
    assert_eq!(soon(waiting).await.expect("nothing failed"), controller.user());
}

pub async fn connections_in_use_end_their_work_and_then_close(server: &Server) {
    let mut controller = Controller::new(server).await;
    let pool = open(&controller).await;
    let before = controller.user();
    let mut lent = pool.get().await.expect("a connection");
    let idle = pool.get().await.expect("a connection");
    drop(idle);
    let transaction = lent.transaction().await.expect("it begins");
    controller.rotate().await;
    controller.arrived(&mut pool.watch(), 2).await;
    let admin = server.admin().await;
    sessions(&admin, before, 1).await;
    let asked = transaction.query_one("SELECT session_user::text", &[]).await.expect("an answer");
    assert_eq!(asked.get::<_, String>(0), before);
    transaction.commit().await.expect("it ends");
    drop(lent);
    sessions(&admin, before, 0).await;
    assert_eq!(user(&pool).await, controller.user());
}

/// Waits until a user has so many sessions.
pub async fn sessions(admin: &tokio_postgres::Client, user: &str, want: i64) {
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE usename = $1";
    soon(async {
        while admin.query_one(sql, &[&user]).await.expect("an answer").get::<_, i64>(0) != want {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

pub async fn force_kill_cuts_what_outlives_its_grace(server: &Server) {
    let mut controller = Controller::new(server).await;
    let source = FileSource::open(controller.mount.path()).expect("a watch");
    let grace = Duration::from_millis(300);
    let pool = Pool::builder(source).force_kill(grace).open().await.expect("a pool");
    let before = controller.user();
    let mut lent = pool.get().await.expect("a connection");
    let transaction = lent.transaction().await.expect("it begins");
    controller.rotate().await;
    controller.arrived(&mut pool.watch(), 2).await;
    transaction.execute("SELECT 1", &[]).await.expect("there is a grace");
    assert_eq!(user(&pool).await, controller.user());
    sessions(&server.admin().await, before, 0).await;
    assert!(transaction.execute("SELECT 1", &[]).await.expect_err("it is cut").is_closed());
    drop(transaction);
    drop(lent);
    assert_eq!(user(&pool).await, controller.user());
}

pub async fn encryption_that_is_asked_for_is_never_left_out(server: &Server) {
    let controller = Controller::new(server).await;
    let brief = Settings { open_timeout: Duration::from_millis(500), ..hasty() };
    let mount = Mount::new(&format!("{} sslmode='require'", controller.dsn()));
    let source = || FileSource::open(mount.path()).expect("a watch");
    let bare = Pool::builder(source()).settings(brief).open().await.err().expect("it is refused");
    assert!(bare.to_string().contains("sslmode=require asks for TLS and the pool has none"), "{bare}");
    let mut roots = rustls::RootCertStore::empty();
    let stranger = hotload::tls::trusting(roots.clone()).expect("a connector");
    let refused =
        Pool::builder(source()).settings(brief).tls(stranger).open().await.err().expect("it is refused");
    assert!(matches!(refused, Error::NeverUsable { .. }));
    assert!(refused.to_string().contains("invalid peer certificate"), "{refused}");
    roots.add(server.certificate.clone()).expect("a certificate");
    let tls = hotload::tls::trusting(roots).expect("a connector");
    let pool = Pool::builder(source()).settings(hasty()).tls(tls).open().await.expect("a pool");
    let client = pool.get().await.expect("a connection");
    client.batch_execute("SET ROLE NONE").await.expect("it is itself");
    let sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    assert!(client.query_one(sql, &[]).await.expect("an answer").get::<_, bool>(0));
}
