//! What every host promises.

use ports::git::{Error, Fake, Git, Mark, Place, PullRequest, PullRequestState, Verdict};

use crate::ground::{self, Ground, commit, files, here, key, proposal, wish};

/// What people do at a host, who do not use the trait.
pub trait Hands {
    /// Merges a pull request into a branch.
    async fn merge(&self, place: &Place, pull: &PullRequest, onto: &str);
}

/// All that a host promises, on a repository that is not there yet.
pub async fn holds(git: &impl Git, place: &Place, hands: &impl Hands) {
    assert_eq!(git.knock(&place.host).await, Ok(()));
    it_comes_once(git, place).await;
    keys_come_and_go(git, place).await;
    people_are_invited_once(git, place).await;
    files_are_committed(git, place).await;
    branches_begin_at_others(git, place).await;
    changes_are_proposed_and_taken(git, place, hands).await;
    proposals_are_withdrawn(git, place).await;
    commits_are_marked(git, place).await;
    what_cannot_be_is_refused(git, place).await;
    it_goes_and_stays_away(git, place).await;
}

async fn it_comes_once(git: &impl Git, place: &Place) {
    assert_eq!(git.look(place).await, Ok(None));
    git.create(place, &wish()).await.expect("it is made");
    let again = git.create(place, &wish()).await;
    assert!(matches!(again, Err(Error::Exists { .. })), "{again:?}");
    let seen = git.look(place).await.expect("it is looked at").expect("it is there");
    assert!(seen.empty);
    assert_eq!((seen.default_branch.as_str(), seen.description.as_str()), ("main", ground::MARK));
    assert_eq!((seen.visibility, seen.keys.len(), seen.people.len()), (wish().visibility, 0, 0));
    assert!(seen.clone_url.ends_with(&format!("/{}.git", place.path())), "{}", seen.clone_url);
    assert_eq!(git.read(place, "main", &[""]).await, Ok(None));
}

async fn keys_come_and_go(git: &impl Git, place: &Place) {
    let ((reads, reading), (writes, writing)) = (key(1, true), key(2, false));
    for wish in [&reads, &writes, &reads] {
        git.add_key(place, wish).await.expect("it is let in");
    }
    let other = ports::git::KeyWish { title: reads.title.clone(), ..key(3, true).0 };
    let taken = git.add_key(place, &other).await;
    assert!(matches!(taken, Err(Error::Exists { .. })), "{taken:?}");
    let seen = git.look(place).await.expect("it is looked at").expect("it is there").keys;
    let mut seen: Vec<_> = seen.into_iter().map(|key| (key.title, key.fingerprint, key.read_only)).collect();
    seen.sort();
    assert_eq!(seen, [("key-1".into(), reading.clone(), true), ("key-2".into(), writing.clone(), false)]);
    for fingerprint in [&reading, &reading] {
        git.drop_key(place, fingerprint).await.expect("it is let in no longer");
    }
    let seen = git.look(place).await.expect("it is looked at").expect("it is there").keys;
    assert_eq!(seen.iter().map(|key| &key.fingerprint).collect::<Vec<_>>(), [&writing]);
}

async fn people_are_invited_once(git: &impl Git, place: &Place) {
    for person in ["ann", "bob", "ann"] {
        git.invite(place, person).await.expect("they are invited");
    }
    let mut seen = git.look(place).await.expect("it is looked at").expect("it is there").people;
    seen.sort();
    assert_eq!(seen, ["ann", "bob"]);
}

async fn files_are_committed(git: &impl Git, place: &Place) {
    let missing = git.commit(place, &commit("side", Some("main"), &[("a", "1")])).await;
    assert!(matches!(missing, Err(Error::Missing { .. })), "{missing:?}");
    let begin = [("a", "1"), ("b/c.yaml", "2"), ("b/d/e f", "3"), ("bb", "4")];
    let first = git.commit(place, &commit("main", None, &begin)).await.expect("it is committed");
    let seen = git.look(place).await.expect("it is looked at").expect("it is there");
    assert!(!seen.empty);
    let same = git.commit(place, &commit("main", None, &[("a", "1"), ("gone", "")])).await;
    assert_eq!(same, Ok(first.clone()), "nothing would change");
    let all = git.read(place, "main", &[""]).await.expect("it is read").expect("there is a branch");
    assert_eq!((all.commit, all.files), (first.clone(), files(&begin)));
    let some = git.read(place, "main", &["b", "a", "nowhere"]).await.expect("it is read").expect("a branch");
    assert_eq!(some.files, files(&begin[..3]), "`bb` is not under `b`");
    assert_eq!(git.read(place, "other", &["a"]).await, Ok(None));
    let change = commit("main", None, &[("a", "9"), ("b/c.yaml", ""), ("\"ü\" *", "5")]);
    let second = git.commit(place, &change).await.expect("it is committed");
    assert_ne!(second, first);
    let all = git.read(place, "main", &[""]).await.expect("it is read").expect("there is a branch");
    assert_eq!(all.files, files(&[("a", "9"), ("b/d/e f", "3"), ("bb", "4"), ("\"ü\" *", "5")]));
}

