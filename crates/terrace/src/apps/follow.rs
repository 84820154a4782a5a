//! Follows an application until it runs, fails, or takes too long.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use api::apps::Application;
use http::Method;
use k8s_openapi::api::apps::v1::Deployment;
use kube::Client;
use kube::api::Api;
use kube::client::Body;
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::connect::{ask, told};
use super::progress::Progress;
use super::stand::{Stand, stand};
use super::stream::Lines;
use super::{logs, write::Written};
use crate::paint::Paint;
use crate::{say, uploads};

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(200);
/// How long a program may fail to come up before nobody waits for it any more; the platform goes on trying.
const TROUBLE_MAX: Duration = Duration::from_secs(60);
/// How long the last lines of a build may take to arrive.
const LAST_LINES: Duration = Duration::from_secs(2);
/// How long the first line of a build may take that is over already: there may have been no build.
const FIRST_LINE: Duration = Duration::from_millis(400);
/// How many lines of its log a program that failed is shown with.
const FAREWELL_LINES: i64 = 10;
/// What a command ends with that was interrupted, as shells have it.
const INTERRUPTED: u8 = 130;

/// Which application, and how it is told about.
pub(super) struct Follow<'a> {
    pub client: &'a Client,
    pub namespace: &'a str,
    pub name: &'a str,
    pub timeout: Duration,
    pub json: bool,
}

/// How it ended.
enum End {
    Up(Box<Application>),
    Stopped(Box<Application>),
    /// The reason, and whether the program's own log tells more.
    Failed(String, bool),
    Interrupted,
}

