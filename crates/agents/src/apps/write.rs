//! Writes an Application: only what was asked for, beside what was asked for before.

use api::apps::Application;
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::{Map, Value, json};

use super::source::{KEYS, Source};
use crate::Error;

/// What is asked of an application. What is `None` or empty stays as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Wish {
    /// Where the program comes from.
    pub source: Source,
    /// The port that it listens on.
    pub port: Option<u16>,
    /// How many copies run.
    pub replicas: Option<u16>,
    /// The host under which it is reached.
    pub host: Option<String>,
    /// Variables, each with its value.
    pub env: Vec<(String, String)>,
    /// Variables to take away.
    pub unset: Vec<String>,
}

impl Wish {
    /// Nothing but another source.
    pub fn source(source: Source) -> Self {
        Self { source, port: None, replicas: None, host: None, env: Vec::new(), unset: Vec::new() }
    }
}

/// An application as it was written.
pub struct Written {
    /// As the platform keeps it.
    pub app: Application,
    /// Whether anything is other than before.
    pub changed: bool,
}

/// Creates or changes an application. `manager` is who writes, in the object's own records; what others wrote stays theirs.
pub async fn write(
    client: &Client,
    namespace: &str,
    name: &str,
    manager: &str,
    wish: &Wish,
) -> Result<Written, Error> {
    let apps: Api<Application> = Api::namespaced(client.clone(), namespace);
    let live = apps.get_opt(name).await?;
    let live_json = serde_json::to_value(&live).map_err(|error| Error::Internal(error.to_string()))?;
    if !live_json["metadata"]["deletionTimestamp"].is_null() {
        return Err(Error::Refused(format!("application {name} is being deleted; wait until it is gone")));
    }
    let mine = mine(&live_json, manager);
    if let Some(patch) = handover(&live_json, &mine, wish) {
        // Two sources at once are refused, so another writer's goes in the same breath as ours comes.
        let params = PatchParams { field_manager: Some(manager.into()), ..PatchParams::default() };
        apps.patch(name, &params, &Patch::Merge(patch)).await?;
    }
    let body = json!({
        "apiVersion": "iaf.io/v1alpha1", "kind": "Application",
        "metadata": { "name": name, "namespace": namespace }, "spec": wanted(mine, wish),
    });
    let params = PatchParams::apply(manager).force();
    let app = apps.patch(name, &params, &Patch::Apply(body)).await?;
    let changed = live
        .is_none_or(|live| live.metadata.generation != app.metadata.generation || live.uid() != app.uid());
    Ok(Written { app, changed })
}

/// The patch that takes away a source which somebody else wrote; `None` if there is none.
fn handover(live: &Value, mine: &Value, wish: &Wish) -> Option<Value> {
    let foreign =
        |key: &&&str| **key != wish.source.key() && !live["spec"][key].is_null() && mine[key].is_null();
    let mut spec: Map<String, Value> =
        KEYS.iter().filter(foreign).map(|key| ((*key).to_owned(), Value::Null)).collect();
    if spec.is_empty() {
        return None;
    }
    spec.insert(wish.source.key().to_owned(), wish.source.value());
    Some(json!({ "metadata": { "resourceVersion": live["metadata"]["resourceVersion"] }, "spec": spec }))
}

/// The whole of what a writer wants: what it wrote before, and what is asked for now.
fn wanted(mine: Value, wish: &Wish) -> Value {
    let mut spec = match mine {
        Value::Object(spec) => spec,
        _ => Map::new(),
    };
    for key in KEYS {
        spec.remove(key);
    }
    spec.insert(wish.source.key().to_owned(), wish.source.value());
    let given = [
        ("port", wish.port.map(|port| json!(port))),
        ("replicas", wish.replicas.map(|replicas| json!(replicas))),
        ("host", wish.host.as_ref().map(|host| json!(host))),
    ];
    for (key, value) in given {
        if let Some(value) = value {
            spec.insert(key.to_owned(), value);
        }
    }
    let mut env = spec.get("env").and_then(Value::as_array).cloned().unwrap_or_default();
    let given = |name: &Value| wish.env.iter().any(|(key, _)| name == key);
    env.retain(|entry| !given(&entry["name"]) && !wish.unset.iter().any(|key| &entry["name"] == key));
    env.extend(wish.env.iter().map(|(name, value)| json!({ "name": name, "value": value })));
    if env.is_empty() {
        spec.remove("env");
    } else {
        spec.insert("env".to_owned(), env.into());
    }
    Value::Object(spec)
}

