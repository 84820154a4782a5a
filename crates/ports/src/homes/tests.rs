//! What both kinds of homes keep.

use std::path::PathBuf;

use super::{Error, Fake, Home, Homes, Live};

async fn contract(homes: &impl Homes) {
    let home = |path: &str| Home {
        uid: "u-1".into(),
        files: [(PathBuf::from(path), b"held".to_vec().into())].into(),
        directories: vec!["data".into()],
        ..Home::default()
    };
    assert!(matches!(homes.prepare(home("../out")).await, Err(Error::Outside(_))));
    assert!(matches!(homes.prepare(home("/etc/x")).await, Err(Error::Outside(_))));
    for _ in 0..2 {
        homes.prepare(home("conf/key")).await.expect("a file inside can be written, and written again");
        homes.turn_log("ns", "pod", "app").await.expect("there may be no log yet");
    }
    assert_eq!(homes.list().await.expect("it can be listed"), ["u-1"]);
    assert_eq!(homes.list_logs().await.expect("it can be listed"), [("ns".to_owned(), "pod".to_owned())]);
    for _ in 0..2 {
        homes.remove("u-1").await.expect("a directory that is gone is gone");
        homes.remove_logs("ns", "pod").await.expect("logs that are gone are gone");
    }
    assert!(homes.list().await.expect("it can be listed").is_empty());
    assert!(homes.list_logs().await.expect("it can be listed").is_empty());
}

#[tokio::test]
async fn a_home_is_made_and_removed_and_nothing_outside_is_touched() {
    contract(&Fake::default()).await;
    let place = tempfile::tempdir().expect("a temporary directory");
    contract(&Live::new(place.path().join("pods"), place.path().join("logs"))).await;
}

#[tokio::test]
async fn the_log_of_the_run_before_is_kept() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let homes = Live::new(place.path().join("pods"), place.path().join("logs"));
    homes.turn_log("ns", "pod", "app").await.expect("there may be no log yet");
    let log = homes.log("ns", "pod", "app");
    std::fs::write(&log, "first").expect("the directory is there");
    homes.turn_log("ns", "pod", "app").await.expect("it can be renamed");
    let before = std::fs::read_to_string(log.with_file_name("app.previous.log")).expect("it was kept");
    assert_eq!(before, "first");
    assert!(!log.exists());
}
