//! The words of a rule.

use std::fmt;

/// One word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word<'a> {
    /// The name of a matcher.
    Name(&'a str),
    /// What stands in quotes or backticks.
    Value(String),
    /// `&&`
    And,
    /// `||`
    Or,
    /// `!`
    Not,
    /// `(`
    Open,
    /// `)`
    Close,
    /// `,`
    Comma,
}

impl fmt::Display for Word<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "`{name}`"),
            Self::Value(value) => write!(f, "{value:?}"),
            Self::And => f.write_str("`&&`"),
            Self::Or => f.write_str("`||`"),
            Self::Not => f.write_str("`!`"),
            Self::Open => f.write_str("`(`"),
            Self::Close => f.write_str("`)`"),
            Self::Comma => f.write_str("`,`"),
        }
    }
}

/// The words of a rule, one after the other.
pub(super) struct Words<'a> {
    rest: &'a str,
}

impl<'a> Words<'a> {
    pub(super) fn new(rule: &'a str) -> Self {
        Self { rest: rule }
    }

    /// The next word; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Word<'a>>, String> {
        let rest = self.rest.trim_start();
        let Some(first) = rest.chars().next() else { return Ok(None) };
        let signs = [
            ("&&", Word::And),
            ("||", Word::Or),
            ("!", Word::Not),
            ("(", Word::Open),
            (")", Word::Close),
            (",", Word::Comma),
        ];
        for (sign, word) in signs {
            if let Some(after) = rest.strip_prefix(sign) {
                self.rest = after;
                return Ok(Some(word));
            }
        }
        match first {
            '`' => self.raw(rest).map(Some),
            '"' => self.quoted(rest).map(Some),
            letter if letter.is_ascii_alphabetic() => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
                let (name, after) = rest.split_at(end);
                self.rest = after;
                Ok(Some(Word::Name(name)))
            }
            other => Err(format!("{other:?} is not expected")),
        }
    }

    /// Takes the next word, if it is this one.
    pub(super) fn take(&mut self, wanted: &Word<'_>) -> Result<bool, String> {
        let before = self.rest;
        let found = self.next()?.is_some_and(|word| word == *wanted);
        if !found {
            self.rest = before;
        }
        Ok(found)
    }

    /// Between backticks nothing has a meaning of its own.
    fn raw(&mut self, rest: &'a str) -> Result<Word<'a>, String> {
        let Some((value, after)) = rest[1..].split_once('`') else {
            return Err("a backtick is not closed".into());
        };
        self.rest = after;
        Ok(Word::Value(value.to_owned()))
    }

    /// Between quotes a backslash takes the meaning of the character after it.
    fn quoted(&mut self, rest: &'a str) -> Result<Word<'a>, String> {
        let mut value = String::new();
        let mut letters = rest[1..].char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.rest = &rest[at + 2..];
                    return Ok(Word::Value(value));
                }
                '\\' => value.extend(letters.next().map(|(_, escaped)| escaped)),
                other => value.push(other),
            }
        }
        Err("a quote is not closed".into())
    }
}
