//! Whom a request was meant for, and which page sent it. A page of another site can make a browser send requests here, by
//! a name of its own that it lets point to this machine; both are seen in the head of the request.

use http::header::{CONTENT_LENGTH, HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};

/// Names of this machine that nobody else can let point to it.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// What every answer says to browsers.
const HEADERS: [(&str, &str); 6] = [
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-store"),
];

/// A refusal, and why.
pub(super) type Refusal = (StatusCode, &'static str);

/// Where the server is reached.
pub(super) struct Own {
    origin: String,
    host: String,
}

impl Own {
    /// An address: `http://127.0.0.1:7070`.
    pub(super) fn of(address: &str) -> Self {
        let origin = address.trim_end_matches('/').to_ascii_lowercase();
        let rest = origin.split_once("://").map_or(origin.as_str(), |(_, rest)| rest);
        let authority: Option<Authority> = rest.parse().ok();
        let host = authority.map_or_else(String::new, |authority| authority.host().to_owned());
        Self { origin, host }
    }

    /// Whether a request was meant for this server, came from no foreign page, and is not too large.
    pub(super) fn check(&self, uri: &Uri, headers: &HeaderMap, most: usize) -> Result<(), Refusal> {
        self.check_host(uri, headers)?;
        if headers.get_all(ORIGIN).iter().any(|origin| !self.is_origin(origin)) {
            return Err((StatusCode::FORBIDDEN, "pages of other sites may not ask here\n"));
        }
        let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        match length.is_some_and(|length| length > most as u64) {
            true => Err((StatusCode::PAYLOAD_TOO_LARGE, "the request is too large\n")),
            false => Ok(()),
        }
    }

    fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        let mut named = 0;
        for authority in headers.get_all(HOST).iter().map(parsed).chain(uri.authority().cloned().map(Some)) {
            let Some(authority) = authority else {
                return Err((StatusCode::BAD_REQUEST, "the request names no host that can be read\n"));
            };
            let host = authority.host().to_ascii_lowercase();
            if host != self.host && !LOOPBACK.contains(&host.as_str()) {
                return Err((
                    StatusCode::MISDIRECTED_REQUEST,
                    "the request is for another host; use http://127.0.0.1, http://localhost or the server's own address\n",
                ));
            }
            named += 1;
        }
        let several = headers.get_all(HOST).iter().nth(1).is_some();
        match named == 0 || several {
            true => Err((StatusCode::BAD_REQUEST, "a request names one host\n")),
            false => Ok(()),
        }
    }

    fn is_origin(&self, origin: &HeaderValue) -> bool {
        origin.to_str().is_ok_and(|origin| origin.eq_ignore_ascii_case(&self.origin))
    }
}

/// A host and a port; one that holds a user's name is none.
fn parsed(value: &HeaderValue) -> Option<Authority> {
    let text = value.to_str().ok().filter(|text| !text.contains('@'))?;
    text.parse().ok()
}

/// Adds what every answer says to browsers, unless the page says something of its own.
pub(super) fn guard(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        headers.entry(HeaderName::from_static(name)).or_insert(HeaderValue::from_static(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_requests_for_this_server_from_no_foreign_page_come_in() {
        let own = Own::of("http://terrace.example:7070");
        let table: [(&str, &[(&str, &str)], u16); 21] = [
            ("/", &[("host", "127.0.0.1:7070")], 200),
            ("/", &[("host", "LocalHost")], 200),
            ("/", &[("host", "[::1]:7070")], 200),
            ("/", &[("host", "terrace.example:7070")], 200),
            ("/", &[("host", "Terrace.Example")], 200),
            ("http://localhost/", &[], 200),
            ("/", &[], 400),
            ("/", &[("host", "localhost"), ("host", "localhost")], 400),
            ("/", &[("host", "evil.example")], 421),
            ("/", &[("host", "localhost.evil.example")], 421),
            ("/", &[("host", "shop.localhost")], 421),
            ("/", &[("host", "localhost@evil.example")], 400),
            ("/", &[("host", "192.168.0.2")], 421),
            ("/", &[("host", "")], 400),
            ("/", &[("host", "a b")], 400),
            ("http://evil.example/", &[("host", "localhost")], 421),
            ("/", &[("host", "localhost"), ("origin", "http://terrace.example:7070")], 200),
            ("/", &[("host", "localhost"), ("origin", "http://terrace.example")], 403),
            ("/", &[("host", "localhost"), ("origin", "null")], 403),
            ("/", &[("host", "localhost"), ("origin", "http://evil.example")], 403),
            ("/", &[("host", "localhost"), ("content-length", "101")], 413),
        ];
        for (row, (uri, given, want)) in table.into_iter().enumerate() {
            let mut headers = HeaderMap::new();
            for (name, value) in given {
                headers.append(*name, HeaderValue::from_static(value));
            }
            let checked = own.check(&uri.parse().expect("a URI"), &headers, 100);
            assert_eq!(checked.err().map_or(200, |(code, _)| code.as_u16()), want, "row {row}");
        }
    }
}
