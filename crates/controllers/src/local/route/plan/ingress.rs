//! What an `Ingress` wishes.

use k8s_openapi::api::networking::v1::{
    HTTPIngressPath, Ingress, IngressBackend, IngressRule, IngressSpec, ServiceBackendPort,
};
use ports::traffic::Doors;

use super::super::CLASS;
use super::rule::{self, Requests};
use super::wish::{Origin, Port, Target, Wish, doors};

/// How classes were named before Ingress had a field for them.
const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";
/// Traefik's way to choose doors.
const ENTRY_POINTS: &str = "traefik.ingress.kubernetes.io/router.entrypoints";
/// A default backend answers what nobody else does.
const LAST: i64 = i32::MIN as i64;

/// Its wishes, and what cannot be followed. One of another class wishes nothing of us.
pub(super) fn wishes(object: &Ingress) -> (Vec<Wish<'_>>, Vec<String>) {
    let origin = Origin::of("Ingress", object);
    let annotation =
        |key| object.metadata.annotations.as_ref().and_then(|held| held.get(key)).map(String::as_str);
    let Some(spec) = &object.spec else { return Default::default() };
    let class = spec.ingress_class_name.as_deref().or_else(|| annotation(CLASS_ANNOTATION));
    if class.is_some_and(|class| !class.is_empty() && class != CLASS) {
        return Default::default();
    }
    let entry_points = annotation(ENTRY_POINTS).unwrap_or_default();
    let named = entry_points.split(',').map(str::trim).filter(|name| !name.is_empty());
    let Some(doors) = doors(named) else {
        let why = "its entry points are not known here; web and websecure are";
        return (Vec::new(), vec![format!("{origin} is skipped: {why}")]);
    };
    let scribe = Scribe { origin, spec, doors };
    let mut found = Vec::new();
    for rule in spec.rules.iter().flatten() {
        scribe.rule(rule, &mut found);
    }
    if let Some(backend) = &spec.default_backend {
        found.push(scribe.wish(Requests::default(), LAST, backend));
    }
    let (mut wishes, mut skipped) = (Vec::new(), Vec::new());
    for wish in found {
        match wish {
            Ok(wish) => wishes.push(wish),
            Err(why) => skipped.push(format!("{origin}: a rule is skipped: {why}")),
        }
    }
    (wishes, skipped)
}

/// Writes down the wishes of one Ingress.
struct Scribe<'a> {
    origin: Origin<'a>,
    spec: &'a IngressSpec,
    doors: Doors,
}

impl<'a> Scribe<'a> {
    fn rule(&self, rule: &'a IngressRule, found: &mut Vec<Result<Wish<'a>, String>>) {
        let host = match rule.host.as_deref().filter(|host| !host.is_empty()) {
            None => String::new(),
            Some(name) => match rule::host(name) {
                Some(host) => host,
                None => return found.push(Err(format!("{name:?} is not a host"))),
            },
        };
        match (&rule.http, &self.spec.default_backend) {
            (Some(http), _) => found.extend(http.paths.iter().map(|path| self.path(&host, path))),
            (None, Some(backend)) => {
                found.push(self.wish(Requests { host, ..Requests::default() }, LAST, backend));
            }
            (None, None) => found.push(Err(format!("nothing is said of where {host:?} leads"))),
        }
    }

    fn path(&self, host: &str, path: &'a HTTPIngressPath) -> Result<Wish<'a>, String> {
        let exact = path.path_type == "Exact";
        let written = path.path.as_deref().filter(|path| !path.is_empty()).unwrap_or("/");
        let kept = rule::path(written, exact).ok_or_else(|| format!("{written:?} is not a path"))?;
        // As long as the rule that says the same in Traefik's words, so that the two kinds compare; of a path and
        // all below it, the path itself is the closer one.
        let said = if host.is_empty() { 0 } else { "Host(``) && ".len() + host.len() };
        let length = said + "PathPrefix(``)".len() + written.len() + usize::from(exact);
        let priority = i64::try_from(length).unwrap_or(i64::MAX);
        self.wish(Requests { host: host.to_owned(), path: kept, exact }, priority, &path.backend)
    }

    fn wish(
        &self,
        requests: Requests,
        priority: i64,
        backend: &'a IngressBackend,
    ) -> Result<Wish<'a>, String> {
        let service = backend.service.as_ref().ok_or("its backend is not a Service")?;
        let port = service.port.as_ref().map_or(Port::Only, port);
        let secret = self.secret(&requests.host);
        let targets = vec![Target { service: &service.name, port }];
        Ok(Wish { origin: self.origin, requests, priority, doors: self.doors, targets, secret })
    }

    /// The Secret of the section that speaks of a host; one without hosts speaks of all.
    fn secret(&self, host: &str) -> Option<&'a str> {
        let sections = self.spec.tls.as_deref().unwrap_or_default();
        let speaks = |hosts: &[String]| {
            hosts.is_empty()
                || hosts.iter().filter_map(|held| rule::host(held)).any(|held| covers(&held, host))
        };
        let section = sections.iter().find(|section| speaks(section.hosts.as_deref().unwrap_or_default()))?;
        section.secret_name.as_deref()
    }
}

fn port(port: &ServiceBackendPort) -> Port<'_> {
    match (port.number, port.name.as_deref()) {
        (Some(number), _) => Port::Number(number),
        (None, Some(name)) => Port::Name(name),
        (None, None) => Port::Only,
    }
}

/// Whether a name of a certificate covers a host: `*.` stands for one label.
fn covers(name: &str, host: &str) -> bool {
    let parent = |host: &str| host.split_once('.').map(|(_, parent)| parent.to_owned());
    name == host || name.strip_prefix("*.").is_some_and(|rest| parent(host).as_deref() == Some(rest))
}
