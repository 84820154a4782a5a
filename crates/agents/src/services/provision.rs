//! `provision_service`: asks for a database.

use api::names::{DatabaseName, Label};
use api::services::{ManagedService, ManagedServiceSpec, ServicePlan, ServiceType};
use kube::Client;
use kube::api::{Api, PostParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Error, WRITER, may};
use crate::tool::{Call, Hints, Stop, Tool};

/// The tool's name.
pub const NAME: &str = "provision_service";

/// `provision_service`.
pub struct ProvisionService;
/// Longest name of a service: it becomes that of a Cluster, whose pods and Services append to it.
const NAME_MAX: usize = 50;
/// The group and version that databases are served under.
const DATABASES: &str = "postgresql.cnpg.io/v1";

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct Input {
    /// Lower case letters, digits, `-`
    pub name: String,
    /// postgres
    #[serde(rename = "type")]
    pub type_: String,
    /// micro (default), small or ha
    #[serde(default)]
    pub plan: Option<String>,
    /// Major version; default the newest
    #[serde(default)]
    pub version: Option<String>,
    /// Its name in SQL; default app
    #[serde(default)]
    pub database: Option<String>,
}

/// What was begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// What it is.
    #[serde(rename = "type")]
    #[schemars(with = "String")]
    pub type_: ServiceType,
    /// How large it is.
    #[schemars(with = "String")]
    pub plan: ServicePlan,
    /// What comes next.
    pub message: String,
}

impl Tool for ProvisionService {
    const NAME: &'static str = NAME;
    const TITLE: &'static str = "Make a database";
    const DESCRIPTION: &'static str = "Ask for a database. Next: poll service_status every 10 s until its \
        phase is Ready, then bind_service. Plan ha is for production; micro is the smallest. Never run a \
        database as an app.";
    const HINTS: Hints = Hints::ADDS;
    type Input = Input;
    type Output = Output;

    async fn run(call: &Call<'_>, input: Input) -> Result<Output, Stop> {
        may(call, "create").await?;
        let known = &call.agents.settings().postgres_versions;
        if let Some(version) = given(input.version.as_deref()).filter(|_| !known.is_empty()) {
            let major = self::version(version)?;
            if !known.contains(&major) {
                let why = format!("{version:?} is not here; there are: {}", known.join(", "));
                return Err(Error::invalid("version", why).into());
            }
        }
        Ok(run(&call.client, &call.namespace, input).await?)
    }
}

/// Creates the service. It is not there yet when this returns.
pub async fn run(client: &Client, namespace: &str, input: Input) -> Result<Output, Error> {
    let spec = checked(&input)?;
    available(client).await?;
    let (type_, plan) = (spec.type_, spec.plan);
    create(client, namespace, ManagedService::new(&input.name, spec)).await?;
    let message = "provisioning started; poll service_status".to_owned();
    Ok(Output { name: input.name, type_, plan, message })
}

/// Creates a service that was checked.
pub(super) async fn create(client: &Client, namespace: &str, service: ManagedService) -> Result<(), Error> {
    let services: Api<ManagedService> = Api::namespaced(client.clone(), namespace);
    let params = PostParams { field_manager: Some(WRITER.into()), ..PostParams::default() };
    match services.create(&params, &service).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => Err(Error::Exists {
            what: "managed service",
            name: service.metadata.name.unwrap_or_default(),
            namespace: namespace.into(),
        }),
        Err(error) => Err(error.into()),
    }
}

/// Whether anybody runs databases here. Everybody may ask which kinds are served.
pub(super) async fn available(client: &Client) -> Result<(), Error> {
    match client.list_api_group_resources(DATABASES).await {
        Ok(list) if list.resources.iter().any(|resource| resource.name == "clusters") => Ok(()),
        Ok(_) => Err(Error::NotAvailable),
        Err(kube::Error::Api(status)) if status.code == 404 => Err(Error::NotAvailable),
        Err(error) => Err(error.into()),
    }
}

fn checked(input: &Input) -> Result<ManagedServiceSpec, Error> {
    checked_name(&input.name)?;
    let type_ = match input.type_.as_str() {
        "postgres" => ServiceType::Postgres,
        other => return Err(Error::invalid("type", format!("{other:?} is none; there is: postgres"))),
    };
    let plan = match input.plan.as_deref() {
        None | Some("") => ServicePlan::default(),
        Some(word) => plan(word)?,
    };
    let version = given(input.version.as_deref()).map(version).transpose()?;
    let database = given(input.database.as_deref()).unwrap_or("app");
    let database: DatabaseName =
        database.parse().map_err(|error| Error::invalid("database", format!("{error}")))?;
    Ok(ManagedServiceSpec { type_, plan, version, database })
}

/// Refuses a name that no service can have.
pub(super) fn checked_name(name: &str) -> Result<(), Error> {
    if let Err(error) = name.parse::<Label>() {
        return Err(Error::invalid("name", error.to_string()));
    }
    if name.len() > NAME_MAX {
        let why = format!("`{name}` has {} characters, a managed service at most {NAME_MAX}", name.len());
        return Err(Error::invalid("name", why));
    }
    Ok(())
}

fn given(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

fn plan(word: &str) -> Result<ServicePlan, Error> {
    let found = ServicePlan::ALL.into_iter().find(|plan| plan.as_str() == word);
    let known = || ServicePlan::ALL.map(ServicePlan::as_str).join(", ");
    found.ok_or_else(|| Error::invalid("plan", format!("{word:?} is none; there are: {}", known())))
}

fn version(text: &str) -> Result<String, Error> {
    let number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if text.len() <= 16 && text.split('.').all(number) {
        return Ok(text.to_owned());
    }
    Err(Error::invalid("version", format!("{text:?} is none; a version is a number such as 17")))
}
