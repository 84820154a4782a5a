//! STS: who we are.

use super::error::told;
use super::{Account, Aws, Error};

/// Who AWS takes us for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The account.
    pub account: String,
    /// The user or the session of a role.
    pub arn: String,
}

impl Aws {
    /// Who we are in an account. It needs no rights, so that it fails only if the login does.
    pub async fn identity(&self, account: &Account) -> Result<Identity, Error> {
        const ASKED: &str = "GetCallerIdentity";
        let answer = self.clients(account).sts().get_caller_identity().send().await;
        let answer = answer.map_err(|error| told(ASKED, error))?;
        let (Some(account), Some(arn)) = (answer.account, answer.arn) else {
            return Err(Error::garbled(ASKED, "it names no account"));
        };
        Ok(Identity { account, arn })
    }
}
