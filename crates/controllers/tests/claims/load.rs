//! Rotations under load: programs whose pools follow the claim's Secret, and one password after the other.

use std::sync::Arc;
use std::time::{Duration, Instant};

use api::claims::DatabaseClaim;
use hotload::sqlx::HotPool;
use hotload::{Pool, SecretSource, Settings, Status};
use kit::Name;
use parking_lot::Mutex;
use sqlx::Connection as _;
use sqlx::postgres::PgPoolOptions;
use tokio::sync::watch;
use tokio::time::{Interval, MissedTickBehavior};
use tokio_postgres::error::SqlState;

use crate::ground::{DEADLINE, Ground, client};
use crate::stage::{PERIOD, Stage, asked, assert_ready, login, manifest, plain, word};

const ROTATIONS: usize = 1000;
/// Every so many rotations somebody makes a table.
const TABLE_EVERY: usize = 125;
/// Through how many rotations a long transaction lives at least.
const LONG: u64 = 5;

/// How often a program asks. As often as it can would leave the machine no time to rotate.
const PACE: Duration = Duration::from_millis(3);
/// How often a program with sqlx asks: what it connects within 50 ms after a change it connects once more.
const PACE_SQLX: Duration = Duration::from_millis(50);

/// What programs have done.
#[derive(Default)]
struct Tally {
    /// How long each query took, its connection included.
    took: Mutex<Vec<Duration>>,
    /// Rows that were committed.
    rows: Mutex<u64>,
    transactions: Mutex<u64>,
    changes: Mutex<u64>,
}

/// A program: its number, and when it is to end.
#[derive(Clone)]
struct Program {
    number: i32,
    tally: Arc<Tally>,
    done: watch::Receiver<bool>,
}

impl Program {
    fn goes_on(&self) -> bool {
        !*self.done.borrow()
    }

    /// Notes a query that was answered, and who the program was to the server.
    fn note(&self, begun: Instant, user: String, last: &mut String) {
        self.tally.took.lock().push(begun.elapsed());
        *self.tally.rows.lock() += 1;
        *self.tally.changes.lock() += u64::from(*last != user);
        *last = user;
    }

    /// Waits for some rotations, or for the end.
    async fn lives_through(&mut self, mut status: watch::Receiver<Status>) {
        let until = status.borrow().generation.0 + LONG;
        tokio::select! {
            seen = status.wait_for(|status| status.generation.0 >= until) => drop(seen.expect("the pool is there")),
            seen = self.done.wait_for(|done| *done) => drop(seen.expect("it is told")),
        }
    }

    fn long_ended(&self) {
        *self.tally.rows.lock() += 2;
        *self.tally.transactions.lock() += 1;
    }
}

fn paced(pace: Duration) -> Interval {
    let mut pace = tokio::time::interval(pace);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    pace
}

const INSERT: &str = "INSERT INTO work VALUES ($1) RETURNING session_user::text";

/// One query after the other. It fails with the first that fails.
async fn short(pool: Pool, program: Program) {
    let (mut last, mut pace) = (String::new(), paced(PACE));
    while program.goes_on() {
        pace.tick().await;
        let begun = Instant::now();
        let client = pool.get().await.expect("a connection");
        let row = client.query_one(INSERT, &[&program.number]).await.expect("an answer");
        program.note(begun, row.get(0), &mut last);
    }
}

async fn short_sqlx(hot: HotPool, program: Program) {
    let (mut last, mut pace) = (String::new(), paced(PACE_SQLX));
    while program.goes_on() {
        pace.tick().await;
        let begun = Instant::now();
        let mut line = hot.acquire().await.expect("a connection");
        let asked = sqlx::query_scalar(INSERT).bind(program.number).fetch_one(&mut *line).await;
        program.note(begun, asked.expect("an answer"), &mut last);
    }
}

/// One long transaction after the other.
async fn long(pool: Pool, mut program: Program) {
    while program.goes_on() {
        let mut client = pool.get().await.expect("a connection");
        let transaction = client.transaction().await.expect("it begins");
        transaction.query_one(INSERT, &[&program.number]).await.expect("an answer");
        program.lives_through(pool.watch()).await;
        transaction.query_one(INSERT, &[&program.number]).await.expect("an answer");
        transaction.commit().await.expect("it ends");
        program.long_ended();
    }
}

async fn long_sqlx(hot: HotPool, mut program: Program) {
    while program.goes_on() {
        let mut line = hot.acquire().await.expect("a connection");
        let mut transaction = line.begin().await.expect("it begins");
        sqlx::query(INSERT).bind(program.number).execute(&mut *transaction).await.expect("an answer");
        program.lives_through(hot.watch()).await;
        sqlx::query(INSERT).bind(program.number).execute(&mut *transaction).await.expect("an answer");
        transaction.commit().await.expect("it ends");
        program.long_ended();
    }
}

/// Waits until a pool uses this login.
async fn arrived(mut status: watch::Receiver<Status>, user: &str) {
    let there = status.wait_for(|status| status.user.as_deref() == Some(user));
    tokio::time::timeout(DEADLINE, there).await.expect("it takes too long").expect("the pool is there");
}

