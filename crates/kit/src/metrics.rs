//! How much the rooms do, for whoever watches over them.

use std::time::Duration;

use parking_lot::Mutex;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

use crate::census::{Census, Stand};
use crate::fault::{Fault, Retry};
use crate::run::Outcome;

/// The shortest pass told apart: one that reads caches and writes nothing takes less.
const SHORTEST: f64 = 0.001;
/// Each bucket is this much longer than the one before; eight of them reach past the 30 s that a step may take.
const FACTOR: f64 = 5.0;
const BUCKETS: u16 = 8;

/// The metrics of all rooms.
pub struct Metrics {
    registry: Mutex<Registry>,
    passes: Family<Passes, Counter>,
    seconds: Family<Of, Histogram, fn() -> Histogram>,
    errors: Family<Errors, Counter>,
    depth: Family<Of, Gauge>,
    writes: Family<Of, Counter>,
    census: Census,
}

/// The metrics of one room. Clones count together; counting takes no lock.
#[derive(Clone, Debug)]
pub struct RoomMetrics {
    ok: Counter,
    refused: Counter,
    failed: Counter,
    seconds: Histogram,
    now: Counter,
    backoff: Counter,
    slowly: Counter,
    depth: Gauge,
    writes: Counter,
    room: &'static str,
    census: Census,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Of {
    room: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Passes {
    room: &'static str,
    outcome: Ended,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Errors {
    room: &'static str,
    retry: Class,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, EncodeLabelValue)]
#[allow(non_camel_case_types, reason = "the names are the values of the label")]
enum Ended {
    ok,
    refused,
    fault,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, EncodeLabelValue)]
#[allow(non_camel_case_types, reason = "the names are the values of the label")]
enum Class {
    now,
    backoff,
    slowly,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Metrics of no room yet.
    pub fn new() -> Self {
        let buckets = || Histogram::new(exponential_buckets(SHORTEST, FACTOR, BUCKETS));
        let (passes, errors) = (Family::default(), Family::default());
        let (depth, writes) = (Family::default(), Family::default());
        let seconds = Family::new_with_constructor(buckets as fn() -> Histogram);
        let mut registry = Registry::with_prefix("terrace");
        registry.register("passes", "Passes that ended, by how", passes.clone());
        registry.register_with_unit("pass", "How long passes took", Unit::Seconds, seconds.clone());
        registry.register("errors", "Passes that failed, by when they are tried again", errors.clone());
        registry.register("queue_depth", "Objects that wait for a pass", depth.clone());
        registry.register("writes", "Write requests to the API server", writes.clone());
        let census = Census::default();
        registry.register_collector(Box::new(census.clone()));
        Self { registry: Mutex::new(registry), passes, seconds, errors, depth, writes, census }
    }

    /// The handle of one room. All its numbers are there from now on, as zeros.
    pub fn room(&self, room: &'static str) -> RoomMetrics {
        let of = Of { room };
        let passes = |outcome| self.passes.get_or_create_owned(&Passes { room, outcome });
        let errors = |retry| self.errors.get_or_create_owned(&Errors { room, retry });
        RoomMetrics {
            ok: passes(Ended::ok),
            refused: passes(Ended::refused),
            failed: passes(Ended::fault),
            seconds: self.seconds.get_or_create_owned(&of),
            now: errors(Class::now),
            backoff: errors(Class::backoff),
            slowly: errors(Class::slowly),
            depth: self.depth.get_or_create_owned(&of),
            writes: self.writes.get_or_create_owned(&of),
            room,
            census: self.census.clone(),
        }
    }

    /// Makes further numbers known.
    pub(crate) fn enroll(&self, names: impl FnOnce(&mut Registry)) {
        names(&mut self.registry.lock());
    }

