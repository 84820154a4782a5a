//! How an application is reached.

use std::convert::Infallible;

use api::apps::Application;
use api::conditions::{READY, Reason};
use api::foreign::certmanager::{Certificate, CertificateSpec, IssuerRef};
use api::foreign::find;
use api::foreign::traefik::{IngressRoute, IngressRouteSpec, Route, RouteService, RouteTls};
use api::names::HostName;
use jiff::Timestamp;
use k8s_openapi::api::networking::v1::{
    HTTPIngressPath, HTTPIngressRuleValue, Ingress, IngressBackend, IngressRule, IngressServiceBackend,
    IngressSpec, IngressTLS, ServiceBackendPort,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kit::{Do, Name, Refusal};

use super::program::{PORT_NAME, SERVICE_PORT, metadata, name};
use super::{World, apply};
use crate::apps::Config;

/// The way to an application.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Way {
    host: HostName,
    /// The application that holds the host, where it is another one, in words. Nothing is told of other namespaces.
    holder: Option<String>,
    /// Whether HTTPS is asked for and somebody is named who issues certificates.
    wants_tls: bool,
    /// Whether it is also possible.
    tls: bool,
    traefik: bool,
}

impl Way {
    /// The way to an application, as its spec, the platform and its neighbours leave it.
    pub(super) fn of(app: &Application, world: &World, config: &Config) -> Result<Self, Refusal> {
        let host = host(app, config).map_err(|why| {
            let message =
                format!("no host can be made of the name and the base domain: {why}; set spec.host");
            Refusal::new(Reason::InvalidSpec, message)
        })?;
        let wants_tls = config.issuer.is_some() && app.spec.tls.as_ref().is_none_or(|tls| tls.enabled);
        Ok(Self {
            holder: holder(app, &host, world, config).map(|holder| told(&holder, app)),
            wants_tls,
            tls: wants_tls && world.cert_manager,
            traefik: world.traefik,
            host,
        })
    }

    /// Where it is reached. A host that another application holds is no address.
    pub(super) fn url(&self, config: &Config) -> Option<String> {
        if self.holder.is_some() {
            return None;
        }
        let (scheme, port, usual) =
            if self.tls { ("https", config.https_port, 443) } else { ("http", config.http_port, 80) };
        let port = port.filter(|port| *port != usual).map(|port| format!(":{port}")).unwrap_or_default();
        Some(format!("{scheme}://{}{port}", self.host))
    }

    /// Who holds the host instead, in words.
    pub(super) fn conflict(&self) -> Option<String> {
        let holder = self.holder.as_ref()?;
        Some(format!("host {} is held by {holder}; choose another in spec.host", self.host))
    }

    /// What `Exposed` says. `runs` tells whether there is something to route to.
    pub(super) fn condition(&self, world: &World, config: &Config, runs: bool) -> (bool, Reason, String) {
        let Some(url) = self.url(config) else {
            return (false, Reason::HostConflict, self.conflict().unwrap_or_default());
        };
        if !runs && world.deployment.is_none() {
            return (
                false,
                Reason::DependencyNotReady,
                format!("{url} is routed once there is something to run"),
            );
        }
        if self.tls {
            let status = world.certificate.as_ref().and_then(|certificate| certificate.status.as_ref());
            let ready = status.and_then(|status| find(&status.conditions, READY));
            if ready.is_none_or(|ready| ready.status != "True") {
                let why = ready.and_then(|ready| ready.message.as_deref()).unwrap_or("it is not issued yet");
                return (
                    false,
                    Reason::Provisioning,
                    format!("waiting for the certificate of {}: {why}", self.host),
                );
            }
        } else if self.wants_tls {
            let message =
                format!("reached at {url} without TLS: certificates.cert-manager.io is not installed");
            return (true, Reason::KindMissing, message);
        }
        (true, Reason::Available, format!("reached at {url}"))
    }