impl Follow<'_> {
    /// The number of the latest build there is, so that the next can be told from it.
    pub(super) async fn builds_before(&self) -> u64 {
        let path = uploads::log_path(self.namespace, self.name);
        let Ok(answer) = ask(self.client, Method::HEAD, &path, Body::empty()).await else { return 0 };
        let number = answer.headers().get(uploads::NUMBER_HEADER);
        number.and_then(|value| value.to_str().ok()?.parse().ok()).unwrap_or_default()
    }

    /// Waits for what was written, shows how far it is and how it is built, and says how it ended.
    pub(super) async fn until_settled(
        &self,
        written: &Written,
        builds_before: Option<u64>,
    ) -> anyhow::Result<ExitCode> {
        let mut progress = Progress::new();
        let end = self.wait(&mut progress, written, builds_before.filter(|_| written.changed)).await;
        progress.clear();
        match end? {
            End::Up(app) => self.done(written.changed, &app, "is up"),
            End::Stopped(app) => self.done(written.changed, &app, "is scaled to zero"),
            End::Failed(message, has_log) => self.failed(&message, has_log).await,
            End::Interrupted => {
                say::note(&format!(
                    "no longer watching; {0} goes on by itself: see `terrace apps` and `terrace logs {0}`",
                    self.name
                ));
                Ok(ExitCode::from(INTERRUPTED))
            }
        }
    }

    async fn wait(
        &self,
        progress: &mut Progress,
        written: &Written,
        builds_before: Option<u64>,
    ) -> anyhow::Result<End> {
        let (mut log, _reading) = self.build_log(builds_before);
        let begun = Instant::now();
        let mut troubled_since = None;
        let mut heard = false;
        let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c());
        loop {
            let (app, now) = self.look().await?;
            if app.metadata.uid != written.app.metadata.uid {
                return Ok(End::Failed("somebody deleted it and made another of that name".into(), false));
            }
            if !matches!(now, Stand::Waiting(_) | Stand::Troubled(_)) {
                drain(&mut log, progress, if heard { LAST_LINES } else { FIRST_LINE }).await;
            }
            match &now {
                Stand::Up => return Ok(End::Up(app)),
                Stand::Stopped => return Ok(End::Stopped(app)),
                Stand::Failed(message, has_log) => return Ok(End::Failed(message.clone(), *has_log)),
                Stand::Waiting(words) => {
                    troubled_since = None;
                    progress.tell(&format!("{}: {words}", self.name));
                }
                Stand::Troubled(words) => {
                    let since = *troubled_since.get_or_insert_with(Instant::now);
                    if since.elapsed() > TROUBLE_MAX {
                        return Ok(End::Failed(format!("{words}; the platform goes on trying"), true));
                    }
                    progress.tell(&format!("{}: {words}", self.name));
                }
            }
            if begun.elapsed() > self.timeout {
                return Ok(End::Failed(late(self.timeout, &now), matches!(now, Stand::Troubled(_))));
            }
            let look = tokio::time::sleep(LOOK);
            tokio::pin!(look);
            loop {
                tokio::select! {
                    Some(line) = log.recv() => {
                        heard = true;
                        progress.above(&format!("  {line}"));
                    }
                    () = &mut look => break,
                    _ = &mut interrupt => return Ok(End::Interrupted),
                }
            }
        }
    }

    async fn look(&self) -> anyhow::Result<(Box<Application>, Stand)> {
        let apps: Api<Application> = Api::namespaced(self.client.clone(), self.namespace);
        let app = apps.get(self.name).await.map_err(told)?;
        let deployments: Api<Deployment> = Api::namespaced(self.client.clone(), self.namespace);
        // Who may not see Deployments believes the application alone.
        let deployment = deployments.get_opt(self.name).await.ok().flatten();
        let now = stand(&app, deployment.as_ref());
        Ok((Box::new(app), now))
    }

    /// The lines of the next build, as they come. Without one, and on a cluster that keeps none, none come.
    fn build_log(&self, before: Option<u64>) -> (mpsc::Receiver<String>, AbortOnDropHandle<()>) {
        let (sender, receiver) = mpsc::channel(64);
        let client = self.client.clone();
        let path = uploads::log_path(self.namespace, self.name);
        let reading = tokio::spawn(async move {
            let Some(before) = before else { return };
            let path = format!("{path}?follow=true&after={before}");
            let Ok(answer) = ask(&client, Method::GET, &path, Body::empty()).await else { return };
            let mut lines = Lines::new(answer.into_body());
            while let Some(line) = lines.next().await {
                if sender.send(line).await.is_err() {
                    return;
                }
            }
        });
        (receiver, AbortOnDropHandle::new(reading))
    }

    fn done(&self, changed: bool, app: &Application, words: &str) -> anyhow::Result<ExitCode> {
        let status = app.status.clone().unwrap_or_default();
        let url = status.url.unwrap_or_default();
        if self.json {
            say::line(&self.report(changed, Some(app), "").to_string())?;
            return Ok(ExitCode::SUCCESS);
        }
        let paint = Paint::stderr();
        let words = if changed { words.to_owned() } else { format!("nothing changed; it {words}") };
        say::note(&format!("{} {} {words}", paint.green("✓"), paint.bold(self.name)));
        if !url.is_empty() {
            say::line(&url)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn failed(&self, message: &str, has_log: bool) -> anyhow::Result<ExitCode> {
        if self.json {
            let apps: Api<Application> = Api::namespaced(self.client.clone(), self.namespace);
            let app = apps.get_opt(self.name).await.ok().flatten();
            say::line(&self.report(true, app.as_ref(), message).to_string())?;
            return Ok(ExitCode::FAILURE);
        }
        if has_log {
            for line in logs::last_lines(self.client, self.namespace, self.name, FAREWELL_LINES).await {
                say::note(&format!("  {line}"));
            }
        }
        let message = if message.is_empty() { "it failed, and nobody said why" } else { message };
        anyhow::bail!("{} did not come up: {message}", self.name)
    }

    fn report(&self, changed: bool, app: Option<&Application>, message: &str) -> serde_json::Value {
        let status = app.and_then(|app| app.status.clone()).unwrap_or_default();
        json!({
            "name": self.name, "namespace": self.namespace, "changed": changed, "ok": message.is_empty(),
            "generation": app.and_then(|app| app.metadata.generation), "phase": status.phase, "url": status.url,
            "image": status.latest_image, "message": message,
        })
    }
}

/// Shows what the build still had to say.
async fn drain(log: &mut mpsc::Receiver<String>, progress: &mut Progress, patience: Duration) {
    let rest = async {
        while let Some(line) = log.recv().await {
            progress.above(&format!("  {line}"));
        }
    };
    // A log that goes on all the same is of no further interest.
    let _ = tokio::time::timeout(patience, rest).await;
}

fn late(timeout: Duration, now: &Stand) -> String {
    let words = match now {
        Stand::Waiting(words) | Stand::Troubled(words) => words.as_str(),
        Stand::Up | Stand::Stopped | Stand::Failed(..) => "",
    };
    format!(
        "not ready after {} s: {words}; the platform goes on with it, --timeout waits longer",
        timeout.as_secs()
    )
}
