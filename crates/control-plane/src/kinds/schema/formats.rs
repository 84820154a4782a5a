//! String formats that are checked. A format nobody knows is no rule.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::LazyLock;

use regex::Regex;

/// Whether the text has the format; `None` for a format that is not checked.
/// Dashes in the name do not count: `date-time` and `datetime` are one.
pub fn fits(format: &str, text: &str) -> Option<bool> {
    Some(match format.replace('-', "").as_str() {
        "bsonobjectid" => text.len() == 24 && text.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "uri" => uri(text),
        "email" => EMAIL.is_match(text),
        "hostname" => hostname(text),
        "ipv4" => text.contains('.') && address(text).is_some(),
        "ipv6" => text.contains(':') && text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => cidr(text),
        "mac" => MAC.is_match(text),
        "uuid" => UUID.is_match(text),
        "uuid3" => UUID.is_match(text) && version(text) == Some('3'),
        "uuid4" => UUID.is_match(text) && version(text) == Some('4') && variant(text),
        "uuid5" => UUID.is_match(text) && version(text) == Some('5') && variant(text),
        "isbn" => isbn10(text) || isbn13(text),
        "isbn10" => isbn10(text),
        "isbn13" => isbn13(text),
        "creditcard" => credit_card(text),
        "ssn" => SSN.is_match(text),
        "hexcolor" => HEX_COLOR.is_match(text),
        "rgbcolor" => RGB_COLOR.is_match(text),
        "byte" => base64(text),
        "password" => true,
        "date" => date(text),
        "duration" => duration(text),
        "datetime" => date_time(text),
        "k8sshortname" => text.len() <= 63 && SHORT_NAME.is_match(text),
        "k8slongname" => text.len() <= 253 && text.split('.').all(|part| SHORT_NAME.is_match(part)),
        _ => return None,
    })
}

static EMAIL: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"^(?:[^<>@]*<)?(?:[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*|"(?:[^"\\\r\n]|\\.)+")@(?:\[[^\[\]\\]+\]|[^\s<>@,;:"\[\]\\.]+(?:\.[^\s<>@,;:"\[\]\\.]+)*)>?$"#,
    )
});
static MAC: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"^(?:[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}(?:(?::[0-9A-Fa-f]{2}){2}|(?::[0-9A-Fa-f]{2}){14})?|[0-9A-Fa-f]{2}(?:-[0-9A-Fa-f]{2}){5}(?:(?:-[0-9A-Fa-f]{2}){2}|(?:-[0-9A-Fa-f]{2}){14})?|[0-9A-Fa-f]{4}(?:\.[0-9A-Fa-f]{4}){2}(?:\.[0-9A-Fa-f]{4}|(?:\.[0-9A-Fa-f]{4}){7})?)$",
    )
});
static UUID: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$"));
static SSN: LazyLock<Regex> = LazyLock::new(|| regex(r"^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$"));
static HEX_COLOR: LazyLock<Regex> = LazyLock::new(|| regex(r"^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"));
static RGB_COLOR: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"^rgb\(\s*(?:0|[1-9][0-9]?|1[0-9]{2}|2[0-4][0-9]|25[0-5])\s*,\s*(?:0|[1-9][0-9]?|1[0-9]{2}|2[0-4][0-9]|25[0-5])\s*,\s*(?:0|[1-9][0-9]?|1[0-9]{2}|2[0-4][0-9]|25[0-5])\s*\)$",
    )
});
static SHORT_NAME: LazyLock<Regex> = LazyLock::new(|| regex(r"^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$"));
static LABEL: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^[a-zA-Z0-9\p{S}\p{L}](?:[a-zA-Z0-9\p{S}\p{L}-]{0,61}[a-zA-Z0-9\p{S}\p{L}])?$"));
static TOP_LABEL: LazyLock<Regex> = LazyLock::new(|| regex(r"^[a-zA-Z\p{L}]{2,63}$"));
static TIME: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})$"));
static GO_DURATION: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^[+-]?(?:0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)$"));
static WORD_DURATION: LazyLock<Regex> = LazyLock::new(|| regex(r"([0-9]+)\s*([A-Za-zµ]+)"));

static SCHEME: LazyLock<Regex> = LazyLock::new(|| regex("^[A-Za-z][A-Za-z0-9+.-]*:."));

fn regex(text: &str) -> Regex {
    Regex::new(text).expect("our own patterns compile")
}

