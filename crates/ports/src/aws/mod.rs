//! AWS: an account in a region, as a provider describes it, and what is asked of its services.
//!
//! There is no fake beside the live one: in tests a server that answers as AWS does stands behind it, and every request
//! goes through an HTTP client of the test's own ([`Settings::http`]).

mod clients;
mod ec2;
mod error;
mod login;
mod patience;
mod rds;
mod s3;
mod sqs;
mod sts;
#[cfg(test)]
mod tests;
mod witness;
mod word;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use api::secret::Sealed;
use aws_smithy_async::time::{SharedTimeSource, SystemTimeSource};
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use parking_lot::Mutex;

pub use ec2::{Console, Disk, Launch, Machine, MachineSetting, NewDisk, Power, Profile, Search, Volume};
pub use error::Error;
pub use patience::in_time;
pub use rds::{Database, DatabaseChange, DatabaseSettings, NewDatabase};
pub use s3::{Bucket, Content, Encryption, Grant, LiveRule, Setting, Whereabouts};
pub use sqs::Queue;
pub use sts::Identity;
pub use witness::{Call, Ending, Witness};

use clients::Clients;

/// Tags of a resource.
pub type Tags = BTreeMap<String, String>;

/// Where the token lies that a pod proves itself with, if the environment does not say.
const TOKEN_FILE: &str = "/var/run/secrets/eks.amazonaws.com/serviceaccount/token";
/// What names that file in the environment of a pod.
const TOKEN_FILE_VARIABLE: &str = "AWS_WEB_IDENTITY_TOKEN_FILE";
/// How often a call is tried before it has failed; the SDK waits in between, longer when it is told to slow down.
const ATTEMPTS: u32 = 3;
/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(3);
/// How long one try may take; a step of a room has 30 s.
const ATTEMPT: Duration = Duration::from_secs(6);
/// How long all tries of one call may take, the waiting between them included.
const OPERATION: Duration = Duration::from_secs(12);

/// An account in a region, and how to get in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The provider that describes it, as `namespace/name`.
    pub provider: String,
    /// The region.
    pub region: String,
    /// Who is called instead of AWS.
    pub endpoint: Option<String>,
    /// Who we are.
    pub login: Login,
    /// Who we become after that.
    pub role: Option<Role>,
}

/// Who we are when we knock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Login {
    /// The holder of an access key.
    Keys {
        /// The key's id.
        id: Sealed<String>,
        /// The key.
        secret: Sealed<String>,
        /// What comes with a key that does not last.
        token: Option<Sealed<String>>,
    },
    /// The pod that we run in, which may be this role.
    WebIdentity {
        /// ARN of the role.
        role: String,
    },
}

/// A role that is taken on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Its ARN.
    pub arn: String,
    /// What it wants to be told.
    pub external_id: Option<String>,
}

/// How calls are made.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The file with the token of the pod.
    pub token_file: PathBuf,
    /// How often a call is tried.
    pub attempts: u32,
    /// How long a connection may take to be made.
    pub connect_timeout: Duration,
    /// How long one try may take.
    pub attempt_timeout: Duration,
    /// How long all tries of one call may take, the waiting between them included.
    pub call_timeout: Duration,
    /// What time it is, for signatures and for how often a service may be called.
    pub time: SharedTimeSource,
    /// Another HTTP client than the SDK's own.
    pub http: Option<SharedHttpClient>,
}

impl Default for Settings {
    fn default() -> Self {
        let file = std::env::var_os(TOKEN_FILE_VARIABLE).map_or_else(|| TOKEN_FILE.into(), PathBuf::from);
        Self {
            token_file: file,
            attempts: ATTEMPTS,
            connect_timeout: CONNECT,
            attempt_timeout: ATTEMPT,
            call_timeout: OPERATION,
            time: SharedTimeSource::new(SystemTimeSource::new()),
            http: None,
        }
    }
}

/// All accounts that are known, each with its clients, made once.
#[derive(Default)]
pub struct Aws {
    settings: Settings,
    witness: Witness,
    accounts: Mutex<HashMap<String, Arc<Clients>>>,
}

impl Aws {
    /// Nobody is called before somebody asks.
    pub fn new(settings: Settings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// What was called so far.
    pub fn witness(&self) -> &Witness {
        &self.witness
    }

    /// The clients of an account. One that is described otherwise than before gets new ones, and so does one whose
    /// credentials from STS are taken no longer: the SDK would keep them until their end.
    fn clients(&self, account: &Account) -> Arc<Clients> {
        let mut accounts = self.accounts.lock();
        match accounts.get(&account.provider) {
            Some(clients) if clients.account == *account && !clients.outdated() => clients.clone(),
            _ => {
                let clients = Arc::new(Clients::new(account.clone(), &self.settings, &self.witness));
                accounts.insert(account.provider.clone(), clients.clone());
                clients
            }
        }
    }

    /// How a provider described its account when it was last called.
    pub fn known(&self, provider: &str) -> Option<Account> {
        self.accounts.lock().get(provider).map(|clients| clients.account.clone())
    }

    /// Forgets the clients of a provider that is gone.
    pub fn forget(&self, provider: &str) {
        self.accounts.lock().remove(provider);
    }
}
