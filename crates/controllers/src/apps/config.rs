//! What the platform's operators decide for all applications.

use std::time::Duration;

use api::names::HostName;

/// How long pods may die before an application counts as failed: long enough for a database or a registry to come
/// back, short enough that nobody waits in vain (applications.md, 4).
pub const CRASH_LOOP_AFTER: Duration = Duration::from_secs(10 * 60);

/// What the platform's operators decide for all applications.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Where built images go: `<prefix>/<namespace>/<name>`.
    pub registry_prefix: String,
    /// The kpack `ClusterBuilder` that builds.
    pub cluster_builder: String,
    /// The ServiceAccount that builds run as, in the application's namespace.
    pub build_service_account: String,
    /// The domain under which applications without a host of their own are reached.
    pub base_domain: HostName,
    /// The port in `http` addresses, where it is not 80.
    pub http_port: Option<u16>,
    /// The port in `https` addresses, where it is not 443.
    pub https_port: Option<u16>,
    /// Who issues certificates. Without one, applications are reached over plain HTTP.
    pub issuer: Option<Issuer>,
    /// How long pods may die before the application counts as failed.
    pub crash_loop_after: Duration,
    /// The class of Ingresses, where there is no Traefik. Without one, the cluster's own default.
    pub ingress_class: Option<String>,
}

impl Config {
    /// The usual answers, under a domain.
    pub fn under(base_domain: HostName) -> Self {
        Self {
            registry_prefix: "registry.localhost".into(),
            cluster_builder: "terrace".into(),
            build_service_account: "default".into(),
            base_domain,
            http_port: None,
            https_port: None,
            issuer: None,
            crash_loop_after: CRASH_LOOP_AFTER,
            ingress_class: None,
        }
    }
}

/// Who issues certificates.
#[derive(Clone, Debug, PartialEq)]
pub struct Issuer {
    /// Its name.
    pub name: String,
    /// `Issuer` or `ClusterIssuer`.
    pub kind: String,
}