    /// Everything, in the text form of OpenMetrics.
    pub fn encode(&self) -> String {
        let mut text = String::new();
        // A string takes everything that is written to it.
        let _ = encode(&mut text, &self.registry.lock());
        text
    }
}

impl RoomMetrics {
    /// A pass has ended.
    pub fn passed(&self, outcome: &Result<Outcome, Fault>, duration: Duration) {
        self.seconds.observe(duration.as_secs_f64());
        match outcome {
            Ok(Outcome::OnChange | Outcome::After(_) | Outcome::Gone) => self.ok.inc(),
            Ok(Outcome::Refused) => self.refused.inc(),
            Err(fault) => {
                self.failed.inc();
                match fault.retry() {
                    Retry::Now => self.now.inc(),
                    Retry::Backoff | Retry::Within(_) | Retry::After(_) => self.backoff.inc(),
                    Retry::Slowly => self.slowly.inc(),
                }
            }
        };
    }

    /// So many objects wait for a pass now.
    pub fn depth(&self, waiting: usize) {
        self.depth.set(i64::try_from(waiting).unwrap_or(i64::MAX));
    }

    /// How the room's objects stand is told from now on, to whoever asks.
    pub(crate) fn census(&self, count: impl Fn() -> Vec<Stand> + Send + Sync + 'static) {
        self.census.include(self.room, count);
    }

    /// A write request was sent.
    pub(crate) fn wrote(&self) {
        self.writes.inc();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ending_is_counted_where_it_belongs() {
        let metrics = Metrics::new();
        let room = metrics.room("toy");
        let outside = |retry| Fault::outside("tap", retry, "dry");
        let endings = [
            Ok(Outcome::OnChange),
            Ok(Outcome::After(Duration::from_secs(1))),
            Ok(Outcome::Gone),
            Ok(Outcome::Refused),
            Err(outside(Retry::Now)),
            Err(outside(Retry::Slowly)),
            Err(outside(Retry::Slowly)),
        ];
        for ending in endings {
            room.passed(&ending, Duration::from_millis(30));
        }
        room.clone().depth(7);
        room.wrote();
        let text = metrics.encode();
        let lines = [
            r#"terrace_passes_total{room="toy",outcome="ok"} 3"#,
            r#"terrace_passes_total{room="toy",outcome="refused"} 1"#,
            r#"terrace_passes_total{room="toy",outcome="fault"} 3"#,
            r#"terrace_errors_total{room="toy",retry="now"} 1"#,
            r#"terrace_errors_total{room="toy",retry="backoff"} 0"#,
            r#"terrace_errors_total{room="toy",retry="slowly"} 2"#,
            r#"terrace_pass_seconds_count{room="toy"} 7"#,
            r#"terrace_pass_seconds_bucket{le="0.025",room="toy"} 0"#,
            r#"terrace_pass_seconds_bucket{le="0.125",room="toy"} 7"#,
            r#"terrace_queue_depth{room="toy"} 7"#,
            r#"terrace_writes_total{room="toy"} 1"#,
        ];
        for line in lines {
            assert!(text.lines().any(|told| told == line), "no `{line}` in\n{text}");
        }
    }

    #[test]
    fn objects_are_counted_by_what_they_say_when_somebody_asks() {
        let metrics = Metrics::new();
        let all = std::sync::Arc::new(parking_lot::Mutex::new(Vec::new()));
        let seen = all.clone();
        metrics.room("toy").census(move || seen.lock().clone());
        assert!(!metrics.encode().contains("terrace_objects{"), "there is none");
        let says = |ready: &str, reason: &str| (ready.to_owned(), reason.to_owned());
        *all.lock() = vec![says("True", "Running"), says("False", "DiskFull"), says("True", "Running")];
        let text = metrics.encode();
        assert!(text.contains("terrace_objects{room=\"toy\",ready=\"True\",reason=\"Running\"} 2"), "{text}");
        assert!(
            text.contains("terrace_objects{room=\"toy\",ready=\"False\",reason=\"DiskFull\"} 1"),
            "{text}"
        );
        all.lock().remove(1);
        assert!(!metrics.encode().contains("DiskFull"), "what no object says any more is not told");
    }

    #[test]
    fn a_room_that_did_nothing_yet_shows_zeros() {
        let metrics = Metrics::new();
        let _room = metrics.room("idle");
        assert!(metrics.encode().contains(r#"terrace_passes_total{room="idle",outcome="ok"} 0"#));
    }
}
