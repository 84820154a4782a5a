use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use futures::FutureExt as _;
use tempfile::TempDir;
use tokio_util::sync::DropGuard;

use super::*;
use crate::claims::config::Maker;

/// How long anything may take on the busiest machine before it counts as never.
const DEADLINE: Duration = Duration::from_secs(20);

const GOOD: &str = "region: one\n";
const BETTER: &str = "region: two\natlas: {host: a}\n";
const BAD: &str = "region: three\natlas:\n  port: 0\n  username=root\n";

/// A book that is read while its file is changed.
struct Reader {
    book: Book,
    changes: watch::Receiver<Arc<Page>>,
    _end: DropGuard,
}

impl Reader {
    async fn open(file: &Path) -> Self {
        let stop = CancellationToken::new();
        let book = Book::open(file.to_owned(), stop.clone()).await.expect("it can be read");
        Self { changes: book.changes(), book, _end: stop.drop_guard() }
    }

    /// The page in a line.
    fn told(&self) -> String {
        let page = self.book.page();
        let region = page.config.region.as_deref().unwrap_or("nowhere");
        let problem = page.problem.as_deref().map(|problem| format!("; {problem}")).unwrap_or_default();
        format!("{region}{problem}")
    }

    async fn next(&mut self) -> String {
        tokio::time::timeout(DEADLINE, self.changes.changed()).await.expect("it turns").expect("it is open");
        self.told()
    }
}

/// Puts a text in place of a file.
fn put(file: &Path, text: impl AsRef<[u8]>) {
    let next = file.with_extension("next");
    fs::write(&next, text).expect("a file");
    fs::rename(next, file).expect("it is renamed");
}

fn place() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("config.yaml");
    (dir, file)
}

