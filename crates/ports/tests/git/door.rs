//! The door as people and programs use it: with git.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use ports::git::{Git, PullRequestState};

use crate::ground::{
    Ground, READER, STRANGER, WRITER, cloned, commit, files, git, good, here, key, password, proposal, push,
    wish,
};

#[tokio::test(flavor = "multi_thread")]
async fn who_may_push_pushes_and_those_who_follow_are_told() {
    let (ground, place) = (Ground::new().await, here("shop"));
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let note = told.clone();
    ground.local.on_push(move |path| note.lock().push(path.to_owned()));
    ground.local.create(&place, &wish()).await.expect("it is made");
    let scratch = ground.scratch();
    let clone = cloned(scratch.path(), &ground.url(&place, &format!("ann:{WRITER}"))).await;
    good(&clone, &["checkout", "-q", "-B", "main"]).await;
    assert!(push(&clone, "a", "1").await.0);
    let seen = ground.local.read(&place, "main", &[""]).await.expect("it is read").expect("a branch");
    assert_eq!(seen.files, files(&[("a", "1")]));
    assert_eq!(*told.lock(), ["team/shop"]);

    // What is committed here is fetched there, by each version of the protocol.
    for version in ["0", "1", "2"] {
        let wish = commit("main", None, &[("b", version)]);
        ground.local.commit(&place, &wish).await.expect("it is committed");
        good(&clone, &["-c", &format!("protocol.version={version}"), "pull", "-q", "--rebase"]).await;
        assert_eq!(std::fs::read_to_string(clone.join("b")).expect("it is there"), version);
    }
    assert_eq!(told.lock().len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn logins_open_what_they_are_for() {
    let (ground, place, other) = (Ground::new().await, here("shop"), here("other"));
    for place in [&place, &other] {
        ground.local.create(place, &wish()).await.expect("it is made");
        ground.local.commit(place, &commit("main", None, &[("a", "1")])).await.expect("it is begun");
    }
    for (number, read_only) in [(1, true), (2, false)] {
        ground.local.add_key(&place, &key(number, read_only).0).await.expect("it is let in");
    }
    ground.local.add_key(&other, &key(3, false).0).await.expect("it is let in");
    let deploy = |number| format!("deploy-key:{}", password(number));
    let table = [
        (deploy(1), true, "403"),
        (deploy(2), true, ""),
        (deploy(3), false, "Authentication failed"),
        (deploy(9), false, "Authentication failed"),
        (format!("ann:{WRITER}"), true, ""),
        (format!("ann:{READER}"), true, "403"),
        (format!("ann:{STRANGER}"), false, "not found"),
        ("ann:wrong".to_owned(), false, "Authentication failed"),
        (format!("deploy-key:{WRITER}"), false, "Authentication failed"),
        (format!("ann:{}", password(2)), false, "Authentication failed"),
        ("ann:unsure".to_owned(), false, "503"),
    ];
    for (row, (login, reads, refusal)) in table.into_iter().enumerate() {
        let (scratch, url) = (ground.scratch(), ground.url(&place, &login));
        let (good, words) = git(scratch.path(), &["clone", "-q", &url, "clone"]).await;
        assert_eq!(good, reads, "row {row}: {words}");
        let (pushed, words) = match reads {
            true => push(&scratch.path().join("clone"), &format!("row-{row}"), "x").await,
            false => (good, words),
        };
        assert_eq!(pushed, refusal.is_empty(), "row {row}: {words}");
        assert!(words.contains(refusal), "row {row}: {words}");
    }
    ground.local.drop_key(&place, &key(2, false).1).await.expect("it is let in no longer");
    let url = ground.url(&place, &deploy(2));
    assert!(
        !git(ground.scratch().path(), &["ls-remote", &url]).await.0,
        "a key that was dropped opens nothing"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn large_pushes_come_in_pieces() {
    let (ground, place) = (Ground::new().await, here("shop"));
    ground.local.create(&place, &wish()).await.expect("it is made");
    let scratch = ground.scratch();
    let clone = cloned(scratch.path(), &ground.url(&place, &format!("ann:{WRITER}"))).await;
    good(&clone, &["checkout", "-q", "-B", "main"]).await;
    // Numbers that nothing packs, more than git sends at once: it must use chunks.
    let mut number = 1_u64;
    let noise: String = std::iter::repeat_with(|| {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("{number:016x}")
    })
    .take(400_000)
    .collect();
    let (pushed, words) = push(&clone, "noise", &noise).await;
    assert!(pushed, "{words}");
    let seen = ground.local.read(&place, "main", &["noise"]).await.expect("it is read").expect("a branch");
    assert!(seen.files["noise"] == noise.as_bytes());
    // Many branches make a question that git packs.
    for number in 0..150 {
        good(&clone, &["branch", &format!("side-{number}")]).await;
    }
    good(&clone, &["push", "-q", "--all"]).await;
    let second = ground.scratch();
    let again = cloned(second.path(), &ground.url(&place, &format!("ann:{READER}"))).await;
    assert_eq!(std::fs::read_to_string(again.join("noise")).expect("it is there").len(), noise.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn squashed_and_rebased_changes_count_as_taken() {
    let (ground, place) = (Ground::new().await, here("shop"));
    ground.local.create(&place, &wish()).await.expect("it is made");
    ground.local.commit(&place, &commit("main", None, &[("a", "1"), ("b", "1")])).await.expect("it is begun");
    for (branch, way) in [("one", "--squash"), ("two", "cherry"), ("three", "--ff-only")] {
        let local = &ground.local;
        local.commit(&place, &commit(branch, Some("main"), &[(branch, "1")])).await.expect("it is committed");
        local.commit(&place, &commit(branch, None, &[("b", branch)])).await.expect("it is committed");
        let open = local.propose(&place, &proposal(branch, "main")).await.expect("it is proposed");
        if branch != "three" {
            local.commit(&place, &commit("main", None, &[("a", branch)])).await.expect("it is committed");
        }
        let scratch = ground.scratch();
        let clone = cloned(scratch.path(), &ground.url(&place, &format!("ann:{WRITER}"))).await;
        let from = format!("origin/{branch}");
        match way {
            "cherry" => good(&clone, &["cherry-pick", &format!("{from}~2..{from}")]).await,
            way => good(&clone, &["merge", "-q", way, &from]).await,
        };
        let _ = git(&clone, &["commit", "-q", "-m", "squashed"]).await;
        good(&clone, &["push", "-q", "origin", "main"]).await;
        // GitHub deletes the branch at once; so may people here.
        good(&clone, &["push", "-q", "origin", &format!(":{branch}")]).await;
        let seen = local.pull_request(&place, open.number).await.expect("it is told").expect("it is there");
        assert_eq!(seen.state, PullRequestState::Merged, "{way}");
    }
    let local = &ground.local;
    local.commit(&place, &commit("lost", Some("main"), &[("lost", "1")])).await.expect("it is committed");
    let open = local.propose(&place, &proposal("lost", "main")).await.expect("it is proposed");
    local.drop_branch(&place, "lost").await.expect("it is gone");
    let seen = local.pull_request(&place, open.number).await.expect("it is told").expect("it is there");
    assert_eq!(seen.state, PullRequestState::Closed);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_crash_left_is_cleared_and_what_was_there_is_found() {
    let (ground, place) = (Ground::new().await, here("shop"));
    ground.local.create(&place, &wish()).await.expect("it is made");
    ground.local.commit(&place, &commit("main", None, &[("a", "1")])).await.expect("it is begun");
    ground.local.add_key(&place, &key(1, true).0).await.expect("it is let in");
    let root = ground.home.path().join("git");
    std::fs::create_dir_all(root.join(".workshop/left/objects")).expect("a crash");
    let again = ports::git::local::Local::open(root.clone(), "http://x/git").expect("it is opened");
    assert!(!root.join(".workshop/left").exists());
    let seen = again.look(&place).await.expect("it is looked at").expect("it is there");
    assert_eq!((seen.description.as_str(), seen.keys.len(), seen.empty), (crate::ground::MARK, 1, false));
    assert_eq!(seen.clone_url, "http://x/git/team/shop.git");
    // Branches that git packed away are seen, too.
    good(&root.join("team/shop.git"), &["pack-refs", "--all"]).await;
    assert_eq!(
        again.read(&place, "main", &["a"]).await.expect("it is read").expect("a branch").files.len(),
        1
    );
    assert!(!again.look(&place).await.expect("it is looked at").expect("it is there").empty);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_commits_at_once_are_all_there_in_the_end() {
    let (ground, place) = (Ground::new().await, here("shop"));
    ground.local.create(&place, &wish()).await.expect("it is made");
    ground.local.commit(&place, &commit("main", None, &[("a", "1")])).await.expect("it is begun");
    let done = Arc::new(AtomicUsize::new(0));
    let all = (0..12).map(|number| {
        let (local, place, done) = (ground.local.clone(), place.clone(), done.clone());
        tokio::spawn(async move {
            let file = format!("file-{number}");
            local.commit(&place, &commit("main", None, &[(&file, "1")])).await.expect("it is committed");
            local.add_key(&place, &key(number, true).0).await.expect("it is let in");
            done.fetch_add(1, Ordering::Relaxed);
        })
    });
    futures::future::join_all(all).await;
    assert_eq!(done.load(Ordering::Relaxed), 12);
    let seen = ground.local.read(&place, "main", &[""]).await.expect("it is read").expect("a branch");
    assert_eq!(seen.files.len(), 13);
    assert_eq!(ground.local.look(&place).await.expect("looked at").expect("it is there").keys.len(), 12);
}
