//! Images that lie on this machine, ready to run.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

use kit::{Fault, Retry};
use parking_lot::Mutex;

/// An image, ready to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalImage {
    /// Its directory; nobody writes there.
    pub root: PathBuf,
    /// Program and arguments; no shell reads them.
    pub command: Vec<String>,
    /// Variables that it needs. What a pod sets goes before them.
    pub env: BTreeMap<String, String>,
    /// Working directory.
    pub workdir: PathBuf,
    /// Directories outside the image that its user must be able to read.
    pub expose: Vec<PathBuf>,
}

/// Finds images.
pub trait Images: Send + Sync + 'static {
    /// The image of a reference; `None` if it is not on this machine.
    fn find(&self, reference: &str) -> impl Future<Output = Result<Option<LocalImage>, Fault>> + Send;
}

/// Images that a test puts there. Cheap to clone; clones share what they hold.
#[derive(Clone, Debug, Default)]
pub struct Fake(Arc<Mutex<BTreeMap<String, LocalImage>>>);

impl Fake {
    /// Puts an image there.
    pub fn put(&self, reference: &str, image: LocalImage) {
        self.0.lock().insert(reference.to_owned(), image);
    }
}

impl Images for Fake {
    async fn find(&self, reference: &str) -> Result<Option<LocalImage>, Fault> {
        Ok(self.0.lock().get(reference).cloned())
    }
}

impl Images for crate::build::Images {
    async fn find(&self, reference: &str) -> Result<Option<LocalImage>, Fault> {
        let found =
            self.resolve(reference).await.map_err(|error| Fault::outside("images", Retry::Slowly, error))?;
        Ok(found.map(|image| LocalImage {
            root: image.root,
            command: image.command,
            env: image.env,
            workdir: image.workdir,
            expose: image.expose,
        }))
    }
}
