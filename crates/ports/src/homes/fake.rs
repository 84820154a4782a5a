//! Directories that exist in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{Error, Home, Homes, stays_inside};

/// Homes in memory. Cheap to clone; clones share what they hold.
#[derive(Clone, Debug, Default)]
pub struct Fake {
    homes: Arc<Mutex<BTreeMap<String, Home>>>,
    logs: Arc<Mutex<BTreeSet<(String, String)>>>,
}

impl Fake {
    /// A pod's directory as it was prepared.
    pub fn home(&self, uid: &str) -> Option<Home> {
        self.homes.lock().get(uid).cloned()
    }
}

impl Homes for Fake {
    fn directory(&self, uid: &str) -> PathBuf {
        PathBuf::from("/homes").join(uid)
    }

    fn log(&self, namespace: &str, pod: &str, container: &str) -> PathBuf {
        PathBuf::from("/logs").join(namespace).join(pod).join(format!("{container}.log"))
    }

    async fn prepare(&self, home: Home) -> Result<(), Error> {
        let outside = home.directories.iter().chain(home.files.keys()).find(|path| !stays_inside(path));
        if let Some(path) = outside {
            return Err(Error::Outside(path.clone()));
        }
        self.homes.lock().insert(home.uid.clone(), home);
        Ok(())
    }

    async fn turn_log(&self, namespace: &str, pod: &str, _: &str) -> Result<(), Error> {
        self.logs.lock().insert((namespace.to_owned(), pod.to_owned()));
        Ok(())
    }

    async fn remove(&self, uid: &str) -> Result<(), Error> {
        self.homes.lock().remove(uid);
        Ok(())
    }

    async fn remove_logs(&self, namespace: &str, pod: &str) -> Result<(), Error> {
        self.logs.lock().remove(&(namespace.to_owned(), pod.to_owned()));
        Ok(())
    }

    async fn list(&self) -> Result<Vec<String>, Error> {
        Ok(self.homes.lock().keys().cloned().collect())
    }

    async fn list_logs(&self) -> Result<Vec<(String, String)>, Error> {
        Ok(self.logs.lock().iter().cloned().collect())
    }
}
