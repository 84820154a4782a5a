//! The file that a path of an address means. Pure.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// A path below the tree, without a segment that leads anywhere but down.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Below {
    pub(super) file: PathBuf,
    /// The address ended with a slash, and `file` is the page of that directory.
    pub(super) is_directory: bool,
}

/// None for everything that is no file of a visitor's: dotfiles, `..`, encoded slashes and zeros, broken encodings.
pub(super) fn below(path: &str) -> Option<Below> {
    let mut file = PathBuf::new();
    for segment in path.strip_prefix('/')?.split('/').filter(|segment| !segment.is_empty()) {
        let name = decoded(segment)?;
        if name.first() == Some(&b'.') || name.contains(&b'/') || name.contains(&0) {
            return None;
        }
        file.push(OsString::from_vec(name));
    }
    let is_directory = path.ends_with('/');
    if is_directory {
        file.push("index.html");
    }
    Some(Below { file, is_directory })
}

fn decoded(segment: &str) -> Option<Vec<u8>> {
    let mut bytes = segment.bytes();
    let mut name = Vec::with_capacity(segment.len());
    while let Some(byte) = bytes.next() {
        name.push(if byte == b'%' { hex(bytes.next()?)? << 4 | hex(bytes.next()?)? } else { byte });
    }
    Some(name)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_below_has_a_path() {
        let table = [
            ("/", Some("index.html")),
            ("/a.html", Some("a.html")),
            ("/a/", Some("a/index.html")),
            ("//a//b.css", Some("a/b.css")),
            ("/a%20b.txt", Some("a b.txt")),
            ("/%C3%BC.txt", Some("ü.txt")),
            ("/a..b", Some("a..b")),
            ("/..", None),
            ("/../etc/passwd", None),
            ("/a/../b", None),
            ("/%2e%2e/etc/passwd", None),
            ("/.%2e/x", None),
            ("/a%2f..%2fb", None),
            ("/.git/config", None),
            ("/a/.env", None),
            ("/%2Eenv", None),
            ("/a%00.html", None),
            ("/a%", None),
            ("/a%zz", None),
            ("/%+1", None),
            ("*", None),
            ("", None),
        ];
        for (path, want) in table {
            let got = below(path).map(|below| below.file);
            assert_eq!(got, want.map(PathBuf::from), "{path:?}");
        }
    }
}
