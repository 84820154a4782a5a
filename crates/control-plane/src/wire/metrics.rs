//! Numbers about the server itself, in Prometheus' text form.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use http::StatusCode;
use parking_lot::Mutex;

use crate::store::Store;

/// Upper bounds of the latency buckets, in seconds.
const BOUNDS: [f64; 10] = [0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];

#[derive(Default)]
struct Latency {
    buckets: [u64; BOUNDS.len()],
    count: u64,
    sum: f64,
}

/// Counters of one server.
#[derive(Default)]
pub(crate) struct Metrics {
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
    latencies: Mutex<BTreeMap<&'static str, Latency>>,
    watches: AtomicI64,
}

impl Metrics {
    pub(crate) fn answered(&self, verb: &'static str, code: StatusCode, took: Duration) {
        *self.requests.lock().entry((verb, code.as_u16())).or_default() += 1;
        if verb == "watch" {
            return;
        }
        let mut latencies = self.latencies.lock();
        let latency = latencies.entry(verb).or_default();
        let seconds = took.as_secs_f64();
        latency.count += 1;
        latency.sum += seconds;
        for (bucket, bound) in latency.buckets.iter_mut().zip(BOUNDS) {
            *bucket += u64::from(seconds <= bound);
        }
    }

    pub(crate) fn watch_opened(&self) {
        self.watches.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn watch_closed(&self) {
        self.watches.fetch_sub(1, Ordering::Relaxed);
    }

    /// The page behind `/metrics`.
    pub(crate) fn text(&self, store: &Store) -> String {
        let mut page = String::new();
        let mut say = |line: String| {
            page.push_str(&line);
            page.push('\n');
        };
        say("# HELP apiserver_request_total Requests answered, by verb and code.".into());
        say("# TYPE apiserver_request_total counter".into());
        for ((verb, code), count) in self.requests.lock().iter() {
            say(format!("apiserver_request_total{{verb=\"{verb}\",code=\"{code}\"}} {count}"));
        }
        say("# HELP apiserver_request_duration_seconds Time to the answer, watches apart.".into());
        say("# TYPE apiserver_request_duration_seconds histogram".into());
        for (verb, latency) in self.latencies.lock().iter() {
            say(histogram(verb, latency));
        }
        say("# HELP apiserver_longrunning_requests Watches open now.".into());
        say("# TYPE apiserver_longrunning_requests gauge".into());
        say(format!(
            "apiserver_longrunning_requests{{verb=\"watch\"}} {}",
            self.watches.load(Ordering::Relaxed)
        ));
        say("# HELP apiserver_storage_objects Objects in the store, by resource.".into());
        say("# TYPE apiserver_storage_objects gauge".into());
        for (storage, count) in store.storages() {
            say(format!("apiserver_storage_objects{{resource=\"{storage}\"}} {count}"));
        }
        say("# HELP terrace_store_revision The newest revision.".into());
        say("# TYPE terrace_store_revision counter".into());
        say(format!("terrace_store_revision {}", store.revision()));
        page
    }
}

fn histogram(verb: &str, latency: &Latency) -> String {
    let name = "apiserver_request_duration_seconds";
    let mut text = String::new();
    for (bucket, bound) in latency.buckets.iter().zip(BOUNDS) {
        let _ = writeln!(text, "{name}_bucket{{verb=\"{verb}\",le=\"{bound}\"}} {bucket}");
    }
    let _ = writeln!(text, "{name}_bucket{{verb=\"{verb}\",le=\"+Inf\"}} {}", latency.count);
    let _ = writeln!(text, "{name}_sum{{verb=\"{verb}\"}} {}", latency.sum);
    let _ = write!(text, "{name}_count{{verb=\"{verb}\"}} {}", latency.count);
    text
}