pub async fn a_thousand_rotations_fail_no_query(ground: &Ground) {
    let mut stage = Stage::new(ground, &plain(ground, ground.port), 0).await;
    let claim = stage.claim(manifest("busy", "busy", "busy")).await;
    assert_ready(&claim);
    stage.as_program(&claim).await.batch_execute("CREATE TABLE work (program int)").await.expect("it may");
    old_passwords_die(&mut stage, &claim).await;

    let source = || SecretSource::new(stage.bench.client().clone(), "default", "busy", "dsn.txt");
    let pool = Pool::builder(source()).max_size(3).open().await.expect("a pool");
    let options = PgPoolOptions::new().max_connections(2);
    let hot = HotPool::open(source(), options, Settings::default()).await.expect("a pool");
    let (tally, (done, ends)) = (Arc::new(Tally::default()), watch::channel(false));
    let program = |number| Program { number, tally: tally.clone(), done: ends.clone() };
    let mut programs: Vec<_> =
        (0..2).map(|number| tokio::spawn(short(pool.clone(), program(number)))).collect();
    programs.push(tokio::spawn(long(pool.clone(), program(2))));
    programs.push(tokio::spawn(short_sqlx(hot.clone(), program(3))));
    programs.push(tokio::spawn(long_sqlx(hot.clone(), program(4))));

    let begun = Instant::now();
    let mut user = word(&stage.secret(&claim).await.expect("a Secret"), "username");
    for round in 1..=ROTATIONS {
        let next = rotated(&stage, &claim).await;
        assert_ne!(next, user, "rotation {round}");
        user = next;
        arrived(pool.watch(), &user).await;
        arrived(hot.watch(), &user).await;
        if round % TABLE_EVERY == 0 {
            let table =
                format!("CREATE TABLE made_in_{round} (n int); INSERT INTO made_in_{round} VALUES ({round})");
            stage.as_program(&claim).await.batch_execute(&table).await.expect("it may");
        }
    }
    let took = begun.elapsed();
    done.send(true).expect("somebody listens");
    for program in programs {
        let ended = tokio::time::timeout(DEADLINE, program).await.expect("it takes too long");
        ended.expect("no query failed");
    }
    told(&tally, took);
    all_is_there(&stage, &claim, &tally).await;
    pool.close();
    hot.pool().close().await;
    stage.forget(&claim).await;
    stage.nothing_is_left().await;
}

/// One rotation, because its time has come; whose password is published then.
async fn rotated(stage: &Stage<'_>, claim: &DatabaseClaim) -> String {
    stage.bench.clock().advance(PERIOD);
    stage.bench.pass(&stage.room, &Name::of(claim)).await.expect("a pass");
    word(&stage.secret(claim).await.expect("a Secret"), "username")
}

/// A password is good for two periods, and not for longer.
async fn old_passwords_die(stage: &mut Stage<'_>, claim: &DatabaseClaim) {
    let port = stage.ground.port;
    let first = login(&stage.secret(claim).await.expect("a Secret"));
    rotated(stage, claim).await;
    client(port, &first).await.expect("the password before is still good");
    rotated(stage, claim).await;
    let refused = client(port, &first).await.map(drop).expect_err("the one before that is not");
    assert_eq!(refused.code(), Some(&SqlState::INVALID_PASSWORD));
}

fn told(tally: &Tally, took: Duration) {
    let mut times = std::mem::take(&mut *tally.took.lock());
    times.sort_unstable();
    let at = |part: usize| times.get(times.len() * part / 1000).copied().unwrap_or_default();
    let (long, changes) = (*tally.transactions.lock(), *tally.changes.lock());
    println!(
        "       {ROTATIONS} rotations in {took:.1?}: {} queries, {long} long transactions, {changes} changes of user, \
         0 failed; a query took {:.1?} (p50), {:.1?} (p99)",
        times.len(),
        at(500),
        at(990),
    );
    assert!(times.len() > ROTATIONS && long > 100, "{} queries, {long} long transactions", times.len());
    assert!(changes > 1000, "{changes} changes of user");
}

/// Every row that was committed, and every table, whoever of the two made it.
async fn all_is_there(stage: &Stage<'_>, claim: &DatabaseClaim, tally: &Tally) {
    let program = stage.as_program(claim).await;
    let rows: i64 = asked(&program, "SELECT count(*) FROM work").await;
    assert_eq!(u64::try_from(rows).ok(), Some(*tally.rows.lock()), "rows that were committed");
    rotated(stage, claim).await;
    for program in [program, stage.as_program(claim).await] {
        let owned = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public' AND tableowner = 'busy'";
        let tables = i64::try_from(ROTATIONS / TABLE_EVERY).expect("a few") + 1;
        assert_eq!(asked::<i64>(&program, owned).await, tables);
        for round in (TABLE_EVERY..=ROTATIONS).step_by(TABLE_EVERY) {
            let change = format!(
                "ALTER TABLE made_in_{round} ADD COLUMN IF NOT EXISTS more int; UPDATE made_in_{round} SET more = n"
            );
            program.batch_execute(&change).await.expect("it is its own, too");
        }
    }
}
