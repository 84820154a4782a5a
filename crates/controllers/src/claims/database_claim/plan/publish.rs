//! The login that is published, and the Secret that it is published in.

use std::time::Duration;

use api::annotations::ROTATE;
use api::claims::{ConnectionInfo, DatabaseClaim, DatabaseClaimStatus};
use api::connection::Connection;
use api::drift::{Drift, Severity};
use kit::{Address, Do, Next, Plan};
use kube::ResourceExt;

use super::ground::Ground;
use super::{Drawn, RESYNC, mend, report};
use crate::claims::logins::{Hour, Why};
use crate::claims::secret;
use crate::claims::server::Entry;
use crate::claims::step::Step;

/// Mends what differs, gives a new password if its time has come, and publishes what gets in.
pub(super) fn publish(ground: &Ground<'_>, status: DatabaseClaimStatus) -> Drawn {
    let (claim, world) = (ground.claim, ground.world);
    let (mut steps, mut drift) = mend::mend(ground);
    let info = status.connection_info.as_ref();
    let hour = Hour {
        now: world.now,
        period: Duration::from_secs(60 * u64::from(world.config.passwords.rotation_minutes)),
        held: &world.held,
        gets_in: match world.entry {
            Entry::Untried => None,
            Entry::Good => Some(true),
            Entry::Refused => Some(false),
            // It is not the password, as long as there is something else.
            Entry::Barred => steps.is_empty().then_some(false),
        },
        asked: claim.annotations().get(ROTATE),
        told: info.and_then(|info| info.user_name.as_deref()),
        fresh: &world.fresh,
    };
    let (turn, published) = ground.pair().turn(&hour);
    steps.extend(turn);
    let connection = ground.connection(&published);
    drift.extend(differs(ground, &connection, hour.why(&world.names.stem)));
    let child = secret::child(
        &world.secret,
        &connection,
        claim.spec.dsn_name.as_str(),
        published.at,
        published.asked.as_ref(),
    );
    let mut steps: Vec<Do<Step>> = steps.into_iter().map(Do::Outside).collect();
    steps.push(Do::Apply(Box::new(child)));
    let empty = world.empty.iter().map(|name| Address::new::<DatabaseClaim>(&name.namespace, &name.name));
    steps.extend(empty.map(|record| Do::Delete(record, None)));
    let left = hour.left().filter(|left| !left.is_zero()).unwrap_or(hour.period);
    let status = report::ready(ground, status, &published, drift);
    Plan::whole(steps, status, Next::After(left.min(RESYNC)))
}

/// What somebody else changed in the Secret. What it says is told to nobody.
fn differs(ground: &Ground<'_>, connection: &Connection, why: Option<Why>) -> Vec<Drift> {
    let (claim, world) = (ground.claim, ground.world);
    let name = &world.secret.name;
    let told = |field: String, expected: &str, actual: &str| {
        let (expected, actual) = (expected.to_owned(), actual.to_owned());
        Drift { field, expected, actual, severity: Some(Severity::High) }
    };
    let words = match (why, world.held.ours()) {
        (Some(Why::Lost), None) => return vec![told(format!("Secret {name}"), "there", "missing")],
        (Some(Why::Lost | Why::Refused), Some(_)) => {
            return vec![told(format!("Secret {name}: login"), "gets in", "does not")];
        }
        (Some(Why::First | Why::Due | Why::Asked | Why::Refused), _) | (None, None) => return Vec::new(),
        (None, Some(issued)) => &issued.words,
    };
    let status = claim.status.as_ref();
    let info = status.and_then(|status| status.connection_info.as_ref());
    let seen = status.is_some_and(|status| status.observed_generation == claim.metadata.generation);
    // What the claim or the configuration says otherwise since is a new wish.
    if !seen || info.is_none_or(|info| !tells(info, connection)) {
        return Vec::new();
    }
    let wanted = connection.secret_data(claim.spec.dsn_name.as_str());
    let differing = wanted.iter().filter(|(key, word)| words.get(*key) != Some(*word));
    let actual = |key: &String| if words.contains_key(key) { "changed" } else { "missing" };
    differing.map(|(key, _)| told(format!("Secret {name}: {key}"), "as issued", actual(key))).collect()
}

/// Whether a status tells of this connection.
fn tells(info: &ConnectionInfo, connection: &Connection) -> bool {
    info.host_name.as_ref() == Some(&connection.host)
        && info.port == Some(connection.port.to_string())
        && info.database_name.as_ref() == Some(&connection.database)
        && info.user_name.as_ref() == Some(&connection.username)
        && info.ssl_mode == Some(connection.ssl_mode)
}
