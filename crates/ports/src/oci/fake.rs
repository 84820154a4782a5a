//! Registries in memory.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

use super::address::{checked_reference, is_digest};
use super::{Error, Login, Manifest, Oci, Registry, digest_of};

/// Registries in memory. Each host that is spoken to is one of its own; it lets everybody in until a login is set.
#[derive(Clone, Default)]
pub struct Fake {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    hosts: BTreeMap<String, Host>,
    faults: VecDeque<Error>,
}

#[derive(Default)]
struct Host {
    login: Option<Login>,
    repositories: BTreeMap<String, Repository>,
}

#[derive(Default)]
struct Repository {
    tags: BTreeMap<String, String>,
    manifests: BTreeMap<String, Manifest>,
    blobs: BTreeMap<String, Bytes>,
}

impl Fake {
    /// Lets nobody in from now on but with this login.
    pub fn lock(&self, host: &str, username: &str, password: &str) {
        let login = Login { username: username.into(), password: password.to_owned().into() };
        self.state.lock().hosts.entry(host.to_owned()).or_default().login = Some(login);
    }

    /// Puts a blob into a repository, by its whole name. Answers its digest.
    pub fn put_blob(&self, host: &str, repository: &str, bytes: impl Into<Bytes>) -> String {
        let bytes = bytes.into();
        let digest = digest_of(&bytes);
        self.with(host, repository, |repository| repository.blobs.insert(digest.clone(), bytes));
        digest
    }

    /// Puts a manifest into a repository, by its whole name, under a tag. Answers its digest.
    pub fn put_manifest(
        &self,
        host: &str,
        repository: &str,
        tag: &str,
        (media_type, bytes): (&str, impl Into<Bytes>),
    ) -> String {
        let bytes = bytes.into();
        let digest = digest_of(&bytes);
        let manifest = Manifest { media_type: media_type.into(), digest: digest.clone(), bytes };
        self.with(host, repository, |repository| {
            repository.tags.insert(tag.to_owned(), digest.clone());
            repository.manifests.insert(digest.clone(), manifest);
        });
        digest
    }

    /// Takes a tag away.
    pub fn drop_tag(&self, host: &str, repository: &str, tag: &str) {
        self.with(host, repository, |repository| repository.tags.remove(tag));
    }

    /// Lets the next call end so; those after it, if there are more, as they were given.
    pub fn fail_next(&self, error: Error) {
        self.state.lock().faults.push_back(error);
    }

    fn with<T>(&self, host: &str, repository: &str, change: impl FnOnce(&mut Repository) -> T) -> T {
        let mut state = self.state.lock();
        let host = state.hosts.entry(host.to_owned()).or_default();
        change(host.repositories.entry(repository.to_owned()).or_default())
    }

    /// Looks into a host as who asks.
    fn look<T>(&self, registry: &Registry, look: impl FnOnce(&Host) -> Result<T, Error>) -> Result<T, Error> {
        let mut state = self.state.lock();
        if let Some(fault) = state.faults.pop_front() {
            return Err(fault);
        }
        let host = state.hosts.entry(registry.host.clone()).or_default();
        if host.login.is_some() && host.login != registry.login {
            return Err(Error::Denied { registry: registry.host.clone() });
        }
        look(host)
    }
}

impl Oci for Fake {
    async fn knock(&self, registry: &Registry) -> Result<(), Error> {
        self.look(registry, |_| Ok(()))
    }

    async fn tags(&self, registry: &Registry, repository: &str) -> Result<Option<Vec<String>>, Error> {
        let path = registry.path(repository)?;
        self.look(registry, |host| {
            let found = host.repositories.get(&path);
            Ok(found.map(|repository| repository.tags.keys().cloned().collect()))
        })
    }

    async fn manifest(
        &self,
        registry: &Registry,
        repository: &str,
        reference: &str,
    ) -> Result<Option<Manifest>, Error> {
        let path = registry.path(repository)?;
        checked_reference(reference)?;
        self.look(registry, |host| {
            let Some(found) = host.repositories.get(&path) else { return Ok(None) };
            let digest = found.tags.get(reference).map_or(reference, String::as_str);
            Ok(found.manifests.get(digest).cloned())
        })
    }

    async fn blob(
        &self,
        registry: &Registry,
        repository: &str,
        digest: &str,
        most: u64,
    ) -> Result<Bytes, Error> {
        let path = registry.path(repository)?;
        if !is_digest(digest) {
            checked_reference(digest)?;
            return Err(Error::Invalid { what: format!("`{digest}` is no digest of SHA-256") });
        }
        let what = format!("blob {digest} in {path}");
        let registry_host = registry.host.clone();
        self.look(registry, |host| {
            let found = host.repositories.get(&path).and_then(|repository| repository.blobs.get(digest));
            match found {
                None => Err(Error::Missing { registry: registry_host, what }),
                Some(bytes) if bytes.len() as u64 > most => {
                    Err(Error::TooLarge { registry: registry_host, what, most })
                }
                Some(bytes) => Ok(bytes.clone()),
            }
        })
    }
}