    /// The objects that make the way.
    pub(super) fn children(&self, app: &Application, config: &Config) -> Vec<Do<Infallible>> {
        if self.holder.is_some() {
            return Vec::new();
        }
        let certificate = config.issuer.as_ref().filter(|_| self.tls).map(|issuer| {
            let issuer =
                IssuerRef { name: issuer.name.clone(), kind: Some(issuer.kind.clone()), group: None };
            apply(&self.certificate(app, issuer))
        });
        let route =
            if self.traefik { apply(&self.traefik_route(app)) } else { apply(&self.ingress(app, config)) };
        certificate.into_iter().chain([route]).collect()
    }

    fn certificate(&self, app: &Application, issuer_ref: IssuerRef) -> Certificate {
        let spec = CertificateSpec {
            secret_name: tls_secret(app),
            issuer_ref,
            dns_names: vec![self.host.to_string()],
            ..CertificateSpec::default()
        };
        Certificate { metadata: metadata(app), spec, status: None }
    }

    fn traefik_route(&self, app: &Application) -> IngressRoute {
        let service = RouteService {
            name: name(app).to_owned(),
            namespace: None,
            port: Some(IntOrString::Int(SERVICE_PORT)),
        };
        let route = Route {
            // A checked host has letters, digits, `-` and `.` only, so it cannot end the quotes.
            match_: format!("Host(`{}`)", self.host),
            kind: Some("Rule".into()),
            priority: None,
            services: vec![service],
        };
        let spec = IngressRouteSpec {
            entry_points: vec![if self.tls { "websecure" } else { "web" }.into()],
            routes: vec![route],
            tls: self.tls.then(|| RouteTls { secret_name: Some(tls_secret(app)) }),
        };
        IngressRoute { metadata: metadata(app), spec }
    }

    fn ingress(&self, app: &Application, config: &Config) -> Ingress {
        let port = ServiceBackendPort { name: Some(PORT_NAME.into()), number: None };
        let service = IngressServiceBackend { name: name(app).to_owned(), port: Some(port) };
        let path = HTTPIngressPath {
            path: Some("/".into()),
            path_type: "Prefix".into(),
            backend: IngressBackend { service: Some(service), resource: None },
        };
        let rule = IngressRule {
            host: Some(self.host.to_string()),
            http: Some(HTTPIngressRuleValue { paths: vec![path] }),
        };
        let tls = IngressTLS { hosts: Some(vec![self.host.to_string()]), secret_name: Some(tls_secret(app)) };
        let spec = IngressSpec {
            ingress_class_name: config.ingress_class.clone(),
            rules: Some(vec![rule]),
            tls: self.tls.then(|| vec![tls]),
            ..IngressSpec::default()
        };
        Ingress { metadata: metadata(app), spec: Some(spec), status: None }
    }
}

fn tls_secret(app: &Application) -> String {
    format!("{}-tls", name(app))
}

/// The host that an application asks for.
fn host(app: &Application, config: &Config) -> Result<HostName, api::names::NameError> {
    match &app.spec.host {
        Some(host) => Ok(host.clone()),
        None => format!("{}.{}", name(app), config.base_domain).parse(),
    }
}

/// Who holds a host, as the owner of another application may know it.
fn told(holder: &Name, app: &Application) -> String {
    match Some(&holder.namespace) == app.metadata.namespace.as_ref() {
        true => format!("Application {}", holder.name),
        false => "an Application in another namespace".into(),
    }
}

/// Whoever comes before this application for a host: who holds it already, then who is older. Else an older
/// application could take the host of a younger one that serves under it.
fn holder(app: &Application, host: &HostName, world: &World, config: &Config) -> Option<Name> {
    let rank = |app: &Application| {
        let created = app.metadata.creation_timestamp.as_ref().map_or(Timestamp::MAX, |time| time.0);
        (!holds(app, host), created, Name::of(app))
    };
    let rivals = world.neighbours.iter().filter(|other| self::host(other, config).as_ref() == Ok(host));
    let first = rivals.map(|other| rank(other)).min()?;
    (first < rank(app)).then_some(first.2)
}

/// Whether an application is reached under a host already. This is remembered in its status: routes do not tell who was
/// first.
fn holds(app: &Application, host: &HostName) -> bool {
    let url = app.status.as_ref().and_then(|status| status.url.as_deref());
    let address = url.and_then(|url| url.split_once("://")).map(|(_, address)| address);
    address.and_then(|address| address.split([':', '/']).next()) == Some(host.as_str())
}