/// What of an application's spec a writer has written before. To leave it out now would take it away.
fn mine(live: &Value, manager: &str) -> Value {
    let records = live["metadata"]["managedFields"].as_array();
    let own = |record: &&Value| {
        record["manager"] == manager && record["operation"] == "Apply" && record["subresource"].is_null()
    };
    match records.and_then(|records| records.iter().find(own)) {
        Some(record) => picked(&record["fieldsV1"]["f:spec"], &live["spec"]),
        None => Value::Null,
    }
}

/// The part of a value that a record of managed fields names.
fn picked(fields: &Value, live: &Value) -> Value {
    let named: Vec<(&String, &Value)> =
        fields.as_object().into_iter().flatten().filter(|(key, _)| *key != ".").collect();
    match live {
        Value::Object(live) if !named.is_empty() => {
            let part = |(key, fields): &(&String, &Value)| {
                let key = key.strip_prefix("f:")?;
                Some((key.to_owned(), picked(fields, live.get(key)?)))
            };
            Value::Object(named.iter().filter_map(part).collect())
        }
        Value::Array(items) if named.iter().any(|(key, _)| key.starts_with("k:")) => {
            let part = |item: &Value| {
                let (_, fields) = named.iter().find(|(key, _)| names(key, item))?;
                Some(picked(fields, item))
            };
            Value::Array(items.iter().filter_map(part).collect())
        }
        other => other.clone(),
    }
}

/// Whether `k:{"name":"A"}` names an entry of a list.
fn names(key: &str, item: &Value) -> bool {
    let key = key.strip_prefix("k:").and_then(|json| serde_json::from_str::<Map<String, Value>>(json).ok());
    key.is_some_and(|key| key.iter().all(|(field, value)| &item[field] == value))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANAGER: &str = "terrace-cli";

    fn live() -> Value {
        json!({
            "metadata": { "resourceVersion": "7", "managedFields": [
                { "manager": "kubectl", "operation": "Apply", "fieldsV1": { "f:spec": { "f:port": {} } } },
                { "manager": MANAGER, "operation": "Apply", "fieldsV1": { "f:spec": {
                    "f:replicas": {}, "f:image": {},
                    "f:env": { "k:{\"name\":\"A\"}": { ".": {}, "f:name": {}, "f:value": {} },
                               "k:{\"name\":\"B\"}": { ".": {}, "f:name": {}, "f:value": {} } },
                } } },
            ] },
            "spec": { "image": "old", "port": 80, "replicas": 3, "env": [
                { "name": "A", "value": "1" }, { "name": "X", "value": "theirs" }, { "name": "B", "value": "2" },
            ] },
        })
    }

    #[test]
    fn what_was_asked_before_stays_and_what_others_wrote_is_theirs() {
        let wish = Wish {
            port: None,
            env: vec![("A".into(), "new".into())],
            unset: vec!["B".into()],
            ..Wish::source(Source::Blob("terrace-blob://d/1".into()))
        };
        let want = json!({
            "replicas": 3, "env": [{ "name": "A", "value": "new" }], "blob": "terrace-blob://d/1",
        });
        assert_eq!(wanted(mine(&live(), MANAGER), &wish), want);
        assert_eq!(handover(&live(), &mine(&live(), MANAGER), &wish), None, "our own source goes by itself");
    }

    #[test]
    fn a_first_wish_is_all_there_is() {
        let wish = Wish { port: Some(3000), ..Wish::source(Source::Image("i".into())) };
        assert_eq!(wanted(mine(&Value::Null, MANAGER), &wish), json!({ "image": "i", "port": 3000 }));
    }

    #[test]
    fn a_source_that_another_wrote_is_replaced_in_one_write() {
        let mut theirs = live();
        theirs["spec"] = json!({ "git": { "url": "u", "revision": "main" } });
        let wish = Wish::source(Source::Image("i".into()));
        let patch = handover(&theirs, &mine(&theirs, MANAGER), &wish).expect("there is another source");
        let want = json!({ "metadata": { "resourceVersion": "7" }, "spec": { "git": null, "image": "i" } });
        assert_eq!(patch, want);
    }
}
