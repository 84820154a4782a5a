use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Duration;

use tempfile::TempDir;

use super::*;

/// How long anything may take on the busiest machine before it counts as never.
const DEADLINE: Duration = Duration::from_secs(20);

async fn told(source: &mut FileSource) -> String {
    match tokio::time::timeout(DEADLINE, source.next()).await.expect("something changed") {
        Ok(text) => text.open().to_owned(),
        Err(error) => format!("error: {error}"),
    }
}

fn quiet(source: &mut FileSource) -> bool {
    futures::FutureExt::now_or_never(source.next()).is_none()
}

/// A Secret as the kubelet lays it out.
struct Mount {
    dir: TempDir,
    count: u32,
}

impl Mount {
    fn new(text: &str) -> Self {
        let mut mount = Self { dir: tempfile::tempdir().expect("a directory"), count: 0 };
        mount.swap(text);
        symlink("..data/dsn", mount.path()).expect("a link");
        mount
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("dsn")
    }

    fn swap(&mut self, text: &str) {
        self.count += 1;
        let name = format!("..{}", self.count);
        let fresh = self.dir.path().join(&name);
        fs::create_dir(&fresh).expect("a directory");
        fs::write(fresh.join("dsn"), text).expect("a file");
        symlink(&name, self.dir.path().join("..data_tmp")).expect("a link");
        fs::rename(self.dir.path().join("..data_tmp"), self.dir.path().join("..data"))
            .expect("it is swapped");
        let old = self.dir.path().join(format!("..{}", self.count - 1));
        if old.exists() {
            fs::remove_dir_all(old).expect("the old one goes");
        }
    }
}

#[tokio::test]
async fn a_swapped_link_is_seen_each_time() {
    let mut mount = Mount::new("one");
    let mut source = FileSource::open(mount.path()).expect("a watch");
    assert_eq!(told(&mut source).await, "one");
    for round in 0..50 {
        mount.swap(&format!("round {round}"));
        assert_eq!(told(&mut source).await, format!("round {round}"));
    }
    mount.swap("round 49");
    assert!(quiet(&mut source), "the same text is no change");
}

#[tokio::test]
async fn a_file_may_be_renamed_over_written_into_or_linked_from_elsewhere() {
    let dir = tempfile::tempdir().expect("a directory");
    let (path, next) = (dir.path().join("dsn"), dir.path().join("next"));
    fs::write(&path, "one").expect("a file");
    fs::create_dir(dir.path().join("app")).expect("a directory");
    symlink("../dsn", dir.path().join("app/link")).expect("a link");
    let mut source = FileSource::open(dir.path().join("app/link")).expect("a watch");
    assert_eq!(told(&mut source).await, "one");
    fs::write(&next, "two").expect("a file");
    assert!(quiet(&mut source), "another file is no change");
    fs::rename(&next, &path).expect("it is renamed");
    assert_eq!(told(&mut source).await, "two");
    let file = fs::OpenOptions::new().write(true).open(&path).expect("a file");
    io::Write::write_all(&mut &file, b"TWO").expect("it is written");
    assert!(quiet(&mut source), "a text is read when its writer has closed it");
    drop(file);
    assert_eq!(told(&mut source).await, "TWO");
    fs::write(dir.path().join("app/other"), "three").expect("a file");
    symlink("other", dir.path().join("app/fresh")).expect("a link");
    fs::rename(dir.path().join("app/fresh"), dir.path().join("app/link")).expect("the link is swapped");
    assert_eq!(told(&mut source).await, "three");
}

#[tokio::test]
async fn a_file_may_come_late_and_go_for_a_while() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("a/b/dsn");
    let mut source = FileSource::open(&path).expect("a watch");
    assert!(told(&mut source).await.starts_with("error: file `"));
    assert!(quiet(&mut source), "one error is told once");
    fs::create_dir_all(dir.path().join("fresh/b")).expect("directories");
    fs::write(dir.path().join("fresh/b/dsn"), "one").expect("a file");
    fs::rename(dir.path().join("fresh"), dir.path().join("a")).expect("it comes");
    assert_eq!(told(&mut source).await, "one");
    fs::remove_dir_all(dir.path().join("a")).expect("it goes");
    assert!(told(&mut source).await.contains("No such file"));
    fs::create_dir_all(dir.path().join("a/b")).expect("directories");
    fs::write(dir.path().join("next"), "two").expect("a file");
    fs::rename(dir.path().join("next"), &path).expect("it is back");
    assert_eq!(told(&mut source).await, "two");
}

#[tokio::test]
async fn a_file_is_read_when_its_writer_is_done_and_a_pipe_or_a_long_file_never() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("dsn");
    let mut source = FileSource::open(&path).expect("a watch");
    assert!(told(&mut source).await.contains("No such file"));
    let file = fs::File::create(&path).expect("a file");
    assert!(quiet(&mut source), "somebody is about to write");
    io::Write::write_all(&mut &file, b"one").expect("it is written");
    drop(file);
    assert_eq!(told(&mut source).await, "one");
    let replace = |with: &Path| fs::rename(with, &path).expect("it is renamed");
    let next = dir.path().join("next");
    nix::unistd::mkfifo(&next, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    replace(&next);
    assert!(told(&mut source).await.ends_with("it is no file"));
    fs::write(&next, "x".repeat(64 * 1024 + 1)).expect("a file");
    replace(&next);
    assert!(told(&mut source).await.ends_with("it is too long for a connection string"));
    fs::write(&next, [0xff]).expect("a file");
    replace(&next);
    assert!(told(&mut source).await.contains("utf-8"));
    fs::write(&next, " \n").expect("a file");
    replace(&next);
    assert!(told(&mut source).await.ends_with("it is empty"));
}
