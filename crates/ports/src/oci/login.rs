//! Pull secrets: the logins of registries as a Secret of type `kubernetes.io/dockerconfigjson` holds them.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use serde::Deserialize;

use super::{Login, Registry};

/// The key of a pull secret.
pub const DOCKER_CONFIG: &str = ".dockerconfigjson";
/// What clients have always called the public registry of Docker.
const DOCKER_HUB: [&str; 3] = ["index.docker.io", "docker.io", "registry-1.docker.io"];

#[derive(Deserialize)]
struct DockerConfig {
    #[serde(default)]
    auths: BTreeMap<String, Entry>,
}

#[derive(Default, Deserialize)]
struct Entry {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
}

/// Why a pull secret cannot be read. It never shows what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the pull secret is no Docker configuration: `.dockerconfigjson` must be JSON with `auths`")]
pub struct Unreadable;

/// The login for a registry among those of some pull secrets: of all entries that fit, the one with the longest path; of
/// equals, the first.
pub fn login_among<'a>(
    registry: &Registry,
    secrets: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Option<Login>, Unreadable> {
    let mut best: Option<(usize, Login)> = None;
    for secret in secrets {
        let config: DockerConfig = serde_json::from_slice(secret).map_err(|_| Unreadable)?;
        for (key, entry) in &config.auths {
            let Some(length) = fit(key, registry) else { continue };
            let Some(login) = entry.login() else { continue };
            if best.as_ref().is_none_or(|(longest, _)| length > *longest) {
                best = Some((length, login));
            }
        }
    }
    Ok(best.map(|(_, login)| login))
}

impl Entry {
    fn login(&self) -> Option<Login> {
        let named = match (&self.username, &self.password) {
            (Some(username), Some(password)) => Some((username.clone(), password.clone())),
            _ => None,
        };
        let (username, password) = named.or_else(|| {
            let auth = self.auth.as_deref()?.trim();
            let bytes = STANDARD.decode(auth).or_else(|_| STANDARD_NO_PAD.decode(auth)).ok()?;
            let text = String::from_utf8(bytes).ok()?;
            let (username, password) = text.split_once(':')?;
            Some((username.to_owned(), password.trim_end_matches('\0').to_owned()))
        })?;
        (!username.is_empty()).then(|| Login { username, password: password.into() })
    }
}

/// How much of the registry's address an entry names; none if it is for another.
fn fit(key: &str, registry: &Registry) -> Option<usize> {
    let bare = key.split_once("://").map_or(key, |(_, rest)| rest);
    let (host, path) = bare.split_once('/').unwrap_or((bare, ""));
    // Older clients wrote the version of the protocol into the key.
    let path = path.trim_matches('/');
    let path = if matches!(path, "v1" | "v2") { "" } else { path };
    let hub = |host: &str| DOCKER_HUB.contains(&host);
    let host = host.to_ascii_lowercase();
    if host != registry.host && !(hub(&host) && hub(&registry.host)) {
        return None;
    }
    let below = path.is_empty()
        || registry.prefix == path
        || registry.prefix.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
    below.then_some(path.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(url: &str, config: &serde_json::Value) -> Option<String> {
        let registry = Registry::parse(url, false).expect("an address");
        let bytes = config.to_string().into_bytes();
        let login = login_among(&registry, [bytes.as_slice()]).expect("it can be read")?;
        Some(format!("{}:{}", login.username, login.password.open()))
    }

    #[test]
    fn the_longest_entry_that_fits_wins() {
        let config = json!({ "auths": {
            "host.example": { "auth": STANDARD.encode("all:one") },
            "https://host.example/team": { "username": "team", "password": "two" },
            "host.example/team/shop": { "auth": STANDARD_NO_PAD.encode("shop:a:b") },
            "https://index.docker.io/v1/": { "auth": STANDARD.encode("hub:three") },
            "broken.example": { "auth": "???" },
        }});
        let table = [
            ("host.example", Some("all:one")),
            ("host.example/other", Some("all:one")),
            ("host.example/teams", Some("all:one")),
            ("host.example/team", Some("team:two")),
            ("host.example/team/shop/x", Some("shop:a:b")),
            ("host.example:5000", None),
            ("host.example.evil.example", None),
            ("docker.io/x", Some("hub:three")),
            ("broken.example", None),
        ];
        for (url, want) in table {
            assert_eq!(found(url, &config).as_deref(), want, "{url}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_not_shown() {
        let registry = Registry::parse("host.example", false).expect("an address");
        let told = login_among(&registry, [b"hunter2".as_slice()]).expect_err("it is no JSON");
        assert!(!told.to_string().contains("hunter2"));
    }
}
