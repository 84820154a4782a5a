//! `terrace plan`: what the platform would do about a file, without doing it.

mod changes;
mod render;
pub(crate) mod settings;
#[cfg(test)]
mod tests;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use api::conditions::READY;
use clap::Args;
use control_plane::wire::yaml::from_yaml;
use kit::{AnyRoom, Changes, Draft, Reader, Tools};
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, discovery};
use serde::Serialize;
use serde_json::Value;

use crate::apps::connect::{Connection, told};
use crate::apps::stand::HOPELESS;
use crate::paint::Paint;
use crate::say;

/// What the command ends with when something would change.
const CHANGES: u8 = 2;
/// Who asks the server what a file would make of an object.
const MANAGER: &str = "terrace-plan";
/// Largest file; an object has at most 3 MiB.
const FILE_MAX: u64 = 64 * 1024 * 1024;

#[derive(Args)]
pub(crate) struct Options {
    /// YAML or JSON with one object or several; `-` reads standard input
    #[arg(long, short, value_name = "FILE")]
    file: PathBuf,
    /// Print for programs
    #[arg(long, short, value_name = "FORMAT", value_parser = ["json"])]
    output: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

/// What would become of one document.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Preview {
    /// Kind and name: `Application default/shop`.
    object: String,
    /// Whether it would come into being.
    new: bool,
    /// What the file changes of the object itself.
    changes: Changes,
    /// What a pass over it would do; `None` for kinds that no controller here takes care of.
    #[serde(skip_serializing_if = "Option::is_none")]
    draft: Option<Draft>,
    /// Why it cannot be.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Preview {
    fn is_error(&self) -> bool {
        self.error.is_some() || self.refusal().is_some()
    }

    /// Why it cannot be as the file has it: its controller would do nothing, or do what it can and say so.
    fn refusal(&self) -> Option<&str> {
        let draft = self.draft.as_ref()?;
        let told = |field: &str| {
            let path = format!("conditions[{READY}].{field}");
            draft.status.iter().find(|change| change.path == path)?.to.as_ref()?.as_str()
        };
        let hopeless = told("reason").filter(|reason| HOPELESS.contains(reason));
        draft.refusal.as_deref().or_else(|| hopeless.and_then(|_| told("message")))
    }

    fn is_empty(&self) -> bool {
        !self.new && self.changes.is_empty() && self.draft.as_ref().is_none_or(Draft::is_empty)
    }
}

/// Prints what would be done.
pub(crate) async fn run(data_dir: &Path, options: &Options) -> anyhow::Result<ExitCode> {
    let documents = documents(&read(&options.file)?)?;
    if documents.is_empty() {
        return Ok(say::usage(&format!("{} holds no object", options.file.display())));
    }
    let client = options.connection.client(data_dir).await?;
    let config = settings::published(&client)
        .await
        .context("the platform's settings in kube-public cannot be read")?;
    let rooms = controllers::all(config, controllers::services::Config::default());
    let asked = Asked { tools: Tools::new(Reader::direct(client.clone())), client, rooms };
    let mut previews = Vec::new();
    for document in documents {
        previews.push(asked.preview(document, &options.connection.namespace).await);
    }
    match options.output {
        Some(_) => say::line(&serde_json::to_string_pretty(&previews)?)?,
        None => say::text(&render::text(&previews, Paint::stdout()))?,
    }
    Ok(verdict(&previews))
}

fn verdict(previews: &[Preview]) -> ExitCode {
    if previews.iter().any(Preview::is_error) {
        ExitCode::FAILURE
    } else if previews.iter().all(Preview::is_empty) {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(CHANGES)
    }
}

fn read(file: &Path) -> anyhow::Result<String> {
    let told = || format!("cannot read {}", file.display());
    let mut text = String::new();
    let size = if file == Path::new("-") {
        std::io::stdin().lock().take(FILE_MAX + 1).read_to_string(&mut text)
    } else {
        std::fs::File::open(file).with_context(told)?.take(FILE_MAX + 1).read_to_string(&mut text)
    };
    if size.with_context(told)? as u64 > FILE_MAX {
        bail!("{} is larger than {} MiB", file.display(), FILE_MAX >> 20);
    }
    Ok(text)
}

