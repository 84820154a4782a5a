//! The files that a repository begins with.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use api::projects::Repository;
use kit::Name;
use ports::git::CommitWish;

use super::{Deed, Seen};

/// The directories of a project's repository.
pub(in super::super) const LAYOUT: [&str; 5] =
    ["bindings/subscriptions", "bindings/targets", "products", "subscriptions", "targets"];
/// Who answers for what; GitHub, GitLab and Gitea all read it here.
pub(in super::super) const OWNERS: &str = "CODEOWNERS";
/// What a file of owners begins with that is ours.
const OURS: &str = "# Written by Terrace";
/// Who commits where nobody else is named.
const AUTHOR: (&str, &str) = ("Terrace", "terrace@localhost");
/// What such a commit says.
const MESSAGE: &str = "Lay out the project repository";

/// The file that keeps an empty directory.
pub(in super::super) fn keep_of(directory: &str) -> String {
    format!("{directory}/.gitkeep")
}

/// One commit with all that is missing; none, if nothing is.
pub(super) fn deeds(object: &Repository, seen: &Seen) -> Vec<Deed> {
    let missing = LAYOUT.iter().filter(|directory| !seen.files.there.contains(*directory));
    let mut files: BTreeMap<String, Option<Vec<u8>>> =
        missing.map(|directory| (keep_of(directory), Some(Vec::new()))).collect();
    files.extend(owners(object, seen.files.owners.as_deref()).map(|file| (OWNERS.to_owned(), file)));
    if files.is_empty() {
        return Vec::new();
    }
    let (author, email, message) = match &object.spec.commit_template {
        Some(own) => (own.name.clone(), own.email.clone(), own.message.clone()),
        None => (AUTHOR.0.to_owned(), AUTHOR.1.to_owned(), MESSAGE.to_owned()),
    };
    let branch = seen.repository.default_branch.clone();
    vec![Deed::Commit(CommitWish { branch, from: None, files, author, email, message })]
}

/// What becomes of the file of owners: written, removed, or, if it is as wanted or somebody else's, nothing.
fn owners(object: &Repository, held: Option<&str>) -> Option<Option<Vec<u8>>> {
    if held.is_some_and(|held| !held.starts_with(OURS)) {
        return None;
    }
    let wanted = (!object.spec.maintainers.is_empty()).then(|| {
        let mut text =
            format!("{OURS} from the maintainers of Repository {}; edit them there.\n*", Name::of(object));
        for person in &object.spec.maintainers {
            // An address stands as it is, everyone else behind an @.
            let at = if person.contains('@') { "" } else { "@" };
            // Writing to a string cannot fail.
            let _ = write!(text, " {at}{}", person.replace(char::is_whitespace, ""));
        }
        text + "\n"
    });
    (wanted.as_deref() != held).then(|| wanted.map(String::into_bytes))
}
