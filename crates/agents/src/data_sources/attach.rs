//! `attach_data_source`: gives an application the credentials of a data source, by reference.
//!
//! The credentials lie where only operators can read. The platform copies the mapped keys into the application's
//! namespace, into a Secret that no agent can read either, and the application names that Secret.

use std::collections::BTreeMap;

use api::annotations::MANAGED_BY;
use api::apps::{Application, AttachedDataSource, DataSource};
use api::connection::BOUND_VARIABLES;
use api::names::ObjectName;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, Resource, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::variables;
use crate::Error;
use crate::apps::may;
use crate::services::{TRIES, WRITER, bind};
use crate::there;
use crate::tool::{Call, Hints, Stop, Tool};

/// `attach_data_source`.
pub struct AttachDataSource;

/// On a Secret with copied credentials: the data source that they are of.
const COPY_OF: &str = "terrace.dev/data-source";

/// What is given to whom.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Input {
    /// The app
    pub app_name: String,
    /// From list_data_sources
    pub data_source_name: String,
}

/// What the application has then.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Output {
    /// That it is attached.
    pub attached: bool,
    /// The names of the variables that it gets.
    pub injected_env_vars: Vec<String>,
    /// What comes next.
    pub message: String,
}

impl Tool for AttachDataSource {
    const NAME: &'static str = "attach_data_source";
    const TITLE: &'static str = "Attach a data source";
    const DESCRIPTION: &'static str = "Give an app a data source: it starts anew with the variables that \
        get_data_source names, set by reference and never shown. Again refreshes them. Next: poll \
        app_status.";
    const HINTS: Hints = Hints::WRITES;
    type Input = Input;
    type Output = Output;

    async fn run(call: &Call<'_>, input: Input) -> Result<Output, Stop> {
        may(call, "patch").await?;
        let Input { app_name, data_source_name } = input;
        let source = there::data_source(&call.client, &data_source_name).await?;
        let secret_name = copy_name(&data_source_name)?;
        let own = call.agents.client();
        for _ in 0..TRIES {
            let app = there::application(&call.client, &call.namespace, &app_name).await?;
            let attached = attached(call, &app, &source, &secret_name).await?;
            // The Secret first: an application never names one that is not there.
            copy(own, &call.namespace, &source, &secret_name).await?;
            let done = match &attached {
                Some(list) => bind::write(&call.client, &app, json!({ "attachedDataSources": list })).await?,
                None => true,
            };
            if done {
                let message = match attached {
                    Some(_) => "attached; the app starts anew, poll app_status",
                    None => "it was attached before; its credentials are up to date from its next start on",
                };
                let injected_env_vars = variables(&source);
                return Ok(Output { attached: true, injected_env_vars, message: message.into() });
            }
        }
        Err(Error::Busy { what: format!("application {app_name}") }.into())
    }
}

/// The Secret that holds the copy, one for all applications of a namespace.
fn copy_name(source: &str) -> Result<ObjectName, Error> {
    let name = format!("data-source-{source}").parse();
    name.map_err(|error| Error::invalid("data_source_name", format!("{error}")))
}

/// What the application has attached when it is done; `None` if it has it already.
async fn attached(
    call: &Call<'_>,
    app: &Application,
    source: &DataSource,
    secret: &ObjectName,
) -> Result<Option<Vec<AttachedDataSource>>, Error> {
    let name: ObjectName =
        source.name_any().parse().map_err(|error| Error::invalid("data_source_name", format!("{error}")))?;
    let wanted = AttachedDataSource { data_source_name: name, secret_name: secret.clone() };
    let mut all = app.spec.attached_data_sources.clone();
    if all.contains(&wanted) {
        return Ok(None);
    }
    all.retain(|other| other.data_source_name != wanted.data_source_name);
    let mut taken: Vec<String> = app.spec.env.iter().map(|variable| variable.name.to_string()).collect();
    if !app.spec.bound_managed_services.is_empty() {
        taken.extend(BOUND_VARIABLES.iter().map(|(name, _)| (*name).to_owned()));
    }
    let sources: Api<DataSource> = Api::all(call.client.clone());
    for other in &all {
        let other = sources.get_opt(other.data_source_name.as_str()).await?;
        taken.extend(other.iter().flat_map(variables));
    }
    let names: Vec<String> = variables(source).into_iter().filter(|name| taken.contains(name)).collect();
    if !names.is_empty() {
        let app = app.name_any();
        return Err(there::explained(&call.client, Error::EnvClash { app, names }).await);
    }
    all.push(wanted);
    Ok(Some(all))
}

/// Copies the mapped keys of a source's Secret, with the platform's own rights: nobody else may read them.
async fn copy(own: &Client, namespace: &str, source: &DataSource, name: &ObjectName) -> Result<(), Error> {
    let title = source.name_any();
    let from = &source.spec.secret_ref;
    let theirs: Api<Secret> = Api::namespaced(own.clone(), from.namespace.as_str());
    let held = theirs.get_opt(from.name.as_str()).await?.and_then(|secret| secret.data).unwrap_or_default();
    let keys = source.spec.env_var_mapping.keys();
    let mapped = keys.filter_map(|key| Some((key.as_str(), held.get(key.as_str())?)));
    let data: BTreeMap<&str, &ByteString> = mapped.collect();
    if data.len() < source.spec.env_var_mapping.len() {
        let why = format!(
            "data source {title} is not ready: its credentials are missing; its operators have to add them"
        );
        return Err(Error::Refused(why));
    }
    let secrets: Api<Secret> = Api::namespaced(own.clone(), namespace);
    let there = secrets.get_opt(name.as_str()).await?;
    if there.is_some_and(|secret| secret.annotations().get(COPY_OF) != Some(&title)) {
        return Err(Error::Refused(format!("a Secret {name} that is not the platform's stands in the way")));
    }
    // The copy goes with what it is a copy of.
    let owner = source.owner_ref(&()).map(|owner| vec![owner]).unwrap_or_default();
    let copy = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {
            "name": name, "namespace": namespace, "annotations": { COPY_OF: title },
            "labels": { MANAGED_BY: "terrace" }, "ownerReferences": owner,
        },
        "data": data,
    });
    secrets.patch(name.as_str(), &PatchParams::apply(WRITER).force(), &Patch::Apply(copy)).await?;
    Ok(())
}
