//! Addresses of registries as people write them, and names in them.

use super::{Error, Registry};

/// What an address may begin with, and whether TLS goes with it.
const SCHEMES: [(&str, bool); 3] = [("https://", true), ("oci://", true), ("http://", false)];
/// Longest name of a repository that registries take.
const NAME_MOST: usize = 255;

impl Registry {
    /// A registry by its address: `ghcr.io/example`, `https://host:5000/path`, `oci://host`. It has no login yet. An address
    /// with a login in it is refused, as addresses are shown.
    pub fn parse(url: &str, insecure: bool) -> Result<Self, Error> {
        let refused = |why: &str| Error::Invalid { what: format!("address of a registry: {why}") };
        let text = url.trim();
        let known = SCHEMES.iter().find(|(scheme, _)| starts_with(text, scheme));
        let rest = known.map_or(text, |(scheme, _)| &text[scheme.len()..]);
        if known.is_some_and(|(_, safe)| !safe) && !insecure {
            return Err(refused("http:// is without TLS; write https://, or set insecure"));
        }
        if rest.contains("://") {
            return Err(refused("it begins with https:// or oci://, or with the host"));
        }
        if rest.contains('@') {
            return Err(refused("it holds a login or a digest; put a login into a Secret"));
        }
        if rest.contains(['?', '#']) {
            return Err(refused("it holds a query; an address is a host and a path"));
        }
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        if !is_host(host) {
            return Err(refused("its host is none; write it as `registry.example.com/path`"));
        }
        let prefix = path.trim_matches('/');
        if !prefix.is_empty() && !is_repository(prefix) {
            return Err(refused(
                "its path has lower-case letters, digits, dots, dashes and underscores alone",
            ));
        }
        let host = host.to_ascii_lowercase();
        // Who writes https:// gets it, whatever else is allowed.
        let insecure = insecure && known.is_none_or(|(scheme, _)| *scheme != SCHEMES[0].0);
        Ok(Self { host, prefix: prefix.to_owned(), insecure, login: None })
    }

    /// The whole name of a repository below the address.
    pub fn path(&self, repository: &str) -> Result<String, Error> {
        let whole = match self.prefix.as_str() {
            "" => repository.to_owned(),
            prefix => format!("{prefix}/{repository}"),
        };
        if whole.len() <= NAME_MOST && is_repository(&whole) {
            return Ok(whole);
        }
        let shown: String = whole.chars().take(80).flat_map(char::escape_debug).collect();
        Err(Error::Invalid { what: format!("`{shown}` is no name of a repository in a registry") })
    }
}

fn starts_with(text: &str, scheme: &str) -> bool {
    text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
}

fn is_host(host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !name.ends_with(':') && !port.ends_with(']') => (name, Some(port)),
        _ => (host, None),
    };
    let inner = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let good = match inner {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => {
            let label = |label: &str| {
                let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
                !label.is_empty()
                    && !label.starts_with('-')
                    && !label.ends_with('-')
                    && label.bytes().all(plain)
            };
            name.len() <= 253 && name.split('.').all(label)
        }
    };
    good && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0))
}

/// Parts of lower-case words, joined by dots, underscores or dashes, as the distribution specification has them.
fn is_repository(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let part = |part: &str| {
        let joined = |byte: u8| plain(byte) || matches!(byte, b'.' | b'_' | b'-');
        let ends = part.bytes().next().is_some_and(plain) && part.bytes().last().is_some_and(plain);
        ends && part.bytes().all(joined) && !part.contains("..")
    };
    name.split('/').all(part)
}

/// Whether this is a tag.
pub(super) fn is_tag(tag: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let inner = |byte: u8| word(byte) || matches!(byte, b'.' | b'-');
    tag.len() <= 128 && tag.bytes().next().is_some_and(word) && tag.bytes().all(inner)
}

/// Whether this is a digest that can be checked: of SHA-256.
pub(super) fn is_digest(digest: &str) -> bool {
    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    digest.strip_prefix("sha256:").is_some_and(|sum| sum.len() == 64 && sum.bytes().all(hex))
}

/// A tag or a digest, or why it is neither.
pub(super) fn checked_reference(reference: &str) -> Result<(), Error> {
    if is_tag(reference) || is_digest(reference) {
        return Ok(());
    }
    let shown: String = reference.chars().take(80).flat_map(char::escape_debug).collect();
    Err(Error::Invalid { what: format!("`{shown}` is neither a tag nor a digest of SHA-256") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_people_write_them() {
        let table = [
            ("ghcr.io/example", false, Some(("ghcr.io", "example"))),
            ("ghcr.io", false, Some(("ghcr.io", ""))),
            ("https://Host.example:5000/path/", false, Some(("host.example:5000", "path"))),
            ("oci://host.example/a/b-c_d.e", false, Some(("host.example", "a/b-c_d.e"))),
            ("OCI://host.example", false, Some(("host.example", ""))),
            ("localhost:5000", true, Some(("localhost:5000", ""))),
            ("http://127.0.0.1:5000/x", true, Some(("127.0.0.1:5000", "x"))),
            ("[::1]:5000/x", true, Some(("[::1]:5000", "x"))),
            ("http://127.0.0.1:5000/x", false, None),
            ("https://me:hunter2@host.example/x", false, None),
            ("me@host.example/x", false, None),
            ("host.example/x?y=z", false, None),
            ("host.example/../x", false, None),
            ("host.example/Upper", false, None),
            ("ftp://host.example", false, None),
            ("host.example:0", false, None),
            ("host.example:99999", false, None),
            ("-host", false, None),
            ("ho st", false, None),
            ("", false, None),
            ("https://", false, None),
        ];
        for (url, insecure, want) in table {
            let parsed = Registry::parse(url, insecure);
            let got = parsed.as_ref().ok().map(|registry| (registry.host.as_str(), registry.prefix.as_str()));
            assert_eq!(got, want, "{url}");
            let told = parsed.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(!told.contains("hunter2"), "{told}");
        }
    }

    #[test]
    fn names_of_repositories_stay_below_the_address() {
        let registry = Registry::parse("host.example/team", false).expect("an address");
        assert_eq!(registry.path("shop").expect("a name"), "team/shop");
        for name in ["../shop", "/shop", "shop/", "Shop", "a//b", "", "shop?x", "a b"] {
            assert!(registry.path(name).is_err(), "{name}");
        }
    }

    #[test]
    fn references_are_tags_or_digests() {
        let digest = format!("sha256:{}", "0a".repeat(32));
        for good in ["1.0.0", "latest", "1.0.0.build-5", digest.as_str()] {
            assert!(checked_reference(good).is_ok(), "{good}");
        }
        for bad in ["", "../x", "a b", "-x", "sha256:00", "sha512:00", "a/b", "1.0.0+5"] {
            assert!(checked_reference(bad).is_err(), "{bad}");
        }
    }
}
