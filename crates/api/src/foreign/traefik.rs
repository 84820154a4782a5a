//! Traefik's `IngressRoute`: which requests go to which Service.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is asked of Traefik.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[kube(group = "traefik.io", version = "v1alpha1", kind = "IngressRoute", namespaced)]
#[kube(derive = "PartialEq", derive = "Default")]
#[kube(doc = "Which requests go to which Service, as Traefik routes them.")]
pub struct IngressRouteSpec {
    /// Ports of Traefik that it listens on, by name: `web`, `websecure`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entry_points: Vec<String>,
    /// The routes.
    #[serde(default)]
    pub routes: Vec<Route>,
    /// How TLS ends here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<RouteTls>,
}

/// Which requests go where.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Route {
    /// Which requests, such as ``Host(`shop.example.com`)``.
    #[serde(rename = "match")]
    pub match_: String,
    /// Always `Rule`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Which route wins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i64>,
    /// Where they go.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<RouteService>,
}

/// A Service that requests go to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RouteService {
    /// Its name.
    pub name: String,
    /// Its namespace. Default: the route's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its port, by number or name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<IntOrString>,
}

/// How TLS ends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RouteTls {
    /// Secret with the certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_name: Option<String>,
}
