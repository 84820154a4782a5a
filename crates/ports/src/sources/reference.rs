//! Which commit of a repository is meant.

use semver::{Version, VersionReq};

use super::{Error, Head};

/// Which commit is meant. Of several, Flux takes the commit, then the name, the range, the tag and the branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// A branch.
    Branch(String),
    /// A tag.
    Tag(String),
    /// The newest tag in a range of versions.
    Semver(String),
    /// A reference by its full name: `refs/pull/1/head`.
    Name(String),
    /// A commit, and the branch that it is shown with.
    Commit(String, Option<String>),
}

impl Reference {
    /// Judges the words of a reference: nothing that git would read as anything else.
    pub(super) fn judge(&self) -> Result<(), Error> {
        let good = match self {
            Self::Branch(word) | Self::Tag(word) => plain(word),
            Self::Name(word) => plain(word) && (word.starts_with("refs/") || word == "HEAD"),
            Self::Semver(range) => VersionReq::parse(range).is_ok(),
            Self::Commit(commit, branch) => whole(commit) && branch.as_deref().is_none_or(plain),
        };
        if good {
            return Ok(());
        }
        let shown: String = format!("{self:?}").chars().take(100).collect();
        Err(Error::Invalid(format!(
            "ref {shown} is no branch, tag, range of versions, reference or whole commit"
        )))
    }

    /// What git is asked for: the references whose commits are needed to decide.
    pub(super) fn asked(&self) -> Vec<String> {
        match self {
            Self::Branch(branch) => vec![format!("refs/heads/{branch}")],
            Self::Tag(tag) => vec![format!("refs/tags/{tag}"), format!("refs/tags/{tag}^{{}}")],
            Self::Semver(_) => vec!["refs/tags/*".into()],
            Self::Name(name) => vec![name.clone(), format!("{name}^{{}}")],
            Self::Commit(..) => Vec::new(),
        }
    }

    /// The commit, from what git listed as pairs of reference and commit; none if there is none.
    pub(super) fn choose(&self, listed: &[(String, String)]) -> Option<Head> {
        let commit_of = |name: &str| {
            let exact = |wanted: &str| listed.iter().find(|(found, _)| found == wanted);
            exact(&format!("{name}^{{}}")).or_else(|| exact(name)).map(|(_, commit)| commit.clone())
        };
        let head = |shown: &str, commit: String| Head { revision: format!("{shown}@sha1:{commit}"), commit };
        match self {
            Self::Branch(branch) => {
                commit_of(&format!("refs/heads/{branch}")).map(|found| head(branch, found))
            }
            Self::Tag(tag) => commit_of(&format!("refs/tags/{tag}")).map(|found| head(tag, found)),
            Self::Name(name) => commit_of(name).map(|found| head(name, found)),
            Self::Commit(commit, None) => {
                Some(Head { revision: format!("sha1:{commit}"), commit: commit.clone() })
            }
            Self::Commit(commit, Some(branch)) => Some(head(branch, commit.clone())),
            Self::Semver(range) => {
                let range = VersionReq::parse(range).ok()?;
                let tags = listed.iter().filter_map(|(name, _)| name.strip_prefix("refs/tags/"));
                let versions = tags.filter_map(|tag| {
                    let version = Version::parse(tag.strip_prefix('v').unwrap_or(tag)).ok()?;
                    range.matches(&version).then_some((version, tag))
                });
                let (_, tag) = versions.max()?;
                commit_of(&format!("refs/tags/{tag}")).map(|found| head(tag, found))
            }
        }
    }

    /// What is missing if nothing was found.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Branch(branch) => format!("branch '{branch}'"),
            Self::Tag(tag) => format!("tag '{tag}'"),
            Self::Semver(range) => format!("tag in the range '{range}'"),
            Self::Name(name) => format!("reference '{name}'"),
            Self::Commit(commit, _) => format!("commit '{commit}'"),
        }
    }
}

fn plain(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '+' | '@' | '#');
    !word.is_empty()
        && word.len() <= 255
        && word.chars().all(plain)
        && !word.starts_with(['-', '+', '/', '.', '@'])
        && !word.ends_with(['/', '.'])
        && !word.contains("..")
        && !word.contains("//")
}

/// Whether a word is a whole commit's name.
fn whole(commit: &str) -> bool {
    commit.len() == 40 && commit.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_finds_its_commit() {
        let commit = |digit: &str| digit.repeat(40);
        let listed: Vec<(String, String)> = [
            ("refs/heads/main", "1"),
            ("refs/tags/v1.2.0", "2"),
            ("refs/tags/v1.10.0", "3"),
            ("refs/tags/v1.10.0^{}", "4"),
            ("refs/tags/v2.0.0", "5"),
            ("refs/tags/nightly", "6"),
        ]
        .map(|(name, digit)| (name.to_owned(), commit(digit)))
        .to_vec();
        let table = [
            (Reference::Branch("main".into()), format!("main@sha1:{}", commit("1"))),
            (Reference::Tag("v1.10.0".into()), format!("v1.10.0@sha1:{}", commit("4"))),
            (Reference::Semver("1.x".into()), format!("v1.10.0@sha1:{}", commit("4"))),
            (Reference::Semver(">=3".into()), "none".into()),
            (Reference::Name("refs/heads/main".into()), format!("refs/heads/main@sha1:{}", commit("1"))),
            (Reference::Commit(commit("7"), None), format!("sha1:{}", commit("7"))),
            (Reference::Branch("other".into()), "none".into()),
        ];
        for (reference, want) in table {
            assert_eq!(reference.judge(), Ok(()), "{reference:?}");
            let told = reference.choose(&listed).map_or("none".into(), |head| head.revision);
            assert_eq!(told, want, "{reference:?}");
        }
    }

    #[test]
    fn words_that_git_would_take_for_something_else_are_refused() {
        for word in ["-x", "--upload-pack=x", "main:refs/heads/x", "a..b", "HEAD^", "@{u}", "a b", ""] {
            assert!(Reference::Branch(word.into()).judge().is_err(), "{word}");
        }
        assert!(Reference::Commit("abc".into(), None).judge().is_err());
        assert!(Reference::Name("main".into()).judge().is_err());
        assert!(Reference::Semver("new".into()).judge().is_err());
    }
}
