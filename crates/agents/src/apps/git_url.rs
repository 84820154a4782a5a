//! Addresses of git repositories: which may be built from.
//!
//! An agent must not make the platform knock at doors that only the platform can reach. What is looked up here is looked
//! up again when it is fetched; a name that changes its address in between is for the network to stop.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use crate::Error;

/// How long a name may take to be found.
const LOOKUP: Duration = Duration::from_secs(5);
/// Longest address that an Application takes.
const URL_MAX: usize = 2048;
/// What is said of a scheme that is none of those.
const SCHEMES: &str = "https and ssh are taken: https://host/path, ssh://git@host/path or git@host:path";

/// An address, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitUrl {
    /// The address, in the form that is kept.
    pub url: String,
    /// The host that it names.
    pub host: String,
    /// The port that it names, or that of its scheme.
    pub port: u16,
    /// Whether that host may be anywhere.
    pub private: bool,
}

/// Reads an address, and looks up where it leads.
pub async fn checked(text: &str, private_hosts: &[String]) -> Result<String, Error> {
    let GitUrl { url, host, port, private } = read(text, private_hosts).map_err(wrong)?;
    if private {
        return Ok(url);
    }
    let bare = host.trim_matches(['[', ']']);
    let found = tokio::time::timeout(LOOKUP, tokio::net::lookup_host((bare, port))).await;
    let addresses: Vec<IpAddr> = match found {
        Ok(Ok(addresses)) => addresses.map(|address| address.ip()).collect(),
        Ok(Err(_)) | Err(_) => Vec::new(),
    };
    if addresses.is_empty() {
        return Err(wrong(format!("the host {host} cannot be found; check its spelling, or try again")));
    }
    if !addresses.into_iter().all(is_public) {
        return Err(wrong(format!(
            "the host {host} lies on this machine or in a private network; the platform's operators can allow it \
             (`terrace up --private-git-host {host}`), or use push_code"
        )));
    }
    Ok(url)
}

fn wrong(why: impl Into<String>) -> Error {
    Error::invalid("git_url", why)
}

/// Reads an address. Hosts on the list may be anywhere, and may speak http.
pub fn read(text: &str, private_hosts: &[String]) -> Result<GitUrl, String> {
    if text.len() > URL_MAX {
        return Err(format!("it has {} bytes, the most is {URL_MAX}", text.len()));
    }
    // Whatever is odd in an address is read in as many ways as there are readers.
    if let Some(odd) =
        text.chars().find(|letter| !letter.is_ascii_graphic() || "\\\"'`<>^{}|?#".contains(*letter))
    {
        return Err(format!("it must not hold {odd:?}"));
    }
    let (scheme, user, place, path) = parts(text)?;
    let (host, port) = host_and_port(place)?;
    let private = private_hosts
        .iter()
        .any(|known| known.trim_matches(['[', ']']).eq_ignore_ascii_case(host.trim_matches(['[', ']'])));
    let own_port = match scheme {
        "https" => 443,
        "ssh" => 22,
        "http" if private => 80,
        other => return Err(format!("{other} is not taken; {SCHEMES}")),
    };
    check_user(scheme, user)?;
    if path.trim_matches('/').is_empty() || path.split('/').any(|part| part == "..") {
        return Err("it names no repository: a path has to follow the host".into());
    }
    let at = user.map(|user| format!("{user}@")).unwrap_or_default();
    let port_part = port.map(|port| format!(":{port}")).unwrap_or_default();
    let url = format!("{scheme}://{at}{host}{port_part}/{}", path.trim_start_matches('/'));
    Ok(GitUrl { url, host, port: port.unwrap_or(own_port), private })
}

type Parts<'a> = (&'a str, Option<&'a str>, &'a str, &'a str);

/// Scheme, user, host with its port, and path.
fn parts(text: &str) -> Result<Parts<'_>, String> {
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (scheme, rest),
        // git@host:path
        None => {
            let found = text.split_once(':').filter(|(place, _)| place.contains('@') && !place.contains('/'));
            let (place, path) =
                found.ok_or_else(|| format!("it is no address of a repository; {SCHEMES}"))?;
            let (user, host) = place.rsplit_once('@').unwrap_or(("", place));
            return Ok(("ssh", Some(user), host, path));
        }
    };
    let (place, path) = rest.split_once('/').unwrap_or((rest, ""));
    match place.rsplit_once('@') {
        Some((user, place)) => Ok((scheme, Some(user), place, path)),
        None => Ok((scheme, None, place, path)),
    }
}

fn check_user(scheme: &str, user: Option<&str>) -> Result<(), String> {
    let Some(user) = user else { return Ok(()) };
    if scheme != "ssh" || user.contains(':') {
        return Err("it must not hold credentials; add_git_credential takes them".into());
    }
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    match !user.is_empty() && !user.starts_with('-') && user.bytes().all(good) {
        true => Ok(()),
        false => Err("the user before @ has letters, digits, `.`, `_` and `-` only".into()),
    }
}

fn host_and_port(place: &str) -> Result<(String, Option<u16>), String> {
    let (host, port) = match place.strip_prefix('[') {
        Some(rest) => {
            let (inner, port) = rest.split_once(']').ok_or("a [ has no ]")?;
            inner.parse::<Ipv6Addr>().map_err(|_| "there is no IPv6 address between [ and ]")?;
            (format!("[{inner}]"), port)
        }
        None => {
            let (host, port) = place.split_at(place.find(':').unwrap_or(place.len()));
            (host.to_ascii_lowercase(), port)
        }
    };
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b".-".contains(&byte);
    let named = !host.is_empty() && !host.starts_with(['-', '.']) && host.bytes().all(good);
    if !host.starts_with('[') && !named {
        return Err("its host is no name of a host".into());
    }
    let port = match port.strip_prefix(':') {
        None => None,
        Some(digits) => match digits.parse::<u16>() {
            Ok(port) if port > 0 && !digits.starts_with('+') => Some(port),
            _ => return Err("its port is none: 1 to 65535".into()),
        },
    };
    Ok((host, port))
}

/// Whether an address is one that everybody can reach.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// Not one of <https://www.iana.org/assignments/iana-ipv4-special-registry>.
fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = matches!(
        (a, b, c),
        (0 | 10 | 127 | 224..=255, ..)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (192, 168, _)
            | (198, 18 | 19, _)
            | (198, 51, 100)
            | (203, 0, 113)
    );
    !special
}

/// Global unicast, and none of the parts of it that carry an IPv4 address or are for examples:
/// <https://www.iana.org/assignments/iana-ipv6-special-registry>.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, ..] = address.segments();
    let global = a & 0xe000 == 0x2000;
    let special = matches!((a, b), (0x2001, 0..=0x01ff | 0x0db8) | (0x2002, _) | (0x3fff, 0..=0x0fff));
    global && !special
}
