//! `terrace logs`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use api::annotations::APPLICATION;
use api::apps::Application;
use api::conditions::READY;
use clap::Args;
use http::Method;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams, LogParams};
use kube::client::Body;
use kube::{Client, ResourceExt};
use tokio::sync::mpsc;

use super::connect::{Connection, ask, told};
use super::list::missing;
use super::stand::message;
use super::stream::Lines;
use crate::paint::Paint;
use crate::{say, uploads};

/// How often it is looked for new pods.
const LOOK: Duration = Duration::from_millis(500);

#[derive(Args)]
pub(crate) struct Options {
    /// Name of the application
    name: String,
    /// Go on as lines come, also through roll-outs
    #[arg(long, short)]
    follow: bool,
    /// Only the last so many lines of each pod
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(0..))]
    tail: Option<i64>,
    /// What the run before said, of pods that were restarted
    #[arg(long, conflicts_with_all = ["follow", "build"])]
    previous: bool,
    /// How its latest build went, instead of what the program says
    #[arg(long, conflicts_with = "tail")]
    build: bool,
    #[command(flatten)]
    connection: Connection,
}

pub(crate) async fn run(data_dir: &Path, options: &Options) -> anyhow::Result<ExitCode> {
    let client = options.connection.client(data_dir).await?;
    let reader = Reader { client, namespace: &options.connection.namespace, name: &options.name };
    if options.build {
        return reader.build(options.follow).await;
    }
    let params = LogParams {
        tail_lines: options.tail,
        previous: options.previous,
        follow: options.follow,
        ..LogParams::default()
    };
    if options.follow { reader.follow(&params).await } else { reader.once(&params).await }
}

