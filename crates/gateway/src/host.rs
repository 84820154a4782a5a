//! The host that a request names, in the one form in which hosts are compared.

use std::borrow::Cow;
use std::net::IpAddr;

/// A host without port and trailing dot, in lower case; `None` when it is no host at all.
pub(crate) fn normal(named: &str) -> Option<Cow<'_, str>> {
    let host = without_port(named)?;
    let host = host.strip_suffix('.').unwrap_or(host);
    let lawful = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:[]".contains(&byte);
    if host.is_empty() || host.len() > 255 || !host.bytes().all(lawful) {
        return None;
    }
    if host.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Some(Cow::Owned(host.to_ascii_lowercase()));
    }
    Some(Cow::Borrowed(host))
}

fn without_port(named: &str) -> Option<&str> {
    // The colons of an IPv6 address stand within brackets.
    let name_end =
        if named.starts_with('[') { named.find(']')? + 1 } else { named.find(':').unwrap_or(named.len()) };
    let (host, rest) = named.split_at(name_end);
    match rest.strip_prefix(':') {
        Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) && port.len() <= 5 => Some(host),
        None if rest.is_empty() => Some(host),
        _ => None,
    }
}

/// Whether a host (as [`normal`] writes it) is an address or this machine's own name, and so no application's.
pub(crate) fn is_address(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    host == "localhost" || bare.parse::<IpAddr>().is_ok()
}

/// What a wildcard `*.` would have to stand before to cover this host: everything after the first label.
pub(crate) fn parent(host: &str) -> Option<&str> {
    host.split_once('.').map(|(_, parent)| parent).filter(|parent| !parent.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_compared_in_one_form() {
        let table = [
            ("shop.localhost", Some("shop.localhost")),
            ("shop.localhost:8080", Some("shop.localhost")),
            ("shop.localhost.", Some("shop.localhost")),
            ("shop.localhost.:80", Some("shop.localhost")),
            ("SHOP.LocalHost:80", Some("shop.localhost")),
            ("shop.localhost:", Some("shop.localhost")),
            ("[::1]:8080", Some("[::1]")),
            ("[::1]", Some("[::1]")),
            ("127.0.0.1:80", Some("127.0.0.1")),
            ("", None),
            (".", None),
            (":80", None),
            ("[::1", None),
            ("[::1]x", None),
            ("a b", None),
            ("shop:80:90", None),
            ("shop:http", None),
            ("user@shop", None),
            ("shop/../x", None),
            ("shop:123456", None),
        ];
        for (named, want) in table {
            assert_eq!(normal(named).as_deref(), want, "{named:?}");
        }
    }

    #[test]
    fn addresses_are_nobodys_application() {
        let table = [
            ("127.0.0.1", true),
            ("localhost", true),
            ("[::1]", true),
            ("shop.localhost", false),
            ("1.2.3", false),
        ];
        for (host, want) in table {
            assert_eq!(is_address(host), want, "{host:?}");
        }
    }

    #[test]
    fn a_wildcard_covers_one_label() {
        let table = [("a.b.c", Some("b.c")), ("b.c", Some("c")), ("c", None), ("c.", None)];
        for (host, want) in table {
            assert_eq!(parent(host), want, "{host:?}");
        }
    }
}
