//! Where the repositories lie, how one comes and how one goes: each in one step, whatever happens meanwhile.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::run::Call;
use super::super::{Error, Place, Wish};
use super::papers::{self, People};
use super::{HOST, LIMIT, unreachable};

/// What is half made or half deleted. No owner's name begins with a dot.
const WORKSHOP: &str = ".workshop";

/// Makes the directory of all repositories, and clears what was left half done.
pub(super) fn prepare(root: &Path) -> Result<(), Error> {
    let workshop = root.join(WORKSHOP);
    match fs::remove_dir_all(&workshop) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(unreachable(&error)),
        _ => {}
    }
    fs::create_dir_all(&workshop).map_err(|error| unreachable(&error))
}

/// Where a repository is. Both names were checked.
pub(super) fn directory(root: &Path, owner: &str, name: &str) -> PathBuf {
    root.join(owner).join(format!("{name}.git"))
}

/// A place in the workshop that nobody else has.
fn bench(root: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    root.join(WORKSHOP).join(format!("{}-{number}", std::process::id()))
}

/// Makes a repository aside, and puts it in its place.
pub(super) async fn create(root: &Path, directory: &Path, place: &Place, wish: &Wish) -> Result<(), Error> {
    let exists = || Error::Exists { host: HOST.to_owned(), what: format!("repository {}", place.path()) };
    if directory.exists() {
        return Err(exists());
    }
    let aside = bench(root);
    let made = make(&aside, place, wish).await;
    let placed = made.and_then(|()| {
        if let Some(owner) = directory.parent() {
            fs::create_dir_all(owner).map_err(|error| unreachable(&error))?;
        }
        fs::rename(&aside, directory).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty => exists(),
            _ => unreachable(&error),
        })
    });
    if placed.is_err() {
        // What is left here goes at the next start.
        let _ = fs::remove_dir_all(&aside);
    }
    placed
}

async fn make(aside: &Path, place: &Place, wish: &Wish) -> Result<(), Error> {
    let what = format!("make {}", place.path());
    let call = Call { host: HOST, what: &what, directory: None, environment: Vec::new(), limit: LIMIT };
    let branch = format!("--initial-branch={}", wish.default_branch);
    let path = aside.to_str().ok_or_else(|| unreachable(&"its directory has a name that is no text"))?;
    call.printed(&["init", "-q", "--bare", "--template=", &branch, "--", path], b"").await?;
    papers::write(aside, &People { visibility: wish.visibility, people: Default::default() })?;
    let line: String = wish.description.chars().filter(|letter| !letter.is_control()).collect();
    papers::replace(&aside.join("description"), format!("{line}\n").as_bytes())
}

/// Takes a repository out of its place, and deletes it aside.
pub(super) async fn delete(root: &Path, directory: &Path) -> Result<(), Error> {
    let aside = bench(root);
    match fs::rename(directory, &aside) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(unreachable(&error)),
    }
    if let Some(owner) = directory.parent() {
        // Only if it is empty.
        let _ = fs::remove_dir(owner);
    }
    // From here on it is gone; what cannot be cleared goes at the next start.
    let _ = tokio::task::spawn_blocking(move || fs::remove_dir_all(aside)).await;
    Ok(())
}

/// What a repository says of itself: whose it is.
pub(super) fn description(directory: &Path) -> Result<String, Error> {
    match fs::read_to_string(directory.join("description")) {
        Ok(text) => Ok(text.trim_end().to_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(unreachable(&error)),
    }
}
