//! What a registry wants to see: the challenge of a `401`.

use std::fmt::Write as _;

use http::HeaderMap;
use http::header::WWW_AUTHENTICATE;

/// A challenge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    /// Name and password with every request.
    Basic,
    /// A token, which is fetched elsewhere.
    Bearer {
        /// Where.
        realm: String,
        /// For which registry.
        service: Option<String>,
        /// For what.
        scope: Option<String>,
    },
}

impl Challenge {
    /// Reads the challenge off an answer; a token goes before a password.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let said = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        let read: Vec<Self> = said.filter_map(Self::read).collect();
        let bearer = read.iter().find(|challenge| matches!(challenge, Self::Bearer { .. }));
        bearer.or_else(|| read.first()).cloned()
    }

    fn read(text: &str) -> Option<Self> {
        let (scheme, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Self::Basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let fields = fields(rest);
        let field =
            |name: &str| fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.to_owned());
        Some(Self::Bearer { realm: field("realm")?, service: field("service"), scope: field("scope") })
    }
}

/// `key="value"` pairs, between commas; a value in quotes may hold commas.
fn fields(text: &str) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    let mut rest = text.trim_start_matches([' ', ',']);
    while let Some((key, after)) = rest.split_once('=') {
        let (value, left) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => after.split_once(',').unwrap_or((after, "")),
        };
        fields.push((key.trim().to_ascii_lowercase(), value.trim().to_owned()));
        rest = left.trim_start_matches([' ', ',']);
    }
    fields
}

/// A query of these fields.
pub(super) fn query(fields: &[(&str, Option<&String>)]) -> String {
    let mut text = String::new();
    for (key, value) in fields {
        let Some(value) = value else { continue };
        let _ = write!(text, "{}{key}=", if text.is_empty() { "" } else { "&" });
        for byte in value.bytes() {
            if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
                text.push(char::from(byte));
            } else {
                let _ = write!(text, "%{byte:02X}");
            }
        }
    }
    text
}

/// The next page that an answer names: the path and query behind `rel="next"`.
pub(super) fn next_page(link: &str) -> Option<&str> {
    let next = link.split(',').find(|part| part.contains("rel=\"next\"") || part.contains("rel=next"))?;
    next.split_once('<')?.1.split_once('>').map(|(address, _)| address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read_as_registries_write_them() {
        let bearer = |realm: &str, service: Option<&str>, scope: Option<&str>| {
            let own = |text: Option<&str>| text.map(str::to_owned);
            Some(Challenge::Bearer { realm: realm.into(), service: own(service), scope: own(scope) })
        };
        let table = [
            ("Basic realm=\"x\"", Some(Challenge::Basic)),
            ("basic", Some(Challenge::Basic)),
            (
                "Bearer realm=\"https://a.example/t\",service=\"r\",scope=\"repository:x:pull,push\"",
                bearer("https://a.example/t", Some("r"), Some("repository:x:pull,push")),
            ),
            ("bearer service=r, realm=https://a.example/t", bearer("https://a.example/t", Some("r"), None)),
            ("Bearer service=\"r\"", None),
            ("Negotiate", None),
            ("", None),
        ];
        for (text, want) in table {
            assert_eq!(Challenge::read(text), want, "{text}");
        }
    }

    #[test]
    fn queries_and_links_are_written_and_read() {
        let (service, scope) = ("r e".to_owned(), "repository:a/b:pull".to_owned());
        let asked = query(&[("service", Some(&service)), ("scope", Some(&scope)), ("x", None)]);
        assert_eq!(asked, "service=r%20e&scope=repository%3Aa%2Fb%3Apull");
        let link = "</v2/a/tags/list?last=x&n=2>; rel=\"next\"";
        assert_eq!(next_page(link), Some("/v2/a/tags/list?last=x&n=2"));
        assert_eq!(next_page("</x>; rel=\"prev\""), None);
    }
}
