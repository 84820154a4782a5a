//! `bind_service`: gives a database to an application.

use api::apps::{Application, EnvVar};
use api::connection::BOUND_VARIABLES;
use api::names::ObjectName;
use api::services::{ManagedService, ManagedServicePhase, bound_variables};
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Error, TRIES, WRITER, application, message, phase, service};
use crate::there::{explained, named};
use crate::tool::{Call, Hints, Stop, Tool};

/// The tool's name.
pub const NAME: &str = "bind_service";

/// `bind_service`.
pub struct BindService;

/// What is given to whom.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct Input {
    /// The database
    pub service_name: String,
    /// The app
    pub app_name: String,
}

/// What the application has then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// That it is bound.
    pub bound: bool,
    /// The names of the variables that it gets.
    pub injected_env_vars: Vec<String>,
    /// Whether it had all of them before, so that nothing was written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub already_bound: bool,
}

impl Tool for BindService {
    const NAME: &'static str = NAME;
    const TITLE: &'static str = "Give a database to an app";
    const DESCRIPTION: &'static str = "Give an app a database that is Ready: it starts anew with \
        DATABASE_URL and the PG variables, set by reference and never shown. Next: poll app_status.";
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

/// Adds the six variables to the application, each a reference to the service's Secret, or nothing at all.
pub async fn run(client: &Client, namespace: &str, input: Input) -> Result<Output, Error> {
    let Input { service_name, app_name } = input;
    let injected_env_vars: Vec<String> = BOUND_VARIABLES.iter().map(|(name, _)| (*name).to_owned()).collect();
    for _ in 0..TRIES {
        let secret = usable(&service(client, namespace, &service_name).await?)?;
        let app = application(client, namespace, &app_name).await?;
        let Some(env) = bound(&app, &service_name, &secret)? else {
            return Ok(Output { bound: true, injected_env_vars, already_bound: true });
        };
        if write(client, &app, json!({ "env": env })).await? {
            return Ok(Output { bound: true, injected_env_vars, already_bound: false });
        }
    }
    Err(Error::Busy { what: format!("application {app_name}") })
}

/// The Secret of a service that can be used now.
fn usable(service: &ManagedService) -> Result<ObjectName, Error> {
    let phase = phase(service);
    let secret = service.status.as_ref().and_then(|status| status.connection_secret_ref.clone());
    match secret
        .filter(|_| phase == ManagedServicePhase::Ready && service.metadata.deletion_timestamp.is_none())
    {
        Some(secret) => Ok(secret),
        None => Err(Error::NotReady {
            name: service.metadata.name.clone().unwrap_or_default(),
            phase,
            message: message(service),
        }),
    }
}

/// The application's variables when it is bound; `None` if it is already.
fn bound(app: &Application, service: &str, secret: &ObjectName) -> Result<Option<Vec<EnvVar>>, Error> {
    let services = &app.spec.bound_managed_services;
    if services.iter().any(|bound| bound.service_name.as_str() == service && bound.secret_name == *secret) {
        return Ok(None);
    }
    let wanted = bound_variables(secret);
    let held = |wanted: &EnvVar| app.spec.env.iter().find(|held| held.name == wanted.name);
    // A service that is bound in the other way sets the same six names.
    let other = !services.is_empty();
    let clashes = wanted.iter().filter(|wanted| other || held(wanted).is_some_and(|held| held != *wanted));
    let names: Vec<String> = clashes.map(|wanted| wanted.name.to_string()).collect();
    if !names.is_empty() {
        return Err(Error::EnvClash { app: app.metadata.name.clone().unwrap_or_default(), names });
    }
    let missing: Vec<EnvVar> = wanted.iter().filter(|wanted| held(wanted).is_none()).cloned().collect();
    let all = app.spec.env.iter().cloned().chain(missing.iter().cloned()).collect();
    Ok((!missing.is_empty()).then_some(all))
}

/// Changes fields of an application's spec, unless somebody else has changed the application since it was read. Says
/// whether it was done.
pub(crate) async fn write(client: &Client, app: &Application, spec: Value) -> Result<bool, Error> {
    let namespace = app.metadata.namespace.as_deref().unwrap_or_default();
    let name = app.metadata.name.as_deref().unwrap_or_default();
    let apps: Api<Application> = Api::namespaced(client.clone(), namespace);
    let seen = json!({ "resourceVersion": app.metadata.resource_version, "uid": app.metadata.uid });
    let params = PatchParams { field_manager: Some(WRITER.into()), ..PatchParams::default() };
    let patch = Patch::Merge(json!({ "metadata": seen, "spec": spec }));
    match apps.patch(name, &params, &patch).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
        Err(error) => Err(error.into()),
    }
}
