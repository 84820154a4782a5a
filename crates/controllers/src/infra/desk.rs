//! What the rooms of AWS share: the clients, and the order in which they are used.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use api::conditions::Reason;
use api::infra::{ProviderRef, Tags};
use jiff::Timestamp;
use kit::{Bell, Fault, Lanes, Name, Place, Reader};
use ports::aws::{Account, Aws, Error, Login, in_time};

use super::provider::{self, Provider};

/// How long until a resource is compared again (aws.md).
pub(super) const RESYNC: Duration = Duration::from_secs(300);
/// How long until it is tried again to reach what is not ready (aws.md).
pub(super) const RETRY: Duration = Duration::from_secs(60);

/// What the rooms of AWS share. Clones are the same.
#[derive(Clone)]
pub struct Desk {
    pub(super) aws: Arc<Aws>,
    lanes: Lanes,
}

/// Who looks.
pub(super) struct Visitor<'a> {
    /// The room's name.
    pub(super) room: &'static str,
    /// The object.
    pub(super) name: Name,
    /// Whether it is on its way out.
    pub(super) going: bool,
    /// What wakes objects of the room.
    pub(super) bell: &'a Bell,
    /// The provider that the object names.
    pub(super) provider: &'a ProviderRef,
}

/// What is known of a resource when a plan is made.
#[derive(Debug)]
pub struct World<F> {
    pub(super) now: Timestamp,
    pub(super) sight: Sight<F>,
}

/// How far one could look.
#[derive(Debug)]
pub(super) enum Sight<F> {
    /// Others are looking; the bell rings when it is this object's turn.
    Parked,
    /// The provider cannot be used.
    Closed(Reason, String),
    /// Into the account.
    Open(Open<F>),
}

/// An account that was looked into.
#[derive(Debug)]
pub(super) struct Open<F> {
    /// Where it was looked.
    pub(super) account: Arc<Account>,
    /// Tags of everything that the provider makes.
    pub(super) default_tags: Tags,
    /// The resource, if it is there.
    pub(super) found: Option<F>,
    /// The place in the lane, for as long as the pass lasts.
    pub(super) _place: Option<Place>,
}

impl Desk {
    /// A desk with its own clients.
    pub fn new(aws: Arc<Aws>) -> Self {
        Self { aws, lanes: Lanes::default() }
    }

    /// Looks into the account of an object's provider.
    pub(super) async fn look<F, Asked>(
        &self,
        reader: &Reader,
        visitor: Visitor<'_>,
        ask: impl FnOnce(Arc<Account>) -> Asked,
    ) -> Result<World<F>, Fault>
    where
        Asked: Future<Output = Result<Option<F>, Error>>,
    {
        let found =
            provider::find(reader, (&visitor.name, visitor.going), visitor.provider, &self.aws).await?;
        self.look_into(found, reader.now(), visitor, ask).await
    }

    /// Looks into the account of a provider that was found before.
    pub(super) async fn look_into<F, Asked>(
        &self,
        provider: Provider,
        now: Timestamp,
        visitor: Visitor<'_>,
        ask: impl FnOnce(Arc<Account>) -> Asked,
    ) -> Result<World<F>, Fault>
    where
        Asked: Future<Output = Result<Option<F>, Error>>,
    {
        let (account, default_tags) = match provider {
            Provider::Ready(account, tags) => (account, tags),
            // This machine holds nothing of AWS, so there is nothing that would have to go.
            Provider::Local if visitor.going => {
                let open = Open { account: nowhere(), default_tags: Tags::new(), found: None, _place: None };
                return Ok(World { now, sight: Sight::Open(open) });
            }
            Provider::Local => {
                let message = format!(
                    "AWSProvider {} is this machine, which serves RDSInstances only",
                    visitor.provider.name
                );
                return Ok(World { now, sight: Sight::Closed(Reason::InvalidSpec, message) });
            }
            Provider::Unusable(reason, message) => {
                return Ok(World { now, sight: Sight::Closed(reason, message) });
            }
        };
        let lane = format!("{} {}", account.provider, visitor.room);
        let Some(place) = self.lanes.enter(&lane, (visitor.room, &visitor.name), visitor.bell) else {
            return Ok(World { now, sight: Sight::Parked });
        };
        let found = in_time(ask(account.clone())).await?;
        Ok(World { now, sight: Sight::Open(Open { account, default_tags, found, _place: Some(place) }) })
    }
}

/// An account in which nothing is ever asked.
fn nowhere() -> Arc<Account> {
    let login = Login::WebIdentity { role: String::new() };
    Arc::new(Account { provider: String::new(), region: String::new(), endpoint: None, login, role: None })
}
