//! What both must do: real git on a repository of this machine, and memory.

use std::process::Command;
use std::time::Duration;

use kit::Name;

use super::*;

struct Stage<S> {
    sources: S,
    url: String,
    push: Box<dyn Fn(&str) -> String>,
    _place: tempfile::TempDir,
}

fn git(path: &std::path::Path, words: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"])
        .args(words)
        .current_dir(path)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .expect("git runs");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn live() -> Stage<Live> {
    let place = tempfile::TempDir::new().expect("a directory");
    let work = place.path().join("work");
    std::fs::create_dir(&work).expect("a directory");
    git(&work, &["init", "-q"]);
    let url = format!("file://{}", work.display());
    let push = move |text: &str| {
        std::fs::write(work.join("a.yaml"), text).expect("a file");
        std::fs::write(work.join("a.png"), text).expect("a file");
        std::fs::write(work.join("b.txt"), text).expect("a file");
        std::fs::write(work.join(".sourceignore"), "b.txt\n").expect("a file");
        git(&work, &["add", "-A"]);
        git(&work, &["commit", "-q", "-m", "m"]);
        git(&work, &["rev-parse", "HEAD"])
    };
    let sources = Live::new(place.path().join("artifacts"), true, Bounds::default());
    Stage { sources, url, push: Box::new(push), _place: place }
}

fn order(url: &str) -> Order {
    Order {
        name: Name::new("team", "shop"),
        url: url.to_owned(),
        reference: Reference::Branch("main".into()),
        login: None,
        ignore: None,
        timeout: Duration::from_secs(20),
    }
}

async fn holds<S: Sources>(stage: &Stage<S>) {
    let order = order(&stage.url);
    assert_eq!(stage.sources.held(&order.name).await, Ok(None));
    let first = (stage.push)("one");
    let head = stage.sources.head(&order).await.expect("it has one");
    assert_eq!(head.revision, format!("main@sha1:{first}"));
    stage.sources.fetch(&order, &head).await.expect("it is fetched");
    let held = stage.sources.held(&order.name).await.expect("it can be looked at").expect("it is there");
    assert_eq!(held.revision, head.revision);
    stage.sources.fetch(&order, &head).await.expect("it is fetched again");
    assert_eq!(stage.sources.held(&order.name).await, Ok(Some(held.clone())));
    let second = (stage.push)("two");
    let head = stage.sources.head(&order).await.expect("it has one");
    assert_eq!(head.revision, format!("main@sha1:{second}"));
    stage.sources.fetch(&order, &head).await.expect("it is fetched");
    let next = stage.sources.held(&order.name).await.expect("it can be looked at").expect("it is there");
    assert_ne!((&next.revision, &next.digest), (&held.revision, &held.digest));
    let nowhere = Order { url: format!("{}-not", stage.url), ..order.clone() };
    assert!(matches!(stage.sources.head(&nowhere).await, Err(Error::Git { .. })));
    let odd = Order { reference: Reference::Branch("--x".into()), ..order.clone() };
    assert!(matches!(stage.sources.head(&odd).await, Err(Error::Invalid(_))));
    stage.sources.remove(&order.name).await.expect("it is removed");
    stage.sources.remove(&order.name).await.expect("it is removed already");
    assert_eq!(stage.sources.held(&order.name).await, Ok(None));
}

#[tokio::test]
async fn memory_keeps_the_contract() {
    let fake = std::sync::Arc::new(Fake::default());
    struct Shared(std::sync::Arc<Fake>);
    impl Sources for Shared {
        async fn head(&self, order: &Order) -> Result<Head, Error> {
            self.0.head(order).await
        }
        async fn fetch(&self, order: &Order, head: &Head) -> Result<(), Error> {
            self.0.fetch(order, head).await
        }
        async fn held(&self, name: &Name) -> Result<Option<Fetched>, Error> {
            self.0.held(name).await
        }
        async fn remove(&self, name: &Name) -> Result<(), Error> {
            self.0.remove(name).await
        }
    }
    let pushed = fake.clone();
    let push = move |text: &str| {
        let commit = if text == "one" { "1" } else { "2" }.repeat(40);
        pushed.push("https://git.example/team/shop.git", &commit);
        commit
    };
    let place = tempfile::TempDir::new().expect("a directory");
    let url = "https://git.example/team/shop.git".into();
    holds(&Stage { sources: Shared(fake), url, push: Box::new(push), _place: place }).await;
}

#[tokio::test]
async fn git_keeps_the_contract() {
    holds(&live()).await;
}

#[tokio::test]
async fn git_leaves_out_what_is_ignored_and_keeps_one_tree() {
    let stage = live();
    let order = order(&stage.url);
    for text in ["one", "two"] {
        (stage.push)(text);
        let head = stage.sources.head(&order).await.expect("it has one");
        stage.sources.fetch(&order, &head).await.expect("it is fetched");
    }
    let held = stage.sources.held(&order.name).await.expect("it can be looked at").expect("it is there");
    let mut names: Vec<_> = std::fs::read_dir(&held.path)
        .expect("a directory")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, [".sourceignore", "a.yaml"]);
    let home = held.path.parent().and_then(std::path::Path::parent).expect("it lies in a home");
    assert_eq!(std::fs::read_dir(home).expect("a directory").count(), 2, "the tree and the link");
}

#[tokio::test]
async fn what_is_too_large_is_refused_and_what_was_there_stays() {
    let mut stage = live();
    let order = order(&stage.url);
    (stage.push)("one");
    let head = stage.sources.head(&order).await.expect("it has one");
    stage.sources.fetch(&order, &head).await.expect("it is fetched");
    let held = stage.sources.held(&order.name).await.expect("it can be looked at").expect("it is there");
    stage.sources =
        Live::new(stage._place.path().join("artifacts"), true, Bounds { bytes: 1 << 20, files: 1 });
    (stage.push)("two");
    let head = stage.sources.head(&order).await.expect("it has one");
    let told = stage.sources.fetch(&order, &head).await;
    assert!(matches!(&told, Err(Error::TooLarge { what, .. }) if what == "more than 1 files"), "{told:?}");
    assert_eq!(stage.sources.held(&order.name).await, Ok(Some(held)));
}
