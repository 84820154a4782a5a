//! Traefik's language for which requests a route means: ``Host(`a`) && (PathPrefix(`/x`) || Path(`/y`))``.
//!
//! A rule is read into the requests that it means: alternatives, each with at most one host and one path.

#[cfg(test)]
mod tests;
mod words;

use std::collections::BTreeSet;

use words::{Word, Words};

/// How deep parentheses may lie within each other; people write one or two.
const DEPTH_MAX: usize = 16;
/// How many alternatives a rule may come to; `&&` multiplies them.
const ALTERNATIVES_MAX: usize = 256;

/// Which requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::local::route) struct Requests {
    /// Of this host, in lower case; empty for any.
    pub(in crate::local::route) host: String,
    /// Of this path and those below it, without a slash at its end; empty for any.
    pub(in crate::local::route) path: String,
    /// Of nothing below the path, which is then as it was written.
    pub(in crate::local::route) exact: bool,
}

/// Reads a rule. The error says what is wrong with it, or what is not known here.
pub(in crate::local::route) fn parse(rule: &str) -> Result<Vec<Requests>, String> {
    let mut parser = Parser { words: Words::new(rule), depth: 0 };
    let meant = parser.any()?;
    match parser.words.next()? {
        None if meant.is_empty() => Err("no request can meet it".into()),
        None => Ok(meant),
        Some(word) => Err(format!("{word} is not expected")),
    }
}

/// A host as hosts are compared: in lower case, without a dot at its end.
pub(in crate::local::route) fn host(name: &str) -> Option<String> {
    let name = name.strip_suffix('.').unwrap_or(name);
    let bare = name.strip_prefix("*.").unwrap_or(name);
    let lawful = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:[]".contains(&byte);
    (!bare.is_empty() && name.len() <= 255 && bare.bytes().all(lawful)).then(|| name.to_ascii_lowercase())
}

/// A path as paths are compared: without a slash at its end, unless it is meant to the letter.
pub(in crate::local::route) fn path(path: &str, exact: bool) -> Option<String> {
    let kept = if exact { path } else { path.trim_end_matches('/') };
    path.starts_with('/').then(|| kept.to_owned())
}

struct Parser<'a> {
    words: Words<'a>,
    depth: usize,
}

impl Parser<'_> {
    /// `all || all || …`
    fn any(&mut self) -> Result<Vec<Requests>, String> {
        let mut meant = self.all()?;
        while self.words.take(&Word::Or)? {
            meant.extend(self.all()?);
            if meant.len() > ALTERNATIVES_MAX {
                return Err(too_many());
            }
        }
        meant.sort();
        meant.dedup();
        Ok(meant)
    }

    /// `one && one && …`
    fn all(&mut self) -> Result<Vec<Requests>, String> {
        let mut meant = self.one()?;
        while self.words.take(&Word::And)? {
            let more = self.one()?;
            if meant.len() * more.len() > ALTERNATIVES_MAX {
                return Err(too_many());
            }
            let pairs = meant.iter().flat_map(|left| more.iter().map(move |right| (left, right)));
            let met: BTreeSet<Requests> = pairs.filter_map(|(left, right)| both(left, right)).collect();
            meant = met.into_iter().collect();
        }
        Ok(meant)
    }

    /// A matcher, or a rule in parentheses.
    fn one(&mut self) -> Result<Vec<Requests>, String> {
        match self.words.next()? {
            Some(Word::Open) => {
                self.depth += 1;
                if self.depth > DEPTH_MAX {
                    return Err(format!("parentheses lie deeper than {DEPTH_MAX}"));
                }
                let meant = self.any()?;
                self.depth -= 1;
                self.expect(&Word::Close)?;
                Ok(meant)
            }
            Some(Word::Name(name)) => {
                let values = self.values()?;
                matcher(name, &values)
            }
            Some(Word::Not) => Err("`!` is not known here".into()),
            Some(word) => Err(format!("{word} is not expected")),
            None => Err("it ends too early".into()),
        }
    }

    /// ``(`one`, `two`)``
    fn values(&mut self) -> Result<Vec<String>, String> {
        self.expect(&Word::Open)?;
        let mut values = Vec::new();
        loop {
            match self.words.next()? {
                Some(Word::Value(value)) => values.push(value),
                Some(word) => return Err(format!("{word} is not expected")),
                None => return Err("it ends too early".into()),
            }
            if !self.words.take(&Word::Comma)? {
                break;
            }
        }
        self.expect(&Word::Close)?;
        Ok(values)
    }

    fn expect(&mut self, wanted: &Word<'_>) -> Result<(), String> {
        match self.words.next()? {
            Some(word) if word == *wanted => Ok(()),
            Some(word) => Err(format!("{word} stands where {wanted} is expected")),
            None => Err(format!("it ends where {wanted} is expected")),
        }
    }
}

/// One matcher: each of its values is an alternative.
fn matcher(name: &str, values: &[String]) -> Result<Vec<Requests>, String> {
    let one = |value: &String| match name {
        "Host" => match host(value) {
            Some(host) => Ok(Requests { host, ..Requests::default() }),
            None => Err(format!("{value:?} is not a host")),
        },
        "PathPrefix" | "Path" => match path(value, name == "Path") {
            Some(path) => Ok(Requests { path, exact: name == "Path", ..Requests::default() }),
            None => Err(format!("{value:?} is not a path; it begins with /")),
        },
        _ => Err(format!("{name} is not known here; Host, Path and PathPrefix are")),
    };
    values.iter().map(one).collect()
}

/// The requests that both mean, if there are any.
fn both(left: &Requests, right: &Requests) -> Option<Requests> {
    let host = match (left.host.as_str(), right.host.as_str()) {
        ("", host) | (host, "") => host,
        (one, other) => (one == other).then_some(one)?,
    };
    let deeper = if below(left, right) {
        left
    } else if below(right, left) {
        right
    } else {
        return None;
    };
    Some(Requests { host: host.to_owned(), ..deeper.clone() })
}

/// Whether all paths of one lie among those of the other.
fn below(one: &Requests, other: &Requests) -> bool {
    if other.exact {
        return one.exact && one.path == other.path;
    }
    one.path.strip_prefix(&*other.path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn too_many() -> String {
    format!("it means more than {ALTERNATIVES_MAX} hosts and paths")
}
