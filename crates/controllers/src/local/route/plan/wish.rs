//! One wish for one route, whichever kind of object it came from.

use std::fmt;

use api::annotations::APPLICATION;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::Resource;
use ports::traffic::Doors;

use super::rule::Requests;

/// The object that wishes. The older one wins, so age comes first in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Origin<'a> {
    since: Option<&'a Time>,
    kind: &'static str,
    /// Its namespace.
    pub(super) namespace: &'a str,
    name: &'a str,
    application: &'a str,
}

impl<'a> Origin<'a> {
    pub(super) fn of<K: Resource>(kind: &'static str, object: &'a K) -> Self {
        let meta = object.meta();
        let name = meta.name.as_deref().unwrap_or_default();
        let label = meta.labels.as_ref().and_then(|labels| labels.get(APPLICATION));
        Self {
            since: meta.creation_timestamp.as_ref(),
            kind,
            namespace: meta.namespace.as_deref().unwrap_or_default(),
            name,
            application: label.map_or(name, String::as_str),
        }
    }

    /// The application, as `namespace/name`.
    pub(super) fn application(&self) -> String {
        format!("{}/{}", self.namespace, self.application)
    }
}

impl fmt::Display for Origin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.kind, self.namespace, self.name)
    }
}

/// Which requests are to go where.
#[derive(Clone, Debug)]
pub(super) struct Wish<'a> {
    pub(super) origin: Origin<'a>,
    pub(super) requests: Requests,
    pub(super) priority: i64,
    pub(super) doors: Doors,
    pub(super) targets: Vec<Target<'a>>,
    /// The Secret with the certificate for the host.
    pub(super) secret: Option<&'a str>,
}

/// A port of a Service in the namespace of the wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target<'a> {
    pub(super) service: &'a str,
    pub(super) port: Port<'a>,
}

/// Which port of a Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Port<'a> {
    /// The only one.
    Only,
    Number(i32),
    Name(&'a str),
}

impl<'a> Port<'a> {
    pub(super) fn of(port: Option<&'a IntOrString>) -> Self {
        match port {
            None => Self::Only,
            Some(IntOrString::Int(number)) => Self::Number(*number),
            Some(IntOrString::String(name)) => name.parse().map_or(Self::Name(name), Self::Number),
        }
    }
}

impl fmt::Display for Port<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Only => f.write_str("that is the only one"),
            Self::Number(number) => number.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}

/// The doors that entry points mean: none named is both, and names that are not known here are none.
pub(super) fn doors<'n>(entry_points: impl Iterator<Item = &'n str>) -> Option<Doors> {
    let (mut doors, mut named) = (Doors { http: false, https: false }, false);
    for name in entry_points {
        named = true;
        doors.http |= name == "web";
        doors.https |= name == "websecure";
    }
    match (named, doors.http || doors.https) {
        (false, _) => Some(Doors::BOTH),
        (true, known) => known.then_some(doors),
    }
}
