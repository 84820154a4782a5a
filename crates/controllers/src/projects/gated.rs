//! Hosts and registries behind a gate that can break each call, for tests.

use bytes::Bytes;
use kit::testing::{Broken, Gate};
use ports::git::{
    self, CommitWish, Git, Host, KeyWish, Mark, Place, PullRequest, PullRequestWish, Repository, Tree, Wish,
};
use ports::oci::{self, Manifest, Oci, Registry};

/// Any port behind a gate.
#[derive(Clone)]
pub(super) struct Gated<P> {
    pub(super) port: P,
    pub(super) gate: Gate,
}

fn git_broken(host: &Host, broken: Broken) -> git::Error {
    git::Error::Unreachable { host: host.name().to_owned(), story: broken.to_string() }
}

fn oci_broken(registry: &Registry, broken: Broken) -> oci::Error {
    oci::Error::Unreachable { registry: registry.host.clone(), story: broken.to_string() }
}

impl<G: Git> Git for Gated<G> {
    async fn knock(&self, host: &Host) -> Result<(), git::Error> {
        let done = self.gate.read("git knock", self.port.knock(host)).await;
        done.map_err(|broken| git_broken(host, broken))?
    }

    async fn look(&self, place: &Place) -> Result<Option<Repository>, git::Error> {
        let done = self.gate.read("git look", self.port.look(place)).await;
        done.map_err(|broken| git_broken(&place.host, broken))?
    }

    async fn create(&self, place: &Place, wish: &Wish) -> Result<(), git::Error> {
        let done = self.gate.write("git create", self.port.create(place, wish)).await;
        done.map_err(|broken| git_broken(&place.host, broken))?
    }

    async fn delete(&self, place: &Place) -> Result<(), git::Error> {
        let done = self.gate.write("git delete", self.port.delete(place)).await;
        done.map_err(|broken| git_broken(&place.host, broken))?
    }

    async fn add_key(&self, place: &Place, key: &KeyWish) -> Result<(), git::Error> {
        let done = self.gate.write("git add_key", self.port.add_key(place, key)).await;
        done.map_err(|broken| git_broken(&place.host, broken))?
    }

    async fn drop_key(&self, place: &Place, fingerprint: &str) -> Result<(), git::Error> {
        let done = self.gate.write("git drop_key", self.port.drop_key(place, fingerprint)).await;
        done.map_err(|broken| git_broken(&place.host, broken))?
    }

    async fn invite(&self, place: &Place, person: &str) -> Result<(), git::Error> {
        let done = self.gate.write("git invite", self.port.invite(place, person)).await;
        done.map_err(|broken| git_broken(&place.host, broken))?
    }

    async fn read(&self, place: &Place, branch: &str, paths: &[&str]) -> Result<Option<Tree>, git::Error> {
        let done = self.gate.read("git read", self.port.read(place, branch, paths)).await;
        done.map_err(|broken| git_broken(&place.host, broken))?
    }

    async fn commit(&self, place: &Place, wish: &CommitWish) -> Result<String, git::Error> {
        let done = self.gate.write("git commit", self.port.commit(place, wish)).await;
        done.map_err(|broken| git_broken(&place.host, broken))?
    }

    async fn drop_branch(&self, place: &Place, branch: &str) -> Result<(), git::Error> {
        let done = self.gate.write("git drop_branch", self.port.drop_branch(place, branch)).await;
        done.map_err(|broken| git_broken(&place.host, broken))?
    }

    async fn propose(&self, place: &Place, wish: &PullRequestWish) -> Result<PullRequest, git::Error> {
        let done = self.gate.write("git propose", self.port.propose(place, wish)).await;
        done.map_err(|broken| git_broken(&place.host, broken))?
    }

    async fn proposed(&self, place: &Place, branch: &str) -> Result<Option<PullRequest>, git::Error> {
        let done = self.gate.read("git proposed", self.port.proposed(place, branch)).await;
        done.map_err(|broken| git_broken(&place.host, broken))?
    }

    async fn pull_request(&self, place: &Place, number: i64) -> Result<Option<PullRequest>, git::Error> {
        let done = self.gate.read("git pull_request", self.port.pull_request(place, number)).await;
        done.map_err(|broken| git_broken(&place.host, broken))?
    }

    async fn withdraw(&self, place: &Place, number: i64) -> Result<(), git::Error> {
        let done = self.gate.write("git withdraw", self.port.withdraw(place, number)).await;
        done.map_err(|broken| git_broken(&place.host, broken))?
    }

    async fn mark(&self, place: &Place, commit: &str, context: &str) -> Result<Option<Mark>, git::Error> {
        let done = self.gate.read("git mark", self.port.mark(place, commit, context)).await;
        done.map_err(|broken| git_broken(&place.host, broken))?
    }

    async fn set_mark(&self, place: &Place, commit: &str, mark: &Mark) -> Result<(), git::Error> {
        let done = self.gate.write("git set_mark", self.port.set_mark(place, commit, mark)).await;
        done.map_err(|broken| git_broken(&place.host, broken))?
    }
}

impl<O: Oci> Oci for Gated<O> {
    async fn knock(&self, registry: &Registry) -> Result<(), oci::Error> {
        let done = self.gate.read("registry knock", self.port.knock(registry)).await;
        done.map_err(|broken| oci_broken(registry, broken))?
    }

    async fn tags(&self, registry: &Registry, repository: &str) -> Result<Option<Vec<String>>, oci::Error> {
        let done = self.gate.read("registry tags", self.port.tags(registry, repository)).await;
        done.map_err(|broken| oci_broken(registry, broken))?
    }

    async fn manifest(
        &self,
        registry: &Registry,
        repository: &str,
        reference: &str,
    ) -> Result<Option<Manifest>, oci::Error> {
        let work = self.port.manifest(registry, repository, reference);
        let done = self.gate.read("registry manifest", work).await;
        done.map_err(|broken| oci_broken(registry, broken))?
    }

    async fn blob(
        &self,
        registry: &Registry,
        repository: &str,
        digest: &str,
        most: u64,
    ) -> Result<Bytes, oci::Error> {
        let done = self.gate.read("registry blob", self.port.blob(registry, repository, digest, most)).await;
        done.map_err(|broken| oci_broken(registry, broken))?
    }
}
