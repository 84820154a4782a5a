//! Credentials that STS hands out and that do not last. The SDK asks again before they end.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use aws_config::SdkConfig;
use aws_credential_types::Credentials;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{self, ProvideCredentials, future};

use super::clients::partition;
use super::error::{Error, told};
use super::{Account, Role, Witness};

/// What a session is called in AWS's own records.
const SESSION: &str = "terrace";
/// A token is a few kilobytes.
const TOKEN_MAX: u64 = 64 * 1024;

/// A way to get credentials that do not last.
#[derive(Debug)]
pub(super) struct Ticket {
    sts: aws_sdk_sts::Client,
    by: By,
}

#[derive(Debug)]
enum By {
    WebIdentity { role: String, file: PathBuf },
    Role(Role),
}

impl Ticket {
    /// As the pod that holds a token.
    pub(super) fn web_identity(plain: &SdkConfig, role: &str, file: &Path, of: (&Account, &Witness)) -> Self {
        let by = By::WebIdentity { role: role.to_owned(), file: file.to_owned() };
        Self { sts: client(plain, of), by }
    }

    /// As somebody who may take on a role.
    pub(super) fn role(config: &SdkConfig, role: &Role, of: (&Account, &Witness)) -> Self {
        Self { sts: client(config, of), by: By::Role(role.clone()) }
    }

    async fn get(&self) -> Result<Credentials, Error> {
        let credentials = match &self.by {
            By::WebIdentity { role, file } => {
                // Read each time: it is replaced while we run.
                let token = token(file).await?;
                let asked =
                    self.sts.assume_role_with_web_identity().role_arn(role).role_session_name(SESSION);
                let answer = asked.web_identity_token(token).send().await;
                answer.map_err(|error| told("AssumeRoleWithWebIdentity", error))?.credentials
            }
            By::Role(Role { arn, external_id }) => {
                let asked = self.sts.assume_role().role_arn(arn).role_session_name(SESSION);
                let answer = asked.set_external_id(external_id.clone()).send().await;
                answer.map_err(|error| told("AssumeRole", error))?.credentials
            }
        };
        let given = credentials.ok_or_else(|| Error::garbled("AssumeRole", "no credentials"))?;
        let end = SystemTime::try_from(*given.expiration()).ok();
        let token = Some(given.session_token().to_owned());
        Ok(Credentials::new(given.access_key_id(), given.secret_access_key(), token, end, "sts"))
    }
}

fn client(config: &SdkConfig, (account, witness): (&Account, &Witness)) -> aws_sdk_sts::Client {
    let config = aws_sdk_sts::config::Builder::from(config)
        .retry_partition(partition(account, "sts"))
        .interceptor(witness.clone());
    aws_sdk_sts::Client::from_conf(config.build())
}

async fn token(file: &Path) -> Result<String, Error> {
    let unread = |story: String| Error::NoToken { file: file.display().to_string(), story };
    let size = tokio::fs::metadata(file).await.map_err(|error| unread(error.to_string()))?.len();
    if size > TOKEN_MAX {
        return Err(unread(format!("it has {size} bytes, which is no token")));
    }
    let text = tokio::fs::read_to_string(file).await.map_err(|error| unread(error.to_string()))?;
    Ok(text.trim().to_owned())
}

impl ProvideCredentials for Ticket {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(async {
            let given: provider::Result = self.get().await.map_err(CredentialsError::provider_error);
            given
        })
    }
}
