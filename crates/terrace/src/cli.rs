//! The command line: what can be asked, and in which words.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::apps::{delete, deploy, list, logs, rollback};
use crate::{
    adopt, audit, completions, connect, crds, credential, db, files, kubeconfig, mcp, place, postgres,
    preview, say, services, session, token, up,
};

/// Applications, databases, cloud resources and projects as Kubernetes objects, from one binary.
#[derive(Parser)]
#[command(
    name = "terrace",
    version,
    about,
    after_help = "Examples:\n  \
        terrace up                          start the platform on this machine\n  \
        terrace deploy ./shop               build and run what lies in a directory\n  \
        terrace logs shop -f                see what it says\n  \
        terrace service create db           make a database\n  \
        terrace service bind db shop        give it to an application\n  \
        export KUBECONFIG=$(terrace kubeconfig --path)\n  \
        kubectl get databaseclaims          talk to the platform with kubectl\n\n\
        The platform keeps its state in one directory, shown by `terrace kubeconfig --path`.\n\
        Every command ends with 0 when it did what was asked, 1 when it failed, 2 when it was asked in the wrong\n\
        words; `terrace plan` ends with 2 when something would change."
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
    /// Build and run a program from a directory, a repository or an image, and wait until it answers
    #[command(after_help = "Examples:\n  \
        terrace deploy\n  \
        terrace deploy ./shop --name shop --env GREETING=hello --replicas 2\n  \
        terrace deploy --name shop --git https://example.com/shop.git --revision v2\n  \
        terrace deploy --name shop --image registry.example.com/shop:2\n\n\
        A directory is packed without what .gitignore and .ignore name, and without .git. What an earlier deploy\n\
        has set stays until another sets it. Ends with the address on standard output; Ctrl-C stops the waiting,\n\
        not the application.")]
    Deploy(deploy::Options),
    /// List applications
    #[command(after_help = "Examples:\n  terrace apps\n  terrace apps -A -o wide\n  terrace apps -o json")]
    Apps(list::Options),
    /// Print what an application says, from all its pods
    #[command(after_help = "Examples:\n  \
        terrace logs shop\n  \
        terrace logs shop -f --tail 20\n  \
        terrace logs shop --previous        what it said before it was restarted\n  \
        terrace logs shop --build           how its latest build went")]
    Logs(logs::Options),
    /// Go back to an earlier source of an application, and wait until it runs
    #[command(after_help = "Examples:\n  \
        terrace rollback shop\n  \
        terrace rollback shop --list\n  \
        terrace rollback shop --to 3\n\n\
        Its port, variables and number of copies stay as they are now.")]
    Rollback(rollback::Options),
    /// Delete something
    #[command(subcommand)]
    Delete(delete::What),
    /// Databases that the platform runs: make one, bind it to an application, back it up, bring it back
    #[command(subcommand)]
    Service(services::What),
    /// Claims on databases: list them, see how they are, rotate their logins, see the connection
    #[command(subcommand)]
    Db(db::What),
    /// Tokens for agents and scripts: make one, list them, revoke one
    #[command(subcommand)]
    Token(token::What),
    /// Sessions of agents: list them, delete one with everything in it
    #[command(subcommand)]
    Session(session::What),
    /// Credentials for private git repositories: add one, list them, delete one
    #[command(subcommand)]
    Credential(credential::What),
    /// Print how a client of the Model Context Protocol is told about this platform
    #[command(after_help = "Examples:\n  \
        terrace connect\n  \
        terrace connect claude-code\n  \
        terrace connect cursor --show-token --session laptop\n  \
        terrace connect vscode -o json\n\n\
        A token is printed only with --show-token. Over standard input and output none is needed: `terrace mcp` finds\n\
        its own.")]
    Connect(connect::Options),
    /// Speak the Model Context Protocol on standard input and output, for clients that start their servers
    #[command(after_help = "Examples:\n  \
        terrace mcp\n  \
        TERRACE_TOKEN=trc_... terrace mcp --url http://127.0.0.1:7070\n\n\
        Without TERRACE_TOKEN a session token of this machine's user is made on the first use, and kept in the data\n\
        directory.")]
    Mcp(mcp::Options),
    /// See what agents and scripts have asked for, and verify that nothing of it was changed
    #[command(after_help = "Examples:\n  \
        terrace audit --tail 20\n  \
        terrace audit --tool deploy_app --since 1h\n  \
        terrace audit --token builder -o json\n  \
        terrace audit --head                count and hash of the last record, to be kept elsewhere\n  \
        terrace audit --verify --expect HASH\n\n\
        Reads the file in the data directory, whether the platform runs or not. --verify ends with 0 when every record\n\
        is as it was written, and with 1 and the number of the first bad line otherwise.")]
    Audit(audit::Options),
    /// Print what the platform would do about a file, field by field, without doing it
    #[command(after_help = "Examples:\n  \
        terrace plan -f app.yaml\n  \
        kustomize build . | terrace plan -f - -o json\n\n\
        Ends with 0 when there is nothing to do, 2 when something would change, 1 when something cannot be.")]
    Plan(preview::Options),
    /// List what an account in AWS holds already, and write manifests that ask for exactly that
    #[command(after_help = "Examples:\n  \
        terrace adopt --provider dev\n  \
        terrace adopt --provider dev --kinds s3bucket,sqsqueue -o adopted\n  \
        terrace adopt --provider platform/dev --json\n\n\
        Nothing is changed in AWS. The manifests only watch until the annotation terrace.dev/mode is taken off.")]
    Adopt(adopt::Options),
    /// See which PostgreSQL services run on, and fetch others
    #[command(subcommand)]
    Postgres(postgres::What),
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
    /// Show the files of a directory over HTTP, as a static site does
    #[command(hide = true)]
    Files(files::Options),
    /// Print a script that completes commands and flags in your shell
    #[command(after_help = "Examples:\n  \
        terrace completions bash > /etc/bash_completion.d/terrace\n  \
        terrace completions zsh  > ~/.zfunc/_terrace\n  \
        terrace completions fish > ~/.config/fish/completions/terrace.fish")]
    Completions(completions::Options),
}