/// The objects of a file: documents of YAML, JSON, and the items of lists.
fn documents(text: &str) -> anyhow::Result<Vec<Value>> {
    let mut objects = Vec::new();
    for (number, document) in split(text).into_iter().enumerate() {
        let document = from_yaml(document.as_bytes())
            .map_err(|error| anyhow::anyhow!("document {} is not YAML or JSON: {error}", number + 1))?;
        match document.get("items").and_then(Value::as_array) {
            Some(items) if document["kind"].as_str().is_some_and(|kind| kind.ends_with("List")) => {
                objects.extend(items.iter().cloned());
            }
            _ if document.is_null() => {}
            _ => objects.push(document),
        }
    }
    Ok(objects)
}

/// The documents of a YAML stream: each begins where a line begins with `---`, as kubectl has it.
fn split(text: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for line in text.lines() {
        match documents.last_mut() {
            Some(last) if !line.starts_with("---") => {
                last.push_str(line);
                last.push('\n');
            }
            _ => documents.push(format!("{}\n", line.trim_start_matches('-'))),
        }
    }
    documents
        .retain(|document| document.lines().any(|line| !line.trim().is_empty() && !line.starts_with('#')));
    documents
}

/// Whom is asked, and for which kinds.
struct Asked {
    client: Client,
    tools: Tools,
    rooms: Vec<Arc<dyn AnyRoom>>,
}

impl Asked {
    async fn preview(&self, document: Value, namespace: &str) -> Preview {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let object = format!("{} {}", word(&document["kind"]), word(&document["metadata"]["name"]));
        let preview = self.asked(document, namespace).await;
        preview.unwrap_or_else(|error| Preview {
            object,
            new: false,
            changes: Vec::new(),
            draft: None,
            error: Some(format!("{error:#}")),
        })
    }

    async fn asked(&self, mut document: Value, namespace: &str) -> anyhow::Result<Preview> {
        let word = |value: &Value| value.as_str().map(str::to_owned);
        let (Some(version), Some(kind)) = (word(&document["apiVersion"]), word(&document["kind"])) else {
            bail!("a document without apiVersion and kind");
        };
        let Some(name) = word(&document["metadata"]["name"]) else {
            bail!("a {kind} without metadata.name");
        };
        let (resource, scope) = self.resource(&version, &kind).await?;
        let (api, object): (Api<DynamicObject>, _) = match scope {
            discovery::Scope::Cluster => {
                (Api::all_with(self.client.clone(), &resource), format!("{kind} {name}"))
            }
            discovery::Scope::Namespaced => {
                let place = word(&document["metadata"]["namespace"]).unwrap_or_else(|| namespace.to_owned());
                document["metadata"]["namespace"] = place.clone().into();
                (
                    Api::namespaced_with(self.client.clone(), &place, &resource),
                    format!("{kind} {place}/{name}"),
                )
            }
        };
        let live = api.get_opt(&name).await.map_err(told)?;
        let params = PatchParams { dry_run: true, ..PatchParams::apply(MANAGER).force() };
        let would_be = api.patch(&name, &params, &Patch::Apply(&document)).await.map_err(told)?;
        let would_be = serde_json::to_value(would_be)?;
        let live = live.map(serde_json::to_value).transpose()?;
        let changes = changes::between(live.as_ref(), &would_be);
        let draft = match self.rooms.iter().find(|room| serves(&room.resource(), &resource)) {
            Some(room) => Some(
                room.draft(&self.tools, would_be).await.map_err(|fault| anyhow::anyhow!(fault.story()))?,
            ),
            None => None,
        };
        Ok(Preview { object, new: live.is_none(), changes, draft, error: None })
    }

    async fn resource(&self, version: &str, kind: &str) -> anyhow::Result<(ApiResource, discovery::Scope)> {
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        let gvk = GroupVersionKind::gvk(group, version, kind);
        match discovery::pinned_kind(&self.client, &gvk).await {
            Ok((resource, capabilities)) => Ok((resource, capabilities.scope)),
            Err(_) => bail!(
                "the platform serves no {kind} in {group}/{version}; `terrace crds` prints what can be installed"
            ),
        }
    }
}

fn serves(room: &ApiResource, resource: &ApiResource) -> bool {
    room.group == resource.group && room.kind == resource.kind && room.version == resource.version
}
