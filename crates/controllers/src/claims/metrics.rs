//! How many users and passwords there were, and how long they took.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

/// What the rooms of claims count. Clones count together.
#[derive(Clone, Debug)]
pub struct Metrics {
    users: Counter,
    user_seconds: Histogram,
    user_errors: Counter,
    rotations: Counter,
    rotation_seconds: Histogram,
    rotation_errors: Counter,
    provisioning_errors: Counter,
    loads: Counter,
    load_seconds: Histogram,
    load_errors: Counter,
}

impl Default for Metrics {
    fn default() -> Self {
        let seconds = || Histogram::new(exponential_buckets(0.001, 3.0, 10));
        Self {
            users: Counter::default(),
            user_seconds: seconds(),
            user_errors: Counter::default(),
            rotations: Counter::default(),
            rotation_seconds: seconds(),
            rotation_errors: Counter::default(),
            provisioning_errors: Counter::default(),
            loads: Counter::default(),
            load_seconds: seconds(),
            load_errors: Counter::default(),
        }
    }
}

impl Metrics {
    /// Makes the numbers known.
    pub(super) fn enroll(&self, registry: &mut Registry) {
        let counters = [
            ("database_users_created", "Database users that were created", &self.users),
            ("database_user_errors", "Database users that could not be created", &self.user_errors),
            ("database_passwords_rotated", "Passwords that were rotated", &self.rotations),
            ("database_rotation_errors", "Passwords that could not be rotated", &self.rotation_errors),
            (
                "database_provisioning_errors",
                "Databases that could not be provisioned",
                &self.provisioning_errors,
            ),
            ("database_claims_loaded", "Claims that were looked at with their servers", &self.loads),
            ("database_claim_load_errors", "Claims whose server could not be looked at", &self.load_errors),
        ];
        for (name, help, counter) in counters {
            registry.register(name, help, counter.clone());
        }
        let histograms = [
            ("database_user_create", "How long a new database user took", &self.user_seconds),
            ("database_rotation", "How long a rotation took", &self.rotation_seconds),
            ("database_claim_load", "How long it took to look at a claim and its server", &self.load_seconds),
        ];
        for (name, help, histogram) in histograms {
            registry.register_with_unit(name, help, Unit::Seconds, histogram.clone());
        }
    }

    /// A password was given to a login, or not.
    pub(super) fn issued(&self, first: bool, good: bool, took: Duration) {
        let (count, errors, seconds) = match first {
            true => (&self.users, &self.user_errors, &self.user_seconds),
            false => (&self.rotations, &self.rotation_errors, &self.rotation_seconds),
        };
        if good {
            count.inc();
            seconds.observe(took.as_secs_f64());
        } else {
            errors.inc();
        }
    }

    /// A step that was to bring a database about failed.
    pub(super) fn provisioning_failed(&self) {
        self.provisioning_errors.inc();
    }

    /// A claim was looked at, or could not be.
    pub(super) fn loaded(&self, good: bool, took: Duration) {
        if good {
            self.loads.inc();
            self.load_seconds.observe(took.as_secs_f64());
        } else {
            self.load_errors.inc();
        }
    }
}