pub(crate) async fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    let dir = || place::data_dir(cli.data_dir.clone());
    match cli.command {
        Command::Deploy(options) => return deploy::run(&dir()?, options).await,
        Command::Apps(options) => return list::run(&dir()?, &options).await,
        Command::Logs(options) => return logs::run(&dir()?, &options).await,
        Command::Rollback(options) => return rollback::run(&dir()?, &options).await,
        Command::Delete(what) => return delete::run(&dir()?, &what).await,
        Command::Service(what) => return services::run(&dir()?, what).await,
        Command::Db(what) => return db::run(&dir()?, what).await,
        Command::Token(what) => return token::run(&dir()?, what).await,
        Command::Session(what) => return session::run(&dir()?, what).await,
        Command::Credential(what) => return credential::run(&dir()?, what).await,
        Command::Connect(options) => return connect::run(&dir()?, &options).await,
        Command::Mcp(options) => return mcp::run(&dir()?, &options).await,
        Command::Audit(options) => return audit::run(&dir()?, &options),
        Command::Adopt(options) => return adopt::run(&dir()?, &options).await,
        Command::Plan(options) => return preview::run(&dir()?, &options).await,
        Command::Up(options) => return up::run(dir()?, options).await,
        Command::Postgres(what) => postgres::run(&dir()?, &what).await?,
        Command::Kubeconfig(options) => kubeconfig::run(&dir()?, &options)?,
        Command::Crds(options) => crds::run(&options)?,
        Command::Version { output } => version(output.as_deref())?,
        Command::Files(options) => files::run(&options).await?,
        Command::Completions(options) => completions::run::<Cli>(&options)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn version(output: Option<&str>) -> anyhow::Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    match output {
        Some(_) => say::line(&serde_json::json!({ "version": version }).to_string()),
        None => say::line(&format!("terrace {version}")),
    }
}
