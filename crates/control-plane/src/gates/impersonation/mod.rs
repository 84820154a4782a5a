//! Acting as somebody else: what the headers ask for, and whether the requester may.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use http::HeaderMap;

use super::names::dns_subdomain;
use super::rbac::{
    ANONYMOUS, AUTHENTICATED, Attributes, MASTERS, UNAUTHENTICATED, User, forbidden, forbidden_because,
    service_account_groups, split_service_account,
};
use crate::status::Status;

const AUTHENTICATION: &str = "authentication.k8s.io";
const EXTRA: &str = "impersonate-extra-";

/// Whether a user may do something; the authorizer as these checks see it.
pub type Allows<'a> = dyn Fn(&User, &Attributes<'_>) -> bool + 'a;

/// The user that the `Impersonate-*` headers ask for, if they do. The caller takes the headers off the request.
pub fn wanted(headers: &HeaderMap) -> Result<Option<User>, Status> {
    let texts = |name: &str| {
        let values = headers.get_all(name).iter();
        values.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect::<Vec<_>>()
    };
    let first = |name: &str| texts(name).into_iter().next().unwrap_or_default();
    let mut extra = BTreeMap::new();
    for name in headers.keys() {
        if let Some(key) = name.as_str().strip_prefix(EXTRA) {
            extra.entry(unescaped(key)).or_insert_with(Vec::new).extend(texts(name.as_str()));
        }
    }
    let user = User {
        name: first("impersonate-user"),
        uid: first("impersonate-uid"),
        groups: texts("impersonate-group"),
        extra,
    };
    let silent = user.uid.is_empty() && user.groups.is_empty() && user.extra.is_empty();
    match (user.name.is_empty(), silent) {
        (false, _) => Ok(Some(user)),
        (true, true) => Ok(None),
        (true, false) => {
            let text = format!("requested {} without impersonating a user name", printed(&user));
            Err(Status::bad_request(text))
        }
    }
}

/// The user the request continues as, or the refusal.
///
/// The narrow rights (`impersonate-on:<mode>:<verb>` on what is asked for, with `impersonate:<mode>` on the user)
/// are tried first, then the wide one (`impersonate`); the first refusal is the one that is told.
pub fn impersonate(
    requester: &User,
    wanted: &User,
    attrs: &Attributes<'_>,
    allows: &Allows<'_>,
) -> Result<User, Status> {
    let mut refusal = None;
    if let Some(mode) = narrow_mode(wanted) {
        let verb = format!("impersonate-on:{mode}:{}", attrs.verb);
        let on = Attributes { verb: &verb, ..*attrs };
        let check = Check { requester, allows, verb: format!("impersonate:{mode}"), narrow: true };
        match check.allowed(&on).and_then(|()| check.user(wanted)) {
            Ok(user) => return Ok(user),
            Err(status) => refusal = Some(status),
        }
    }
    let check = Check { requester, allows, verb: "impersonate".into(), narrow: false };
    check.user(wanted).map_err(|status| refusal.unwrap_or(status))
}

fn narrow_mode(wanted: &User) -> Option<&'static str> {
    let bare = wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
    match (node_name(&wanted.name), split_service_account(&wanted.name)) {
        (Some(_), _) => bare.then_some("arbitrary-node"),
        (None, Some(_)) => bare.then_some("serviceaccount"),
        (None, None) => Some("user-info"),
    }
}

fn node_name(user: &str) -> Option<&str> {
    user.strip_prefix("system:node:").filter(|name| dns_subdomain(name).is_ok())
}

struct Check<'a> {
    requester: &'a User,
    allows: &'a Allows<'a>,
    verb: String,
    narrow: bool,
}

