//! `terrace completions`.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::say;

#[derive(Args)]
pub(crate) struct Options {
    /// The shell to write for
    shell: Shell,
}

pub(crate) fn run<C: CommandFactory>(options: &Options) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut C::command(), "terrace", &mut script);
    say::text(&String::from_utf8_lossy(&script))
}
