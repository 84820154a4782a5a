//! `terrace crds`.

use clap::Args;

use crate::say;

#[derive(Args)]
pub(crate) struct Options {
    /// Also print those of other people's kinds that Terrace fulfils on one machine
    #[arg(long)]
    foreign: bool,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let mut definitions = api::crds();
    if options.foreign {
        definitions.extend(api::foreign_crds());
    }
    for definition in definitions {
        let value = serde_json::to_value(&definition)?;
        say::text(&format!("---\n{}", control_plane::wire::yaml::to_yaml(&value)))?;
    }
    Ok(())
}
