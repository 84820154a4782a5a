//! Names and texts as SQL writes them. No statement of this port is made in any other way.

use super::Error;

/// Longest identifier that PostgreSQL keeps whole: `NAMEDATALEN` less its final NUL. Longer ones it would cut silently.
const IDENTIFIER_MAX: usize = 63;

/// A name as SQL writes it, whatever is in it.
pub fn identifier(name: &str) -> Result<String, Error> {
    checked(name).map(|name| format!("\"{}\"", name.replace('"', "\"\"")))
}

/// A text as SQL writes it, whatever the server's `standard_conforming_strings` says. A NUL, which no text of PostgreSQL
/// can hold, is left out.
pub fn literal(text: &str) -> String {
    let text = text.replace('\0', "").replace('\'', "''");
    match text.contains('\\') {
        true => format!(" E'{}'", text.replace('\\', r"\\")),
        false => format!("'{text}'"),
    }
}

/// A name that PostgreSQL can keep.
pub(super) fn checked(name: &str) -> Result<&str, Error> {
    let refused = |rule| Err(Error::Name { name: name.escape_default().to_string(), rule });
    match name {
        "" => refused("it is empty"),
        name if name.contains('\0') => refused("it holds a NUL character"),
        name if name.len() > IDENTIFIER_MAX => refused("it has more than 63 bytes"),
        name => Ok(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_quoted_as_one_identifier_or_refused() {
        let longest = "n".repeat(63);
        let wide = "ü".repeat(31);
        let table = [
            ("app", Some("\"app\"")),
            ("App", Some("\"App\"")),
            ("select", Some("\"select\"")),
            ("with space", Some("\"with space\"")),
            ("\"; DROP DATABASE postgres; --", Some("\"\"\"; DROP DATABASE postgres; --\"")),
            ("\"\"", Some("\"\"\"\"\"\"")),
            ("a'b\\c", Some("\"a'b\\c\"")),
            ("Zoë–データ", Some("\"Zoë–データ\"")),
            ("line\nfeed", Some("\"line\nfeed\"")),
            ("", None),
            ("nul\0", None),
        ];
        for (name, want) in table {
            assert_eq!(identifier(name).ok().as_deref(), want, "{name:?}");
        }
        for (name, fits) in [
            (longest.clone(), true),
            (format!("{longest}n"), false),
            (format!("{wide}n"), true),
            (format!("{wide}ü"), false),
        ] {
            assert_eq!(identifier(&name).is_ok(), fits, "{} bytes", name.len());
        }
        let refused = identifier("nul\0").expect_err("a NUL").to_string();
        assert_eq!(refused, "`nul\\u{0}` cannot be a name in PostgreSQL: it holds a NUL character");
    }

    #[test]
    fn every_text_is_quoted_as_one_literal() {
        let table = [
            ("plain", "'plain'"),
            ("it's", "'it''s'"),
            ("'; DROP ROLE postgres; --", "'''; DROP ROLE postgres; --'"),
            (r"\'; DROP", r" E'\\''; DROP'"),
            ("nul\0", "'nul'"),
        ];
        for (text, want) in table {
            assert_eq!(literal(text), want);
        }
    }
}
