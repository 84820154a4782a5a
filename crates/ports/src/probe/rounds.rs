//! Probes that go their rounds, and what they found.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{broadcast, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{Finding, Probe, Prober, Purpose};

/// How soon the second question comes while there was no good answer yet; the time then doubles up to the period.
const EAGER: Duration = Duration::from_millis(50);
/// How long a program may take to listen before anybody is told that it does not.
const PATIENCE: Duration = Duration::from_secs(1);
/// Names of changes that wait for a slow listener.
const CHANGES: usize = 1024;

/// The findings of one run, each purpose with its own.
type Findings = BTreeMap<Purpose, Finding>;

/// Probes that go their rounds.
pub struct Rounds<P> {
    prober: Arc<P>,
    held: Arc<Mutex<HashMap<String, Held>>>,
    changes: broadcast::Sender<String>,
}

struct Held {
    findings: Findings,
    /// Ends the rounds when it is dropped.
    _rounds: JoinSet<()>,
}

impl<P: Prober> Rounds<P> {
    /// No rounds yet.
    pub fn new(prober: P) -> Self {
        Self { prober: Arc::new(prober), held: Arc::default(), changes: broadcast::Sender::new(CHANGES) }
    }

    /// Begins the rounds of a run. One that goes its rounds already is left as it is.
    pub fn begin(&self, run: &str, probes: Vec<Probe>) {
        let mut held = self.held.lock();
        if held.contains_key(run) {
            return;
        }
        let findings: Findings = probes.iter().map(|probe| (probe.purpose, Finding::default())).collect();
        let (started, wait) = watch::channel(!findings.contains_key(&Purpose::Startup));
        let started = Arc::new(started);
        let mut rounds = JoinSet::new();
        for probe in probes {
            let round = Round {
                run: run.to_owned(),
                prober: self.prober.clone(),
                held: self.held.clone(),
                changes: self.changes.clone(),
                started: started.clone(),
            };
            rounds.spawn(round.go(probe, wait.clone()));
        }
        held.insert(run.to_owned(), Held { findings, _rounds: rounds });
    }

    /// What was found so far; `None` if the run has no rounds.
    pub fn found(&self, run: &str) -> Option<BTreeMap<Purpose, Finding>> {
        self.held.lock().get(run).map(|held| held.findings.clone())
    }

    /// Ends the rounds of a run.
    pub fn end(&self, run: &str) {
        let ended = self.held.lock().remove(run);
        drop(ended);
    }

    /// The names of all runs that have rounds.
    pub fn list(&self) -> Vec<String> {
        self.held.lock().keys().cloned().collect()
    }

    /// Tells the name of each run whose findings change from now on.
    pub fn changes(&self) -> broadcast::Receiver<String> {
        self.changes.subscribe()
    }
}

struct Round<P> {
    run: String,
    prober: Arc<P>,
    held: Arc<Mutex<HashMap<String, Held>>>,
    changes: broadcast::Sender<String>,
    started: Arc<watch::Sender<bool>>,
}

/// Answers in a row.
#[derive(Default)]
struct Row {
    good: u32,
    bad: u32,
    ever_good: bool,
    last_counted: Option<Instant>,
}

impl<P: Prober> Round<P> {
    async fn go(self, probe: Probe, mut wait: watch::Receiver<bool>) {
        if probe.purpose != Purpose::Startup && wait.wait_for(|started| *started).await.is_err() {
            return;
        }
        let begun = Instant::now();
        tokio::time::sleep(probe.delay).await;
        let mut row = Row::default();
        let mut pause = EAGER.min(probe.period);
        loop {
            let answer = self.prober.ask(&probe.check, probe.timeout).await;
            let good = answer.is_ok();
            let believed = row.count(&answer, &probe);
            let trouble = answer.err().filter(|_| begun.elapsed() > PATIENCE);
            self.note(probe.purpose, believed, trouble, good);
            if probe.purpose == Purpose::Startup && believed == Some(true) {
                self.started.send_replace(true);
                return;
            }
            if row.ever_good || probe.purpose == Purpose::Liveness {
                pause = probe.period;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(probe.period);
        }
    }

    /// Writes down what is believed now, and tells if that is news.
    fn note(&self, purpose: Purpose, believed: Option<bool>, trouble: Option<String>, good: bool) {
        let mut held = self.held.lock();
        let Some(finding) = held.get_mut(&self.run).and_then(|held| held.findings.get_mut(&purpose)) else {
            return;
        };
        let before = finding.clone();
        finding.passes = believed.or(finding.passes);
        // While it still passes, a single bad answer is nobody's business.
        if good || finding.passes == Some(true) {
            finding.trouble = None;
        } else if trouble.is_some() {
            finding.trouble = trouble;
        }
        let news = *finding != before;
        drop(held);
        if news {
            // Nobody listening is no failure.
            let _ = self.changes.send(self.run.clone());
        }
    }
}

impl Row {
    /// Counts an answer, and says what is believed from now on. Bad answers to eager questions count only as often as
    /// patient ones would.
    fn count(&mut self, answer: &Result<(), String>, probe: &Probe) -> Option<bool> {
        let now = Instant::now();
        if answer.is_ok() {
            self.good += 1;
            self.bad = 0;
            self.ever_good = true;
            self.last_counted = None;
            return (self.good >= probe.successes.max(1)).then_some(true);
        }
        self.good = 0;
        let due = self.last_counted.is_none_or(|last| now.duration_since(last) >= probe.period);
        if due {
            self.bad += 1;
            self.last_counted = Some(now);
        }
        (self.bad >= probe.failures.max(1)).then_some(false)
    }
}
