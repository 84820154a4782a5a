//! Who may do what: roles, bindings, and the refusals that follow.

mod aggregate;
mod policy;
mod rule;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use aggregate::aggregate;
pub use policy::Policy;

use crate::status::Status;

/// The API group of roles and bindings.
pub const RBAC_GROUP: &str = "rbac.authorization.k8s.io";
/// Members may do everything; no role can take it from them.
pub const MASTERS: &str = "system:masters";
/// Everybody who proved who they are.
pub const AUTHENTICATED: &str = "system:authenticated";
/// Everybody who did not.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The name of a user without credentials.
pub const ANONYMOUS: &str = "system:anonymous";

/// Who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// Name, unique among users.
    pub name: String,
    /// Identity that survives a reuse of the name; often empty.
    pub uid: String,
    /// Groups in the order they were claimed.
    pub groups: Vec<String>,
    /// Further claims that authorizers may look at.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// Somebody without credentials.
    pub fn anonymous() -> Self {
        Self { name: ANONYMOUS.into(), groups: vec![UNAUTHENTICATED.into()], ..Self::default() }
    }

    /// The user that a ServiceAccount is, with the groups it always has.
    pub fn service_account(namespace: &str, name: &str, uid: &str) -> Self {
        let mut groups = service_account_groups(namespace);
        groups.push(AUTHENTICATED.into());
        Self { name: service_account_name(namespace, name), uid: uid.into(), groups, ..Self::default() }
    }

    /// Whether the user is above all roles.
    pub fn is_master(&self) -> bool {
        self.groups.iter().any(|group| group == MASTERS)
    }
}

/// `system:serviceaccount:<namespace>:<name>`.
pub fn service_account_name(namespace: &str, name: &str) -> String {
    format!("system:serviceaccount:{namespace}:{name}")
}

/// The two groups of every ServiceAccount of a namespace.
pub fn service_account_groups(namespace: &str) -> Vec<String> {
    vec!["system:serviceaccounts".into(), format!("system:serviceaccounts:{namespace}")]
}

/// Namespace and name behind a ServiceAccount's user name; `None` for other users.
pub fn split_service_account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix("system:serviceaccount:")?.split_once(':')?;
    let sound = super::names::dns_label(namespace).is_ok() && super::names::dns_subdomain(name).is_ok();
    sound.then_some((namespace, name))
}

/// What is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Attributes<'a> {
    /// `get`, `list`, `create`, …; the lower-case HTTP method for a path.
    pub verb: &'a str,
    pub group: &'a str,
    pub version: &'a str,
    pub resource: &'a str,
    pub subresource: &'a str,
    pub namespace: &'a str,
    pub name: &'a str,
    /// The path of a request that is about no resource.
    pub path: Option<&'a str>,
}

/// The refusal for a request nobody allowed.
pub fn forbidden(user: &User, attrs: &Attributes<'_>) -> Status {
    forbidden_because(user, attrs, "")
}

/// The same with a further reason behind it.
pub fn forbidden_because(user: &User, attrs: &Attributes<'_>, reason: &str) -> Status {
    let why = sanitized(&sentence(user, attrs));
    let why = if reason.is_empty() { why } else { format!("{why}: {reason}") };
    match attrs.path {
        None => Status::forbidden(attrs.group, attrs.resource, attrs.name, &why),
        Some(_) => {
            let mut status = Status::forbidden("", "", "", "");
            status.message = format!("forbidden: {why}");
            status
        }
    }
}

fn sentence(user: &User, attrs: &Attributes<'_>) -> String {
    let who = format!("User {:?} cannot {}", user.name, attrs.verb);
    if let Some(path) = attrs.path {
        return format!("{who} path {path:?}");
    }
    let resource = combined(attrs.resource, attrs.subresource);
    let scope = match attrs.namespace {
        "" => "at the cluster scope".to_owned(),
        namespace => format!("in the namespace {namespace:?}"),
    };
    format!("{who} resource {resource:?} in API group {:?} {scope}", attrs.group)
}

/// `pods/log`, or `pods` where there is no subresource.
fn combined(resource: &str, subresource: &str) -> String {
    if subresource.is_empty() { resource.to_owned() } else { format!("{resource}/{subresource}") }
}

/// A refusal never looks like markup to a browser that shows it.
fn sanitized(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
