//! What may be the name of something at a host, or in a repository. All of it is checked before it is part of an
//! address, of a path on this machine or of an argument of git.

use api::projects::GitProvider;

use super::{CommitWish, Error, KeyWish, Place};

/// Longest name of an owner or a repository that any of the hosts takes.
const NAME_MAX: usize = 100;
/// Deepest nesting of groups that GitLab has.
const GROUPS_MAX: usize = 20;
/// Longest name of a branch: file systems hold 255 bytes, and `.lock` is added.
const BRANCH_MAX: usize = 200;
/// Longest path in a repository.
const PATH_MAX: usize = 1024;

/// Refuses a place that no host can have.
pub(crate) fn place(place: &Place) -> Result<(), Error> {
    let groups: Vec<&str> = place.owner.split('/').collect();
    let nested = place.host.provider == GitProvider::Gitlab;
    let fits = |group: &&str| is_name(group) && !group.starts_with('.');
    if groups.len() > if nested { GROUPS_MAX } else { 1 } || !groups.iter().all(fits) {
        return invalid(format!("`{}` cannot be the owner of a repository", short(&place.owner)));
    }
    if !is_name(&place.name) {
        return invalid(format!("`{}` cannot be the name of a repository", short(&place.name)));
    }
    Ok(())
}

/// Whether an owner or a repository may be called so.
pub(crate) fn is_name(name: &str) -> bool {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    let ends = [".git", ".lock", ".wiki", ".atom"].iter().any(|end| name.to_ascii_lowercase().ends_with(end));
    plain
        && !ends
        && !name.is_empty()
        && name.len() <= NAME_MAX
        && !name.starts_with('-')
        && !name.contains("..")
        && name != "."
}

/// Refuses a name that git takes for no branch.
pub(crate) fn branch(name: &str) -> Result<(), Error> {
    let part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    let strange = |letter: char| letter.is_control() || letter.is_whitespace() || "~^:?*[\\".contains(letter);
    let bad = name.len() > BRANCH_MAX
        || name.starts_with('-')
        || name.ends_with('.')
        || name.contains("..")
        || name.contains("@{")
        || ["@", "HEAD"].contains(&name)
        || name.starts_with("refs/")
        || name.contains(strange)
        || !name.split('/').all(part);
    if bad { invalid(format!("`{}` cannot be the name of a branch", short(name))) } else { Ok(()) }
}

/// Refuses a path that leads out of a repository, or into git's own files.
pub(crate) fn path(path: &str) -> Result<(), Error> {
    let part = |part: &str| !["", ".", ".."].contains(&part) && !part.eq_ignore_ascii_case(".git");
    let strange = |letter: char| letter.is_control() || letter == '\\';
    match path.len() <= PATH_MAX && !path.contains(strange) && path.split('/').all(part) {
        true => Ok(()),
        false => invalid(format!("`{}` cannot be a path in a repository", short(path))),
    }
}

/// Refuses what is no whole commit.
pub(crate) fn commit(commit: &str) -> Result<(), Error> {
    match [40, 64].contains(&commit.len()) && commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        true => Ok(()),
        false => invalid(format!("`{}` is no commit", short(commit))),
    }
}

/// Refuses a login that no host gives to anybody.
pub(crate) fn person(name: &str) -> Result<(), Error> {
    match is_name(name) {
        true => Ok(()),
        false => invalid(format!("`{}` cannot be the login of a person", short(name))),
    }
}

/// Refuses a commit that git would not make, or would make elsewhere.
pub(crate) fn wish(wish: &CommitWish) -> Result<(), Error> {
    branch(&wish.branch)?;
    wish.from.iter().try_for_each(|from| branch(from))?;
    wish.files.keys().try_for_each(|file| path(file))?;
    let strange = |letter: char| letter.is_control() || "<>".contains(letter);
    for word in [&wish.author, &wish.email] {
        if word.trim().is_empty() || word.contains(strange) {
            return invalid(format!("`{}` cannot be an author of a commit", short(word)));
        }
    }
    if wish.message.trim().is_empty() || wish.message.contains('\0') {
        return invalid("a commit needs a message of plain text".to_owned());
    }
    Ok(())
}

/// Refuses a key without a title, or that is none; tells its fingerprint.
pub(crate) fn key(wish: &KeyWish) -> Result<String, Error> {
    if wish.title.trim().is_empty() || wish.title.contains(char::is_control) {
        return invalid(format!("`{}` cannot be the title of a key", short(&wish.title)));
    }
    super::keys::fingerprint(&wish.public)
}

fn invalid<T>(what: String) -> Result<T, Error> {
    Err(Error::Invalid { what })
}

/// As much of a name as a message can bear.
fn short(text: &str) -> String {
    text.chars().take(60).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        let good = ["shop", ".github", "a.b_c-d", "0"];
        let long = "x".repeat(101);
        let bad =
            ["", ".", "..", "a..b", "-a", "a/b", "a b", "a\0b", "a.git", "A.GIT", "ä", "%2e", "a\n", &long];
        assert!(good.iter().all(|name| is_name(name)));
        for name in bad {
            assert!(!is_name(name), "{name:?}");
        }
    }

    #[test]
    fn branches_are_what_git_takes_for_one() {
        for name in ["main", "feature/x-1", "terrace/shop.v1", "ünï"] {
            assert_eq!(branch(name), Ok(()), "{name}");
        }
        let bad =
            ["", "-x", "a..b", "a b", "a/", "/a", "a//b", ".a", "a/.b", "a.lock", "a.lock/b", "@", "HEAD"];
        for name in bad.into_iter().chain(["a@{1}", "a~1", "a^", "a:b", "a\nb", "a\\b", "a.", "refs/heads/a"])
        {
            assert!(branch(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn paths_stay_in_the_repository() {
        for name in ["a", "a/b.yaml", ".gitkeep", "a b/ü", "-a"] {
            assert_eq!(path(name), Ok(()), "{name}");
        }
        for name in
            ["", "/a", "a/", "../a", "a/../b", ".", "a/./b", ".git/config", "a/.GIT/x", "a\0", "a\\b", "a\nb"]
        {
            assert!(path(name).is_err(), "{name:?}");
        }
    }
}
