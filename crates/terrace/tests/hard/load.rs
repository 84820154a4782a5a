//! Clients that never stop asking, and remember every answer that was not a good one.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::web::Browser;

/// Between two requests of one client: many clients at a human pace, not one that takes all of a small machine.
const PACE: Duration = Duration::from_millis(4);

/// How one client asks.
#[derive(Clone, Copy)]
pub enum Manner {
    /// Over one connection for as long as it lasts.
    Kept,
    /// Over a new connection each time.
    Fresh,
    /// With a body, and over a kept connection.
    Posting,
    /// For an answer that takes a second to arrive.
    Slow,
}

/// What was answered so far.
#[derive(Default)]
struct Seen {
    good: AtomicUsize,
    posts: AtomicUsize,
    /// What tells one version from another in the answers.
    versions: Mutex<BTreeSet<String>>,
    pods: Mutex<BTreeSet<String>>,
    latest: Mutex<String>,
    bad: Mutex<Vec<String>>,
    slowest_ms: AtomicU64,
    gently: AtomicBool,
    busy: AtomicUsize,
}

/// Clients of one host.
pub struct Load {
    host: String,
    seen: Arc<Seen>,
    stop: Vec<mpsc::Sender<()>>,
    clients: Vec<JoinHandle<()>>,
}

/// What clients saw until they were stopped.
pub struct Total {
    pub good: usize,
    pub posts: usize,
    pub versions: BTreeSet<String>,
    pub pods: BTreeSet<String>,
    pub bad: Vec<String>,
    /// The longest that anybody waited for a good answer.
    pub slowest: Duration,
}

impl Load {
    pub fn start(gateway: SocketAddr, host: &str, manners: &[Manner]) -> Self {
        let mut load =
            Self { host: host.to_owned(), seen: Arc::default(), stop: Vec::new(), clients: Vec::new() };
        for manner in manners {
            let (stop, stopped) = mpsc::channel();
            let (seen, host, manner) = (Arc::clone(&load.seen), load.host.clone(), *manner);
            load.stop.push(stop);
            load.clients.push(std::thread::spawn(move || client(gateway, &host, manner, &seen, &stopped)));
        }
        load
    }

    /// Waits until an answer carries this word.
    pub fn wait_for(&self, word: &str) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.seen.latest.lock().expect("no client panics").contains(word) {
            assert!(
                Instant::now() < deadline,
                "{}: nobody was answered with `{word}`; bad: {:?}",
                self.host,
                self.seen.bad
            );
            std::thread::park_timeout(PACE);
        }
    }

    /// How many good answers there were so far.
    pub fn good(&self) -> usize {
        self.seen.good.load(Ordering::Relaxed)
    }

    /// What went wrong so far.
    pub fn bad(&self) -> Vec<String> {
        self.seen.bad.lock().expect("no client panics").clone()
    }

    /// From now on only requests that can be sent twice. Returns once the others are answered.
    pub fn gently(&self) {
        self.seen.gently.store(true, Ordering::SeqCst);
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.seen.busy.load(Ordering::SeqCst) > 0 {
            assert!(Instant::now() < deadline, "{}: somebody is not answered", self.host);
            std::thread::park_timeout(PACE);
        }
    }

    pub fn finish(self) -> Total {
        drop(self.stop);
        for client in self.clients {
            client.join().expect("no client panics");
        }
        let take = |set: &Mutex<BTreeSet<String>>| set.lock().expect("no client panics").clone();
        Total {
            good: self.seen.good.load(Ordering::Relaxed),
            posts: self.seen.posts.load(Ordering::Relaxed),
            versions: take(&self.seen.versions),
            pods: take(&self.seen.pods),
            bad: self.seen.bad.lock().expect("no client panics").clone(),
            slowest: Duration::from_millis(self.seen.slowest_ms.load(Ordering::Relaxed)),
        }
    }
}

fn client(gateway: SocketAddr, host: &str, manner: Manner, seen: &Seen, stopped: &mpsc::Receiver<()>) {
    let mut browser = Browser::new(gateway);
    let body = "x".repeat(10_000);
    while stopped.recv_timeout(PACE) == Err(mpsc::RecvTimeoutError::Timeout) {
        let asked = Instant::now();
        let posting = matches!(manner, Manner::Posting);
        let once = matches!(manner, Manner::Posting | Manner::Slow);
        // Counted first, looked second: whoever sees nobody busy can be sure that nobody will be.
        let _busy = once.then(|| Busy::new(&seen.busy));
        if once && seen.gently.load(Ordering::SeqCst) {
            continue;
        }
        let answer = match manner {
            Manner::Kept | Manner::Fresh => browser.get(host, "/"),
            Manner::Posting => browser.post(host, &body),
            Manner::Slow => browser.get(host, "/slow"),
        };
        match answer {
            Ok(answer) if answer.status == 200 => {
                let took = u64::try_from(asked.elapsed().as_millis()).unwrap_or(u64::MAX);
                seen.good.fetch_add(1, Ordering::Relaxed);
                seen.slowest_ms.fetch_max(took, Ordering::Relaxed);
                seen.posts.fetch_add(usize::from(posting), Ordering::Relaxed);
                remember(seen, &answer.body);
            }
            Ok(answer) => note(seen, host, asked, &format!("{} {}", answer.status, answer.body)),
            Err(error) => note(seen, host, asked, &error),
        }
        if matches!(manner, Manner::Fresh) {
            browser.close();
        }
    }
}

/// A request that must not break off, counted as long as it is under way.
struct Busy<'a>(&'a AtomicUsize);

impl<'a> Busy<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn remember(seen: &Seen, body: &str) {
    let json: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
    let version = match json["version"].as_str() {
        // Begun before others that were answered since.
        Some(_) if json["padding"].is_string() => return,
        Some(version) => format!("{version}/{}", json["greeting"].as_str().unwrap_or_default()),
        None => body.to_owned(),
    };
    if let Some(pod) = json["pod"].as_str() {
        seen.pods.lock().expect("no client panics").insert(pod.to_owned());
    }
    seen.versions.lock().expect("no client panics").insert(version.clone());
    *seen.latest.lock().expect("no client panics") = version;
}

fn note(seen: &Seen, host: &str, asked: Instant, what: &str) {
    let at = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let line =
        format!("at {:.3} {host} after {:?}: {}", at.as_secs_f64(), asked.elapsed(), what.replace('\n', " "));
    seen.bad.lock().expect("no client panics").push(line.chars().take(400).collect());
}
