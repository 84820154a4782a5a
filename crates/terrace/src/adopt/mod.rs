//! `terrace adopt`: what an account in AWS holds already, as manifests that ask for exactly that.

mod files;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use api::infra::ProviderRef;
use clap::{Args, ValueEnum};
use controllers::infra::{Desk, Found, Kind};
use kit::Reader;
use serde_json::json;

use crate::apps::connect::Connection;
use crate::apps::table::table;
use crate::say;

#[derive(Args)]
pub(crate) struct Options {
    /// The AWSProvider whose account is looked into: NAME, or NAMESPACE/NAME
    #[arg(long, value_name = "PROVIDER")]
    provider: String,
    /// The kinds that are looked for, separated by commas [default: all]
    #[arg(long, value_delimiter = ',', value_name = "KINDS")]
    kinds: Vec<Wanted>,
    /// Directory that the manifests are written into, one file each; without it they are only listed
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print for programs
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connection: Connection,
}

/// A kind, as it is named on the command line.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Wanted {
    #[value(name = "s3bucket", alias = "s3buckets", alias = "s3")]
    S3Bucket,
    #[value(name = "rdsinstance", alias = "rdsinstances", alias = "rds")]
    RDSInstance,
    #[value(name = "ec2instance", alias = "ec2instances", alias = "ec2")]
    EC2Instance,
    #[value(name = "sqsqueue", alias = "sqsqueues", alias = "sqs")]
    SQSQueue,
}

impl Wanted {
    fn kind(self) -> Kind {
        match self {
            Self::S3Bucket => Kind::S3Bucket,
            Self::RDSInstance => Kind::RDSInstance,
            Self::EC2Instance => Kind::EC2Instance,
            Self::SQSQueue => Kind::SQSQueue,
        }
    }
}

/// Looks, lists, and writes what nobody has yet.
pub(crate) async fn run(data_dir: &Path, options: &Options) -> anyhow::Result<ExitCode> {
    let provider = match reference(&options.provider) {
        Ok(provider) => provider,
        Err(error) => return Ok(say::usage(&format!("--provider {}: {error}", options.provider))),
    };
    let client = options.connection.client(data_dir).await?;
    let all = || Wanted::value_variants().to_vec();
    let mut kinds = if options.kinds.is_empty() { all() } else { options.kinds.clone() };
    kinds.dedup();
    let desk = Desk::new(Arc::default());
    let (reader, namespace) = (Reader::direct(client), options.connection.namespace.as_str());
    let mut found = Vec::new();
    for kind in kinds {
        let kind = kind.kind();
        say::note(&format!("looking for {kind}s"));
        let here = desk.inventory(&reader, (namespace, &provider), kind).await;
        found.extend(here.map_err(|fault| anyhow!("{}", fault.story()))?);
    }
    let written = match &options.out {
        Some(directory) => Some(files::write(directory, &found)?),
        None => None,
    };
    if options.json {
        say::line(&serde_json::to_string_pretty(&listed(&found))?)?;
    } else if found.is_empty() {
        say::note("the account holds nothing of these kinds in the provider's region");
    } else {
        say::text(&rows(&found))?;
    }
    if let (Some(written), Some(directory)) = (written, &options.out) {
        say::note(&next(written, directory));
    }
    Ok(ExitCode::SUCCESS)
}

fn reference(words: &str) -> anyhow::Result<ProviderRef> {
    let (namespace, name) = match words.split_once('/') {
        Some((namespace, name)) => (Some(namespace.parse().context("the namespace")?), name),
        None => (None, words),
    };
    Ok(ProviderRef { name: name.parse().context("the name")?, namespace })
}

/// What is to be done with the files.
fn next(written: usize, directory: &Path) -> String {
    let directory = directory.display();
    match written {
        0 => "no manifest was written: everything has its object already".to_owned(),
        count => format!(
            "{count} manifests are in {directory}; nothing was changed in AWS\n  \
             kubectl apply -f {directory}                          watch them: differences are told, nothing is written\n  \
             kubectl annotate -f {directory} terrace.dev/mode-     have them: from then on they are kept as the files say"
        ),
    }
}

/// The manifests of what nobody has yet.
fn adoptable(found: &[Found]) -> impl Iterator<Item = &Found> {
    found.iter().filter(|found| found.owner.is_none())
}

fn rows(found: &[Found]) -> String {
    let cells = |found: &Found| {
        let owner = found.owner.as_ref().map_or("-".to_owned(), Clone::clone);
        vec![found.kind.to_string(), found.resource.clone(), found.name().to_owned(), owner]
    };
    let rows: Vec<_> = found.iter().map(cells).collect();
    table(&["KIND", "RESOURCE", "OBJECT", "HELD BY"], &rows)
}

fn listed(found: &[Found]) -> serde_json::Value {
    let one = |found: &Found| {
        json!({
            "kind": found.kind.to_string(), "resource": found.resource, "heldBy": found.owner,
            "manifest": found.manifest,
        })
    };
    found.iter().map(one).collect()
}
