//! The commands for managed services. They need nothing but the API, and never see a password.

mod backup;
mod bind;
mod create;
mod delete;
mod describe;
mod list;
mod restore;
mod stand;
mod status;
#[cfg(test)]
mod tests;
pub(crate) mod wait;

use std::path::Path;
use std::process::ExitCode;

use agents::services::Error;
use anyhow::anyhow;
use clap::Subcommand;

use crate::say;

#[derive(Subcommand)]
pub(crate) enum What {
    /// Make a database, and wait until it takes connections
    #[command(after_help = "Examples:\n  \
        terrace service create db\n  \
        terrace service create db --plan ha --version 17 --database shop\n  \
        terrace service create db --no-wait\n\n\
        Plans: micro (1 instance, 256 MiB memory, 1 GiB disk), small (1, 512 MiB, 5 GiB), ha (3, 1 GiB, 10 GiB each).\n\
        Ctrl-C stops the waiting, not the service.")]
    Create(create::Options),
    /// Tell how far a database is, and who uses it
    #[command(after_help = "Examples:\n  terrace service status db\n  terrace service status db -o json")]
    Status(status::Options),
    /// List databases
    #[command(after_help = "Examples:\n  terrace service list\n  terrace service list -A -o json")]
    List(list::Options),
    /// Give a database to an application: it starts anew with DATABASE_URL and the PG variables
    #[command(after_help = "Example:\n  terrace service bind db shop\n\n\
        Only references to the Secret are written. Variables of those names that the application has already are\n\
        named, and nothing is changed.")]
    Bind(bind::Options),
    /// Take a database from an application
    #[command(after_help = "Example:\n  terrace service unbind db shop")]
    Unbind(bind::Options),
    /// Delete a database that no application uses
    #[command(after_help = "Examples:\n  \
        terrace service delete db\n  \
        terrace service delete db --yes\n  \
        terrace service restore db          undo it, while its data is kept")]
    Delete(delete::Options),
    /// Copy a database, and wait until the copy is complete
    #[command(
        after_help = "Examples:\n  terrace service backup db\n  terrace service backup db --no-wait\n\n\
        Ends with the name of the backup on standard output."
    )]
    Backup(backup::Options),
    /// List the backups of a database, also of one that was deleted
    #[command(after_help = "Examples:\n  terrace service backups db\n  terrace service backups db -o json")]
    Backups(backup::ListOptions),
    /// Make a database from a backup; nothing that is there is overwritten
    #[command(after_help = "Examples:\n  \
        terrace service restore db                          bring back a database that was deleted\n  \
        terrace service restore db --to db2                 a second one, from the newest backup\n  \
        terrace service restore db --to db2 --at 2026-01-31T12:00:00Z\n  \
        terrace service restore db --to db2 --backup db-20260131120000")]
    Restore(restore::Options),
}

pub(crate) async fn run(data_dir: &Path, what: What) -> anyhow::Result<ExitCode> {
    match what {
        What::Create(options) => create::run(data_dir, options).await,
        What::Status(options) => status::run(data_dir, &options).await,
        What::List(options) => list::run(data_dir, &options).await,
        What::Bind(options) => bind::bind(data_dir, options).await,
        What::Unbind(options) => bind::unbind(data_dir, options).await,
        What::Delete(options) => delete::run(data_dir, &options).await,
        What::Backup(options) => backup::run(data_dir, &options).await,
        What::Backups(options) => backup::list(data_dir, &options).await,
        What::Restore(options) => restore::run(data_dir, options).await,
    }
}

/// Ends a command that was refused: in its words, with what can be done about it.
fn refused(error: Error, name: &str) -> anyhow::Result<ExitCode> {
    let hint = match &error {
        Error::Invalid { what: "to", .. } => "`--to NEW`".to_owned(),
        Error::NotFound { what: "managed service", .. } => "`terrace service list -A` lists all".into(),
        Error::NotFound { .. } => "`terrace apps -A` lists all".into(),
        Error::StillBound { .. } => format!("`terrace service unbind {name} APP` frees one"),
        Error::NotReady { .. } => format!("`terrace service status {name}` tells more"),
        Error::NoBackup { .. } => format!("`terrace service backups {name}` lists what there is"),
        Error::Invalid { .. }
        | Error::Exists { .. }
        | Error::EnvClash { .. }
        | Error::NotAvailable
        | Error::Busy { .. }
        | Error::NoSession { .. }
        | Error::Denied { .. }
        | Error::TooOften { .. }
        | Error::NeedsPerson { .. }
        | Error::NotAgreed
        | Error::BadConfirmation { .. }
        | Error::Internal(_)
        | Error::Refused(_)
        | Error::Plan(_)
        | Error::Unreachable(_) => return plain(error),
    };
    match error {
        Error::Invalid { .. } => Ok(say::usage(&format!("{error}: {hint}"))),
        error => Err(anyhow!("{error}; {hint}")),
    }
}

fn plain(error: Error) -> anyhow::Result<ExitCode> {
    match error {
        Error::Invalid { .. } => Ok(say::usage(&error.to_string())),
        error => Err(anyhow::Error::new(error)),
    }
}
