use std::collections::BTreeMap;

use api::annotations::{ISSUED_AT, ROTATE};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kit::{Child, Fault, Receipt};
use ports::git::Git;

use super::MADE_FOR;
use super::plan::{Deed, Publication, Step};

/// The name that goes with the password of a deploy key.
const USERNAME: &str = "deploy-key";

/// Does one step.
pub(super) async fn act<G: Git>(git: &G, step: &Step) -> Result<Receipt, Fault> {
    let Step { place, deed } = step;
    match deed {
        Deed::Create(wish) => git.create(place, wish).await?,
        Deed::Commit(wish) => git.commit(place, wish).await.map(|_| ())?,
        Deed::AddKey(key) => git.add_key(place, key).await?,
        Deed::Publish(publication) => return Ok(Receipt::Keep(Box::new(child(publication)))),
        Deed::Invite(person) => git.invite(place, person).await?,
        Deed::DropKey(key) => git.drop_key(place, &key.fingerprint).await?,
        Deed::Delete => git.delete(place).await?,
    }
    Ok(Receipt::Done)
}

/// The Secret as Flux reads it. In a project's namespace it has no owner: owners lie in the same namespace.
fn child(publication: &Publication) -> Child {
    let Publication { name, labels, made_for, shared, at, asked, contents } = publication;
    let text = |key: &str, text: &str| (key.to_owned(), ByteString(text.as_bytes().to_vec()));
    let mut data = vec![
        text("identity", contents.private.open()),
        text("identity.pub", &contents.public),
        text("known_hosts", &contents.known_hosts),
    ];
    if let Some(password) = &contents.password {
        data.extend([text("username", USERNAME), text("password", password.open())]);
    }
    let mut annotations = BTreeMap::from([(MADE_FOR.to_owned(), made_for.to_string())]);
    annotations.insert(ISSUED_AT.to_owned(), at.to_string());
    annotations.extend(asked.clone().map(|asked| (ROTATE.to_owned(), asked)));
    let secret = Secret {
        metadata: ObjectMeta {
            name: Some(name.name.clone()),
            namespace: Some(name.namespace.clone()),
            labels: Some(labels.clone()),
            annotations: Some(annotations),
            ..ObjectMeta::default()
        },
        type_: Some("Opaque".to_owned()),
        data: Some(data.into_iter().collect()),
        ..Secret::default()
    };
    if *shared { Child::of(&secret).unowned() } else { Child::of(&secret) }
}
