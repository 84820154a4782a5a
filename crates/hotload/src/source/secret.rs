//! One key of a Secret, read through the API server.

use futures::stream::BoxStream;
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::Secret;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client};

use super::{Sealed, Source, SourceError};

/// Gives the value of one key of a Secret, and its new value whenever that changes. The Secret is watched, which the
/// client needs the rights `list` and `watch` on `secrets` for, restricted to this one by name if you like.
pub struct SecretSource {
    secrets: BoxStream<'static, Result<Option<Secret>, watcher::Error>>,
    name: String,
    key: String,
    given: Option<Result<Sealed, SourceError>>,
}

impl SecretSource {
    /// Watches the key of this Secret.
    pub fn new(client: Client, namespace: &str, name: &str, key: &str) -> Self {
        let api = Api::namespaced(client, namespace);
        let secrets = watcher::watch_object(api, name).default_backoff().boxed();
        Self { secrets, name: name.to_owned(), key: key.to_owned(), given: None }
    }

    fn value(&self, secret: Option<Secret>) -> Result<Sealed, SourceError> {
        let Self { name, key, .. } = self;
        let Some(secret) = secret else { return Err(SourceError(format!("there is no Secret `{name}`"))) };
        let Some(value) = secret.data.and_then(|mut data| data.remove(key)) else {
            return Err(SourceError(format!("the Secret `{name}` has no key `{key}`")));
        };
        let text = String::from_utf8(value.0);
        text.map(Sealed::new)
            .map_err(|_| SourceError(format!("the key `{key}` of the Secret `{name}` is not text")))
    }
}

impl Source for SecretSource {
    async fn next(&mut self) -> Result<Sealed, SourceError> {
        loop {
            let seen = match self.secrets.try_next().await {
                Ok(Some(secret)) => self.value(secret),
                Ok(None) => std::future::pending().await,
                Err(error) => Err(SourceError(format!(
                    "cannot watch the Secret `{}`: {}",
                    self.name,
                    crate::error::story(&error)
                ))),
            };
            if self.given.as_ref() != Some(&seen) {
                self.given = Some(seen.clone());
                return seen;
            }
        }
    }
}

#[cfg(test)]
mod tests;
