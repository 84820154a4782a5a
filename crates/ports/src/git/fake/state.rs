//! What the hosts hold.

use std::collections::{BTreeMap, BTreeSet};

use api::projects::{GitProvider, Visibility};

use super::super::{
    Error, Host, Key, KeyWish, Mark, Place, PullRequestState, PullRequestWish, Repository, Wish,
};
use super::Files;

/// All hosts.
#[derive(Default)]
pub(super) struct State {
    /// By host, owner and name.
    pub(super) repositories: BTreeMap<String, Repo>,
    /// The token that a host lets in; any, where there is none.
    pub(super) tokens: BTreeMap<String, String>,
    /// Hosts that answer with an error.
    pub(super) broken: BTreeMap<String, Error>,
    pub(super) calls: Vec<String>,
    pub(super) writes: usize,
}

/// A repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Repo {
    pub(super) description: String,
    pub(super) visibility: Visibility,
    pub(super) default_branch: String,
    /// By fingerprint, in the order of their coming.
    pub(super) keys: Vec<(String, KeyWish)>,
    pub(super) people: BTreeSet<String>,
    pub(super) branches: BTreeMap<String, String>,
    pub(super) commits: BTreeMap<String, Commit>,
    pub(super) pulls: BTreeMap<i64, Pull>,
    pub(super) marks: BTreeMap<(String, String), Mark>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Commit {
    pub(super) parents: Vec<String>,
    pub(super) files: Files,
    pub(super) message: String,
    pub(super) author: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pull {
    pub(super) number: i64,
    pub(super) wish: PullRequestWish,
    pub(super) state: PullRequestState,
    /// What the branch was at when it was last seen.
    pub(super) commit: String,
}

impl State {
    pub(super) fn key(place: &Place) -> String {
        format!("{} {}", place.host.name(), place.path())
    }

    /// Whether a host answers, and lets in who asks.
    pub(super) fn admits(&self, host: &Host) -> Result<(), Error> {
        if let Some(error) = self.broken.get(host.name()) {
            return Err(error.clone());
        }
        let given = host.token.as_ref().map(|token| token.open().as_str());
        let wanted = self.tokens.get(host.name()).map(String::as_str);
        let nobody = given.is_none() && host.provider != GitProvider::Local;
        match nobody || wanted.is_some_and(|wanted| given != Some(wanted)) {
            true => Err(Error::Denied { host: host.name().to_owned(), story: "Bad credentials".to_owned() }),
            false => Ok(()),
        }
    }

    pub(super) fn find(&self, place: &Place) -> Option<&Repo> {
        self.repositories.get(&Self::key(place))
    }

    pub(super) fn repository(&mut self, place: &Place) -> Result<&mut Repo, Error> {
        let missing = || missing(place, format!("repository {}", place.path()));
        self.repositories.get_mut(&Self::key(place)).ok_or_else(missing)
    }

    pub(super) fn create(&mut self, place: &Place, wish: &Wish) -> Result<(), Error> {
        if self.find(place).is_some() {
            let what = format!("repository {}", place.path());
            return Err(Error::Exists { host: place.host.name().to_owned(), what });
        }
        self.repositories.insert(Self::key(place), Repo::new(wish));
        Ok(())
    }
}

impl Repo {
    pub(super) fn new(wish: &Wish) -> Self {
        let Wish { visibility, default_branch, description } = wish.clone();
        Self {
            description,
            visibility,
            default_branch,
            keys: Vec::new(),
            people: BTreeSet::new(),
            branches: BTreeMap::new(),
            commits: BTreeMap::new(),
            pulls: BTreeMap::new(),
            marks: BTreeMap::new(),
        }
    }

    pub(super) fn seen(&self, place: &Place) -> Repository {
        let (host, path) = (place.host.name(), place.path());
        let local = place.host.provider == GitProvider::Local;
        let http = format!("http://127.0.0.1/git/{path}.git");
        Repository {
            clone_url: if local { http.clone() } else { format!("https://{host}/{path}.git") },
            deploy_url: if local { http } else { format!("ssh://git@{host}/{path}.git") },
            known_hosts: if local { String::new() } else { format!("{host} ssh-ed25519 AAAA\n") },
            default_branch: self.default_branch.clone(),
            empty: self.branches.is_empty(),
            description: self.description.clone(),
            visibility: self.visibility,
            keys: self.keys(),
            people: self.people.iter().cloned().collect(),
        }
    }

    pub(super) fn keys(&self) -> Vec<Key> {
        let key = |(fingerprint, wish): &(String, KeyWish)| Key {
            title: wish.title.clone(),
            fingerprint: fingerprint.clone(),
            read_only: wish.read_only,
        };
        self.keys.iter().map(key).collect()
    }

    pub(super) fn add_key(&mut self, place: &Place, key: &KeyWish, fingerprint: String) -> Result<(), Error> {
        if self.keys.iter().any(|(held, wish)| *held == fingerprint && wish == key) {
            return Ok(());
        }
        if self.keys.iter().any(|(held, wish)| *held == fingerprint || wish.title == key.title) {
            let what = format!("deploy key `{}` of {}", key.title, place.path());
            return Err(Error::Exists { host: place.host.name().to_owned(), what });
        }
        self.keys.push((fingerprint, key.clone()));
        Ok(())
    }
}

pub(super) fn missing(place: &Place, what: String) -> Error {
    Error::Missing { host: place.host.name().to_owned(), what }
}
