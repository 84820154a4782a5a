//! Counters of a gateway, written as Prometheus text.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::StatusCode;

/// Upper bounds of the buckets, in microseconds: from a page in memory to a patient report.
const BOUNDS: [u64; 10] =
    [500, 1_000, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 5_000_000, 30_000_000];

#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// By the first digit of the status; 0 holds what has none.
    classes: [AtomicU64; 6],
    /// The last holds what is above every bound.
    buckets: [AtomicU64; BOUNDS.len() + 1],
    total_us: AtomicU64,
    retries: AtomicU64,
}

impl Metrics {
    /// One answer that began after `took`.
    pub(crate) fn answered(&self, status: StatusCode, took: Duration) {
        let class = usize::from(status.as_u16() / 100);
        self.classes[if class < 6 { class } else { 0 }].fetch_add(1, Ordering::Relaxed);
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.buckets[BOUNDS.partition_point(|bound| *bound < us)].fetch_add(1, Ordering::Relaxed);
        self.total_us.fetch_add(us, Ordering::Relaxed);
    }

    pub(crate) fn retried(&self) {
        self.retries.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn text(&self, in_flight: usize, held: usize) -> String {
        let mut text = String::with_capacity(2_048);
        self.write(&mut text, in_flight, held).unwrap_or_default();
        text
    }

    fn write(&self, text: &mut String, in_flight: usize, held: usize) -> std::fmt::Result {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        head(text, "requests_total", "counter", "Answers by class of their status.")?;
        for (class, counter) in self.classes.iter().enumerate().skip(1) {
            writeln!(text, "terrace_gateway_requests_total{{code=\"{class}xx\"}} {}", load(counter))?;
        }
        head(
            text,
            "answer_seconds",
            "histogram",
            "Time from the head of a request to the head of its answer.",
        )?;
        let mut count = 0;
        for (bound, bucket) in BOUNDS.iter().zip(&self.buckets) {
            count += load(bucket);
            let bound = Duration::from_micros(*bound).as_secs_f64();
            writeln!(text, "terrace_gateway_answer_seconds_bucket{{le=\"{bound}\"}} {count}")?;
        }
        count += load(&self.buckets[BOUNDS.len()]);
        let sum = Duration::from_micros(load(&self.total_us)).as_secs_f64();
        writeln!(text, "terrace_gateway_answer_seconds_bucket{{le=\"+Inf\"}} {count}")?;
        writeln!(
            text,
            "terrace_gateway_answer_seconds_sum {sum}\nterrace_gateway_answer_seconds_count {count}"
        )?;
        head(
            text,
            "in_flight",
            "gauge",
            "Requests that a backend is answering, and open upgraded connections.",
        )?;
        writeln!(text, "terrace_gateway_in_flight {in_flight}")?;
        head(text, "held", "gauge", "Requests that wait for a backend.")?;
        writeln!(text, "terrace_gateway_held {held}")?;
        head(text, "retries_total", "counter", "Requests sent to a backend once more.")?;
        writeln!(text, "terrace_gateway_retries_total {}", load(&self.retries))
    }
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) -> std::fmt::Result {
    writeln!(text, "# HELP terrace_gateway_{name} {help}\n# TYPE terrace_gateway_{name} {kind}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_become_text() {
        let metrics = Metrics::default();
        metrics.answered(StatusCode::OK, Duration::from_micros(700));
        metrics.answered(StatusCode::NOT_FOUND, Duration::from_micros(500));
        metrics.answered(StatusCode::BAD_GATEWAY, Duration::from_secs(60));
        metrics.retried();
        let text = metrics.text(7, 2);
        for line in [
            "terrace_gateway_requests_total{code=\"2xx\"} 1",
            "terrace_gateway_requests_total{code=\"5xx\"} 1",
            "terrace_gateway_answer_seconds_bucket{le=\"0.0005\"} 1",
            "terrace_gateway_answer_seconds_bucket{le=\"0.001\"} 2",
            "terrace_gateway_answer_seconds_bucket{le=\"30\"} 2",
            "terrace_gateway_answer_seconds_bucket{le=\"+Inf\"} 3",
            "terrace_gateway_in_flight 7",
            "terrace_gateway_held 2",
            "terrace_gateway_retries_total 1",
        ] {
            assert!(text.lines().any(|there| there == line), "{line} is missing in {text}");
        }
    }
}
