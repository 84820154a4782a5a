use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::Duration;

use api::apps::{DataSource, DataSourceStatus};
use api::conditions::{Reason, Standing};
use kit::{Next, Plan};

/// How often the Secret of a source that is ready is looked at: it changes rarely, and applications read it themselves.
const LOOK: Duration = Duration::from_secs(5 * 60);
/// How often that of one that is not: somebody may be putting it right just now.
const LOOK_SOON: Duration = Duration::from_secs(60);

/// What is known of a source's Secret.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct World {
    /// The keys of its Secret, if that is there.
    pub keys: Option<BTreeSet<String>>,
}

/// Says whether the source can be attached.
pub(super) fn plan(source: &DataSource, world: &World) -> Plan<Infallible, DataSourceStatus> {
    let mut status = source.status.clone().unwrap_or_default();
    status.observed_generation = source.metadata.generation;
    let secret = format!("{}/{}", source.spec.secret_ref.namespace, source.spec.secret_ref.name);
    let Some(keys) = &world.keys else {
        let message = format!("Secret {secret} does not exist; create it with the mapped keys");
        return Plan::wait(status, Reason::CredentialsMissing, message, LOOK_SOON);
    };
    let mapped = source.spec.env_var_mapping.keys().map(|key| key.as_str());
    let missing: Vec<&str> = mapped.filter(|key| !keys.contains(*key)).collect();
    if !missing.is_empty() {
        let message = format!("Secret {secret} lacks {}; add it, or map other keys", missing.join(", "));
        return Plan::wait(status, Reason::CredentialsMissing, message, LOOK_SOON);
    }
    status.ready(Reason::Available, format!("Secret {secret} has every mapped key"));
    Plan::part(Vec::new(), status, Next::After(LOOK))
}
