//! The commands for claims on databases and on logins in them. A password is seen by `dsn --show` alone.

mod claim;
mod describe;
mod dsn;
mod find;
mod list;
mod rotate;
mod status;
#[cfg(test)]
mod tests;
pub(crate) mod witness;

use std::path::Path;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::apps::connect::Connection;
use claim::Kind;

#[derive(Subcommand)]
pub(crate) enum What {
    /// List claims on databases, and on logins in them
    #[command(after_help = "Examples:\n  terrace db list\n  terrace db list -A -o json")]
    List(list::Options),
    /// Tell everything that is known of a claim
    #[command(after_help = "Examples:\n  \
        terrace db status orders\n  \
        terrace db status orders -n team --wait --timeout 2m\n  \
        terrace db status orders -o json\n\n\
        Ends with 0 when the claim is ready, and with 1 when it is not.")]
    Status(status::Options),
    /// Have a new login issued now, and wait until the Secret holds it
    #[command(after_help = "Examples:\n  \
        terrace db rotate orders\n  \
        terrace db rotate reports --role --timeout 2m\n  \
        terrace db rotate orders --no-wait\n\n\
        Nothing that is connected is cut. Ctrl-C stops the waiting, not the rotation.")]
    Rotate(rotate::Options),
    /// Print the connection that a claim gives, without its password
    #[command(after_help = "Examples:\n  \
        terrace db dsn orders\n  \
        terrace db dsn orders --uri\n  \
        terrace db dsn orders --show          on a terminal, with the password\n\n\
        --show leaves a record in the audit trail, before anything is shown. Programs read the Secret.")]
    Dsn(dsn::Options),
}

/// Which claim is meant.
#[derive(Args)]
pub(crate) struct Which {
    /// Name of the claim
    name: String,
    /// The DbRoleClaim of this name, where a DatabaseClaim has it, too
    #[arg(long, conflicts_with = "claim")]
    role: bool,
    /// The DatabaseClaim of this name, where a DbRoleClaim has it, too
    #[arg(long)]
    claim: bool,
    #[command(flatten)]
    connection: Connection,
}

impl Which {
    /// The kind that was asked for, if one was.
    fn kind(&self) -> Option<Kind> {
        match (self.claim, self.role) {
            (true, _) => Some(Kind::Database),
            (_, true) => Some(Kind::Role),
            (false, false) => None,
        }
    }
}

pub(crate) async fn run(data_dir: &Path, what: What) -> anyhow::Result<ExitCode> {
    match what {
        What::List(options) => list::run(data_dir, &options).await,
        What::Status(options) => status::run(data_dir, &options).await,
        What::Rotate(options) => rotate::run(data_dir, &options).await,
        What::Dsn(options) => dsn::run(data_dir, &options).await,
    }
}
