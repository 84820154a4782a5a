//! What a proxy takes out of a head and puts into it.

use http::header::{self, Entry, HeaderMap, HeaderName, HeaderValue};

/// Headers about one connection, not about the message. Transfer-Encoding is written anew by whoever sends the body.
const HOP_BY_HOP: [HeaderName; 6] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::TE,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];
/// What only a proxy may say, and a client could lie about.
const PROXYS_OWN: [HeaderName; 5] = [
    header::FORWARDED,
    HeaderName::from_static("x-real-ip"),
    HeaderName::from_static("x-forwarded-port"),
    HeaderName::from_static("x-forwarded-server"),
    HeaderName::from_static("x-forwarded-prefix"),
];
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// What a backend is told about the client.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    pub(crate) address: HeaderValue,
    pub(crate) host: HeaderValue,
    pub(crate) secure: bool,
}

/// Makes a client's head fit for a backend.
pub(crate) fn toward_backend(headers: &mut HeaderMap, sender: Sender) {
    // Trailers come only to those who ask; that wish outlives the connection it came over.
    let trailers = has_token(headers, &header::TE, "trailers");
    drop_hop_by_hop(headers);
    // Answered here: the first byte of the body is asked for when a backend takes it.
    headers.remove(header::EXPECT);
    for name in &PROXYS_OWN {
        headers.remove(name);
    }
    if trailers {
        headers.insert(header::TE, HeaderValue::from_static("trailers"));
        headers.insert(header::CONNECTION, HeaderValue::from_static("te"));
    }
    let proto = if sender.secure { "https" } else { "http" };
    headers.insert(FORWARDED_FOR, sender.address);
    headers.insert(FORWARDED_PROTO, HeaderValue::from_static(proto));
    headers.insert(FORWARDED_HOST, sender.host.clone());
    headers.insert(header::HOST, sender.host);
}

/// Removes what a message says about the connection it came over, in either direction.
pub(crate) fn drop_hop_by_hop(headers: &mut HeaderMap) {
    if headers.contains_key(header::CONNECTION) {
        for name in named_by_connection(headers) {
            headers.remove(name);
        }
    }
    for name in &HOP_BY_HOP {
        headers.remove(name);
    }
}

/// The headers that `Connection` names, but for those that are about the message whatever anybody says.
fn named_by_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    let kept = [header::HOST, header::CONTENT_LENGTH, header::AUTHORIZATION, header::COOKIE];
    let values = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let names = values.flat_map(|value| value.split(',')).filter_map(|name| name.trim().parse().ok());
    names.filter(|name| !kept.contains(name)).collect()
}

/// The protocol a client wants to switch to. Not `h2c`: HTTP/2 is spoken from the first byte or not at all.
pub(crate) fn wanted_upgrade(headers: &HeaderMap) -> Option<HeaderValue> {
    let protocol = headers.get(header::UPGRADE)?;
    let asked = has_token(headers, &header::CONNECTION, "upgrade");
    (asked && !protocol.as_bytes().eq_ignore_ascii_case(b"h2c")).then(|| protocol.clone())
}

/// Says again, for the next hop, that the connection is to be switched.
pub(crate) fn ask_upgrade(headers: &mut HeaderMap, protocol: HeaderValue) {
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(header::UPGRADE, protocol);
}

fn has_token(headers: &HeaderMap, name: &HeaderName, token: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|part| {
        // A weight may follow the token.
        part.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(token)
    })
}

/// The value of a header that must be there exactly once; `Err` says how it is not.
pub(crate) fn only(headers: &mut HeaderMap, name: HeaderName) -> Result<HeaderValue, &'static str> {
    match headers.entry(name) {
        Entry::Vacant(_) => Err("missing"),
        Entry::Occupied(entry) if entry.iter().count() > 1 => Err("given more than once"),
        Entry::Occupied(entry) => Ok(entry.get().clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Line = (&'static str, &'static str);

    fn map(lines: &[Line]) -> HeaderMap {
        let pairs = lines
            .iter()
            .map(|&(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name, value);
        }
        headers
    }

    fn told(lines: &[Line]) -> String {
        let mut headers = map(lines);
        let sender = Sender {
            address: HeaderValue::from_static("10.0.0.9"),
            host: HeaderValue::from_static("shop.test:80"),
            secure: true,
        };
        toward_backend(&mut headers, sender);
        let mut lines: Vec<_> =
            headers.iter().map(|(name, value)| format!("{name}={}", value.to_str().expect("text"))).collect();
        lines.sort();
        lines.join(" ")
    }

    const OWN: &str = "host=shop.test:80";
    const FORWARDED: &str = "x-forwarded-for=10.0.0.9 x-forwarded-host=shop.test:80 x-forwarded-proto=https";

    #[test]
    fn a_backend_sees_the_message_and_not_the_connection() {
        let table: [(&[Line], &str); 6] = [
            (&[("host", "x")], ""),
            (&[("connection", "keep-alive, x-secret"), ("x-secret", "1"), ("keep-alive", "timeout=5")], ""),
            (&[("connection", "host, content-length"), ("content-length", "3")], "content-length=3 "),
            (&[("x-forwarded-for", "6.6.6.6"), ("forwarded", "for=6"), ("x-real-ip", "6")], ""),
            (&[("upgrade", "websocket"), ("transfer-encoding", "chunked"), ("expect", "100-continue")], ""),
            (&[("te", "gzip, trailers;q=0.5")], "connection=te "),
        ];
        for (lines, first) in table {
            let te = if first == "connection=te " { "te=trailers " } else { "" };
            assert_eq!(told(lines), format!("{first}{OWN} {te}{FORWARDED}"), "{lines:?}");
        }
    }

    #[test]
    fn an_upgrade_is_asked_for_in_two_headers() {
        let table: [(&[Line], Option<&str>); 5] = [
            (&[("connection", "Upgrade"), ("upgrade", "websocket")], Some("websocket")),
            (&[("connection", "keep-alive, upgrade"), ("upgrade", "custom/1")], Some("custom/1")),
            (&[("upgrade", "websocket")], None),
            (&[("connection", "upgrade")], None),
            (&[("connection", "upgrade"), ("upgrade", "h2c")], None),
        ];
        for (lines, want) in table {
            let got = wanted_upgrade(&map(lines));
            assert_eq!(got.as_ref().and_then(|value| value.to_str().ok()), want, "{lines:?}");
        }
    }

    #[test]
    fn a_host_is_there_once() {
        assert_eq!(only(&mut map(&[]), header::HOST), Err("missing"));
        assert_eq!(
            only(&mut map(&[("host", "a"), ("host", "a")]), header::HOST),
            Err("given more than once")
        );
        assert_eq!(only(&mut map(&[("host", "a")]), header::HOST), Ok(HeaderValue::from_static("a")));
    }
}
