//! Where source comes from, and what is used again.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::super::contract::over;
use super::super::{Builds as _, Error, Order, Progress, Source};
use super::bench::{Bench, order};

/// Runs git where a test keeps its repository; what it printed.
pub(super) fn git(repository: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(repository)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .expect("git is there");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Commits a page with this text; its commit.
pub(super) fn commit(repository: &Path, text: &str) -> String {
    std::fs::create_dir_all(repository.join("site")).expect("a directory");
    std::fs::write(repository.join("site/index.html"), text).expect("a file");
    git(repository, &["add", "."]);
    git(repository, &["commit", "-q", "-m", text]);
    git(repository, &["rev-parse", "HEAD"])
}

async fn done(bench: &Bench, order: &Order) -> (String, Option<String>) {
    bench.live.start(order.clone()).await.expect("it starts");
    match over(&bench.live, &order.id).await {
        Progress::Done { image, commit, .. } => (image, commit),
        other => panic!("{other:?}\n{}", bench.log(order)),
    }
}

async fn failed(bench: &Bench, order: &Order) -> String {
    bench.live.start(order.clone()).await.expect("it starts");
    match over(&bench.live, &order.id).await {
        Progress::Failed { message, .. } => message,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_repository_is_built_at_a_branch_a_tag_or_a_commit() {
    let bench = Bench::open().await;
    let repository = TempDir::new().expect("a directory");
    git(repository.path(), &["init", "-q", "."]);
    let first = commit(repository.path(), "one");
    git(repository.path(), &["tag", "-a", "v1", "-m", "first"]);
    let second = commit(repository.path(), "two");
    let url = format!("file://{}", repository.path().display());
    let table = [("main", &second), ("v1", &first), (first.as_str(), &first), (&first[..9], &first)];
    for (row, (revision, want)) in table.into_iter().enumerate() {
        let source = Source::Git { url: url.clone(), revision: revision.into() };
        let order = Order { sub_path: Some("./site".into()), ..order(&format!("row{row}"), source) };
        let (image, commit) = done(&bench, &order).await;
        assert_eq!(commit.as_ref(), Some(want), "{revision}");
        let image = bench.images.resolve(&image).await.expect("the store answers").expect("it is there");
        let page = std::fs::read_to_string(image.workdir.join("index.html")).expect("a page");
        assert_eq!(page, if want == &first { "one" } else { "two" });
    }
    bench.is_clean();
    assert_eq!(bench.live.head(&url, "main", None, None).await.expect("it answers"), Some(second));
    assert_eq!(bench.live.head(&url, "v1", None, None).await.expect("it answers"), Some(first));
    assert_eq!(bench.live.head(&url, "none", None, None).await.expect("it answers"), None);
    let third = commit(repository.path(), "three");
    assert_eq!(bench.live.head(&url, "main", None, None).await.expect("it answers"), Some(third));
    let gone =
        bench.live.head("file:///nowhere/at-all", "main", None, None).await.expect_err("it is not there");
    assert!(matches!(gone, Error::Remote { .. }), "{gone}");
    bench.is_clean();
}

#[tokio::test]
async fn a_source_that_cannot_be_had_is_told() {
    let bench = Bench::open().await;
    let repository = TempDir::new().expect("a directory");
    git(repository.path(), &["init", "-q", "."]);
    commit(repository.path(), "one");
    std::os::unix::fs::symlink("/etc", repository.path().join("away")).expect("a link");
    git(repository.path(), &["add", "."]);
    git(repository.path(), &["commit", "-q", "-m", "link"]);
    let url = format!("file://{}", repository.path().display());
    let repo = |url: &str, revision: &str| Source::Git { url: url.into(), revision: revision.into() };
    let blob = |url: &str| Source::Blob { url: url.into() };
    let other = format!("terrace-blob://other/{}", "a".repeat(64));
    let gone = format!("terrace-blob://shop/{}", "a".repeat(64));
    let table = [
        (repo(&url, "none"), None, "couldn't find remote ref none"),
        (repo("--upload-pack=x", "main"), None, "is no https, http or ssh address"),
        (repo(&url, "--output=x"), None, "is no name of a branch, tag or commit"),
        (repo(&url, "main"), Some("../.."), "the source has no directory `../..`"),
        (repo(&url, "main"), Some("away"), "the source has no directory `away`"),
        (repo(&url, "main"), None, "found nothing to build"),
        (blob(&other), None, "belongs to another namespace than `shop`"),
        (blob(&gone), None, "is not here (any more); upload it again"),
        (blob("file:///etc/passwd"), None, "is neither http, https nor an upload"),
    ];
    for (row, (source, sub_path, want)) in table.into_iter().enumerate() {
        let order = Order { sub_path: sub_path.map(str::to_owned), ..order(&format!("row{row}"), source) };
        let message = failed(&bench, &order).await;
        assert!(message.contains(want), "row {row}: {message}");
    }
    bench.is_clean();
}

#[tokio::test]
async fn the_same_source_is_built_once_per_application() {
    let bench = Bench::open().await;
    let package = r#"{"scripts":{"build":"echo made > made.txt","start":"true"}}"#;
    let first = bench.upload("app", &[("package.json", package)]);
    let (image, _) = done(&bench, &first).await;
    let runs = bench.processes.launched().len();
    assert_eq!(runs, 1);
    let again = Order { id: "shop.app.2".into(), number: 2, ..first.clone() };
    assert_eq!(done(&bench, &again).await.0, image);
    assert_eq!(bench.processes.launched().len(), runs, "nothing had to run");
    assert!(bench.log(&again).contains("used again"));
    let env = [("MODE".to_owned(), "x".to_owned())].into();
    let changed = Order { id: "shop.app.3".into(), number: 3, env, ..first.clone() };
    assert_eq!(done(&bench, &changed).await.0, image, "the same image, because it holds the same");
    assert_eq!(
        bench.processes.launched().len(),
        runs + 1,
        "it was built, because the build saw something else"
    );
    let elsewhere = Order { id: "shop.other.1".into(), name: "other".into(), ..first };
    done(&bench, &elsewhere).await;
    assert_eq!(bench.processes.launched().len(), runs + 2, "another application trusts only its own builds");
    bench.live.clear("shop", "app").await.expect("it can be cleared");
    assert!(!bench.live.log("shop", "app", 1).exists());
}

#[tokio::test]
async fn images_are_verified_and_collected_when_nobody_refers_to_them() {
    let bench = Bench::open().await;
    let (one, _) = done(&bench, &bench.upload("one", &[("index.html", "one")])).await;
    let (two, _) = done(&bench, &bench.upload("two", &[("index.html", "two")])).await;
    let young = bench.images.collect(vec![], std::time::Duration::from_secs(60)).await.expect("it sweeps");
    assert!(young.is_empty(), "what was just made may not be referred to yet");
    let removed =
        bench.images.collect(vec![one.clone()], std::time::Duration::ZERO).await.expect("it sweeps");
    assert!(matches!(removed.as_slice(), [hex] if two.ends_with(hex.as_str())));
    assert_eq!(bench.images.resolve(&two).await.expect("the store answers"), None);
    let image = bench.images.resolve(&one).await.expect("the store answers").expect("it is there");
    let fresh = super::super::Images::open(bench.shared.path(), vec![]).expect("a store");
    let page = image.workdir.join("index.html");
    std::fs::set_permissions(&page, std::os::unix::fs::PermissionsExt::from_mode(0o644)).expect("a mode");
    std::fs::write(&page, "changed").expect("the owner of the disk can do everything");
    let damaged = fresh.resolve(&one).await.expect_err("it is not what it was");
    assert!(damaged.to_string().contains("is damaged"), "{damaged}");
    for odd in ["nginx:1.27", "x@sha256:../../etc", "x@sha256:", ""] {
        assert_eq!(fresh.resolve(odd).await.expect("the store answers"), None, "{odd}");
    }
}
