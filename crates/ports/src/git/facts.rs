//! What is asked of hosts, and what they tell.

use std::collections::BTreeMap;

use api::projects::{GitProvider, Visibility};
use api::secret::Sealed;

/// A host, and who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Whose API it speaks.
    pub provider: GitProvider,
    /// Its name, with a port where it has one; none for the provider's public one and for this machine.
    pub domain: Option<String>,
    /// Whether it may be spoken to without TLS.
    pub insecure: bool,
    /// Name of the login, where the host wants one.
    pub username: Option<String>,
    /// Token or password of the login. This machine needs none.
    pub token: Option<Sealed<String>>,
}

impl Host {
    /// What it is called in messages: its domain, the provider's public one, or this machine.
    pub fn name(&self) -> &str {
        let public = match self.provider {
            GitProvider::Github => "github.com",
            GitProvider::Gitlab => "gitlab.com",
            GitProvider::Gitea => "gitea.com",
            GitProvider::Local => "this machine",
        };
        self.domain.as_deref().filter(|_| self.provider != GitProvider::Local).unwrap_or(public)
    }
}

/// A repository at a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The host.
    pub host: Host,
    /// Organization, group or person whose it is.
    pub owner: String,
    /// Whether the owner is an organization.
    pub organization: bool,
    /// Its name.
    pub name: String,
}

impl Place {
    /// Owner and name: `team/shop`.
    pub fn path(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }
}

/// How a repository is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Who can see it.
    pub visibility: Visibility,
    /// Its main branch.
    pub default_branch: String,
    /// What it says of itself; by this we know it again.
    pub description: String,
}

/// What is known of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// Where people clone it from.
    pub clone_url: String,
    /// Where Flux and other programs with the deploy key fetch it from: `ssh://git@host/owner/name.git`, or over HTTP
    /// where the host is this machine.
    pub deploy_url: String,
    /// Keys of the host for ssh, as lines of a `known_hosts` file; empty where it is not spoken to over ssh.
    pub known_hosts: String,
    /// Its main branch, as the host has it.
    pub default_branch: String,
    /// Whether nothing was ever committed.
    pub empty: bool,
    /// What it says of itself.
    pub description: String,
    /// Who can see it.
    pub visibility: Visibility,
    /// Its deploy keys.
    pub keys: Vec<Key>,
    /// Who may maintain it, those included who were invited and have not answered.
    pub people: Vec<String>,
}

/// A deploy key that is let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its title.
    pub title: String,
    /// Its fingerprint: `SHA256:…`.
    pub fingerprint: String,
    /// Whether it may only read.
    pub read_only: bool,
}

/// A deploy key that is to be let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyWish {
    /// Its title.
    pub title: String,
    /// Its public half, as one line of OpenSSH: `ssh-ed25519 AAAA…`.
    pub public: String,
    /// Where the host is this machine: hex SHA-256 of the password that goes with the key, as git over HTTP has no keys.
    pub password_digest: Option<String>,
    /// Whether it may only read.
    pub read_only: bool,
}

/// Files of a branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// Commit that the branch is at.
    pub commit: String,
    /// The files that were asked for and are there, by path.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// What is to be committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitWish {
    /// Branch that is committed to.
    pub branch: String,
    /// Branch that it begins at where it does not exist; none begins an empty repository.
    pub from: Option<String>,
    /// Files to write by path, or to remove.
    pub files: BTreeMap<String, Option<Vec<u8>>>,
    /// Name of the author.
    pub author: String,
    /// Address of the author.
    pub email: String,
    /// Message of the commit.
    pub message: String,
}

/// A pull request that is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequestWish {
    /// Branch with the changes.
    pub branch: String,
    /// Branch that they go to.
    pub onto: String,
    /// Its title.
    pub title: String,
    /// Its text.
    pub body: String,
}

/// A pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequest {
    /// Its number at the host.
    pub number: i64,
    /// Where people read it.
    pub url: String,
    /// Branch with the changes.
    pub branch: String,
    /// Commit that this branch is at.
    pub commit: String,
    /// How it stands.
    pub state: PullRequestState,
}

/// How a pull request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PullRequestState {
    /// It waits.
    Open,
    /// Its changes were taken.
    Merged,
    /// Its changes were not taken.
    Closed,
}

/// A mark on a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// What was judged: one mark for each.
    pub context: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Why, in a few words.
    pub description: String,
}

/// A verdict on a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is being looked at.
    Pending,
    /// It is good.
    Success,
    /// It is not.
    Failure,
}