async fn branches_begin_at_others(git: &impl Git, place: &Place) {
    let main = git.read(place, "main", &[]).await.expect("it is read").expect("there is a branch").commit;
    let same = git.commit(place, &commit("same", Some("main"), &[("a", "9")])).await;
    assert_eq!(same, Ok(main.clone()), "the branch begins, though nothing changes");
    assert_eq!(git.read(place, "same", &[]).await.map(|tree| tree.map(|tree| tree.commit)), Ok(Some(main)));
    let nowhere = git.commit(place, &commit("lost", None, &[("a", "1")])).await;
    assert!(matches!(nowhere, Err(Error::Missing { .. })), "{nowhere:?}");
    for _ in 0..2 {
        git.drop_branch(place, "same").await.expect("it is gone");
    }
    assert_eq!(git.read(place, "same", &[]).await, Ok(None));
}

async fn changes_are_proposed_and_taken(git: &impl Git, place: &Place, hands: &impl Hands) {
    assert_eq!(git.proposed(place, "change").await, Ok(None));
    assert_eq!(git.pull_request(place, 999).await, Ok(None));
    let wish = commit("change", Some("main"), &[("product", "1")]);
    let made = git.commit(place, &wish).await.expect("it is committed");
    let open = git.propose(place, &proposal("change", "main")).await.expect("it is proposed");
    assert_eq!((open.branch.as_str(), &open.commit, open.state), ("change", &made, PullRequestState::Open));
    assert_eq!(git.propose(place, &proposal("change", "main")).await, Ok(open.clone()));
    assert_eq!(git.proposed(place, "change").await, Ok(Some(open.clone())));
    let moved =
        git.commit(place, &commit("change", Some("main"), &[("product", "2")])).await.expect("it moves");
    let seen = git.pull_request(place, open.number).await.expect("it is told").expect("it is there");
    assert_eq!((seen.state, seen.commit), (PullRequestState::Open, moved));
    git.commit(place, &commit("main", None, &[("meanwhile", "1")])).await.expect("it is committed");
    hands.merge(place, &open, "main").await;
    let seen = git.pull_request(place, open.number).await.expect("it is told").expect("it is there");
    assert_eq!(seen.state, PullRequestState::Merged);
    let main =
        git.read(place, "main", &["product", "meanwhile"]).await.expect("it is read").expect("a branch");
    assert_eq!(main.files, files(&[("product", "2"), ("meanwhile", "1")]));
    let none = git.propose(place, &proposal("change", "main")).await;
    assert!(matches!(none, Err(Error::Refused { .. })), "{none:?}");
    git.drop_branch(place, "change").await.expect("it is gone");
    let seen = git.proposed(place, "change").await.expect("it is told").expect("it is there");
    assert_eq!((seen.number, seen.state), (open.number, PullRequestState::Merged));
}

async fn proposals_are_withdrawn(git: &impl Git, place: &Place) {
    git.commit(place, &commit("late", Some("main"), &[("late", "1")])).await.expect("it is committed");
    let open = git.propose(place, &proposal("late", "main")).await.expect("it is proposed");
    for _ in 0..2 {
        git.withdraw(place, open.number).await.expect("it is withdrawn");
    }
    let seen = git.proposed(place, "late").await.expect("it is told").expect("it is there");
    assert_eq!(seen.state, PullRequestState::Closed);
    let again = git.propose(place, &proposal("late", "main")).await.expect("it is proposed anew");
    assert_ne!(again.number, open.number);
    let newest = git.proposed(place, "late").await.expect("it is told").expect("it is there");
    assert_eq!(newest.number, again.number);
    git.drop_branch(place, "late").await.expect("it is gone");
    let missing = git.propose(place, &proposal("late", "main")).await;
    assert!(matches!(missing, Err(Error::Missing { .. } | Error::Refused { .. })), "{missing:?}");
}

