//! Repositories in memory.

use std::collections::BTreeMap;
use std::path::PathBuf;

use kit::Name;
use parking_lot::Mutex;

use super::{Error, Fetched, Head, Order, Sources};

/// Repositories in memory: what each address points to, and what objects have fetched.
#[derive(Debug, Default)]
pub struct Fake(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    heads: BTreeMap<String, String>,
    held: BTreeMap<Name, Fetched>,
}

impl Fake {
    /// Lets an address point to a commit.
    pub fn push(&self, url: &str, commit: &str) {
        self.0.lock().heads.insert(url.to_owned(), commit.to_owned());
    }

    /// What there is, one line for each object.
    pub fn dump(&self) -> String {
        let state = self.0.lock();
        let lines = state.held.iter().map(|(name, held)| format!("{name} {}", held.revision));
        lines.collect::<Vec<_>>().join("\n")
    }
}

impl Sources for Fake {
    async fn head(&self, order: &Order) -> Result<Head, Error> {
        order.reference.judge()?;
        let state = self.0.lock();
        let Some(commit) = state.heads.get(&order.url) else {
            let story = "repository not found".to_owned();
            return Err(Error::Git { url: order.url.clone(), story });
        };
        let listed: Vec<_> = order.reference.asked().into_iter().map(|name| (name, commit.clone())).collect();
        let missing = || Error::Missing { url: order.url.clone(), what: order.reference.words() };
        order.reference.choose(&listed).ok_or_else(missing)
    }

    async fn fetch(&self, order: &Order, head: &Head) -> Result<(), Error> {
        let fetched = Fetched {
            revision: head.revision.clone(),
            digest: format!("sha256:{}", head.commit),
            size_bytes: 1,
            path: PathBuf::from(format!("/{}", order.name)),
        };
        self.0.lock().held.insert(order.name.clone(), fetched);
        Ok(())
    }

    async fn held(&self, name: &Name) -> Result<Option<Fetched>, Error> {
        Ok(self.0.lock().held.get(name).cloned())
    }

    async fn remove(&self, name: &Name) -> Result<(), Error> {
        self.0.lock().held.remove(name);
        Ok(())
    }
}
