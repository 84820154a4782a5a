//! How often somebody may ask: a bucket for each token, and for each address that brings none. Time is an argument.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;

/// Most buckets that are kept; those that are full again are forgotten first. Who comes when all are in use shares one.
const MOST: usize = 10_000;
/// How often refusals of one caller are written down.
const PERIOD: Duration = Duration::from_secs(1);

/// Buckets of calls, by whom they belong to.
#[derive(Debug)]
pub struct Limits {
    rate: f64,
    burst: f64,
    most: usize,
    buckets: Mutex<HashMap<String, Bucket>>,
}

/// What is left, and when that was so.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bucket {
    left: f64,
    at: Duration,
}

impl Bucket {
    fn now(self, rate: f64, burst: f64, now: Duration) -> f64 {
        (self.left + now.saturating_sub(self.at).as_secs_f64() * rate).min(burst)
    }
}

impl Limits {
    /// So many calls for each second, and so many at once.
    pub fn new(rate: f64, burst: u32) -> Self {
        // A rate of nothing would refuse for ever, and tell nobody until when.
        let (rate, burst) = (rate.max(0.001), f64::from(burst.max(1)));
        Self { rate, burst, most: MOST, buckets: Mutex::default() }
    }

    /// Takes one call; or says in how many seconds there is one. `now` counts from any moment, always the same.
    pub fn take(&self, whose: &str, now: Duration) -> Result<(), u64> {
        let mut buckets = self.buckets.lock();
        let mut whose = whose;
        if !buckets.contains_key(whose) && buckets.len() >= self.most {
            buckets.retain(|_, bucket| bucket.now(self.rate, self.burst, now) < self.burst);
            if buckets.len() >= self.most {
                whose = "";
            }
        }
        let full = Bucket { left: self.burst, at: now };
        let bucket = buckets.entry(whose.to_owned()).or_insert(full);
        let left = bucket.now(self.rate, self.burst, now);
        let taken = left >= 1.0;
        *bucket = Bucket { left: if taken { left - 1.0 } else { left }, at: now.max(bucket.at) };
        match taken {
            true => Ok(()),
            // Rounded up: who comes back then finds a call.
            false => Err((((1.0 - left) / self.rate).ceil() as u64).max(1)),
        }
    }
}

/// Refusals of those who ask too often: the first is written down at once, those of the second after it together. So
/// whoever floods the server does not flood its trail, and still every call is counted in it.
#[derive(Debug)]
pub struct Floods<T> {
    waiting: Mutex<HashMap<String, Flood<T>>>,
}

#[derive(Debug)]
struct Flood<T> {
    since: Duration,
    calls: u64,
    last: Option<T>,
}

impl<T> Default for Floods<T> {
    fn default() -> Self {
        Self { waiting: Mutex::default() }
    }
}

impl<T> Floods<T> {
    /// Takes a refusal; gives it back if it is to be written down now.
    pub fn note(&self, whose: &str, refusal: T, now: Duration) -> Option<T> {
        let mut waiting = self.waiting.lock();
        if let Some(flood) = waiting.get_mut(whose) {
            flood.calls += 1;
            flood.last = Some(refusal);
            return None;
        }
        waiting.insert(whose.to_owned(), Flood { since: now, calls: 0, last: None });
        Some(refusal)
    }

    /// What is to be written down now: the last refusal of each, and for how many calls it stands.
    pub fn due(&self, now: Duration) -> Vec<(T, u64)> {
        let mut due = Vec::new();
        self.waiting.lock().retain(|_, flood| {
            if now.saturating_sub(flood.since) < PERIOD {
                return true;
            }
            let calls = std::mem::take(&mut flood.calls);
            flood.since = now;
            due.extend(flood.last.take().map(|last| (last, calls)));
            // It is forgotten after a second without a refusal.
            calls > 0
        });
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn calls_are_taken_from_a_bucket_that_fills_with_time() {
        let limits = Limits::new(2.0, 3);
        let table = [
            (0, "a", Ok(())),
            (0, "a", Ok(())),
            (0, "a", Ok(())),
            (0, "a", Err(1)),
            (0, "b", Ok(())),
            (499, "a", Err(1)),
            (500, "a", Ok(())),
            (500, "a", Err(1)),
            // A clock that goes back gives nothing, and takes nothing.
            (100, "a", Err(1)),
            (1_000, "a", Ok(())),
            // However long it waits, it has no more than it may have at once.
            (60_000, "a", Ok(())),
            (60_000, "a", Ok(())),
            (60_000, "a", Ok(())),
            (60_000, "a", Err(1)),
        ];
        for (row, (time, whose, want)) in table.into_iter().enumerate() {
            assert_eq!(limits.take(whose, at(time)), want, "row {row}");
        }
    }

    #[test]
    fn who_is_refused_is_told_when_to_come_back() {
        for (rate, want) in [(0.1, 10), (0.25, 4), (1.0, 1), (50.0, 1)] {
            let limits = Limits::new(rate, 1);
            limits.take("a", at(0)).expect("the first");
            assert_eq!(limits.take("a", at(0)), Err(want), "rate {rate}");
            assert_eq!(limits.take("a", at(want * 1_000)), Ok(()), "rate {rate}");
        }
    }

    #[test]
    fn buckets_are_forgotten_when_they_are_full_again() {
        let limits = Limits { most: 3, ..Limits::new(1.0, 1) };
        for name in ["a", "b", "c"] {
            limits.take(name, at(0)).expect("its own bucket");
        }
        // All are in use: newcomers share one.
        assert_eq!(limits.take("d", at(0)), Ok(()));
        assert_eq!(limits.take("e", at(0)), Err(1));
        assert_eq!(limits.take("a", at(0)), Err(1), "who was there has what was theirs");
        assert_eq!(limits.take("f", at(5_000)), Ok(()));
        assert_eq!(limits.buckets.lock().len(), 1);
    }

    #[test]
    fn refusals_are_written_down_at_once_and_then_once_a_second_with_their_number() {
        let floods = Floods::default();
        assert_eq!(floods.note("a", 1, at(0)), Some(1));
        assert_eq!(floods.note("a", 2, at(10)), None);
        assert_eq!(floods.note("b", 3, at(10)), Some(3));
        assert_eq!(floods.note("a", 4, at(900)), None);
        assert_eq!(floods.due(at(999)), []);
        assert_eq!(floods.due(at(1_005)), [(4, 2)]);
        assert_eq!(floods.note("a", 5, at(1_500)), None);
        assert_eq!(floods.due(at(2_100)), [(5, 1)]);
        assert_eq!(floods.due(at(3_200)), []);
        assert_eq!(floods.note("a", 6, at(3_300)), Some(6), "it is forgotten when it has ended");
    }
}
