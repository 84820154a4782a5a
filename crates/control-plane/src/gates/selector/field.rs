//! Field selectors: `metadata.name=a,status.phase!=Running`.

/// One comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// Path of the field, without a leading dot.
    pub field: String,
    /// What it is compared with, unescaped.
    pub value: String,
    /// Whether it must be equal (`=`, `==`) or must not (`!=`).
    pub equal: bool,
}

/// A parsed field selector; every term must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector {
    terms: Vec<Term>,
}

impl FieldSelector {
    /// Parses the text of the `fieldSelector` parameter.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = split_terms(text);
        parts.sort_unstable();
        let mut terms = Vec::new();
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            let Some((field, equal, value)) = split_term(part) else {
                return Err(format!("invalid selector: '{text}'; can't understand '{part}'"));
            };
            let value = unescape(value)?;
            // A term with neither side restricts nothing.
            if !(field.is_empty() && value.is_empty()) {
                terms.push(Term { field: field.to_owned(), value, equal });
            }
        }
        Ok(Self { terms })
    }

    /// The comparisons, ordered by their text.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// Whether it lets everything through.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }
}

fn split_terms(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let mut start = 0;
    let mut escaped = false;
    for (at, sign) in text.char_indices() {
        match sign {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

fn split_term(term: &str) -> Option<(&str, bool, &str)> {
    for (at, _) in term.char_indices() {
        let rest = &term[at..];
        for (operator, equal) in [("!=", false), ("==", true), ("=", true)] {
            if let Some(value) = rest.strip_prefix(operator) {
                return Some((&term[..at], equal, value));
            }
        }
    }
    None
}

fn unescape(value: &str) -> Result<String, String> {
    let mut plain = String::with_capacity(value.len());
    let mut signs = value.chars();
    while let Some(sign) = signs.next() {
        match (sign, sign == '\\') {
            (_, true) => match signs.next() {
                Some(next @ ('\\' | ',' | '=')) => plain.push(next),
                Some(next) => return Err(bad_escape(&format!("\\{next}"))),
                None => return Err(bad_escape("\\")),
            },
            (',' | '=', false) => {
                let code = u32::from(sign);
                return Err(format!("invalid field selector: unescaped character in value: {code}"));
            }
            (_, false) => plain.push(sign),
        }
    }
    Ok(plain)
}

fn bad_escape(sequence: &str) -> String {
    format!("invalid field selector: invalid escape sequence: {sequence}")
}
