//! `delete_app`: deletes an application, and asks a person first if data hangs on it.

use api::apps::Application;
use api::services::{CONNECTION_SUFFIX, secrets_of};
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, Preconditions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::may;
use crate::Error;
use crate::there;
use crate::tool::{Call, Hints, Question, Stop, Tool};

/// `delete_app`.
pub struct DeleteApp;

/// Which application.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct Input {
    /// The app
    pub name: String,
}

/// What was begun.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// What comes next.
    pub message: String,
}

impl Tool for DeleteApp {
    const NAME: &'static str = "delete_app";
    const TITLE: &'static str = "Delete an app";
    const DESCRIPTION: &'static str = "Delete an app with its pods and its address. One with bound services \
        or attached data is deleted only after a person agreed. Databases stay: deprovision_service \
        deletes those.";
    const HINTS: Hints = Hints::DESTROYS;
    type Input = Input;
    type Output = Output;

    async fn run(call: &Call<'_>, input: Input) -> Result<Output, Stop> {
        may(call, "delete").await?;
        let app = there::application(&call.client, &call.namespace, &input.name).await?;
        if app.metadata.deletion_timestamp.is_none() {
            if let Some(question) = question(&app, call) {
                call.confirmed(question)?;
            }
            // Only the one that was looked at: another of the same name may have come since.
            let same = Preconditions { uid: app.uid(), resource_version: None };
            let apps: Api<Application> = Api::namespaced(call.client.clone(), &call.namespace);
            match apps.delete(&input.name, &DeleteParams::default().preconditions(same)).await {
                Ok(_) => {}
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                Err(error) => return Err(Error::from(error).into()),
            }
        }
        let message = "deletion started; it is gone when list_apps no longer shows it".into();
        Ok(Output { name: input.name, message })
    }
}

/// What a person is asked, if data hangs on the application.
fn question(app: &Application, call: &Call<'_>) -> Option<Question> {
    let name = app.name_any();
    let services = secrets_of(app).into_iter().map(|secret| match secret.strip_suffix(CONNECTION_SUFFIX) {
        Some(service) => format!("it loses the credentials of {service}; the database and its data stay"),
        None => format!("it loses what it reads from Secret {secret}; the Secret stays"),
    });
    let sources = app.spec.attached_data_sources.iter().map(|attached| {
        format!("it loses the data source {}; the data itself stays", attached.data_source_name)
    });
    let loses: Vec<String> = services.chain(sources).collect();
    if loses.is_empty() {
        return None;
    }
    let born = app.creation_timestamp().map(|time| time.0.to_string()).unwrap_or_default();
    let mut plan = vec![format!("delete application {name}, created {born}, with its pods and its address")];
    plan.extend(loses);
    Some(Question {
        what: format!("Delete the application {name} in session {}?", call.session),
        plan,
        command: format!("terrace delete app {name} -n {}", call.namespace),
    })
}
