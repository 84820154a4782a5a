//! The clients of one account, which share its credentials, its connections and its patience.

use std::sync::OnceLock;
use std::time::Duration;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_sdk_sqs::config::retry::RetryPartition;
use aws_smithy_async::rt::sleep::{SharedAsyncSleep, TokioSleep};
use aws_smithy_types::retry::{RetryConfig, RetrySpec};
use aws_smithy_types::timeout::TimeoutConfig;

use super::ec2::Ec2;
use super::login::Ticket;
use super::{Account, Login, Settings, Witness};

/// The first pause after an error that does not ask us to slow down. It is the SDK's own for the others; its pause of 50 ms
/// for these would have all tries over before anything can get better.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The clients of one account.
pub(super) struct Clients {
    pub(super) account: Account,
    config: SdkConfig,
    witness: Witness,
    sts: OnceLock<aws_sdk_sts::Client>,
    s3: OnceLock<aws_sdk_s3::Client>,
    rds: OnceLock<aws_sdk_rds::Client>,
    sqs: OnceLock<aws_sdk_sqs::Client>,
    ec2: OnceLock<Ec2>,
}

impl Clients {
    pub(super) fn new(account: Account, settings: &Settings, witness: &Witness) -> Self {
        let (plain, witness) = (plain(&account, settings), witness.of_account(&account.provider));
        let first = match &account.login {
            Login::Keys { id, secret, token } => {
                SharedCredentialsProvider::new(aws_credential_types::Credentials::new(
                    id.open(),
                    secret.open(),
                    token.as_ref().map(|token| token.open().clone()),
                    None,
                    "AWSProvider",
                ))
            }
            Login::WebIdentity { role } => {
                let ticket = Ticket::web_identity(&plain, role, &settings.token_file, (&account, &witness));
                SharedCredentialsProvider::new(ticket)
            }
        };
        let config = plain.to_builder().credentials_provider(first).build();
        let config = match &account.role {
            None => config,
            Some(role) => {
                let ticket = Ticket::role(&config, role, (&account, &witness));
                config.to_builder().credentials_provider(SharedCredentialsProvider::new(ticket)).build()
            }
        };
        Self {
            account,
            config,
            witness,
            sts: OnceLock::new(),
            s3: OnceLock::new(),
            rds: OnceLock::new(),
            sqs: OnceLock::new(),
            ec2: OnceLock::new(),
        }
    }

    pub(super) fn sts(&self) -> &aws_sdk_sts::Client {
        self.sts.get_or_init(|| {
            let config = aws_sdk_sts::config::Builder::from(&self.config)
                .retry_partition(partition(&self.account, "sts"))
                .interceptor(self.witness.clone());
            aws_sdk_sts::Client::from_conf(config.build())
        })
    }

    pub(super) fn s3(&self) -> &aws_sdk_s3::Client {
        self.s3.get_or_init(|| {
            let config = aws_sdk_s3::config::Builder::from(&self.config)
                .retry_partition(partition(&self.account, "s3"))
                // An emulator has no name for each bucket.
                .force_path_style(self.account.endpoint.is_some())
                .interceptor(self.witness.clone());
            aws_sdk_s3::Client::from_conf(config.build())
        })
    }

    pub(super) fn rds(&self) -> &aws_sdk_rds::Client {
        self.rds.get_or_init(|| {
            let config = aws_sdk_rds::config::Builder::from(&self.config)
                .retry_partition(partition(&self.account, "rds"))
                .interceptor(self.witness.clone());
            aws_sdk_rds::Client::from_conf(config.build())
        })
    }

    pub(super) fn sqs(&self) -> &aws_sdk_sqs::Client {
        self.sqs.get_or_init(|| {
            let config = aws_sdk_sqs::config::Builder::from(&self.config)
                .retry_partition(partition(&self.account, "sqs"))
                .interceptor(self.witness.clone());
            aws_sdk_sqs::Client::from_conf(config.build())
        })
    }

    pub(super) fn ec2(&self) -> &Ec2 {
        self.ec2.get_or_init(|| Ec2::new(&self.config, partition(&self.account, "ec2"), &self.witness))
    }

    /// Whether AWS has rejected credentials that can be had anew.
    pub(super) fn outdated(&self) -> bool {
        let renews = self.account.role.is_some() || matches!(self.account.login, Login::WebIdentity { .. });
        renews && self.witness.rejected()
    }
}

/// Whoever is told to slow down in one account does not in another: the SDK would share that by service and region.
pub(super) fn partition(account: &Account, service: &str) -> RetryPartition {
    RetryPartition::new(format!("{} {service}", account.provider))
}

/// A service that asks us to slow down is called more and more rarely, by all who call it together.
fn retries(settings: &Settings) -> RetryConfig {
    // Without it a retry waits for ten tokens of which there may be one in two seconds: longer than a call may take.
    let spec = RetrySpec::v2_1().with_non_throttling_initial_backoff(FIRST_PAUSE);
    RetryConfig::adaptive().with_max_attempts(settings.attempts).with_retry_spec(spec)
}

/// All but the credentials.
fn plain(account: &Account, settings: &Settings) -> SdkConfig {
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(settings.connect_timeout)
        .operation_attempt_timeout(settings.attempt_timeout)
        .operation_timeout(settings.call_timeout)
        .build();
    // Credentials are fetched within a call, so the call's own limit is enough.
    let identities = aws_config::identity::IdentityCache::lazy().load_timeout(settings.call_timeout);
    let config = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(account.region.clone()))
        .sleep_impl(SharedAsyncSleep::new(TokioSleep::new()))
        .time_source(settings.time.clone())
        .retry_config(retries(settings))
        .timeout_config(timeouts)
        .identity_cache(identities.build());
    let config = match &settings.http {
        Some(http) => config.http_client(http.clone()),
        None => config,
    };
    match &account.endpoint {
        Some(endpoint) => config.endpoint_url(endpoint).build(),
        None => config.build(),
    }
}