async fn commits_are_marked(git: &impl Git, place: &Place) {
    let main = git.read(place, "main", &[]).await.expect("it is read").expect("there is a branch").commit;
    let mark = |context: &str, verdict, description: &str| Mark {
        context: context.to_owned(),
        verdict,
        description: description.to_owned(),
    };
    assert_eq!(git.mark(place, &main, "one").await, Ok(None));
    let pending = mark("one", Verdict::Pending, "it is looked at");
    let failure = mark("one", Verdict::Failure, "port is no number");
    let other = mark("two", Verdict::Success, "");
    for mark in [&pending, &other, &failure, &failure] {
        git.set_mark(place, &main, mark).await.expect("it is marked");
    }
    assert_eq!(git.mark(place, &main, "one").await, Ok(Some(failure)));
    assert_eq!(git.mark(place, &main, "two").await, Ok(Some(other)));
    let lost = git.set_mark(place, &"0".repeat(40), &pending).await;
    assert!(matches!(lost, Err(Error::Missing { .. } | Error::Refused { .. })), "{lost:?}");
}

async fn what_cannot_be_is_refused(git: &impl Git, place: &Place) {
    let named = |owner: &str, name: &str| Place { owner: owner.into(), name: name.into(), ..place.clone() };
    for odd in [named("..", "x"), named("a", "../x"), named("a", ".."), named("", "x"), named("a", "-x\n")] {
        let told = git.look(&odd).await;
        assert!(matches!(told, Err(Error::Invalid { .. })), "{told:?}");
        let told = git.delete(&odd).await;
        assert!(matches!(told, Err(Error::Invalid { .. })), "{told:?}");
    }
    for path in ["../x", "/etc/passwd", "a\\b", ".git/config", "a/../../x", "a//b", ""] {
        let told = git.commit(place, &commit("main", None, &[(path, "1")])).await;
        assert!(matches!(told, Err(Error::Invalid { .. })), "{path}: {told:?}");
    }
    for branch in ["--upload-pack=x", "a..b", "refs/heads/x", "x y", ""] {
        let told = git.read(place, branch, &["a"]).await;
        assert!(matches!(told, Err(Error::Invalid { .. })), "{branch}: {told:?}");
    }
    let told = git.drop_branch(place, "main").await;
    assert!(matches!(told, Err(Error::Refused { .. } | Error::Forbidden { .. })), "{told:?}");
    let lost = named("team", "lost");
    let told = git.add_key(&lost, &key(5, true).0).await;
    assert!(matches!(told, Err(Error::Missing { .. })), "{told:?}");
    let told = git.commit(&lost, &commit("main", None, &[("a", "1")])).await;
    assert!(matches!(told, Err(Error::Missing { .. })), "{told:?}");
}

async fn it_goes_and_stays_away(git: &impl Git, place: &Place) {
    for _ in 0..2 {
        git.delete(place).await.expect("it is gone");
    }
    assert_eq!(git.look(place).await, Ok(None));
    git.create(place, &wish()).await.expect("it is made anew");
    let seen = git.look(place).await.expect("it is looked at").expect("it is there");
    assert!(seen.empty && seen.keys.is_empty() && seen.people.is_empty(), "nothing is left of the old one");
}

impl Hands for Fake {
    async fn merge(&self, place: &Place, pull: &PullRequest, _: &str) {
        Fake::merge(self, place, pull.number).expect("it can be merged");
    }
}

impl Hands for Ground {
    async fn merge(&self, place: &Place, pull: &PullRequest, onto: &str) {
        let scratch = self.scratch();
        let clone =
            ground::cloned(scratch.path(), &self.url(place, &format!("ann:{}", ground::WRITER))).await;
        ground::good(&clone, &["checkout", "-q", onto]).await;
        ground::good(&clone, &["merge", "-q", "--no-ff", "-m", "merge", &format!("origin/{}", pull.branch)])
            .await;
        ground::good(&clone, &["push", "-q", "origin", onto]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fake_keeps_the_contract() {
    let fake = Fake::default();
    holds(&fake, &here("shop"), &fake).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn this_machine_keeps_the_contract() {
    let ground = Ground::new().await;
    holds(&ground.local, &here("shop"), &ground).await;
}
