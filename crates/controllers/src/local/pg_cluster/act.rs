//! One arm per step.

use kit::{Fault, Receipt};
use ports::authority::Authority;
use ports::postgres::{Certificate, Key, Postgres};

use super::plan::Step;

/// Does one step on the machine.
pub(super) async fn act<P: Postgres, A: Authority>(
    postgres: &P,
    authority: &A,
    key: &Key,
    step: &Step,
) -> Result<Receipt, Fault> {
    match step {
        Step::Make { number, major } => postgres.make(key, *number, *major).await?,
        Step::Restore { number, source } => postgres.restore(key, *number, source).await?,
        Step::Copy { number, primary } => postgres.copy(key, *number, *primary).await?,
        Step::Certify(order) => {
            let issued = authority.issue(order)?;
            let root_pem = authority.root_pem().to_owned();
            let certificate = Certificate { chain_pem: issued.chain_pem, key_pem: issued.key_pem, root_pem };
            postgres.certify(key, &certificate).await?;
        }
        Step::Configure { number, settings } => postgres.configure(key, *number, settings).await?,
        Step::Start(number) => postgres.start(key, *number).await?,
        Step::Stop(number, how) => postgres.stop(key, *number, *how).await?,
        Step::Fence(number) => postgres.fence(key, *number).await?,
        Step::Unfence(number) => postgres.unfence(key, *number).await?,
        Step::Promote(number) => postgres.promote(key, *number).await?,
        Step::Follow { number, primary } => postgres.follow(key, *number, *primary).await?,
        Step::Rejoin { number, primary } => postgres.rejoin(key, *number, *primary).await?,
        Step::WaitFor { primary, standbys } => postgres.wait_for(key, *primary, standbys).await?,
        Step::Grant { primary, login } => postgres.grant(key, *primary, login).await?,
        Step::Superuser { primary, login } => postgres.superuser(key, *primary, login.as_ref()).await?,
        Step::Role { primary, role } => postgres.role(key, *primary, role).await?,
        Step::Remove(number) => postgres.remove(key, *number).await?,
        Step::Retire(backup) => postgres.retire(key, backup).await?,
    }
    Ok(Receipt::Done)
}
