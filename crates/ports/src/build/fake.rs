//! Builds that nobody runs: a test says how each one ends.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::broadcast;

use super::fetch::git::is_whole_commit;
use super::{Builds, Error, Login, Order, Progress, Source, Stage};

/// How many names wait for a slow listener before it loses some.
const CHANGES: usize = 64;

/// Builds in memory.
#[derive(Clone)]
pub struct Fake {
    state: Arc<Mutex<State>>,
    changes: broadcast::Sender<String>,
}

#[derive(Default)]
struct State {
    builds: BTreeMap<String, (Order, Progress)>,
    heads: BTreeMap<(String, String), String>,
    locked: BTreeMap<String, Login>,
    started: u64,
}

impl Default for Fake {
    fn default() -> Self {
        Self { state: Arc::default(), changes: broadcast::Sender::new(CHANGES) }
    }
}

impl Fake {
    /// What was ordered under this name.
    pub fn order(&self, id: &str) -> Option<Order> {
        self.state.lock().builds.get(id).map(|(order, _)| order.clone())
    }

    /// Names of all builds that are known.
    pub fn ids(&self) -> Vec<String> {
        self.state.lock().builds.keys().cloned().collect()
    }

    /// How many builds were started, the forgotten ones too.
    pub fn started(&self) -> u64 {
        self.state.lock().started
    }

    /// Ends a build well: the image's digest is made of its source.
    pub fn succeed(&self, id: &str) {
        let Some(order) = self.order(id) else { return };
        let commit = match &order.source {
            Source::Blob { .. } => None,
            Source::Git { revision, .. } if is_whole_commit(revision) => Some(revision.clone()),
            Source::Git { url, revision } => {
                self.state.lock().heads.get(&(url.clone(), revision.clone())).cloned()
            }
        };
        let image = format!("{}@sha256:{}", order.tag, digest(&order, commit.as_deref()));
        self.set(id, Progress::Done { image, language: "python".into(), commit });
    }

    /// Ends a build badly, with this message.
    pub fn fail(&self, id: &str, message: &str) {
        self.set(id, Progress::Failed { stage: Stage::Building, message: message.into() });
    }

    /// Moves a branch or tag.
    pub fn point(&self, url: &str, revision: &str, commit: &str) {
        self.state.lock().heads.insert((url.into(), revision.into()), commit.into());
    }

    /// Makes a repository private: only who has this login is told anything of it.
    pub fn lock(&self, url: &str, login: &Login) {
        self.state.lock().locked.insert(url.into(), login.clone());
    }

    fn set(&self, id: &str, progress: Progress) {
        if let Some((_, current)) = self.state.lock().builds.get_mut(id) {
            *current = progress;
        }
        // Nobody has to listen.
        let _ = self.changes.send(id.into());
    }
}

/// Sixty-four digits that differ where the source does.
fn digest(order: &Order, commit: Option<&str>) -> String {
    use sha2::Digest as _;
    let text = format!("{:?} {:?} {:?} {commit:?}", order.source, order.sub_path, order.env);
    super::digest::hex(&sha2::Sha256::digest(text.as_bytes()))
}

impl Builds for Fake {
    async fn start(&self, order: Order) -> Result<(), Error> {
        let id = order.id.clone();
        {
            let mut state = self.state.lock();
            if state.builds.contains_key(&id) {
                return Ok(());
            }
            let running = Progress::Running { since: Timestamp::now(), stage: Stage::Fetching };
            state.builds.insert(id.clone(), (order, running));
            state.started += 1;
        }
        let _ = self.changes.send(id);
        Ok(())
    }

    async fn look(&self, id: &str) -> Result<Option<Progress>, Error> {
        Ok(self.state.lock().builds.get(id).map(|(_, progress)| progress.clone()))
    }

    async fn cancel(&self, id: &str) -> Result<(), Error> {
        let running = self.state.lock().builds.get(id).is_some_and(|(_, progress)| !progress.is_over());
        if running {
            let message = super::CANCELLED.to_owned();
            self.set(id, Progress::Failed { stage: Stage::Fetching, message });
        }
        Ok(())
    }

    async fn forget(&self, id: &str) -> Result<(), Error> {
        self.state.lock().builds.remove(id);
        Ok(())
    }

    async fn head(
        &self,
        url: &str,
        revision: &str,
        _: Option<u32>,
        login: Option<&Login>,
    ) -> Result<Option<String>, Error> {
        let state = self.state.lock();
        if state.locked.get(url).is_some_and(|wanted| Some(wanted) != login) {
            let (url, revision, message) = (url.into(), revision.into(), "authentication failed".into());
            return Err(Error::Remote { url, revision, message });
        }
        Ok(state.heads.get(&(url.into(), revision.into())).cloned())
    }

    async fn clear(&self, _: &str, _: &str) -> Result<(), Error> {
        Ok(())
    }

    fn log(&self, namespace: &str, name: &str, number: u64) -> PathBuf {
        PathBuf::from(format!("/nowhere/build-logs/{namespace}/{name}-{number}.log"))
    }

    fn changes(&self) -> broadcast::Receiver<String> {
        self.changes.subscribe()
    }
}
