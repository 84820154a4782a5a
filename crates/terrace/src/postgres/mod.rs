//! `terrace postgres`: which PostgreSQL there is on this machine, and how another one comes to it.

mod apt;
mod closure;
mod elf;
mod install;
mod list;
#[cfg(test)]
mod tests;
mod trial;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use crate::place;

#[derive(Subcommand)]
pub(crate) enum What {
    /// List every PostgreSQL on this machine, and which of them services run on
    #[command(after_help = "Examples:\n  terrace postgres list\n  terrace postgres list -o json")]
    List(list::Options),
    /// Fetch a version of PostgreSQL for the platform, beside what the machine has
    #[command(after_help = "Examples:\n  \
        terrace postgres install 17\n  \
        terrace postgres install 17.11\n\n\
        The packages come from where apt gets its own, checked as apt checks them, and are unpacked into a directory of\n\
        the platform. Nothing is installed into the system.")]
    Install(install::Options),
}

/// Where builds lie that the platform fetched.
#[derive(Args)]
struct Place {
    /// Directory for images and running programs, as `terrace up` was given it
    #[arg(long, env = "TERRACE_SHARED_DIR", value_name = "DIR")]
    shared_dir: Option<PathBuf>,
}

impl Place {
    fn cache(&self, dir: &Path) -> anyhow::Result<PathBuf> {
        Ok(place::postgres(&place::shared_path(dir, self.shared_dir.clone())?))
    }
}

pub(crate) async fn run(dir: &Path, what: &What) -> anyhow::Result<()> {
    match what {
        What::List(options) => list::run(dir, options).await,
        What::Install(options) => install::run(dir, options).await,
    }
}
