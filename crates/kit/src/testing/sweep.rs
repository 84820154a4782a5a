//! The two tests that every kind is run through.

use std::collections::BTreeSet;
use std::time::Duration;

use super::bench::Bench;
use super::gate::{Call, Gate, Trouble};
use super::scenario::{Looks, Scenario};
use super::state::State;
use crate::address::Name;
use crate::fault::{Fault, Retry};
use crate::room::Room;
use crate::run::Outcome;

/// How many passes an object may need.
const PASSES: usize = 60;
/// How many passes in a row must write nothing where the room wants to look again soon.
const QUIET: usize = 3;

/// Creates the object, lets it settle, and runs one more pass: it must write nothing. Returns the bench as it is then.
pub async fn converge<R: Room>(make: impl Fn(&Gate) -> Scenario<R>) -> Bench {
    let bench = Bench::lacking(&make(&Gate::default()).lacking).await;
    let scenario = make(bench.gate());
    for manifest in &scenario.given {
        bench.create(manifest.clone()).await;
    }
    let created = create(&bench, &scenario).await;
    let settled = settle(&bench, &scenario, &created).await;
    settled.unwrap_or_else(|why| panic!("{} does not settle: {why}", R::NAME));
    bench.gate().take();
    let outcome = bench.attempt(&scenario.room, &created).await;
    let writes = bench.gate().writes();
    assert!(
        writes.is_empty(),
        "{} is settled, and one more pass writes:\n  {}\nit came to {outcome:?}",
        R::NAME,
        writes.join("\n  ")
    );
    bench
}

/// Creates the object and deletes it again, once for each call that is made on the way and each trouble that a call
/// can have. What there is when all has settled must be what there is without trouble.
pub async fn sweep<R: Room>(make: impl Fn(&Gate) -> Scenario<R>) {
    let Scenario { lacking, looks, .. } = make(&Gate::default());
    let mut bench = Bench::lacking(&lacking).await;
    let want =
        life(&bench, &make, None).await.unwrap_or_else(|why| panic!("{}, undisturbed: {why}", R::NAME));
    bench = bench.renewed(&lacking).await;
    let again =
        life(&bench, &make, None).await.unwrap_or_else(|why| panic!("{}, undisturbed: {why}", R::NAME));
    if let Some(difference) = want.differs(&again) {
        panic!("{}: two undisturbed runs end differently, {difference}", R::NAME);
    }
    for (phase, calls) in [(Phase::Coming, &want.coming), (Phase::Going, &want.going)] {
        let mut looked = BTreeSet::new();
        for (index, call) in calls.iter().enumerate() {
            for trouble in troubles(looks, call, &mut looked) {
                let blow = Blow { phase, nth: index + 1, trouble: *trouble };
                let told = format!("{}, {}", R::NAME, blow.told(call, calls.len()));
                let (after, got) = struck(bench, (&make, &lacking), blow).await;
                bench = after;
                let got = got.unwrap_or_else(|why| panic!("{told}: {why}"));
                if let Some(difference) = got.and_then(|got| want.differs(&got)) {
                    panic!("{told}: {difference}");
                }
            }
        }
    }
}

/// What a call is struck with.
fn troubles(looks: Looks, call: &Call, looked: &mut BTreeSet<(String, String)>) -> &'static [Trouble] {
    match looks {
        Looks::First if !call.writes && !looked.insert(call.kind()) => &[],
        Looks::First if !call.writes => &[Trouble::Fail],
        Looks::First | Looks::Each => &Trouble::ALL,
    }
}

/// How often a blow is tried that found nothing to break.
const BLOWS: usize = 3;
/// What is said of one.
const MISSED: &str = "this time fewer calls were made, so none was broken";

