use api::annotations::ADOPT;
use api::foreign::certmanager::Certificate;
use api::secret::Sealed;
use k8s_openapi::api::core::v1::Secret;
use kit::{Fault, Name, Reader};
use kube::ResourceExt;
use ports::authority::Authority;

use super::REVISION;
use super::plan::{Held, Seen, World};

/// What the Secret holds, and what lies about under older names.
pub(super) async fn observe<A: Authority>(
    authority: &A,
    certificate: &Certificate,
    reader: &Reader,
) -> Result<World, Fault> {
    let namespace = certificate.namespace().unwrap_or_default();
    let name = &certificate.spec.secret_name;
    let secret = reader.get::<Secret>(&namespace, name).await?;
    let children = reader.children::<Secret, _>(certificate).await?;
    Ok(World {
        time: reader.now(),
        secret: secret.map_or(Held::Nothing, |secret| held(authority, certificate, &secret)),
        strays: children.iter().map(|child| Name::of(&**child)).filter(|child| child.name != *name).collect(),
    })
}

fn held<A: Authority>(authority: &A, certificate: &Certificate, secret: &Secret) -> Held {
    let controller = secret.owner_references().iter().find(|owner| owner.controller == Some(true));
    let ours = controller.is_some_and(|owner| Some(&owner.uid) == certificate.metadata.uid.as_ref());
    let given = secret.annotations().get(ADOPT).is_some_and(|adopt| adopt == "true");
    if !ours && !given {
        return Held::Foreign;
    }
    let text = |key: &str| {
        let bytes = secret.data.as_ref().and_then(|data| data.get(key));
        bytes.and_then(|bytes| String::from_utf8(bytes.0.clone()).ok()).unwrap_or_default()
    };
    let key = Sealed::new(text("tls.key"));
    Held::Ours(Seen {
        facts: authority.read(&text("tls.crt"), &key),
        root_there: text("ca.crt") == authority.root_pem(),
        revision: secret.annotations().get(REVISION).and_then(|revision| revision.parse().ok()),
    })
}
