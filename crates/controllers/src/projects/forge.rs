//! Where a `Repository` is, with the login that its object names, and who may have it used.

use api::projects::tenancy::{PROJECT_LABEL, PROJECT_NAMESPACE_LABEL, namespace_of};
use api::projects::{GitProvider, Repository};
use api::secret::Sealed;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kit::{Fault, Reader};
use kube::ResourceExt;
use ports::git::{Host, Place};

/// The repository at its host, or what is missing of the login.
pub(super) async fn place(repository: &Repository, reader: &Reader) -> Result<Result<Place, String>, Fault> {
    let (spec, own) = (&repository.spec, repository.namespace().unwrap_or_default());
    let (username, token) = match &spec.credentials {
        None if spec.provider == GitProvider::Local => (None, None),
        None => return Ok(Err(format!("Repository {own}/{} names no credentials", repository.name_any()))),
        Some(credentials) => {
            let name = credentials.secret_ref.name.as_str();
            let secret = reader.get::<Secret>(&own, name).await?;
            let word = |key: &str| secret.as_ref().and_then(|secret| text(secret, key));
            let Some(token) = word("token").or_else(|| word("password")) else {
                return Ok(Err(format!(
                    "Secret {own}/{name} with the credentials of Repository {} lacks; create it with the key `token`, or `username` and `password`",
                    repository.name_any()
                )));
            };
            (word("username"), Some(Sealed::new(token)))
        }
    };
    let host = Host {
        provider: spec.provider,
        domain: spec.domain.clone(),
        insecure: spec.insecure,
        username,
        token,
    };
    Ok(Ok(Place {
        host,
        owner: spec.org.clone().or_else(|| spec.owner.clone()).unwrap_or_default(),
        organization: spec.is_organization,
        name: spec.name.clone().or_else(|| spec.repository_name.clone()).unwrap_or_default(),
    }))
}

/// Whether objects of a namespace may speak for a project: those beside it, and those in the namespace that was made for it.
pub(super) async fn speaks_for(
    namespace: &str,
    (project, beside): (&str, &str),
    reader: &Reader,
) -> Result<bool, Fault> {
    if namespace == beside {
        return Ok(true);
    }
    if namespace != namespace_of(project) {
        return Ok(false);
    }
    // Two projects of one name in two namespaces want the same namespace; one of them has it.
    let found = reader.get::<Namespace>("", namespace).await?;
    Ok(found.is_some_and(|found| {
        let says = |label: &str, value: &str| found.labels().get(label).is_some_and(|held| held == value);
        says(PROJECT_LABEL, project) && says(PROJECT_NAMESPACE_LABEL, beside)
    }))
}

fn text(secret: &Secret, key: &str) -> Option<String> {
    let bytes = secret.data.as_ref()?.get(key)?;
    let text = String::from_utf8(bytes.0.clone()).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}
