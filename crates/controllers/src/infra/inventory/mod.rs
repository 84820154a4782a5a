//! What an account holds, as objects that ask for exactly that.

mod buckets;
mod queues;

use api::infra::{ProviderRef, S3Bucket, SQSQueue, Tags};
use ports::aws::{Account, Error};

use super::Desk;
use super::tags::OWNER;

/// Longest name that every object may have.
const NAME_MAX: usize = 63;

impl Desk {
    /// The buckets of an account in its region.
    pub async fn buckets(&self, account: &Account, provider: &ProviderRef) -> Result<Vec<S3Bucket>, Error> {
        buckets::found(&self.aws, account, provider).await
    }

    /// The queues of an account.
    pub async fn queues(&self, account: &Account, provider: &ProviderRef) -> Result<Vec<SQSQueue>, Error> {
        queues::found(&self.aws, account, provider).await
    }
}

/// A name for the object of a resource: its own, in the letters that Kubernetes allows.
fn name(resource: &str) -> String {
    let lower = resource.to_ascii_lowercase();
    let spelled: String =
        lower.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' }).collect();
    let name: String = spelled.trim_start_matches('-').chars().take(NAME_MAX).collect();
    let name = name.trim_end_matches('-');
    if name.is_empty() { "resource".to_owned() } else { name.to_owned() }
}

/// The tags of a resource that a spec can ask for: not ours, and not AWS's own.
fn tags(live: &Tags) -> Tags {
    let asked = |key: &str| key != OWNER && !key.starts_with("aws:");
    live.iter().filter(|(key, _)| asked(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
}
