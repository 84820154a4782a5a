//! What a platform has decided for all applications, where everybody can read it: a plan made elsewhere is then the
//! same as the platform's own.

use controllers::apps::{Config, Issuer};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};

/// Where it is kept: a namespace that everybody may read.
const NAMESPACE: &str = "kube-public";
const NAME: &str = "terrace";
/// The domain of a platform that says nothing.
const DOMAIN: &str = "localhost";

/// Writes down what a platform has decided.
pub(crate) async fn publish(client: &Client, config: &Config) -> Result<(), kube::Error> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    let params = PatchParams::apply("terrace").force();
    maps.patch(NAME, &params, &Patch::Apply(written(config))).await.map(drop)
}

/// What the platform has decided; the usual answers where it says nothing.
pub(crate) async fn published(client: &Client) -> Option<Config> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    let map = maps.get_opt(NAME).await.ok().flatten();
    let data = map.and_then(|map| map.data).unwrap_or_default();
    read(|key| data.get(key).cloned())
}

fn written(config: &Config) -> Value {
    let Config {
        registry_prefix,
        cluster_builder,
        build_service_account,
        base_domain,
        http_port,
        https_port,
        issuer,
        crash_loop_after,
        ingress_class,
    } = config;
    let port = |port: &Option<u16>| port.map(|port| port.to_string());
    let data = json!({
        "registryPrefix": registry_prefix, "clusterBuilder": cluster_builder,
        "buildServiceAccount": build_service_account, "baseDomain": base_domain.as_str(),
        "httpPort": port(http_port), "httpsPort": port(https_port),
        "issuerName": issuer.as_ref().map(|issuer| &issuer.name),
        "issuerKind": issuer.as_ref().map(|issuer| &issuer.kind),
        "crashLoopAfterSeconds": crash_loop_after.as_secs().to_string(), "ingressClass": ingress_class,
    });
    let said = data.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    let data: Value = Value::Object(said.map(|(key, value)| (key.clone(), value.clone())).collect());
    let metadata = json!({ "name": NAME, "namespace": NAMESPACE });
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data })
}

fn read(said: impl Fn(&str) -> Option<String>) -> Option<Config> {
    let domain = said("baseDomain").unwrap_or_else(|| DOMAIN.to_owned());
    let mut config = Config::under(domain.parse().ok()?);
    let number = |key: &str| said(key).and_then(|text| text.parse::<u64>().ok());
    let port = |key: &str| number(key).and_then(|port| u16::try_from(port).ok());
    config.http_port = port("httpPort");
    config.https_port = port("httpsPort");
    config.ingress_class = said("ingressClass");
    config.issuer = said("issuerName").zip(said("issuerKind")).map(|(name, kind)| Issuer { name, kind });
    if let Some(prefix) = said("registryPrefix") {
        config.registry_prefix = prefix;
    }
    if let Some(builder) = said("clusterBuilder") {
        config.cluster_builder = builder;
    }
    if let Some(account) = said("buildServiceAccount") {
        config.build_service_account = account;
    }
    if let Some(seconds) = number("crashLoopAfterSeconds") {
        config.crash_loop_after = std::time::Duration::from_secs(seconds);
    }
    Some(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut config = Config::under("apps.example.com".parse().expect("is a host"));
        config.http_port = Some(8080);
        config.issuer = Some(Issuer { name: "i".into(), kind: "ClusterIssuer".into() });
        config.ingress_class = Some("nginx".into());
        config.registry_prefix = "registry.example.com/apps".into();
        for config in [config, Config::under("localhost".parse().expect("is a host"))] {
            let data = written(&config)["data"].clone();
            assert_eq!(read(|key| data[key].as_str().map(str::to_owned)), Some(config));
        }
        assert!(read(|_| None).is_some());
    }
}
