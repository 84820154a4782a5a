//! Archives that somebody made on purpose.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;

use super::check::{Action, Checker, Entry, Kind};
use super::*;

fn file(path: &str) -> Entry<'_> {
    Entry { path: path.as_bytes(), kind: Kind::File, bytes: 10, mode: 0o644 }
}

fn directory(path: &str) -> Entry<'_> {
    Entry { kind: Kind::Directory, ..file(path) }
}

fn link<'a>(path: &'a str, target: &'a str) -> Entry<'a> {
    Entry { kind: Kind::SymbolicLink(target.as_bytes()), ..file(path) }
}

fn hard<'a>(path: &'a str, target: &'a str) -> Entry<'a> {
    Entry { kind: Kind::HardLink(target.as_bytes()), ..file(path) }
}

/// The answer to the last of these entries, where those before it passed.
fn told(entries: &[Entry<'_>]) -> String {
    let mut checker = Checker::new(100, 8);
    let mut last = String::new();
    for entry in entries {
        last = match checker.judge(entry) {
            Ok(Action::Skip) => "skip".into(),
            Ok(Action::MakeDirectory(path)) => format!("directory {path}"),
            Ok(Action::WriteFile { path, executable }) => {
                format!("{} {path}", if executable { "program" } else { "file" })
            }
            Ok(Action::MakeLink { path, target }) => format!("link {path} -> {target}"),
            Ok(Action::CopyFile { path, from }) => format!("copy {path} = {from}"),
            Err(why) => format!("refused: {why}"),
        };
    }
    last
}

#[test]
fn every_entry_has_its_judgement() {
    let long = "n".repeat(256);
    let deep = "a/".repeat(600) + "f";
    let pipe = Entry { kind: Kind::Other("a named pipe"), ..file("pipe") };
    let latin = Entry { path: b"caf\xe9", ..file("") };
    let large = Entry { bytes: 101, ..file("large") };
    let setuid = Entry { mode: 0o4755, ..file("su") };
    let table: Vec<(Vec<Entry<'_>>, &str)> = vec![
        (vec![directory("./")], "skip"),
        (vec![file("./a//b/./c")], "file a/b/c"),
        (vec![setuid], "program su"),
        (vec![directory("a"), directory("a/")], "directory a"),
        (vec![file("../a")], "refused: entry `../a` has `..` in its path"),
        (vec![file("a/../../b")], "refused: entry `a/../../b` has `..` in its path"),
        (vec![file("/etc/passwd")], "refused: entry `/etc/passwd` has an absolute path"),
        (vec![file("")], "refused: entry `` has no name"),
        (vec![file("a"), file("a")], "refused: entry `a` is there twice"),
        (vec![file("a"), file("./a")], "refused: entry `./a` is there twice"),
        (vec![file("a"), directory("a")], "refused: entry `a` is there twice"),
        (vec![directory("a"), link("a", "b")], "refused: entry `a` is there twice"),
        (vec![file("a/b"), link("a", "b")], "refused: entry `a` is there twice"),
        (vec![file("a"), file("a/b")], "refused: entry `a/b` lies below `a`, which is a file"),
        (vec![link("a", "b"), file("a/c")], "refused: entry `a/c` lies behind the link `a`"),
        (vec![link("a/l", "../b")], "link a/l -> ../b"),
        (vec![link("a/l", "../../b")], "refused: entry `a/l` is a link out of the tree, to `../../b`"),
        (vec![link("l", "..")], "refused: entry `l` is a link out of the tree, to `..`"),
        (
            vec![link("l", "a/../../b")],
            "refused: entry `l` is a link with `..` behind a name, to `a/../../b`",
        ),
        (vec![link("l", "/etc")], "refused: entry `l` is a link to the absolute path `/etc`"),
        (
            vec![link("l", "")],
            "refused: entry `l` is a link to a name that is empty, too long or has a zero byte",
        ),
        (vec![file("a"), hard("b", "a")], "copy b = a"),
        (vec![hard("b", "a")], "refused: entry `b` is a hard link to `a`, no file before it"),
        (vec![hard("b", "/etc/passwd")], "refused: entry `b` is a link to a name that has an absolute path"),
        (vec![hard("b", "../a")], "refused: entry `b` is a link to a name that has `..` in its path"),
        (vec![link("a", "b"), hard("c", "a")], "refused: entry `c` is a hard link to `a`, no file before it"),
        (vec![pipe], "refused: entry `pipe` is a named pipe; only files, directories and links are taken"),
        (vec![latin], "refused: entry `caf\u{fffd}` has a name that is not UTF-8"),
        (vec![large], "refused: entry `large` makes the source larger than 100 bytes"),
        (
            vec![file("a/b/c/d/e/f/g/h/i")],
            "refused: entry `a/b/c/d/e/f/g/h/i` is one too many; at most 8 files and directories are taken",
        ),
        (vec![file("a\0b")], "refused: entry `a\\0b` has a zero byte in its name"),
    ];
    for (row, (entries, want)) in table.into_iter().enumerate() {
        assert_eq!(told(&entries), want, "row {row}");
    }
    assert!(told(&[file(&long)]).ends_with("has a name longer than 255 bytes"));
    assert!(told(&[file(&deep)]).ends_with("has a path longer than 1024 bytes"));
}

/// A header by hand: the crate refuses to write what we have to refuse to read.
fn raw(path: &[u8], kind: u8, link: &[u8], body: &[u8]) -> Vec<u8> {
    let mut block = vec![0u8; 512];
    block[..path.len()].copy_from_slice(path);
    block[100..107].copy_from_slice(b"0004755");
    block[108..115].copy_from_slice(b"0000000");
    block[116..123].copy_from_slice(b"0000000");
    block[124..135].copy_from_slice(format!("{:011o}", body.len()).as_bytes());
    block[136..147].copy_from_slice(b"00000000000");
    block[156] = kind;
    block[157..157 + link.len()].copy_from_slice(link);
    block[257..265].copy_from_slice(b"ustar\x0000");
    block[148..156].copy_from_slice(b"        ");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    block.extend_from_slice(body);
    block.resize(block.len().next_multiple_of(512), 0);
    block
}

fn archive(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = entries.concat();
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory takes everything");
    encoder.finish().expect("memory takes everything")
}

/// Unpacks and says what came of it; a refused archive leaves nothing.
fn unpacked(bytes: &[u8], limits: &Limits) -> (TempDir, Result<(), String>) {
    let place = TempDir::new().expect("a temporary directory");
    let path = place.path().join("source");
    fs::write(&path, bytes).expect("a temporary file");
    let to = place.path().join("tree");
    let result = unpack(&path, &to, limits);
    assert_eq!(to.exists(), result.is_ok(), "{result:?}");
    (place, result)
}

#[test]
fn a_good_archive_is_there_without_its_special_bits() {
    let entries = [
        raw(b"./", b'5', b"", b""),
        raw(b"bin/run", b'0', b"", b"#!/bin/sh\n"),
        raw(b"bin/go", b'2', b"run", b""),
        raw(b"copy", b'1', b"bin/run", b""),
        raw(b"././@LongLink", b'L', b"", &[b"d/".repeat(60), b"deep\0".to_vec()].concat()),
        raw(b"cut", b'0', b"", b"long"),
        raw(b"x", b'x', b"", b"17 path=pax/name\n"),
        raw(b"cut", b'0', b"", b"pax"),
        raw(b"g", b'g', b"", b"16 comment=abcd\n"),
    ];
    for bytes in [archive(&entries), gzip(&archive(&entries))] {
        let (place, result) = unpacked(&bytes, &Limits::default());
        assert_eq!(result, Ok(()));
        let tree = place.path().join("tree");
        let run = fs::metadata(tree.join("bin/run")).expect("it was unpacked");
        assert_eq!(run.permissions().mode() & 0o7777, 0o755);
        assert_eq!(run.nlink(), 1, "a hard link is a copy, so nothing is changed through another name");
        assert_eq!(fs::read_to_string(tree.join("bin/go")).expect("the link holds"), "#!/bin/sh\n");
        assert_eq!(fs::read_to_string(tree.join("copy")).expect("it was copied"), "#!/bin/sh\n");
        assert_eq!(fs::read_to_string(tree.join("d/".repeat(60) + "deep")).expect("long name"), "long");
        assert_eq!(fs::read_to_string(tree.join("pax/name")).expect("extended name"), "pax");
    }
}

#[test]
fn a_hostile_archive_is_refused_and_leaves_nothing() {
    let small = Limits { source_bytes: 1 << 20, source_files: 50, ..Limits::default() };
    let many: Vec<Vec<u8>> = (0..60).map(|n| raw(format!("f{n}").as_bytes(), b'0', b"", b"")).collect();
    let bomb = gzip(&archive(&[raw(b"zeros", b'0', b"", &vec![0; 8 << 20])]));
    assert!(bomb.len() < 64 << 10, "a bomb is small: {}", bomb.len());
    let padding: Vec<Vec<u8>> = (0..1400).map(|_| raw(b"g", b'g', b"", b"16 comment=abcd\n")).collect();
    let table: Vec<(Vec<u8>, &str)> = vec![
        (
            archive(&[raw(b"ok", b'0', b"", b"x"), raw(b"../up", b'0', b"", b"x")]),
            "`../up` has `..` in its path",
        ),
        (archive(&[raw(b"/tmp/abs", b'0', b"", b"x")]), "`/tmp/abs` has an absolute path"),
        (
            archive(&[raw(b"l", b'2', b"/tmp", b""), raw(b"l/x", b'0', b"", b"x")]),
            "`l` is a link to the absolute",
        ),
        (
            archive(&[raw(b"d/l", b'2', b"..", b""), raw(b"d/l/x", b'0', b"", b"x")]),
            "lies behind the link `d/l`",
        ),
        (
            archive(&[raw(b"h", b'1', b"/etc/passwd", b"")]),
            "`h` is a link to a name that has an absolute path",
        ),
        (archive(&[raw(b"null", b'3', b"", b"")]), "`null` is a device"),
        (archive(&[raw(b"disk", b'4', b"", b"")]), "`disk` is a device"),
        (archive(&[raw(b"pipe", b'6', b"", b"")]), "`pipe` is a named pipe"),
        (archive(&[raw(b"holes", b'S', b"", b"")]), "sparse"),
        (archive(&[raw(b"odd", b'9', b"", b"")]), "`odd` is of an unknown kind"),
        (archive(&[raw(b"\xff\xfe", b'0', b"", b"")]), "has a name that is not UTF-8"),
        (archive(&[raw(b"a", b'0', b"", b""), raw(b"a", b'0', b"", b"")]), "`a` is there twice"),
        (
            archive(&[raw(b"x", b'x', b"", b"14 path=../up\n"), raw(b"a", b'0', b"", b"")]),
            "has `..` in its path",
        ),
        (archive(&[raw(b"x", b'x', b"", b"99 path=a\n")]), "broken extended header"),
        (archive(&[raw(b"x", b'x', b"", b"9 size=9\n"), raw(b"a", b'0', b"", b"")]), "8 GiB or more"),
        (archive(&[raw(b"n", b'L', b"", &vec![b'n'; 70 << 10])]), "header longer than"),
        (archive(&many), "at most 50 files and directories"),
        (archive(&[raw(b"big", b'0', b"", &vec![1; 2 << 20])]), "larger than 1048576 bytes"),
        (archive(&padding), "more than the size allowed"),
        (bomb, "larger than 1048576 bytes"),
        (archive(&[raw(b"cut", b'0', b"", b"0123456789")])[..516].to_vec(), "ends in the middle of a file"),
        (b"PK\x03\x04 and so on".to_vec(), "it is a zip file; only tar and tar.gz are taken"),
        (vec![b'x'; 2048], "no intact tar or tar.gz archive"),
        (b"\x1f\x8bnot gzip at all".to_vec(), "no intact tar or tar.gz archive"),
    ];
    for (row, (bytes, want)) in table.into_iter().enumerate() {
        let (_place, result) = unpacked(&bytes, &small);
        let why = result.expect_err("it is refused");
        assert!(why.starts_with("the archive was refused: "), "row {row}: {why}");
        assert!(why.contains(want), "row {row}: {why}");
    }
}