/// The last lines of an application's newest pod, for whoever is told that it failed.
pub(super) async fn last_lines(client: &Client, namespace: &str, name: &str, count: i64) -> Vec<String> {
    let reader = Reader { client: client.clone(), namespace, name };
    let Some(pod) = reader.pods().await.ok().and_then(|mut pods| pods.pop()) else { return Vec::new() };
    for previous in [false, true] {
        let params = LogParams { tail_lines: Some(count), previous, ..LogParams::default() };
        let Ok(mut lines) = reader.open(&pod.name_any(), &params).await else { continue };
        let mut found = Vec::new();
        while let Some(line) = lines.next().await {
            found.push(line);
        }
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

struct Reader<'a> {
    client: Client,
    namespace: &'a str,
    name: &'a str,
}

impl Reader<'_> {
    /// The pods, the oldest first.
    async fn pods(&self) -> anyhow::Result<Vec<Pod>> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), self.namespace);
        let own = ListParams::default().labels(&format!("{APPLICATION}={}", self.name));
        let mut pods = pods.list(&own).await.map_err(told)?.items;
        pods.sort_by_key(|pod| (pod.creation_timestamp().map(|time| time.0), pod.name_any()));
        Ok(pods)
    }

    async fn open(&self, pod: &str, params: &LogParams) -> anyhow::Result<Lines> {
        open(&self.client, self.namespace, pod, params).await
    }

    /// What is there now.
    async fn once(&self, params: &LogParams) -> anyhow::Result<ExitCode> {
        let pods = self.pods().await?;
        if pods.is_empty() {
            bail!("{}", self.why_no_pods().await?);
        }
        let mut printer = Printer::new(pods.len() > 1);
        let (mut read, mut refused) = (0, None);
        for pod in &pods {
            match self.open(&pod.name_any(), params).await {
                Ok(mut lines) => {
                    read += 1;
                    while let Some(line) = lines.next().await {
                        printer.print(&pod.name_any(), &line)?;
                    }
                }
                Err(error) => refused = Some(error),
            }
        }
        // A pod that has nothing to show yet does not hide what the others say.
        match refused {
            Some(error) if read == 0 => Err(error),
            _ => Ok(ExitCode::SUCCESS),
        }
    }

    /// What comes, from every pod there is and will be, until somebody stops it.
    async fn follow(&self, params: &LogParams) -> anyhow::Result<ExitCode> {
        let (sender, mut lines) = mpsc::channel::<(String, String)>(256);
        let mut printer = Printer::new(false);
        let mut known = BTreeSet::new();
        let mut told_empty = false;
        let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c());
        let mut look = tokio::time::interval(LOOK);
        loop {
            tokio::select! {
                Some((pod, line)) = lines.recv() => printer.print(&pod, &line)?,
                _ = &mut interrupt => return Ok(ExitCode::SUCCESS),
                _ = look.tick() => {
                    let pods = self.pods().await?;
                    if pods.is_empty() && !told_empty {
                        say::note(&self.why_no_pods().await?);
                        told_empty = true;
                    }
                    printer.several |= pods.len() > 1;
                    for run in pods.iter().flat_map(runs).filter(|run| !known.contains(run)).collect::<Vec<_>>() {
                        known.insert(run.clone());
                        self.attach(run.pod, params.clone(), sender.clone());
                    }
                }
            }
        }
    }

    /// Sends the lines of one run of one pod, until that run ends.
    fn attach(&self, pod: String, params: LogParams, sender: mpsc::Sender<(String, String)>) {
        let (client, namespace) = (self.client.clone(), self.namespace.to_owned());
        tokio::spawn(async move {
            // A pod that goes meanwhile has said all it had to say.
            let Ok(mut lines) = open(&client, &namespace, &pod, &params).await else { return };
            while let Some(line) = lines.next().await {
                if sender.send((pod.clone(), line)).await.is_err() {
                    return;
                }
            }
        });
    }

    async fn build(&self, follow: bool) -> anyhow::Result<ExitCode> {
        let path = uploads::log_path(self.namespace, self.name);
        let path = if follow { format!("{path}?follow=true") } else { path };
        let answer = match ask(&self.client, Method::GET, &path, Body::empty()).await {
            Ok(answer) => answer,
            Err(error) if error.to_string().ends_with("not found") => {
                self.app().await?;
                bail!("no build of {} has a log; only applications from source are built", self.name)
            }
            Err(error) => return Err(error),
        };
        let mut lines = Lines::new(answer.into_body());
        while let Some(line) = lines.next().await {
            say::line(&line)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn app(&self) -> anyhow::Result<Application> {
        let apps: Api<Application> = Api::namespaced(self.client.clone(), self.namespace);
        let app = apps.get_opt(self.name).await.map_err(told)?;
        app.ok_or_else(|| missing(self.namespace, self.name))
    }

    async fn why_no_pods(&self) -> anyhow::Result<String> {
        let status = self.app().await?.status.unwrap_or_default();
        let ready = status.conditions.iter().find(|condition| condition.type_ == READY);
        let why = Some(message(ready)).filter(|why| !why.is_empty());
        let why = why.unwrap_or_else(|| "the platform has not taken it up yet".into());
        Ok(format!("{} has no pods: {why}", self.name))
    }
}

async fn open(client: &Client, namespace: &str, pod: &str, params: &LogParams) -> anyhow::Result<Lines> {
    let path = format!("/api/v1/namespaces/{namespace}/pods");
    let request = kube::core::Request::new(path).logs(pod, params)?;
    let path = request.uri().to_string();
    Ok(Lines::new(ask(client, Method::GET, &path, Body::empty()).await?.into_body()))
}

/// One run of a pod's program: each has a log of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Run {
    pod: String,
    uid: String,
    restarts: i32,
}

/// The run of a pod that has a log now, if it has one.
fn runs(pod: &Pod) -> Option<Run> {
    let container = pod.status.as_ref()?.container_statuses.as_ref()?.first()?;
    let state = container.state.as_ref()?;
    let begun = state.running.is_some() || state.terminated.is_some();
    begun.then(|| Run {
        pod: pod.name_any(),
        uid: pod.uid().unwrap_or_default(),
        restarts: container.restart_count,
    })
}

/// Prints lines, with the pod's name before each where there are several pods.
struct Printer {
    several: bool,
    paint: Paint,
    pods: BTreeMap<String, usize>,
}

impl Printer {
    fn new(several: bool) -> Self {
        Self { several, paint: Paint::stdout(), pods: BTreeMap::new() }
    }

    fn print(&mut self, pod: &str, line: &str) -> anyhow::Result<()> {
        if !self.several {
            return say::line(line);
        }
        let next = self.pods.len();
        let number = *self.pods.entry(pod.to_owned()).or_insert(next);
        say::line(&format!("{} {line}", self.paint.one_of_many(number, &format!("{pod} |"))))
    }
}
