//! `list_apps`: which applications there are.

use api::apps::{Application, ApplicationPhase};
use kube::ResourceExt;
use kube::api::{Api, ListParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::stand::{phase, stand};
use crate::Error;
use crate::tool::{Call, Hints, Stop, Tool};

/// `list_apps`.
pub struct ListApps;

/// How many are listed at once, if nothing is said, and at most.
const LIMIT: usize = 50;
const LIMIT_MAX: usize = 200;

/// Which part of the list.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct Page {
    /// next_cursor of the answer before
    #[serde(default)]
    pub cursor: Option<String>,
    /// Default 50, at most 200
    #[serde(default)]
    pub limit: Option<usize>,
}

impl Page {
    /// This part of a list, and where the next begins. The list is put in the order of its names.
    pub(crate) fn of<T>(
        &self,
        mut all: Vec<T>,
        name: impl Fn(&T) -> String,
    ) -> Result<(Vec<T>, Option<String>), Error> {
        let limit = self.limit.unwrap_or(LIMIT);
        if !(1..=LIMIT_MAX).contains(&limit) {
            return Err(Error::invalid("limit", format!("{limit} is not between 1 and {LIMIT_MAX}")));
        }
        all.sort_by_key(&name);
        let first =
            self.cursor.as_ref().map_or(0, |cursor| all.partition_point(|item| name(item) <= *cursor));
        all.drain(..first);
        let more = all.len() > limit;
        all.truncate(limit);
        let next = all.last().filter(|_| more).map(name);
        Ok((all, next))
    }
}

/// A part of the list.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The applications, by name.
    pub apps: Vec<Listed>,
    /// Where the next part begins, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// One application.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// How far it is.
    #[schemars(with = "String")]
    pub phase: ApplicationPhase,
    /// Where it is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

impl Tool for ListApps {
    const NAME: &'static str = "list_apps";
    const TITLE: &'static str = "List apps";
    const DESCRIPTION: &'static str = "The session's apps by name, each with its phase and url. app_status \
        tells more of one.";
    const HINTS: Hints = Hints::READS;
    type Input = Page;
    type Output = Output;

    async fn run(call: &Call<'_>, page: Page) -> Result<Output, Stop> {
        let apps: Api<Application> = Api::namespaced(call.client.clone(), &call.namespace);
        let (found, next_cursor) =
            page.of(apps.list(&ListParams::default()).await?.items, ResourceExt::name_any)?;
        let listed = |app: &Application| Listed {
            name: app.name_any(),
            phase: phase(app, &stand(app, None)),
            url: app.status.as_ref().and_then(|status| status.url.clone()),
        };
        Ok(Output { apps: found.iter().map(listed).collect(), next_cursor })
    }
}
