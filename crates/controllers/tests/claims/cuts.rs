//! The line to the server is cut at each message in turn, before and after it takes effect, and the controller starts anew.

use api::claims::DatabaseClaim;
use kit::Name;
use ports::admin::{Live, Server};

use crate::cutter::{Cutter, Moment};
use crate::ground::Ground;
use crate::stage::{PERIOD, SYSTEM, Stage, asked, assert_ready, manifest, plain, room, word};

/// How long a database is held here, in minutes: a day.
pub const HOLD: u32 = 1440;
/// When that is over.
pub const HELD: std::time::Duration = std::time::Duration::from_secs(60 * 60 * 25);

/// One run: what is cut, and what was.
struct Run<'a> {
    cutter: &'a Cutter,
    server: &'a Server,
    hold: u32,
    cut: (usize, Moment),
    cuts: usize,
}

impl Run<'_> {
    /// Lets claims settle through the cut. A controller whose line was cut starts anew.
    async fn through(&mut self, stage: &mut Stage<'_>, phase: &'static str) {
        let (nth, moment) = self.cut;
        stage.doing = format!("{phase}, cut {moment:?} message {nth}");
        self.cutter.arm(nth, moment);
        let mut cuts = 0;
        stage
            .settle_with(|stage| {
                let cut = self.cutter.take_cut();
                if let Some(cut) = &cut {
                    stage.doing = format!("{phase}, {cut}");
                    stage.room = room(Live::default(), self.server, self.hold);
                    cuts += 1;
                }
                cut.is_some()
            })
            .await;
        self.cuts += cuts;
    }
}

async fn found(stage: &Stage<'_>) -> DatabaseClaim {
    stage.bench.get("default", "cut").await.expect("the claim")
}

pub async fn a_life_goes_on_after_any_statement_that_was_cut(ground: &Ground) {
    let cutter = Cutter::new(ground.port).await;
    let server = plain(ground, cutter.port);
    let mut stage = Stage::new(ground, &server, 0).await;
    let mut cuts = 0;
    for moment in Moment::ALL {
        for nth in 1.. {
            let mut run = Run { cutter: &cutter, server: &server, hold: 0, cut: (nth, moment), cuts: 0 };
            life(&mut stage, &mut run).await;
            if run.cuts == 0 {
                break;
            }
            cuts += run.cuts;
        }
    }
    println!("       {cuts} cuts in creation, rotation and deletion");
    assert!(cuts > 60, "there are more messages than that: {cuts}");
}

async fn life(stage: &mut Stage<'_>, run: &mut Run<'_>) {
    let name = Name::new("default", "cut");
    stage.bench.create(manifest("cut", "cut", "cut")).await;
    run.through(stage, "creation").await;
    let claim = found(stage).await;
    assert_ready(&claim);
    let before = word(&stage.secret(&claim).await.expect("a Secret"), "username");
    let program = stage.as_program(&claim).await;
    program.batch_execute("CREATE TABLE kept (n int); INSERT INTO kept VALUES (42)").await.expect("it may");
    stage.bench.clock().advance(PERIOD);
    run.through(stage, "rotation").await;
    let after = word(&stage.secret(&claim).await.expect("a Secret"), "username");
    assert_ne!(before, after, "it rotated: {}", stage.doing);
    let row: i32 = asked(&stage.as_program(&claim).await, "SELECT n FROM kept").await;
    assert_eq!(row, 42, "{}", stage.doing);
    stage.bench.delete::<DatabaseClaim>(&name).await;
    run.through(stage, "deletion").await;
    stage.nothing_is_left().await;
}

pub async fn a_held_database_comes_back_after_any_statement_that_was_cut(ground: &Ground) {
    let cutter = Cutter::new(ground.port).await;
    let server = plain(ground, cutter.port);
    let mut stage = Stage::new(ground, &server, HOLD).await;
    let mut cuts = 0;
    for moment in Moment::ALL {
        for nth in 1.. {
            let mut run = Run { cutter: &cutter, server: &server, hold: HOLD, cut: (nth, moment), cuts: 0 };
            hold(&mut stage, &mut run, Ending::Asked).await;
            if run.cuts == 0 {
                break;
            }
            cuts += run.cuts;
        }
    }
    let mut run = Run { cutter: &cutter, server: &server, hold: HOLD, cut: (1, Moment::After), cuts: 0 };
    hold(&mut stage, &mut run, Ending::Due).await;
    cuts += run.cuts;
    println!("       {cuts} cuts in holding, taking back and dropping");
    assert!(cuts > 60, "there are more messages than that: {cuts}");
}

/// Why a held database is dropped. The statements are the same; time does not go back, so it passes once.
enum Ending {
    Asked,
    Due,
}

async fn hold(stage: &mut Stage<'_>, run: &mut Run<'_>, ending: Ending) {
    let name = Name::new("default", "cut");
    let claim = stage.claim(manifest("cut", "cut", "cut")).await;
    let program = stage.as_program(&claim).await;
    program.batch_execute("CREATE TABLE kept (n int); INSERT INTO kept VALUES (42)").await.expect("it may");
    stage.bench.delete::<DatabaseClaim>(&name).await;
    run.through(stage, "putting aside").await;
    assert_held(stage).await;
    stage.bench.create(manifest("cut", "cut", "cut")).await;
    run.through(stage, "taking back").await;
    let claim = found(stage).await;
    assert_ready(&claim);
    let row: i32 = asked(&stage.as_program(&claim).await, "SELECT n FROM kept").await;
    assert_eq!(row, 42, "{}", stage.doing);
    stage.forget(&claim).await;
    assert_held(stage).await;
    match ending {
        Ending::Due => stage.bench.clock().advance(HELD),
        Ending::Asked => {
            for kept in stage.claims().await {
                stage.bench.delete::<DatabaseClaim>(&kept).await;
            }
        }
    }
    run.through(stage, "dropping").await;
    stage.nothing_is_left().await;
}

/// The claim is gone, its database is put aside, and nobody gets in.
pub async fn assert_held<A: ports::admin::Admin>(stage: &Stage<'_, A>) {
    let claims = stage.claims().await;
    assert!(!claims.is_empty(), "somebody keeps the database: {}", stage.doing);
    assert!(claims.iter().all(|name| name.namespace == SYSTEM), "{claims:?}: {}", stage.doing);
    let made = stage.made().await;
    assert!(made.iter().any(|thing| thing.starts_with("database terrace-held-")), "{made:?}");
    assert!(made.iter().all(|thing| thing.contains(" terrace-held-")), "{made:?}: {}", stage.doing);
    let logins = "SELECT count(*) FROM pg_roles WHERE rolname LIKE 'terrace-held-%' AND rolcanlogin";
    assert_eq!(asked::<i64>(&stage.chief, logins).await, 0, "{}", stage.doing);
}
