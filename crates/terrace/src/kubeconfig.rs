//! `terrace kubeconfig`.

use std::path::Path;

use anyhow::Context;
use clap::Args;

use crate::{place, say};

#[derive(Args)]
pub(crate) struct Options {
    /// Print where the file is instead of what it says
    #[arg(long)]
    path: bool,
}

pub(crate) fn run(dir: &Path, options: &Options) -> anyhow::Result<()> {
    let path = place::kubeconfig(dir);
    if options.path {
        return say::line(&path.display().to_string());
    }
    let text = std::fs::read_to_string(&path).with_context(|| {
        format!("no platform has been started in {}; start one with `terrace up`", dir.display())
    })?;
    say::text(&text)
}
