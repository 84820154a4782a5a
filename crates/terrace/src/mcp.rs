//! `terrace mcp`: standard input and output, joined to the platform's own server. What is said on the line is not
//! looked at: there is one server, whoever connects to it and however.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agents::identity::Role;
use anyhow::{Context, bail};
use clap::Args;

use crate::apps::connect::Connection;
use crate::{place, token};

/// The longest head of an answer.
const HEAD_MAX: u64 = 16 * 1024;

#[derive(Args)]
pub(crate) struct Options {
    /// Where the server answers [default: the platform in the data directory]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// File that holds the token; the variable TERRACE_TOKEN wins over it
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

pub(crate) async fn run(data_dir: &Path, options: &Options) -> anyhow::Result<ExitCode> {
    let address = match &options.url {
        Some(url) => url.clone(),
        None => std::fs::read_to_string(place::agents(data_dir)).with_context(|| {
            format!("no platform has been started in {}; start one with `terrace up`", data_dir.display())
        })?,
    };
    let Some(host) = address.strip_prefix("http://").map(|rest| rest.trim_end_matches('/')) else {
        bail!("{address:?} is no address of a server: http://HOST:PORT is expected");
    };
    let token = token(data_dir, options).await?;
    let line = Line::open(host, &token).with_context(|| format!("no line to the platform at {address}"))?;
    tokio::task::spawn_blocking(move || line.carry()).await??;
    Ok(ExitCode::SUCCESS)
}

/// A connection that has become a line.
struct Line {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
}

impl Line {
    fn open(host: &str, token: &str) -> anyhow::Result<Self> {
        let mut writer = TcpStream::connect(host).context("nobody answers; start it with `terrace up`")?;
        writer.set_nodelay(true)?;
        let (path, protocol) = (agents::LINE, agents::LINE_PROTOCOL);
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: upgrade\r\nUpgrade: {protocol}\r\n\
             Authorization: Bearer {token}\r\n\r\n"
        );
        writer.write_all(head.as_bytes())?;
        let mut reader = BufReader::new(writer.try_clone()?);
        let (mut line, mut first, mut size) = (String::new(), String::new(), 0);
        loop {
            line.clear();
            size += (&mut reader).take(HEAD_MAX).read_line(&mut line)? as u64;
            if first.is_empty() {
                first = line.trim_end().to_owned();
            }
            if line.trim_end().is_empty() || size > HEAD_MAX {
                break;
            }
        }
        match first.split(' ').nth(1) {
            Some("101") => Ok(Self { reader, writer }),
            Some("401") => {
                bail!(
                    "the token is not known, or was revoked; `terrace token create NAME --session` makes one"
                )
            }
            _ => bail!("what answers there is not Terrace: {first:?}"),
        }
    }

    /// Carries both ways until the server ends. It has the last word: what was asked before the end of the input is
    /// still answered.
    fn carry(self) -> anyhow::Result<()> {
        let Self { mut reader, mut writer } = self;
        // Nobody waits for this one: it may be reading an input that never ends.
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut std::io::stdin().lock(), &mut writer);
            let _ = writer.shutdown(Shutdown::Write);
        });
        let mut out = std::io::stdout().lock();
        loop {
            let heard = reader.fill_buf()?;
            let size = heard.len();
            if size == 0 {
                return Ok(());
            }
            out.write_all(heard)?;
            out.flush()?;
            reader.consume(size);
        }
    }
}

/// The token: from the environment, from a file, or this user's own.
async fn token(data_dir: &Path, options: &Options) -> anyhow::Result<String> {
    if let Some(token) = std::env::var("TERRACE_TOKEN").ok().filter(|token| !token.is_empty()) {
        return Ok(token);
    }
    let own = data_dir.join("agent-token");
    let file = options.token_file.as_ref().unwrap_or(&own);
    match std::fs::read_to_string(file) {
        Ok(token) => Ok(token.trim().to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && options.token_file.is_none() => {
            let client = Connection::to_platform_in(data_dir).client(data_dir).await?;
            let token = token::make(&client, "local", Role::Session).await?;
            place::write_private(&own, &token)?;
            Ok(token)
        }
        Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
    }
}
