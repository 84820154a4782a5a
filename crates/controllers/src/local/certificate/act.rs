use std::collections::BTreeMap;
use std::net::IpAddr;

use api::foreign::certmanager::Certificate;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kit::{Child, Fault, Receipt};
use ports::authority::{Authority, Issued, Order};

use super::{REVISION, Step};

/// Does one step.
pub(super) fn act<A: Authority>(
    authority: &A,
    certificate: &Certificate,
    step: &Step,
) -> Result<Receipt, Fault> {
    match step {
        Step::Issue { order, revision } => {
            let issued = authority.issue(order)?;
            let annotations = annotations(certificate, order, *revision);
            let secret = secret(certificate, annotations, &issued, authority.root_pem());
            Ok(Receipt::Keep(Box::new(Child::of(&secret))))
        }
    }
}

/// The Secret as cert-manager fills it.
fn secret(
    certificate: &Certificate,
    annotations: BTreeMap<String, String>,
    issued: &Issued,
    root_pem: &str,
) -> Secret {
    let text = |key: &str, text: &str| (key.to_owned(), ByteString(text.as_bytes().to_vec()));
    let data = [
        text("tls.crt", &issued.chain_pem),
        text("tls.key", issued.key_pem.open()),
        text("ca.crt", root_pem),
    ];
    Secret {
        metadata: ObjectMeta {
            name: Some(certificate.spec.secret_name.clone()),
            namespace: certificate.metadata.namespace.clone(),
            labels: Some([("controller.cert-manager.io/fao".to_owned(), "true".to_owned())].into()),
            annotations: Some(annotations),
            ..ObjectMeta::default()
        },
        type_: Some("kubernetes.io/tls".to_owned()),
        data: Some(data.into()),
        ..Secret::default()
    }
}

fn annotations(certificate: &Certificate, order: &Order, revision: i64) -> BTreeMap<String, String> {
    let (addresses, hosts): (Vec<&str>, Vec<&str>) =
        order.names.iter().map(String::as_str).partition(|name| name.parse::<IpAddr>().is_ok());
    let issuer = &certificate.spec.issuer_ref;
    let said = [
        ("cert-manager.io/alt-names", hosts.join(",")),
        ("cert-manager.io/ip-sans", addresses.join(",")),
        ("cert-manager.io/uri-sans", String::new()),
        ("cert-manager.io/common-name", certificate.spec.common_name.clone().unwrap_or_default()),
        ("cert-manager.io/certificate-name", certificate.metadata.name.clone().unwrap_or_default()),
        ("cert-manager.io/issuer-name", issuer.name.clone()),
        ("cert-manager.io/issuer-kind", issuer.kind.clone().unwrap_or_else(|| "ClusterIssuer".into())),
        ("cert-manager.io/issuer-group", "cert-manager.io".to_owned()),
        (REVISION, revision.to_string()),
    ];
    said.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
