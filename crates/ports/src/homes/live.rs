//! Directories on disk.

use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::{Error, Home, Homes, stays_inside};

/// The pods' directories in one place, their logs in another.
#[derive(Clone, Debug)]
pub struct Live {
    pods: PathBuf,
    logs: PathBuf,
}

impl Live {
    /// Pods work in `pods`, their logs lie in `logs`; both are made when they are first needed.
    pub fn new(pods: impl Into<PathBuf>, logs: impl Into<PathBuf>) -> Self {
        Self { pods: pods.into(), logs: logs.into() }
    }

    fn logs_of(&self, namespace: &str, pod: &str) -> PathBuf {
        self.logs.join(namespace).join(pod)
    }
}

impl Homes for Live {
    fn directory(&self, uid: &str) -> PathBuf {
        self.pods.join(uid)
    }

    fn log(&self, namespace: &str, pod: &str, container: &str) -> PathBuf {
        self.logs_of(namespace, pod).join(format!("{container}.log"))
    }

    async fn prepare(&self, home: Home) -> Result<(), Error> {
        let pods = self.pods.clone();
        blocking(move || prepare(&pods, &home)).await
    }

    async fn turn_log(&self, namespace: &str, pod: &str, container: &str) -> Result<(), Error> {
        let directory = self.logs_of(namespace, pod);
        let (log, before) =
            (self.log(namespace, pod, container), directory.join(format!("{container}.previous.log")));
        blocking(move || {
            make(&directory, 0o700)?;
            match std::fs::rename(&log, &before) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(at(&log)(error)),
                _ => Ok(()),
            }
        })
        .await
    }

    async fn remove(&self, uid: &str) -> Result<(), Error> {
        let directory = self.directory(uid);
        blocking(move || remove(&directory)).await
    }

    async fn remove_logs(&self, namespace: &str, pod: &str) -> Result<(), Error> {
        let directory = self.logs_of(namespace, pod);
        blocking(move || remove(&directory)).await
    }

    async fn list(&self) -> Result<Vec<String>, Error> {
        let pods = self.pods.clone();
        blocking(move || names(&pods)).await
    }

    async fn list_logs(&self) -> Result<Vec<(String, String)>, Error> {
        let logs = self.logs.clone();
        blocking(move || {
            let mut found = Vec::new();
            for namespace in names(&logs)? {
                let pods = names(&logs.join(&namespace))?;
                found.extend(pods.into_iter().map(|pod| (namespace.clone(), pod)));
            }
            Ok(found)
        })
        .await
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let gone = |error| at(Path::new("."))(std::io::Error::other(error));
    tokio::task::spawn_blocking(work).await.map_err(gone)?
}

fn prepare(pods: &Path, home: &Home) -> Result<(), Error> {
    // Others may pass through to their own directory, and see nothing on the way.
    make(pods, 0o711)?;
    let root = pods.join(&home.uid);
    make(&root, 0o700)?;
    own(&root, home.user)?;
    for path in &home.directories {
        let directory = inside(&root, path)?;
        make(&directory, 0o700)?;
        own_between(&root, &directory, home.user)?;
    }
    for (path, held) in &home.files {
        let file = inside(&root, path)?;
        if let Some(parent) = file.parent() {
            make(parent, 0o700)?;
            own_between(&root, parent, home.user)?;
        }
        write(&file, held.open())?;
        own(&file, home.user)?;
    }
    Ok(())
}

fn inside(root: &Path, path: &Path) -> Result<PathBuf, Error> {
    if stays_inside(path) { Ok(root.join(path)) } else { Err(Error::Outside(path.to_owned())) }
}

/// Writes a file that was never readable by others, in the place of one that may be there.
fn write(file: &Path, held: &[u8]) -> Result<(), Error> {
    let _ = std::fs::remove_file(file);
    let opened = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    opened.and_then(|mut opened| std::io::Write::write_all(&mut opened, held)).map_err(at(file))
}

fn make(directory: &Path, mode: u32) -> Result<(), Error> {
    if directory.is_dir() {
        return Ok(());
    }
    std::fs::DirBuilder::new().recursive(true).mode(mode).create(directory).map_err(at(directory))?;
    // The mask of the platform may have taken bits away.
    std::fs::set_permissions(directory, std::fs::Permissions::from_mode(mode)).map_err(at(directory))
}

fn own(path: &Path, user: Option<u32>) -> Result<(), Error> {
    match user {
        Some(user) => std::os::unix::fs::lchown(path, Some(user), Some(user)).map_err(at(path)),
        None => Ok(()),
    }
}

/// Gives a directory and all above it, up to the root, to the user.
fn own_between(root: &Path, directory: &Path, user: Option<u32>) -> Result<(), Error> {
    let above = directory.ancestors().take_while(|path| *path != root);
    above.into_iter().try_for_each(|path| own(path, user))
}

fn remove(directory: &Path) -> Result<(), Error> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(at(directory)(error)),
        _ => Ok(()),
    }
}

fn names(directory: &Path) -> Result<Vec<String>, Error> {
    let entries = match std::fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(at(directory))?,
    };
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect())
}

fn at(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Files { path, source }
}
