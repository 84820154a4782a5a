//! Every rule of providers.

use std::convert::Infallible;
use std::time::Duration;

use api::conditions::{Reason, Standing};
use api::infra::{AWSProvider, AWSProviderStatus};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kit::{Next, Plan, Refusal};
use ports::aws::Identity;

use crate::infra::desk::{RESYNC, RETRY};

/// How often it is looked whether a provider that goes is still needed.
const LAST_LOOK: Duration = Duration::from_secs(5);
/// How many of those that need it are named.
const NAMED: usize = 5;
/// The account of this machine.
const NO_ACCOUNT: &str = "000000000000";

/// What is known when a plan is made.
#[derive(Clone, Debug)]
pub struct World {
    pub(super) now: Timestamp,
    pub(super) answer: Answer,
}

/// What is known of the login.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    /// AWS knows us.
    Known(Identity),
    /// Nobody has to.
    Local,
    /// There is nothing to log in with.
    Unusable(Reason, String),
    /// It does not matter any more.
    Leaving {
        /// Who still needs the provider.
        users: Vec<String>,
    },
}

/// The plan for one pass over one provider.
pub(super) fn plan(
    provider: &AWSProvider,
    world: &World,
) -> Result<Plan<Infallible, AWSProviderStatus>, Refusal> {
    let mut status = provider.status.clone().unwrap_or_default();
    let identity = match &world.answer {
        Answer::Known(identity) => identity.clone(),
        Answer::Local => Identity { account: NO_ACCOUNT.into(), arn: "local".into() },
        Answer::Unusable(reason, message) => {
            status.ready = false;
            return Ok(Plan::wait(status, reason.clone(), message, RETRY));
        }
        Answer::Leaving { users } if users.is_empty() => return Ok(Plan::release(Vec::new(), status)),
        Answer::Leaving { users } => {
            let more = users.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let named = users[..users.len().min(NAMED)].join(", ");
            let message = format!("{named}{more} still need it; it goes when they are gone");
            // It still works: those that go need it.
            status.ready(Reason::Deleting, message);
            return Ok(Plan::part(Vec::new(), status, Next::After(LAST_LOOK)));
        }
    };
    status.ready = true;
    status.account_id = Some(identity.account);
    status.caller_identity = Some(identity.arn);
    status.observed_generation = provider.metadata.generation;
    let last = status.last_authentication_time.as_ref().map(|Time(last)| *last);
    // Passes soon after one another would only write the time.
    let half = (RESYNC / 2).try_into().unwrap_or_default();
    if last.is_none_or(|last| world.now.duration_since(last) >= half) {
        status.last_authentication_time = Some(Time(world.now));
    }
    status.ready(Reason::Available, "");
    Ok(Plan::part(Vec::new(), status, Next::After(RESYNC)))
}
