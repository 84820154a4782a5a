//! `unbind_service`: takes a database from an application.

use api::apps::Application;
use api::names::ObjectName;
use api::services::{ManagedService, bound_variables, connection_secret};
use kube::Client;
use kube::api::Api;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::bind::write;
use super::{Error, TRIES, application};
use crate::there::{explained, named};
use crate::tool::{Call, Hints, Stop, Tool};

/// The tool's name.
pub const NAME: &str = "unbind_service";

/// `unbind_service`.
pub struct UnbindService;

/// What is taken from whom.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct Input {
    /// The database
    pub service_name: String,
    /// The app
    pub app_name: String,
}

/// What the application has lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// That it is not bound any more.
    pub unbound: bool,
    /// The names of the variables that were taken away; none, if it was not bound.
    pub removed_env_vars: Vec<String>,
    /// Variables that name the service's Secret and are not those of a binding: whoever wrote them takes them away.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub still_referring: Vec<String>,
}

impl Tool for UnbindService {
    const NAME: &'static str = NAME;
    const TITLE: &'static str = "Take a database from an app";
    const DESCRIPTION: &'static str = "Take the variables of a database from an app; the database and its \
        data stay. Needed before deprovision_service.";
    const HINTS: Hints = Hints::WRITES;
    type Input = Input;
    type Output = Output;

    async fn run(call: &Call<'_>, input: Input) -> Result<Output, Stop> {
        named("service_name", &input.service_name)?;
        named("app_name", &input.app_name)?;
        crate::apps::may(call, "patch").await?;
        match run(&call.client, &call.namespace, input).await {
            Ok(output) => Ok(output),
            Err(error) => Err(explained(&call.client, error).await.into()),
        }
    }
}

/// Takes away exactly what a binding has added. The Secret stays, and so does what others wrote.
pub async fn run(client: &Client, namespace: &str, input: Input) -> Result<Output, Error> {
    let Input { service_name, app_name } = input;
    let secret = secret(client, namespace, &service_name).await?;
    for _ in 0..TRIES {
        let app = application(client, namespace, &app_name).await?;
        let Parted { spec, removed_env_vars, still_referring } = parted(&app, &service_name, &secret);
        let unbound = still_referring.is_empty();
        let done = match spec {
            Some(spec) => write(client, &app, spec).await?,
            None => true,
        };
        if done {
            return Ok(Output { unbound, removed_env_vars, still_referring });
        }
    }
    Err(Error::Busy { what: format!("application {app_name}") })
}

/// The Secret of a service, also of one that is gone: its application can be freed of it all the same.
async fn secret(client: &Client, namespace: &str, service: &str) -> Result<ObjectName, Error> {
    let services: Api<ManagedService> = Api::namespaced(client.clone(), namespace);
    let found = services.get_opt(service).await?;
    let named = found.and_then(|service| service.status).and_then(|status| status.connection_secret_ref);
    match named {
        Some(secret) => Ok(secret),
        None => {
            let name = connection_secret(service).parse();
            name.map_err(|error| Error::invalid("service_name", format!("{error}")))
        }
    }
}

struct Parted {
    /// The fields to write; none, if there is nothing to take away.
    spec: Option<Value>,
    removed_env_vars: Vec<String>,
    still_referring: Vec<String>,
}

fn parted(app: &Application, service: &str, secret: &ObjectName) -> Parted {
    let own = bound_variables(secret);
    let (gone, kept): (Vec<_>, Vec<_>) =
        app.spec.env.iter().cloned().partition(|variable| own.contains(variable));
    let refers = kept.iter().filter(|variable| {
        variable.secret_key_ref.as_ref().is_some_and(|reference| reference.name == *secret)
    });
    let still_referring: Vec<String> = refers.map(|variable| variable.name.to_string()).collect();
    let mut services = app.spec.bound_managed_services.clone();
    services.retain(|bound| bound.service_name.as_str() != service || bound.secret_name != *secret);
    let listed = services.len() < app.spec.bound_managed_services.len();
    let removed = if listed { &own } else { &gone };
    let removed_env_vars = removed.iter().map(|variable| variable.name.to_string()).collect();
    let mut spec = json!({});
    if !gone.is_empty() {
        spec["env"] = json!(kept);
    }
    if listed {
        spec["boundManagedServices"] = json!(services);
    }
    let spec = (listed || !gone.is_empty()).then_some(spec);
    Parted { spec, removed_env_vars, still_referring }
}
