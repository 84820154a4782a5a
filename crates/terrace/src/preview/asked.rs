//! What would become of a document: asked of the control plane, as somebody, and of the kind's room. Shared by
//! `terrace plan` and by the plans of agents.

use std::sync::Arc;

use anyhow::bail;
use api::conditions::READY;
use kit::{AnyRoom, Changes, Draft, Tools};
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, ResourceExt, discovery};
use serde::Serialize;
use serde_json::Value;

use super::changes;
use crate::apps::connect::told;
use crate::apps::stand::HOPELESS;

/// What would become of one document.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Preview {
    /// Kind and name: `Application default/shop`.
    pub(super) object: String,
    /// Whether it would come into being.
    pub(super) new: bool,
    /// What the file changes of the object itself.
    pub(super) changes: Changes,
    /// What a pass over it would do; `None` for kinds that no controller here takes care of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) draft: Option<Draft>,
    /// Why it cannot be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    /// The object that was found; not told.
    #[serde(skip)]
    pub(super) found: Option<Found>,
}

/// Where an object lies.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) resource: ApiResource,
    pub(super) name: String,
    /// The one that is there.
    pub(super) uid: Option<String>,
}

impl Preview {
    pub(super) fn is_error(&self) -> bool {
        self.error.is_some() || self.refusal().is_some()
    }

    /// Why it cannot be as the file has it: its controller would do nothing, or do what it can and say so.
    pub(super) fn refusal(&self) -> Option<&str> {
        let draft = self.draft.as_ref()?;
        let told = |field: &str| {
            let path = format!("conditions[{READY}].{field}");
            draft.status.iter().find(|change| change.path == path)?.to.as_ref()?.as_str()
        };
        let hopeless = told("reason").filter(|reason| HOPELESS.contains(reason));
        draft.refusal.as_deref().or_else(|| hopeless.and_then(|_| told("message")))
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.new && self.changes.is_empty() && self.draft.as_ref().is_none_or(Draft::is_empty)
    }
}

/// Whom is asked, as whom, and for which kinds.
pub(super) struct Asked {
    /// Asks the server, with the rights of whoever wants to know.
    pub(super) client: Client,
    /// What rooms look through: with the rights of whoever would act.
    pub(super) tools: Tools,
    pub(super) rooms: Arc<[Arc<dyn AnyRoom>]>,
    pub(super) writer: Writer,
}

/// How a document would be written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Writer {
    /// Who would own its fields.
    pub(super) name: &'static str,
    /// Whether fields of others are taken over.
    pub(super) force: bool,
    /// Whether only what lies in a namespace may be written.
    pub(super) namespaced: bool,
}

impl Asked {
    pub(super) async fn preview(&self, document: Value, namespace: &str) -> Preview {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let object = format!("{} {}", word(&document["kind"]), word(&document["metadata"]["name"]));
        let preview = self.asked(document, namespace).await;
        preview.unwrap_or_else(|error| Preview {
            object,
            new: false,
            changes: Vec::new(),
            draft: None,
            error: Some(format!("{error:#}")),
            found: None,
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
            discovery::Scope::Cluster if self.writer.namespaced => {
                bail!("a {kind} lies in no namespace, and only what lies in the session's can be planned");
            }
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
        let params =
            PatchParams { dry_run: true, force: self.writer.force, ..PatchParams::apply(self.writer.name) };
        let would_be = api.patch(&name, &params, &Patch::Apply(&document)).await.map_err(told)?;
        let would_be = serde_json::to_value(would_be)?;
        let found = Found { resource, name, uid: live.as_ref().and_then(ResourceExt::uid) };
        let live = live.map(serde_json::to_value).transpose()?;
        let changes = changes::between(live.as_ref(), &would_be);
        let draft = self.draft(&found.resource, would_be).await?;
        Ok(Preview { object, new: live.is_none(), changes, draft, error: None, found: Some(found) })
    }

    /// What a pass over an object would do, if a room here has its kind.
    pub(super) async fn draft(&self, resource: &ApiResource, object: Value) -> anyhow::Result<Option<Draft>> {
        match self.rooms.iter().find(|room| serves(&room.resource(), resource)) {
            Some(room) => {
                let drafted = room.draft(&self.tools, object).await;
                Ok(Some(drafted.map_err(|fault| anyhow::anyhow!(fault.story()))?))
            }
            None => Ok(None),
        }
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
