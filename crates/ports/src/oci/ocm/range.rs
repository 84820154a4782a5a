//! Ranges of versions, as subscriptions write them: those of Masterminds' semver, in which a bare version is itself alone.

use semver::{Version, VersionReq};

use super::super::Error;

/// A range of versions: any of some alternatives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range(Vec<VersionReq>);

impl Range {
    /// Reads one: `>=1.2.0 <2`, `~1.2`, `1.x || 3.0.0`, `1.0 - 2.0`. Nothing is every version that is no pre-release.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let alternatives: Option<Vec<VersionReq>> = text.split("||").map(alternative).collect();
        let unreadable = || {
            let shown: String = text.chars().take(80).flat_map(char::escape_debug).collect();
            Error::Invalid {
                what: format!("`{shown}` is no range of versions; write it like `>=1.0.0 <2.0.0`"),
            }
        };
        alternatives.map(Self).ok_or_else(unreadable)
    }

    /// Whether a version is in it.
    pub fn holds(&self, version: &Version) -> bool {
        self.0.iter().any(|alternative| alternative.matches(version))
    }
}

/// A version with or without a leading `v`; one with fewer than three numbers is none.
pub(super) fn parsed(version: &str) -> Option<Version> {
    Version::parse(version.strip_prefix('v').unwrap_or(version)).ok()
}

/// What must hold together.
fn alternative(text: &str) -> Option<VersionReq> {
    let text = text.replace(',', " ");
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut parts = Vec::new();
    let mut rest = words.as_slice();
    loop {
        rest = match rest {
            [] => break,
            [low, "-", high, more @ ..] => {
                parts.extend([format!(">={}", bare(low)), format!("<={}", bare(high))]);
                more
            }
            [operator, version, more @ ..] if operator.trim_matches(['<', '>', '=', '^', '~']).is_empty() => {
                parts.push(format!("{operator}{}", bare(version)));
                more
            }
            [word, more @ ..] => {
                parts.push(one(word));
                more
            }
        };
    }
    if parts.is_empty() {
        return Some(VersionReq::STAR);
    }
    VersionReq::parse(&parts.join(", ")).ok()
}

/// One word. A bare version is not its whole family, as it is for cargo.
fn one(word: &str) -> String {
    let version = word.trim_start_matches(['<', '>', '=', '^', '~']);
    let operator = &word[..word.len() - version.len()];
    let version = bare(version);
    let family = version.ends_with(['x', 'X', '*']);
    match operator {
        "" if family => version.to_owned(),
        "" => format!("={version}"),
        _ => format!("{operator}{version}"),
    }
}

fn bare(version: &str) -> &str {
    version.strip_prefix('v').unwrap_or(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_hold_what_subscriptions_mean() {
        let all = ["0.9.0", "1.0.0", "1.2.0", "1.2.9", "1.9.0", "2.0.0", "2.1.0-rc.1", "3.0.0"];
        let table = [
            (">=1.2.0 <2", "1.2.0 1.2.9 1.9.0"),
            (">= v1.2.0, < 2.0.0", "1.2.0 1.2.9 1.9.0"),
            ("1.2.0", "1.2.0"),
            ("v1.2.0", "1.2.0"),
            ("1.2", "1.2.0 1.2.9"),
            ("~1.2", "1.2.0 1.2.9"),
            ("^1.2.0", "1.2.0 1.2.9 1.9.0"),
            ("1.x || 3.0.0", "1.0.0 1.2.0 1.2.9 1.9.0 3.0.0"),
            ("1.0.0 - 1.2.0", "1.0.0 1.2.0"),
            ("", "0.9.0 1.0.0 1.2.0 1.2.9 1.9.0 2.0.0 3.0.0"),
            (">=2.1.0-rc.0", "2.1.0-rc.1 3.0.0"),
        ];
        for (range, want) in table {
            let range = Range::parse(range).unwrap_or_else(|error| panic!("{error}"));
            let held = |version: &&&str| range.holds(&parsed(version).expect("a version"));
            let held: Vec<&str> = all.iter().filter(held).copied().collect();
            assert_eq!(held.join(" "), want, "{range:?}");
        }
        for bad in ["newest", ">=", "1.0.0 -", "!=1.0.0", "1.2.3.4"] {
            assert!(Range::parse(bad).is_err(), "{bad}");
        }
    }
}
