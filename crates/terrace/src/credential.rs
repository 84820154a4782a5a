//! `terrace credential`: what private git repositories want to see. The secret comes from the terminal or standard
//! input; as an argument everybody on the machine could read it.

use std::io::{IsTerminal, Read};
use std::path::Path;
use std::process::ExitCode;

use agents::Error;
use agents::git::host::{Host, Kind};
use agents::git::store::{self, Listed, Wish};
use anyhow::{Context, bail};
use api::secret::Sealed;
use clap::{Args, Subcommand};
use jiff::Timestamp;
use nix::sys::termios::{LocalFlags, SetArg, SpecialCharacterIndices, Termios, tcgetattr, tcsetattr};

use crate::apps::connect::Connection;
use crate::apps::table::{age, table};
use crate::paint::Paint;
use crate::say;

/// Longest secret that is read.
const SECRET_MAX: u64 = 64 * 1024;
/// What a terminal sends for Ctrl-C.
const INTERRUPT: u8 = 3;

#[derive(Subcommand)]
pub(crate) enum What {
    /// Add a credential: builds in the namespace use it for repositories of a host
    #[command(after_help = "Examples:\n  \
        terrace credential add github --host https://github.com -n shop\n  \
        terrace credential add team --host https://git.example.com/team --username ann -n shop < token.txt\n  \
        terrace credential add deploy --host git@github.com --kind ssh -n shop < ~/.ssh/id_ed25519\n\n\
        The secret is read from the terminal without being shown, or from standard input; it is never an argument.")]
    Add(AddOptions),
    /// List credentials, without their secrets
    #[command(
        after_help = "Examples:\n  terrace credential list -n shop\n  terrace credential list -n shop -o json"
    )]
    List(ListOptions),
    /// Delete a credential
    #[command(after_help = "Example:\n  terrace credential delete github -n shop")]
    Delete(DeleteOptions),
}

#[derive(Args)]
pub(crate) struct AddOptions {
    /// A name for it
    name: String,
    /// What it is for: https://github.com, https://git.example.com/team, git@github.com
    #[arg(long, value_name = "HOST")]
    host: String,
    /// User name at the host; hosts that take access tokens need none
    #[arg(long, value_name = "NAME")]
    username: Option<String>,
    /// What it is
    #[arg(long, value_name = "KIND", default_value = "token", value_parser = ["token", "ssh"])]
    kind: String,
    #[command(flatten)]
    connection: Connection,
}

#[derive(Args)]
pub(crate) struct ListOptions {
    /// Print for programs
    #[arg(long, short, value_name = "FORMAT", value_parser = ["json"])]
    output: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

#[derive(Args)]
pub(crate) struct DeleteOptions {
    /// Its name
    name: String,
    #[command(flatten)]
    connection: Connection,
}

pub(crate) async fn run(data_dir: &Path, what: What) -> anyhow::Result<ExitCode> {
    let done = match what {
        What::Add(options) => add(data_dir, options).await,
        What::List(options) => list(data_dir, &options).await,
        What::Delete(options) => delete(data_dir, &options).await,
    };
    match done {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) if matches!(error.downcast_ref::<Error>(), Some(Error::Invalid { .. })) => {
            Ok(say::usage(&error.to_string()))
        }
        Err(error) => Err(error),
    }
}

async fn add(data_dir: &Path, options: AddOptions) -> anyhow::Result<()> {
    let AddOptions { name, host, username, kind, connection } = options;
    let kind = if kind == "ssh" { Kind::Ssh } else { Kind::Token };
    store::checked_name(&name)?;
    let host = Host::read(&host, kind, &[])?;
    username.as_deref().map_or(Ok(()), store::checked_username)?;
    let client = connection.client(data_dir).await?;
    let namespace = &connection.namespace;
    if store::find(&client, namespace, &name).await?.is_some() {
        bail!("there is a git credential {name} in namespace {namespace} already; delete it first");
    }
    let wish = Wish { name, host, kind, username };
    let secret = secret(&wish)?;
    store::put(&client, namespace, &wish, &secret).await?;
    let (name, host) = (&wish.name, &wish.host);
    say::note(&format!("{} builds in {namespace} use {name} for {host}", Paint::stderr().green("✓")));
    Ok(())
}

async fn list(data_dir: &Path, options: &ListOptions) -> anyhow::Result<()> {
    let client = options.connection.client(data_dir).await?;
    let namespace = &options.connection.namespace;
    let found = store::list(&client, namespace).await?;
    if options.output.is_some() {
        return say::line(&serde_json::to_string_pretty(&found)?);
    }
    if found.is_empty() {
        say::note(&format!("no git credentials in {namespace}; `terrace credential add` adds one"));
        return Ok(());
    }
    let now = Timestamp::now();
    let row = |one: &Listed| {
        let created = one.created.map(|time| age(now.duration_since(time).as_secs())).unwrap_or_default();
        vec![one.name.clone(), one.host.clone(), one.kind.to_string(), created]
    };
    say::text(&table(&["NAME", "HOST", "KIND", "AGE"], &found.iter().map(row).collect::<Vec<_>>()))
}

async fn delete(data_dir: &Path, options: &DeleteOptions) -> anyhow::Result<()> {
    let client = options.connection.client(data_dir).await?;
    store::checked_name(&options.name)?;
    store::remove(&client, &options.connection.namespace, &options.name).await?;
    say::note(&format!("{} {} is gone", Paint::stderr().green("✓"), options.name));
    Ok(())
}

/// The secret, from whoever holds it.
fn secret(wish: &Wish) -> anyhow::Result<Sealed<String>> {
    let mut input = std::io::stdin().lock();
    if !input.is_terminal() {
        let mut text = String::new();
        (&mut input).take(SECRET_MAX).read_to_string(&mut text).context("cannot read the secret")?;
        return Ok(Sealed::new(text));
    }
    match wish.kind {
        Kind::Ssh => {
            bail!("a private key has many lines; send it on standard input: `... < ~/.ssh/id_ed25519`")
        }
        Kind::Token => typed(&format!("token or password for {}: ", wish.host)),
    }
}

/// A line that is typed at the terminal, and not shown.
fn typed(question: &str) -> anyhow::Result<Sealed<String>> {
    say::ask(question);
    let mut line = [0_u8; 4096];
    let size = {
        let _hidden = Hidden::begin().context("cannot hide what is typed")?;
        std::io::stdin().lock().read(&mut line)?
    };
    say::note("");
    let line = &line[..size];
    if line.contains(&INTERRUPT) {
        bail!("nothing was stored");
    }
    Ok(Sealed::new(String::from_utf8(line.to_vec()).context("the secret is no text")?))
}

/// A terminal that does not show what is typed, until this goes.
struct Hidden(Termios);

impl Hidden {
    fn begin() -> nix::Result<Self> {
        let before = tcgetattr(std::io::stdin())?;
        let mut quiet = before.clone();
        // Ctrl-C ends the line instead of this program, which has to put the terminal back first.
        quiet.local_flags &= !(LocalFlags::ECHO | LocalFlags::ISIG);
        quiet.control_chars[SpecialCharacterIndices::VEOL as usize] = INTERRUPT;
        tcsetattr(std::io::stdin(), SetArg::TCSAFLUSH, &quiet)?;
        Ok(Self(before))
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        // Nobody is left to be told when this fails.
        let _ = tcsetattr(std::io::stdin(), SetArg::TCSAFLUSH, &self.0);
    }
}