impl Check<'_> {
    fn allowed(&self, attrs: &Attributes<'_>) -> Result<(), Status> {
        if (self.allows)(self.requester, attrs) { Ok(()) } else { Err(forbidden(self.requester, attrs)) }
    }

    fn on<'a>(&'a self, group: &'a str, resource: &'a str, name: &'a str) -> Attributes<'a> {
        Attributes { verb: &self.verb, group, version: "v1", resource, name, ..Attributes::default() }
    }

    fn user(&self, wanted: &User) -> Result<User, Status> {
        let group = if self.narrow { AUTHENTICATION } else { "" };
        let mut user = wanted.clone();
        let mut named = self.on(group, "users", &wanted.name);
        if let Some(node) = node_name(&wanted.name).filter(|_| self.narrow) {
            named = self.on(group, "nodes", node);
            user.groups = vec!["system:nodes".into()];
        }
        if let Some((namespace, name)) = split_service_account(&wanted.name) {
            named = Attributes { namespace, ..self.on(group, "serviceaccounts", name) };
            if wanted.groups.is_empty() {
                user.groups = service_account_groups(namespace);
            }
        }
        self.allowed(&named)?;
        if !wanted.uid.is_empty() {
            self.allowed(&self.on(AUTHENTICATION, "uids", &wanted.uid))?;
        }
        self.groups(group, wanted)?;
        self.extra(wanted)?;
        let ensured = match user.groups.iter().any(|group| group == UNAUTHENTICATED) {
            _ if user.name == ANONYMOUS => UNAUTHENTICATED,
            true => UNAUTHENTICATED,
            false => AUTHENTICATED,
        };
        if !user.groups.iter().any(|group| group == ensured) {
            user.groups.push(ensured.into());
        }
        Ok(user)
    }

    fn groups(&self, group: &str, wanted: &User) -> Result<(), Status> {
        for name in &wanted.groups {
            let attrs = self.on(group, "groups", name);
            let never = match name.as_str() {
                "" => "impersonating the empty string group is not allowed",
                MASTERS => "impersonating the system:masters group is not allowed",
                _ => "",
            };
            if self.narrow && !never.is_empty() {
                return Err(forbidden_because(self.requester, &attrs, never));
            }
            self.allowed(&attrs)?;
        }
        Ok(())
    }

    fn extra(&self, wanted: &User) -> Result<(), Status> {
        for (key, values) in &wanted.extra {
            if let Some(never) = extra_fault(key, values).filter(|_| self.narrow) {
                let attrs = self.on(AUTHENTICATION, "userextras", "");
                return Err(forbidden_because(self.requester, &attrs, &never));
            }
            for value in values {
                let attrs = self.on(AUTHENTICATION, "userextras", value);
                self.allowed(&Attributes { subresource: key, ..attrs })?;
            }
        }
        Ok(())
    }
}

/// Narrow rights take only extras that nobody can take for another's: `domain/path` in lower case, with a value.
fn extra_fault(key: &str, values: &[String]) -> Option<String> {
    if values.iter().any(String::is_empty) {
        return Some("impersonating the empty string value in extra is not allowed".into());
    }
    let (domain, path) = key.split_once('/').unwrap_or_default();
    if path.is_empty() || dns_subdomain(domain).is_err() {
        let why = format!(
            "extra.key: Invalid value: {key:?}: must be a domain-prefixed path (such as \"acme.io/foo\")"
        );
        return Some(format!("impersonating an invalid key in extra is not allowed: {why}"));
    }
    (key != key.to_lowercase())
        .then(|| format!("impersonating a non-lowercase key in extra is not allowed: {key:?}"))
}

/// Header names carry keys percent-encoded; what cannot be decoded is taken as it stands.
fn unescaped(key: &str) -> String {
    let mut bytes = Vec::with_capacity(key.len());
    let mut rest = key.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first != b'%' {
            bytes.push(*first);
            rest = after;
            continue;
        }
        let code = after.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        let Some(byte) = code.and_then(|code| u8::from_str_radix(code, 16).ok()) else {
            return key.to_owned();
        };
        bytes.push(byte);
        rest = &after[2..];
    }
    String::from_utf8(bytes).unwrap_or_else(|_| key.to_owned())
}

/// The user the way the original prints one.
fn printed(user: &User) -> String {
    let list = |items: &[String]| match items {
        [] => "[]string(nil)".to_owned(),
        items => {
            let items: Vec<String> = items.iter().map(|item| format!("{item:?}")).collect();
            format!("[]string{{{}}}", items.join(", "))
        }
    };
    let extra = match user.extra.is_empty() {
        true => "map[string][]string(nil)".to_owned(),
        false => {
            let items = user.extra.iter().map(|(key, values)| format!("{key:?}:{}", list(values)));
            format!("map[string][]string{{{}}}", items.collect::<Vec<_>>().join(", "))
        }
    };
    format!(
        "&user.DefaultInfo{{Name:{:?}, UID:{:?}, Groups:{}, Extra:{extra}}}",
        user.name,
        user.uid,
        list(&user.groups)
    )
}
