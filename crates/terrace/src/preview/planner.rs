//! The plans of agents: the same previews, asked for with the rights of whoever wants them.
//!
//! What rooms would do is found with the platform's own rights, because the platform would do it; only their words are told,
//! and only after the caller may write the object.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use agents::plans::{self, Action, Change, Named, Planned, Step, Target, Wish};
use anyhow::bail;
use api::conditions::READY;
use futures::FutureExt;
use futures::future::BoxFuture;
use kit::{AnyRoom, Draft, Drafted, Reader, Tools, Verb};
use kube::api::{Api, DeleteParams, DynamicObject};
use kube::core::ApiResource;
use kube::discovery::{Discovery, Scope};
use kube::{Client, ResourceExt};
use serde_json::Value;

use super::asked::{Asked, Found, Preview, Writer};
use super::documents::documents;
use crate::apps::connect::told;

/// Agents own what they write, and take nothing from others.
const WRITER: Writer = Writer { name: plans::WRITER, force: false, namespaced: true };
/// Kinds that hold data: when one of them goes, so does that.
const DATA: [&str; 6] =
    ["Backup", "Cluster", "Database", "DatabaseClaim", "ManagedService", "PersistentVolumeClaim"];
/// How steps outside the cluster begin that take data away.
const DESTROYING: [&str; 4] = ["delete ", "destroy ", "drop ", "empty "];

/// Plans for agents.
pub(crate) struct Planner {
    own: Client,
    rooms: Arc<[Arc<dyn AnyRoom>]>,
}

impl Planner {
    /// A planner on a platform; `own` has the platform's rights.
    pub(crate) fn new(own: Client, rooms: Vec<Arc<dyn AnyRoom>>) -> Self {
        Self { own, rooms: rooms.into() }
    }

    async fn previews(&self, client: &Client, wish: &Wish) -> Vec<Planned> {
        let tools = Tools::new(Reader::direct(self.own.clone()));
        let asked = Asked { client: client.clone(), tools, rooms: self.rooms.clone(), writer: WRITER };
        let mut planned = Vec::new();
        for manifest in &wish.manifests {
            let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let object = format!("{}/{}", word(&manifest["kind"]), word(&manifest["metadata"]["name"]));
            let preview = asked.preview(manifest.clone(), &wish.namespace).await;
            planned.push(written(object, preview));
        }
        if wish.deletes.is_empty() {
            return planned;
        }
        let kinds = self.kinds().await;
        for named in &wish.deletes {
            let found = match &kinds {
                Ok(kinds) => farewell(&asked, kinds, named, &wish.namespace).await,
                Err(error) => Err(anyhow::anyhow!("{error:#}")),
            };
            let object = format!("{}/{}", named.kind, named.name);
            planned.push(found.unwrap_or_else(|error| failed(object, Action::Delete, &format!("{error:#}"))));
        }
        planned
    }

    /// Every kind that lies in namespaces.
    async fn kinds(&self) -> anyhow::Result<Vec<ApiResource>> {
        let all = Discovery::new(self.own.clone()).run().await.map_err(told)?;
        let kinds = all.groups().flat_map(|group| group.recommended_resources());
        Ok(kinds.filter(|(_, able)| able.scope == Scope::Namespaced).map(|(kind, _)| kind).collect())
    }
}

impl plans::Planner for Planner {
    fn documents(&self, text: &str) -> Result<Vec<Value>, String> {
        documents(text).map_err(|error| format!("{error:#}"))
    }

    fn preview<'a>(&'a self, client: &'a Client, wish: &'a Wish) -> BoxFuture<'a, Vec<Planned>> {
        self.previews(client, wish).boxed()
    }
}

/// What would become of something that is to be there.
fn written(object: String, preview: Preview) -> Planned {
    let action = match (preview.new, preview.changes.is_empty()) {
        (true, _) => Action::Create,
        (false, false) => Action::Update,
        (false, true) => Action::None,
    };
    if let Some(error) = &preview.error {
        return failed(object, Action::None, error);
    }
    // What a controller does about an object that stays as it is, it does without the plan.
    let refusal = preview.refusal().filter(|_| action != Action::None);
    let refusal = refusal.map(str::to_owned);
    let steps = preview.draft.filter(|_| action != Action::None).map(steps).unwrap_or_default();
    let changes =
        preview.changes.into_iter().map(|kit::Change { path, from, to }| Change { path, from, to }).collect();
    let target = preview.found.map(|Found { resource, name, uid }| Target { resource, name, uid });
    Planned { object, action, target, changes, steps, error: refusal }
}

