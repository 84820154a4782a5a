//! Branches of a bare repository, read without starting git: rooms ask for them at every pass.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::super::run::Call;
use super::super::{Error, names};
use super::unreachable;

/// The branch that a clone begins with.
pub(super) fn default_branch(directory: &Path) -> Result<String, Error> {
    let head = fs::read_to_string(directory.join("HEAD")).map_err(|error| unreachable(&error))?;
    let branch = head.trim().strip_prefix("ref: refs/heads/");
    branch.map(str::to_owned).ok_or_else(|| unreachable(&"its HEAD is at no branch"))
}

/// The commit that a branch is at.
pub(super) fn branch(directory: &Path, name: &str) -> Result<Option<String>, Error> {
    match fs::read_to_string(directory.join("refs/heads").join(name)) {
        Ok(commit) => {
            let commit = commit.trim().to_owned();
            names::commit(&commit).map(|()| Some(commit))
        }
        // A directory is there where a branch has another's name before a slash.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory
            ) =>
        {
            let wanted = format!("refs/heads/{name}");
            let packed = packed(directory)?;
            let found =
                packed.lines().filter_map(|line| line.split_once(' ')).find(|(_, name)| *name == wanted);
            Ok(found.map(|(commit, _)| commit.to_owned()))
        }
        Err(error) => Err(unreachable(&error)),
    }
}

/// Whether there is no branch at all.
pub(super) fn is_empty(directory: &Path) -> Result<bool, Error> {
    let packed = packed(directory)?;
    let packed = packed.lines().filter_map(|line| line.split_once(' '));
    Ok(!packed.into_iter().any(|(_, name)| name.starts_with("refs/heads/"))
        && !holds_files(&directory.join("refs/heads"))?)
}

fn holds_files(directory: &Path) -> Result<bool, Error> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(unreachable(&error)),
    };
    for entry in entries {
        let path = entry.map_err(|error| unreachable(&error))?.path();
        let lock = path.extension().is_some_and(|end| end == "lock");
        if path.is_dir() && holds_files(&path)? || path.is_file() && !lock {
            return Ok(true);
        }
    }
    Ok(false)
}

fn packed(directory: &Path) -> Result<String, Error> {
    match fs::read_to_string(directory.join("packed-refs")) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(unreachable(&error)),
    }
}

/// Makes a branch that is not there yet.
pub(super) async fn point(call: &Call<'_>, branch: &str, commit: &str) -> Result<(), Error> {
    let name = format!("refs/heads/{branch}");
    let none = "0".repeat(commit.len());
    call.printed(&["update-ref", &name, commit, &none], b"").await.map(drop)
}
