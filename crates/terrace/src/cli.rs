//! The command line: what can be asked, and in which words.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::{completions, crds, kubeconfig, place, say, up};

/// Applications, databases, cloud resources and projects as Kubernetes objects, from one binary.
#[derive(Parser)]
#[command(
    name = "terrace",
    version,
    about,
    after_help = "Examples:\n  \
        terrace up                          start the platform on this machine\n  \
        export KUBECONFIG=$(terrace kubeconfig --path)\n  \
        kubectl get databaseclaims          talk to it with kubectl\n\n\
        The platform keeps its state in one directory, shown by `terrace kubeconfig --path`."
)]
pub(crate) struct Cli {
    /// Directory that holds everything the platform knows [default: ~/.local/share/terrace]
    #[arg(long, global = true, env = "TERRACE_DATA_DIR", value_name = "DIR")]
    data_dir: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start the platform on this machine, in the foreground
    #[command(after_help = "Examples:\n  \
        terrace up\n  \
        terrace up --port 7443 --http-port 9090\n  \
        terrace up --data-dir /srv/terrace --json\n\n\
        Ctrl-C stops it; started again on the same directory it finds everything as it was.")]
    Up(up::Options),
    /// Print the address book for kubectl and other clients
    #[command(after_help = "Examples:\n  \
        export KUBECONFIG=$(terrace kubeconfig --path)\n  \
        terrace kubeconfig > ~/.kube/terrace && kubectl --kubeconfig ~/.kube/terrace get namespaces")]
    Kubeconfig(kubeconfig::Options),
    /// Print the CustomResourceDefinitions of everything Terrace serves, to install them on another cluster
    #[command(after_help = "Example:\n  terrace crds | kubectl apply --server-side -f -")]
    Crds(crds::Options),
    /// Print the version
    Version {
        /// Print for programs
        #[arg(long, short, value_name = "FORMAT", value_parser = ["json"])]
        output: Option<String>,
    },
    /// Print a script that completes commands and flags in your shell
    #[command(after_help = "Examples:\n  \
        terrace completions bash > /etc/bash_completion.d/terrace\n  \
        terrace completions zsh  > ~/.zfunc/_terrace\n  \
        terrace completions fish > ~/.config/fish/completions/terrace.fish")]
    Completions(completions::Options),
}

pub(crate) async fn run(cli: Cli) -> anyhow::Result<()> {
    match cli.command {
        Command::Up(options) => up::run(place::data_dir(cli.data_dir)?, options).await,
        Command::Kubeconfig(options) => kubeconfig::run(&place::data_dir(cli.data_dir)?, &options),
        Command::Crds(options) => crds::run(&options),
        Command::Version { output } => version(output.as_deref()),
        Command::Completions(options) => completions::run::<Cli>(&options),
    }
}

fn version(output: Option<&str>) -> anyhow::Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    match output {
        Some(_) => say::line(&serde_json::json!({ "version": version }).to_string()),
        None => say::line(&format!("terrace {version}")),
    }
}
