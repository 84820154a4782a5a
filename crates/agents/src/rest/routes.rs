//! The pages there are. The document that describes them is made from the same list.

/// Where applications are.
pub(super) const APPLICATIONS: &str = "/api/v1/applications";

/// What a page does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    List,
    Create,
    Get,
    Update,
    Delete,
    Source,
    Logs,
    Build,
}

impl Act {
    /// Whether a request has a body.
    pub(super) fn takes_body(self) -> bool {
        match self {
            Self::Create | Self::Update | Self::Source => true,
            Self::List | Self::Get | Self::Delete | Self::Logs | Self::Build => false,
        }
    }

    /// What is answered when it was done.
    pub(super) fn code(self) -> http::StatusCode {
        match self {
            Self::Create => http::StatusCode::CREATED,
            // It is built and started after this.
            Self::Update | Self::Source => http::StatusCode::ACCEPTED,
            Self::List | Self::Get | Self::Delete | Self::Logs | Self::Build => http::StatusCode::OK,
        }
    }
}

/// One page.
#[derive(Debug)]
pub(super) struct Route {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) act: Act,
    /// The tool that does it.
    pub(super) tool: &'static str,
    /// A name for those who make clients.
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    /// What may stand in the query beside the session.
    pub(super) query: &'static [Parameter],
}

/// Something that may stand in a query: as it is called there, what it is, and the tool's argument.
#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) number: bool,
    pub(super) about: &'static str,
}

const LINES: Parameter = Parameter { name: "lines", number: true, about: "How many lines, from the end" };
const LIMIT: Parameter = Parameter { name: "limit", number: true, about: "Most that are listed at once" };
const CURSOR: Parameter = Parameter { name: "cursor", number: false, about: "Where the list goes on" };

const fn route(
    (method, path): (&'static str, &'static str),
    (act, tool): (Act, &'static str),
    id: &'static str,
    summary: &'static str,
    query: &'static [Parameter],
) -> Route {
    Route { method, path, act, tool, id, summary, query }
}

const ONE: &str = "/api/v1/applications/{name}";
const SOURCE: &str = "/api/v1/applications/{name}/source";

/// All pages.
pub(super) const ROUTES: [Route; 9] = [
    route(
        ("GET", APPLICATIONS),
        (Act::List, "list_apps"),
        "listApplications",
        "List applications",
        &[LIMIT, CURSOR],
    ),
    route(
        ("POST", APPLICATIONS),
        (Act::Create, "deploy_app"),
        "createApplication",
        "Create an application from an image or a repository",
        &[],
    ),
    route(("GET", ONE), (Act::Get, "app_status"), "getApplication", "See how an application is", &[]),
    route(
        ("PUT", ONE),
        (Act::Update, "deploy_app"),
        "updateApplication",
        "Change an application, or create it",
        &[],
    ),
    route(("DELETE", ONE), (Act::Delete, "delete_app"), "deleteApplication", "Delete an application", &[]),
    route(
        ("PUT", SOURCE),
        (Act::Source, "push_code"),
        "putSource",
        "Build and run files; creates the application where there is none",
        &[],
    ),
    route(("POST", SOURCE), (Act::Source, "push_code"), "postSource", "The same as PUT", &[]),
    route(
        ("GET", "/api/v1/applications/{name}/logs"),
        (Act::Logs, "app_logs"),
        "getLogs",
        "See what an application says",
        &[LINES],
    ),
    route(
        ("GET", "/api/v1/applications/{name}/build"),
        (Act::Build, "app_logs"),
        "getBuild",
        "See how the latest build went",
        &[LINES],
    ),
];

/// What a method and a path lead to.
pub(super) enum Found<'a> {
    /// A page, and the name in its path.
    Route(&'static Route, Option<&'a str>),
    /// A page that has only these methods.
    Methods(Vec<&'static str>),
    /// There is no such page.
    Nothing,
}

/// The page of a method and a path.
pub(super) fn find<'a>(method: &str, path: &'a str) -> Found<'a> {
    let mut methods = Vec::new();
    for route in &ROUTES {
        let Some(name) = matched(route.path, path) else { continue };
        if route.method == method {
            return Found::Route(route, name);
        }
        methods.push(route.method);
    }
    match methods.is_empty() {
        true => Found::Nothing,
        false => Found::Methods(methods),
    }
}

/// Whether a path is of a pattern, and what stands for the name.
fn matched<'a>(pattern: &str, path: &'a str) -> Option<Option<&'a str>> {
    let (mut wanted, mut given, mut name) = (pattern.split('/'), path.split('/'), None);
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return Some(name),
            (Some("{name}"), Some(word)) if !word.is_empty() => name = Some(word),
            (Some(want), Some(word)) if want == word => {}
            _ => return None,
        }
    }
}
