//! What can be pushed, and what cannot.

use std::io::Read;

use serde_json::json;

use crate::apps::archive::pack;
use crate::apps::files::{Bounds, File, Tree, check, tree};

const BOUNDS: Bounds = Bounds { files: 3, bytes: 10 };

fn file(path: &str, content: &str) -> File {
    serde_json::from_value(json!({ "path": path, "content": content })).expect("a file")
}

fn binary(path: &str, content: &str) -> File {
    serde_json::from_value(json!({ "path": path, "content": content, "encoding": "base64" })).expect("a file")
}

#[test]
fn paths_stay_inside() {
    let good =
        ["a", "a/b.txt", ".env.example", "a b/ü.txt", "...", "a/.github/x", "gitx/.gitignore", "C", "ab:c"];
    let wrong: Vec<&str> = good.into_iter().filter(|path| check(path).is_err()).collect();
    assert_eq!(wrong, Vec::<&str>::new());
    let long = "a".repeat(256);
    let deep = "a/".repeat(600) + "b";
    let table = [
        ("", "empty"),
        ("/etc/passwd", "relative"),
        ("~/x", "relative"),
        ("C:/x", "relative"),
        ("C:x", "relative"),
        ("..", ". or .."),
        ("../x", ". or .."),
        ("a/../b", ". or .."),
        ("./a", ". or .."),
        ("a/.", ". or .."),
        ("a//b", "empty"),
        ("a/", "ends it with /"),
        ("a\\b", "backslash"),
        ("a\0b", "control"),
        ("a\nb", "control"),
        ("a\u{202e}b", "invisible"),
        ("a\u{200b}", "invisible"),
        (".git/config", "reserved"),
        ("x/.git", "reserved"),
        (".GIT/hooks/pre-commit", "reserved"),
        (".git./x", "reserved"),
        (".svn/x", "reserved"),
        (&long, "255 bytes"),
        (&deep, "1024 bytes"),
    ];
    for (path, want) in table {
        let told = check(path).expect_err(path);
        assert!(told.contains(want), "{path:?}: {told}");
    }
}

#[test]
fn errors_name_the_path_and_the_limit() {
    let table = [
        (vec![], "invalid files: there is none; name at least one"),
        (
            vec![file("a", ""), file("b", ""), file("c", ""), file("d", "")],
            "invalid files: 4 are too many, 3 is the most; leave out what is not source",
        ),
        (vec![file("a", "1"), file("a", "2")], "invalid files: \"a\": it is there twice"),
        (
            vec![file("a/b", "1"), file("a", "2")],
            "invalid files: \"a\": it cannot be a file and a directory at once",
        ),
        (
            vec![file("a/b/c", "1"), file("a/b", "2")],
            "invalid files: \"a/b\": it cannot be a file and a directory at once",
        ),
        (
            vec![file("a", "123456"), file("b", "12345")],
            "invalid files: \"b\": with it the files have more than 10 bytes, the most for one push",
        ),
        (
            vec![binary("b", &"A".repeat(1000))],
            "invalid files: \"b\": with it the files have more than 10 bytes, the most for one push",
        ),
        (vec![binary("b", "not base64!")], "invalid files: \"b\": its content is no base64"),
        (vec![file("x/../../y", "")], "invalid files: \"x/../../y\": no part of a path is . or .."),
    ];
    for (files, want) in table {
        assert_eq!(tree(files, BOUNDS).expect_err(want).to_string(), want);
    }
    let full = tree(vec![file("a", "12345"), binary("b", "AAH/\n/w==")], BOUNDS).expect("fits");
    assert_eq!(full["b"], [0, 1, 255, 255]);
    assert!(tree(vec![file("a", "1234567890")], BOUNDS).is_ok(), "exactly so much fits");
}

#[test]
fn the_same_files_make_the_same_archive_in_any_order() {
    let files = || vec![file("b/run.sh", "#!/bin/sh\n"), file("a", "1")];
    let packed =
        |files| pack(&tree(files, Bounds { files: 9, bytes: 99 }).expect("a tree")).expect("is packed");
    let (one, two) = (packed(files()), packed(files().into_iter().rev().collect()));
    assert_eq!((one.digest.len(), &one.digest), (64, &two.digest));
    assert_ne!(one.digest, packed(vec![file("a", "1")]).digest);
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(one.archive.as_slice()));
    let mut found = Vec::new();
    for entry in archive.entries().expect("entries") {
        let mut entry = entry.expect("an entry");
        let mut content = String::new();
        entry.read_to_string(&mut content).expect("text");
        let header = entry.header();
        let owner = (header.uid().expect("one"), header.gid().expect("one"), header.mtime().expect("a time"));
        assert_eq!(owner, (0, 0, crate::apps::archive::CHANGED));
        found.push((
            entry.path().expect("a path").display().to_string(),
            header.mode().expect("a mode"),
            content,
        ));
    }
    assert_eq!(
        found,
        [("a".into(), 0o644, "1".into()), ("b/run.sh".into(), 0o755, "#!/bin/sh\n".to_owned())]
    );
}

#[test]
fn long_paths_are_packed_whole() {
    let path = format!("{}/{}", "d".repeat(200), "f".repeat(200));
    let packed = pack(&Tree::from([(path.clone(), b"x".to_vec())])).expect("is packed");
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(packed.archive.as_slice()));
    let first = archive.entries().expect("entries").next().expect("one").expect("an entry");
    assert_eq!(first.path().expect("a path").display().to_string(), path);
}
