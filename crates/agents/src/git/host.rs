//! What a credential is for: a host, or all below a path of one, in the words that kpack uses.

use std::fmt;
use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;

/// The longest that is taken.
const MAX: usize = 253;

/// What is typed by a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A password or access token, for https.
    #[default]
    Token,
    /// A private key, for ssh.
    Ssh,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Token => "token",
            Self::Ssh => "ssh",
        })
    }
}

/// What a credential is for: `https://github.com`, `https://git.example.com/team`, `git@github.com`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Host(String);

impl Host {
    /// Reads what somebody wrote. Plain `http` would show the secret to everybody on the way, so it is taken only for
    /// this machine and for the hosts in `trusted`.
    pub fn read(text: &str, kind: Kind, trusted: &[String]) -> Result<Self, Error> {
        let refused = |why: String| Error::invalid("host", why);
        let text = text.trim().trim_end_matches('/');
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/@[]%".contains(&byte);
        if text.is_empty() || text.len() > MAX || !text.bytes().all(plain) {
            let like = if kind == Kind::Ssh { "git@github.com" } else { "https://github.com" };
            return Err(refused(format!("{text:?} is none; one looks like {like}")));
        }
        match kind {
            Kind::Token => Self::web(text, trusted),
            Kind::Ssh => {
                let rest = text.strip_prefix("ssh://").unwrap_or(text);
                let (user, host) = rest.split_once('@').unwrap_or(("git", rest));
                let name = |text: &str| {
                    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
                    !text.is_empty() && !text.starts_with('-') && text.bytes().all(plain)
                };
                if rest.contains("://") || !name(user) || !name(host) {
                    return Err(refused(format!(
                        "{text:?} is no host for ssh; one looks like git@github.com"
                    )));
                }
                Ok(Self(format!("{user}@{}", host.to_ascii_lowercase())))
            }
        }
    }

    fn web(text: &str, trusted: &[String]) -> Result<Self, Error> {
        let (scheme, rest) = text.split_once("://").unwrap_or(("https", text));
        let (place, path) = rest.split_once('/').map_or((rest, ""), |(place, path)| (place, path));
        let place = place.to_ascii_lowercase();
        let uri: Option<http::uri::Authority> = place.parse().ok();
        let refused = |why: &str| Err(Error::invalid("host", format!("{text:?} {why}")));
        let Some(uri) = uri.filter(|uri| !uri.host().is_empty() && !place.ends_with(':')) else {
            return refused("names no host; one looks like https://github.com");
        };
        if place.contains('@') || path.split('/').any(|part| part == "..") {
            return refused("holds more than a host and a path; a user name goes into `username`");
        }
        match scheme {
            "https" => {}
            "http" if is_near(uri.host()) || trusted.iter().any(|host| host == uri.host()) => {}
            "http" => return refused("would send the secret unprotected; use https"),
            _ => return refused("is neither https nor ssh; one looks like https://github.com"),
        }
        Ok(Self(if path.is_empty() {
            format!("{scheme}://{place}")
        } else {
            format!("{scheme}://{place}/{path}")
        }))
    }

    /// What stands in the annotation.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether a host is this machine.
fn is_near(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}
