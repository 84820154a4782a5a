//! What a browser sends when a form is submitted: `name=value&name=value`, with everything unusual as `%41`.

use std::collections::BTreeMap;

/// Reads the fields of a form. `None` if it is none.
pub(super) fn read(body: &[u8]) -> Option<BTreeMap<String, String>> {
    let text = std::str::from_utf8(body).ok()?;
    let mut fields = BTreeMap::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        fields.insert(decoded(name)?, decoded(value)?);
    }
    Some(fields)
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut plain = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        plain.push(match byte {
            b'+' => b' ',
            b'%' => digit(bytes.next()?)? * 16 + digit(bytes.next()?)?,
            other => other,
        });
    }
    String::from_utf8(plain).ok()
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn a_form_is_read_or_refused_as_a_whole() {
        let fields = read(b"user=a+b&secret=p%26%3D%2B%C3%A9&empty=&bare").expect("a form");
        let told: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(told, [("bare", ""), ("empty", ""), ("secret", "p&=+é"), ("user", "a b")]);
        for odd in [&b"a=%"[..], b"a=%4", b"a=%zz", b"a=%ff", b"\xff"] {
            assert!(read(odd).is_none(), "{odd:?}");
        }
    }
}
