//! How instances run: sizes from the spec, and the certificate that they show.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use api::foreign::cnpg::Cluster;
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use ports::authority::{Facts, Order};
use ports::postgres::Settings;
use sha2::{Digest, Sha256};

use super::super::super::quantity::units;
use super::{Door, World};

/// What an instance may use if nobody says: the smallest plan.
const MEMORY: u64 = 256 << 20;
/// Memory for which there is room for [`CONNECTIONS`]: 256Mi serve 50, 512Mi 100, 1Gi 200.
const MEMORY_STEP: u64 = 256 << 20;
/// Connections for each [`MEMORY_STEP`].
const CONNECTIONS: u64 = 50;
/// The fewest connections: some are kept for standbys and the platform itself.
const CONNECTIONS_MIN: u64 = 20;
/// The most: beyond it a server spends more on switching than on work.
const CONNECTIONS_MAX: u64 = 1000;
/// How long a certificate is good: ninety days, as cert-manager has it.
const LIFETIME: SignedDuration = SignedDuration::from_hours(2160);

/// Settings, and the certificate that is to be signed for them.
#[derive(Clone, Debug)]
pub(super) struct Dress {
    /// `None` as long as nobody knows the addresses that the first certificate is for.
    pub(super) settings: Option<Settings>,
    pub(super) order: Option<Order>,
}

/// How instances are to run.
pub(super) fn dress(cluster: &Cluster, world: &World) -> Dress {
    let order = order(cluster, world);
    let held = world.certificate.as_ref();
    let certificate = match &order {
        Some(order) => Some(worn(&order.names, order.not_before)),
        None => held.map(|held| worn(&held.names, held.not_before)),
    };
    let settings = certificate.map(|certificate| {
        let parameters = parameters(cluster);
        let mark = mark(&[&format!("{parameters:?}"), &world.archive.to_string(), &certificate]);
        Settings { parameters, archive: world.archive, mark }
    });
    Dress { settings, order }
}

/// What tells one certificate from another before it is signed. Its end is the authority's to cut.
fn worn(names: &BTreeSet<String>, not_before: Timestamp) -> String {
    format!("{names:?} {}", not_before.as_second())
}

/// A short word that stands for texts.
pub(super) fn mark(parts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part.len().to_be_bytes());
        digest.update(part);
    }
    digest.finalize().iter().take(16).fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// What is to be signed, if the certificate that is there does not do.
fn order(cluster: &Cluster, world: &World) -> Option<Order> {
    let names = names(cluster, world)?;
    let good = world.certificate.as_ref().is_some_and(|held| {
        let ours = held.signed_here && held.key_fits && held.names == names;
        ours && held.not_before <= world.now && world.now < renewal(held)
    });
    let not_before = Timestamp::from_second(world.now.as_second()).unwrap_or(world.now);
    let not_after = not_before.saturating_add(LIFETIME).unwrap_or(Timestamp::MAX);
    (!good).then_some(Order { names, not_before, not_after })
}

/// When a third of its life is left.
fn renewal(held: &Facts) -> Timestamp {
    let third = held.not_after.duration_since(held.not_before) / 3;
    held.not_after.saturating_sub(third).unwrap_or(held.not_before)
}

/// Everything that clients may call the servers, once all Services have addresses.
fn names(cluster: &Cluster, world: &World) -> Option<BTreeSet<String>> {
    let namespace = cluster.namespace().unwrap_or_default();
    let mut names = BTreeSet::from(["localhost".to_owned(), "127.0.0.1".to_owned()]);
    for door in Door::ALL {
        let service = door.service(cluster);
        names.insert(world.addresses.get(&door)?.clone());
        names.insert(format!("{service}.{namespace}"));
        names.insert(format!("{service}.{namespace}.svc"));
        names.insert(service);
    }
    Some(names)
}

/// Sizes for the memory that an instance may use; what the spec says wins.
fn parameters(cluster: &Cluster) -> BTreeMap<String, String> {
    let memory = memory(cluster);
    let connections = (memory * CONNECTIONS / MEMORY_STEP).clamp(CONNECTIONS_MIN, CONNECTIONS_MAX);
    let quarter = memory / 4;
    let kilobytes = |bytes: u64| format!("{}kB", (bytes >> 10).max(64));
    let megabytes = |bytes: u64| format!("{}MB", (bytes >> 20).max(1));
    let sizes = [
        ("shared_buffers", megabytes(quarter)),
        ("effective_cache_size", megabytes(memory / 4 * 3)),
        ("work_mem", kilobytes(quarter / connections)),
        ("maintenance_work_mem", megabytes(memory / 16)),
        ("max_connections", connections.to_string()),
    ];
    let mut parameters: BTreeMap<String, String> =
        sizes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let said = cluster.spec.postgresql.iter().flat_map(|postgresql| &postgresql.parameters);
    parameters.extend(said.map(|(name, value)| (name.to_ascii_lowercase(), value.clone())));
    parameters
}

fn memory(cluster: &Cluster) -> u64 {
    let resources = cluster.spec.resources.as_ref();
    let said = resources.and_then(|all| all.limits.get("memory").or_else(|| all.requests.get("memory")));
    said.and_then(|said| units(&said.0)).unwrap_or(MEMORY).max(16 << 20)
}