/// What would become of something that is to go.
async fn farewell(
    asked: &Asked,
    kinds: &[ApiResource],
    named: &Named,
    namespace: &str,
) -> anyhow::Result<Planned> {
    let resource = kind(kinds, &named.kind)?;
    let api: Api<DynamicObject> = Api::namespaced_with(asked.client.clone(), namespace, resource);
    let object = format!("{}/{}", resource.kind, named.name);
    let live = api.get_opt(&named.name).await.map_err(told)?;
    let staying = |why: &str| Planned {
        object: object.clone(),
        action: Action::None,
        target: None,
        changes: Vec::new(),
        steps: vec![Step { words: why.to_owned(), destroys: false }],
        error: None,
    };
    let Some(mut live) = live else { return Ok(staying("it is not there")) };
    if live.metadata.deletion_timestamp.is_some() {
        return Ok(staying("it is going already"));
    }
    let params = DeleteParams { dry_run: true, ..DeleteParams::default() };
    api.delete(&named.name, &params).await.map_err(told)?;
    let target = Target { resource: resource.clone(), name: named.name.clone(), uid: live.uid() };
    let now = jiff::Timestamp::now();
    live.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(now));
    let draft = asked.draft(resource, serde_json::to_value(&live)?).await?;
    let says = draft.as_ref().and_then(said);
    let mut steps = draft.map(steps).unwrap_or_default();
    steps.extend(says.map(|words| Step { words, destroys: false }));
    Ok(Planned {
        object,
        action: Action::Delete,
        target: Some(target),
        changes: Vec::new(),
        steps,
        error: None,
    })
}

/// The kind that a name stands for: `Application`, or `Cluster.postgresql.cnpg.io`.
fn kind<'a>(kinds: &'a [ApiResource], named: &str) -> anyhow::Result<&'a ApiResource> {
    let (word, group) = match named.split_once('.') {
        Some((word, group)) => (word, Some(group)),
        None => (named, None),
    };
    let fits = |kind: &&ApiResource| {
        kind.kind.eq_ignore_ascii_case(word) && group.is_none_or(|group| group == kind.group)
    };
    let found: Vec<&ApiResource> = kinds.iter().filter(fits).collect();
    match found.as_slice() {
        [one] => Ok(one),
        [] => bail!("the platform serves no {named} that lies in a namespace"),
        many => {
            let names: Vec<String> = many.iter().map(|kind| format!("{word}.{}", kind.group)).collect();
            bail!("{named} may be any of {}; name one of these", names.join(", "))
        }
    }
}

/// What an object would say of itself while it goes: that it waits for others, mostly.
fn said(draft: &Draft) -> Option<String> {
    let path = format!("conditions[{READY}].message");
    let message = draft.status.iter().find(|change| change.path == path)?.to.as_ref()?.as_str()?;
    Some(format!("it would say: {message}"))
}

fn steps(draft: Draft) -> Vec<Step> {
    draft.steps.into_iter().map(step).collect()
}

fn step(Drafted { verb, words, changes: _ }: Drafted) -> Step {
    let destroys = match verb {
        Verb::Create | Verb::Change => false,
        Verb::Delete => words.split_whitespace().nth(1).is_some_and(|kind| DATA.contains(&kind)),
        Verb::Act => DESTROYING.iter().any(|word| words.starts_with(word)),
    };
    Step { words, destroys }
}

fn failed(object: String, action: Action, error: &str) -> Planned {
    let error = Some(plain(error));
    Planned { object, action, target: None, changes: Vec::new(), steps: Vec::new(), error }
}

/// What the platform said, in words for an agent: who it is taken for is of no use to it, and what it can do is.
fn plain(error: &str) -> String {
    if let Some((_, wanted)) = error.split_once("\" cannot ") {
        return format!("this token may not {wanted}");
    }
    match error.starts_with("Apply failed with ") {
        true => format!("{error}; leave these fields out of the manifest: another writes them"),
        false => error.to_owned(),
    }
}