/// One run with a blow; nothing, if there is no such call. On a busy machine the run that was counted may have been a pass
/// longer than others are: then a run that nobody disturbs does not make that call either.
async fn struck<R: Room>(
    mut bench: Bench,
    (make, lacking): (&impl Fn(&Gate) -> Scenario<R>, &[&'static str]),
    blow: Blow,
) -> (Bench, Result<Option<Life>, String>) {
    for _ in 0..BLOWS {
        bench = bench.renewed(lacking).await;
        match life(&bench, make, Some(blow)).await {
            Err(why) if why == MISSED => {}
            ended => return (bench, ended.map(Some)),
        }
        bench = bench.renewed(lacking).await;
        let calls = match life(&bench, make, None).await {
            Ok(life) => life.calls(blow.phase),
            Err(why) => return (bench, Err(why)),
        };
        if calls < blow.nth {
            return (bench, Ok(None));
        }
    }
    (bench, Err(MISSED.into()))
}

/// What is broken, and how.
#[derive(Clone, Copy)]
struct Blow {
    phase: Phase,
    nth: usize,
    trouble: Trouble,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Coming,
    Going,
}

impl Blow {
    fn told(self, call: &Call, calls: usize) -> String {
        let phase = match self.phase {
            Phase::Coming => "creation",
            Phase::Going => "deletion",
        };
        let done = match self.trouble {
            Trouble::Fail => "fails",
            Trouble::TimeOut => "times out",
            Trouble::Kill => "kills the pass",
        };
        format!("where call {} of {calls} in its {phase} ({call}) {done}", self.nth)
    }
}

/// One run from creation to the end.
struct Life {
    coming: Vec<Call>,
    settled: State,
    going: Vec<Call>,
    gone: State,
}

impl Life {
    /// How many calls were made.
    fn calls(&self, phase: Phase) -> usize {
        match phase {
            Phase::Coming => self.coming.len(),
            Phase::Going => self.going.len(),
        }
    }

    fn differs(&self, other: &Self) -> Option<String> {
        let told = |when: &str, diff: String| {
            (!diff.is_empty())
                .then(|| format!("what there is {when} differs (- undisturbed, + now):\n{diff}"))
        };
        told("after it settled", self.settled.diff(&other.settled))
            .or_else(|| told("after it was deleted", self.gone.diff(&other.gone)))
    }
}

async fn life<R: Room>(
    bench: &Bench,
    make: &impl Fn(&Gate) -> Scenario<R>,
    blow: Option<Blow>,
) -> Result<Life, String> {
    let scenario = make(bench.gate());
    let arm = |phase| {
        bench.gate().take();
        if let Some(blow) = blow.filter(|blow| blow.phase == phase) {
            bench.gate().arm(blow.nth, blow.trouble);
        }
    };
    for manifest in &scenario.given {
        bench.create(manifest.clone()).await;
    }
    let before = state(bench, &scenario).await;
    let created = create(bench, &scenario).await;
    arm(Phase::Coming);
    settle(bench, &scenario, &created).await?;
    let coming = bench.gate().take();
    let settled = state(bench, &scenario).await;
    arm(Phase::Going);
    bench.delete::<R::Kind>(&created).await;
    settle(bench, &scenario, &created).await?;
    if bench.gate().is_armed() {
        return Err(MISSED.into());
    }
    let going = bench.gate().take();
    let gone = state(bench, &scenario).await;
    let left = before.diff(&gone);
    if !scenario.keeps && !left.is_empty() {
        return Err(format!("it is gone, but not all is as before it came (- before, + now):\n{left}"));
    }
    Ok(Life { coming, settled, going, gone })
}

async fn state<R: Room>(bench: &Bench, scenario: &Scenario<R>) -> State {
    let state = bench.state(&(scenario.outside)()).await;
    if scenario.draws { state.veiled() } else { state }
}

async fn create<R: Room>(bench: &Bench, scenario: &Scenario<R>) -> Name {
    let made = bench.create(scenario.object.clone()).await;
    let text = |field: &str| made["metadata"][field].as_str().unwrap_or_default().to_owned();
    Name::new(text("namespace"), text("name"))
}

/// Runs passes until nothing is left to do. Says what happened if that takes too many.
async fn settle<R: Room>(bench: &Bench, scenario: &Scenario<R>, name: &Name) -> Result<(), String> {
    let mut quiet = 0;
    let mut tale = Vec::new();
    for _ in 0..PASSES {
        (scenario.world)(bench.client().clone()).await;
        let before = bench.gate().writes().len();
        let ending = bench.attempt(&scenario.room, name).await;
        let writes = bench.gate().writes().split_off(before);
        tale.push(format!("{}; wrote {}", words(ending.as_ref()), writes.join(", ")));
        let (pause, calm) = verdict(ending, scenario.patience);
        bench.clock().advance(pause);
        quiet = if writes.is_empty() { quiet + calm } else { 0 };
        if quiet >= QUIET {
            let mark = (bench.revision().await, (scenario.outside)());
            (scenario.world)(bench.client().clone()).await;
            if mark == (bench.revision().await, (scenario.outside)()) {
                return Ok(());
            }
            quiet = 0;
        }
    }
    let last = tale.split_off(tale.len().saturating_sub(5));
    Err(format!(
        "after {PASSES} passes there is still something to do; the last ones:\n  {}",
        last.join("\n  ")
    ))
}

/// How long to wait after a pass, and how much it counts towards being settled, if it wrote nothing.
fn verdict(ending: Option<Result<Outcome, Fault>>, patience: Duration) -> (Duration, usize) {
    const MOMENT: Duration = Duration::from_secs(1);
    match ending {
        Some(Ok(Outcome::OnChange | Outcome::Refused | Outcome::Gone)) => (Duration::ZERO, QUIET),
        Some(Ok(Outcome::After(delay))) if delay > patience => (Duration::ZERO, QUIET),
        Some(Ok(Outcome::After(delay))) => (delay, 1),
        Some(Err(fault)) if fault.retry() == Retry::Slowly => (Duration::from_secs(300), 0),
        Some(Err(_)) | None => (MOMENT, 0),
    }
}

fn words(ending: Option<&Result<Outcome, Fault>>) -> String {
    match ending {
        Some(Ok(outcome)) => format!("{outcome:?}"),
        Some(Err(fault)) => fault.story(),
        None => "killed".into(),
    }
}
