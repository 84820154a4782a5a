//! A planner that looks at the specs of Applications, and asks nobody whether they may be.

use api::apps::Application;
use futures::FutureExt;
use futures::future::BoxFuture;
use kube::api::Api;
use kube::core::{ApiResource, DynamicObject};
use kube::{Client, ResourceExt};
use serde_json::Value;

use super::super::{Action, Change, Planned, Planner, Step, Target, Wish};

/// Its word for an object that cannot be.
pub(super) const IMPOSSIBLE: &str = "impossible";
/// Its word for an object whose controller would destroy something.
pub(super) const DESTROYS: &str = "destroys";

pub(super) struct Fake;

impl Planner for Fake {
    fn documents(&self, text: &str) -> Result<Vec<Value>, String> {
        match text {
            "" => Ok(Vec::new()),
            text => serde_json::from_str(text).map_err(|error| error.to_string()),
        }
    }

    fn preview<'a>(&'a self, client: &'a Client, wish: &'a Wish) -> BoxFuture<'a, Vec<Planned>> {
        async move {
            let mut planned = Vec::new();
            for manifest in &wish.manifests {
                let name = manifest["metadata"]["name"].as_str().unwrap_or_default();
                planned.push(written(name, find(client, wish, name).await, &manifest["spec"]));
            }
            for named in &wish.deletes {
                planned.push(gone(&named.name, find(client, wish, &named.name).await));
            }
            planned
        }
        .boxed()
    }
}

async fn find(client: &Client, wish: &Wish, name: &str) -> Result<Option<DynamicObject>, kube::Error> {
    let kind = ApiResource::erase::<Application>(&());
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &wish.namespace, &kind);
    api.get_opt(name).await
}

fn empty(name: &str, live: Option<&DynamicObject>) -> Planned {
    let resource = ApiResource::erase::<Application>(&());
    let target = Target { resource, name: name.into(), uid: live.and_then(ResourceExt::uid) };
    Planned {
        object: format!("Application/{name}"),
        action: Action::None,
        target: Some(target),
        changes: Vec::new(),
        steps: Vec::new(),
        error: None,
    }
}

fn written(name: &str, live: Result<Option<DynamicObject>, kube::Error>, spec: &Value) -> Planned {
    let live = match live {
        Ok(live) => live,
        Err(error) => return Planned { error: Some(error.to_string()), ..empty(name, None) },
    };
    let mut planned = empty(name, live.as_ref());
    for (key, to) in spec.as_object().into_iter().flatten() {
        let from = live.as_ref().and_then(|live| live.data["spec"].get(key).cloned());
        if from.as_ref() != Some(to) {
            planned.changes.push(Change { path: format!("spec.{key}"), from, to: Some(to.clone()) });
        }
    }
    planned.action = match (live.is_some(), planned.changes.is_empty()) {
        (false, _) => Action::Create,
        (true, false) => Action::Update,
        (true, true) => Action::None,
    };
    if name == IMPOSSIBLE {
        planned.error = Some("the host is held by another".into());
    }
    if name == DESTROYS {
        planned.steps.push(Step { words: "delete Cluster db".into(), destroys: true });
    }
    planned
}

fn gone(name: &str, live: Result<Option<DynamicObject>, kube::Error>) -> Planned {
    match live {
        Ok(None) => empty(name, None),
        Ok(live) => Planned { action: Action::Delete, ..empty(name, live.as_ref()) },
        Err(error) => Planned { error: Some(error.to_string()), ..empty(name, None) },
    }
}