fn uri(text: &str) -> bool {
    if text.is_empty() || text.chars().any(|c| c.is_ascii_control() || c == ' ') {
        return false;
    }
    text.starts_with('/') || SCHEME.is_match(text)
}

fn hostname(text: &str) -> bool {
    if text.len() > 255 || text.split('.').any(|part| part.len() > 63) {
        return false;
    }
    match text.rsplit_once('.') {
        None => LABEL.is_match(text),
        Some((rest, top)) => TOP_LABEL.is_match(top) && rest.split('.').all(|part| LABEL.is_match(part)),
    }
}

/// Leading zeros in IPv4 are tolerated, as they always were.
fn address(text: &str) -> Option<IpAddr> {
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    let parts: Option<Vec<u8>> = text.split('.').map(decimal_byte).collect();
    let parts: [u8; 4] = parts?.try_into().ok()?;
    Some(IpAddr::from(parts))
}

fn decimal_byte(text: &str) -> Option<u8> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

fn cidr(text: &str) -> bool {
    let Some((host, bits)) = text.split_once('/') else { return false };
    let Some(address) = address(host) else { return false };
    let width = if address.is_ipv4() { 32 } else { 128 };
    decimal_byte(bits).is_some_and(|bits| bits <= width)
}

fn version(uuid: &str) -> Option<char> {
    uuid.chars().filter(|c| *c != '-').nth(12)
}

fn variant(uuid: &str) -> bool {
    uuid.chars().filter(|c| *c != '-').nth(16).is_some_and(|c| "89abAB".contains(c))
}

fn isbn10(text: &str) -> bool {
    let digits: Vec<char> = text.chars().filter(|c| !matches!(c, '-' | ' ')).collect();
    if digits.len() != 10 {
        return false;
    }
    let weigh = |(place, digit): (usize, &char)| match (place, digit) {
        (9, 'X' | 'x') => Some(100),
        _ => digit.to_digit(10).map(|digit| (place as u32 + 1) * digit),
    };
    digits.iter().enumerate().map(weigh).sum::<Option<u32>>().is_some_and(|sum| sum % 11 == 0)
}

fn isbn13(text: &str) -> bool {
    let digits: Option<Vec<u32>> =
        text.chars().filter(|c| !matches!(c, '-' | ' ')).map(|c| c.to_digit(10)).collect();
    let Some(digits) = digits.filter(|digits| digits.len() == 13) else { return false };
    let weigh = |(place, digit): (usize, &u32)| if place % 2 == 0 { *digit } else { digit * 3 };
    digits.iter().enumerate().map(weigh).sum::<u32>().is_multiple_of(10)
}

fn credit_card(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    let double = |digit: u32| if digit > 4 { digit * 2 - 9 } else { digit * 2 };
    let weigh = |(place, digit): (usize, &u32)| if place % 2 == 0 { *digit } else { double(*digit) };
    (13..=16).contains(&digits.len())
        && digits.iter().rev().enumerate().map(weigh).sum::<u32>().is_multiple_of(10)
}

fn base64(text: &str) -> bool {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    !text.is_empty() && STANDARD.decode(text).is_ok()
}

fn date(text: &str) -> bool {
    text.len() == 10 && text.is_ascii() && text.parse::<jiff::civil::Date>().is_ok()
}

fn date_time(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let Some((day, time)) = text.split_once('t') else { return false };
    let Some(parts) = TIME.captures(time) else { return false };
    date(day) && &parts[1] <= "23" && &parts[2] <= "59" && &parts[3] <= "59"
}

/// `1h30m` as Go writes it, or words: `2 days`, `3 weeks`.
fn duration(text: &str) -> bool {
    const UNITS: [(&[&str], &str); 8] = [
        (&["ns"], "nano"),
        (&["us", "µs"], "micro"),
        (&["ms"], "milli"),
        (&["s"], "sec"),
        (&["m"], "min"),
        (&["h", "hr"], "hour"),
        (&["d"], "day"),
        (&["w", "wk"], "week"),
    ];
    if GO_DURATION.is_match(text) {
        return true;
    }
    let known = |unit: &str| {
        let unit = unit.to_lowercase();
        UNITS.iter().any(|(short, long)| short.contains(&unit.as_str()) || unit.starts_with(long))
    };
    WORD_DURATION.captures_iter(text).any(|parts| parts[1].parse::<i64>().is_ok() && known(&parts[2]))
}