async fn refused(file: &Path) -> String {
    match Book::open(file.to_owned(), CancellationToken::new()).await {
        Ok(_) => panic!("{} was taken", file.display()),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn a_bad_text_leaves_the_last_good_one_in_force_until_a_good_one_comes() {
    let (_dir, file) = place();
    let name = file.display();
    put(&file, GOOD);
    let mut reader = Reader::open(&file).await;
    assert_eq!(reader.told(), "one");
    put(&file, BAD);
    let missing = format!("one; {name}:4: `username=root` has no colon; write `username: root`");
    assert_eq!(reader.next().await, missing);
    put(&file, BAD.replace('=', ": ").replace("three", "[]"));
    let both = format!(
        "one; {name}:1: `region` is a list; write a word\n{name}:3: `port` is `0`; write a port between 1 and 65535"
    );
    assert_eq!(reader.next().await, both, "every mistake is told");
    put(&file, BETTER);
    assert_eq!(reader.next().await, "two");
    assert_eq!(reader.book.page().config.fragments.len(), 1);
    put(&file, b"region: x\n\xff");
    assert_eq!(reader.next().await, format!("two; {name}:2: this is not UTF-8; write text"));
    put(&file, "");
    assert_eq!(
        reader.next().await,
        format!("two; {name}:1: the file is empty; write `{{}}` if defaults are meant")
    );
    put(&file, "{}");
    assert_eq!(reader.next().await, "nowhere");
}

#[tokio::test]
async fn swapped_links_written_files_and_renamed_ones_are_read() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    let mount = |round: u32| {
        let fresh = format!("..{round}");
        fs::create_dir(at(&fresh)).expect("a directory");
        fs::write(at(&fresh).join("config.yaml"), format!("region: round-{round}\n")).expect("a file");
        symlink(&fresh, at("..data_tmp")).expect("a link");
        fs::rename(at("..data_tmp"), at("..data")).expect("it is swapped");
        if round > 0 {
            fs::remove_dir_all(at(&format!("..{}", round - 1))).expect("the old one goes");
        }
    };
    mount(0);
    symlink("..data/config.yaml", at("config.yaml")).expect("a link");
    let mut reader = Reader::open(&at("config.yaml")).await;
    assert_eq!(reader.told(), "round-0");
    for round in 1..20 {
        mount(round);
        assert_eq!(reader.next().await, format!("round-{round}"));
    }
    put(&at("config.yaml"), GOOD);
    assert_eq!(reader.next().await, "one", "a file in place of the link");
    fs::write(at("config.yaml"), BETTER).expect("it is written");
    assert_eq!(reader.next().await, "two", "the same file, written into");
}

#[tokio::test]
async fn a_file_that_vanishes_leaves_what_it_said_and_may_return() {
    let (_dir, file) = place();
    put(&file, GOOD);
    let mut reader = Reader::open(&file).await;
    fs::remove_file(&file).expect("it goes");
    assert_eq!(reader.next().await, format!("one; {}: the file is gone; put it back", file.display()));
    assert!(!reader.book.page().config.anything_goes);
    put(&file, GOOD);
    assert_eq!(reader.next().await, "one");
    fs::remove_file(&file).expect("it goes");
    assert!(reader.next().await.contains("is gone"));
    fs::write(&file, BETTER).expect("it is back, and not by a rename");
    assert_eq!(reader.next().await, "two");
}

#[tokio::test]
async fn until_the_file_comes_everything_is_as_without_one() {
    let (dir, _) = place();
    let file = dir.path().join("later/config.yaml");
    let mut reader = Reader::open(&file).await;
    let none = Page { config: Arc::new(Config::unconfigured()), problem: None };
    assert_eq!(*reader.book.page(), none);
    fs::create_dir(dir.path().join("fresh")).expect("a directory");
    fs::write(dir.path().join("fresh/config.yaml"), BAD).expect("a file");
    fs::rename(dir.path().join("fresh"), dir.path().join("later")).expect("it comes");
    assert!(reader.next().await.starts_with("nowhere; "));
    assert!(reader.book.page().config.anything_goes, "a bad text is not in force");
    fs::remove_file(&file).expect("it goes");
    assert_eq!(reader.next().await, "nowhere");
    assert_eq!(*reader.book.page(), none);
    put(&file, GOOD);
    assert_eq!(reader.next().await, "one");
    assert_eq!(reader.book.page().config.maker, Maker::CloudDatabaseClaim);
}

#[tokio::test]
async fn a_first_file_that_is_bad_is_refused() {
    let (dir, file) = place();
    let name = file.display().to_string();
    put(&file, BAD);
    assert_eq!(
        refused(&file).await,
        format!("{name}:4: `username=root` has no colon; write `username: root`")
    );
    put(&file, "");
    assert!(refused(&file).await.starts_with(&format!("{name}:1: the file is empty")));
    let large = format!("{GOOD}#{}", "x".repeat(1024 * 1024 - GOOD.len() - 1));
    put(&file, format!("{large}x"));
    assert_eq!(refused(&file).await, format!("{name}: it has more than 1048576 bytes"));
    put(&file, large);
    assert_eq!(Reader::open(&file).await.told(), "one", "a MiB is not too much");
    assert_eq!(refused(dir.path()).await, format!("{}: it is no file", dir.path().display()));
}

#[tokio::test]
async fn the_same_configuration_in_other_words_turns_no_page() {
    let (_dir, file) = place();
    put(&file, GOOD);
    let mut reader = Reader::open(&file).await;
    let other = reader.book.clone();
    put(&file, "# The same.\nregion: 'one'\n");
    put(&file, BETTER);
    assert_eq!(reader.next().await, "two");
    assert!(reader.changes.changed().now_or_never().is_none(), "that was all");
    assert_eq!(other.page(), reader.book.page(), "a clone is the same book");
}

#[tokio::test]
async fn a_fixed_book_has_one_page_and_a_stopped_one_turns_no_more() {
    let fixed = Book::fixed(Config::unconfigured());
    assert_eq!(*fixed.page(), Page { config: Arc::new(Config::unconfigured()), problem: None });
    assert!(fixed.changes().changed().now_or_never().is_none());
    let (_dir, file) = place();
    put(&file, GOOD);
    let mut reading = Reading { file: file.clone(), watch: FileWatch::open(&file).expect("a watch") };
    let read = reading.read().expect("it is good").expect("it is there");
    let book = Book::fixed(read);
    let stop = CancellationToken::new();
    let task = tokio::spawn(reading.follow(book.pages.clone(), stop.clone()));
    stop.cancel();
    tokio::time::timeout(DEADLINE, task).await.expect("it ends").expect("in peace");
    put(&file, BETTER);
    assert_eq!(book.page().config.region.as_deref(), Some("one"));
}
