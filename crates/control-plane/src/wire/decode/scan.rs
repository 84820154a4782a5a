//! What is wrong with a broken JSON document, in the words of Go's scanner.
//!
//! Only documents that were refused come here, so nothing is built: the scanner looks for the first byte
//! that cannot stand where it stands.

use super::MAX_DEPTH;

const END: &str = "unexpected end of JSON input";

/// What may come next.
#[derive(Clone, Copy, PartialEq)]
enum Next {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    Colon,
    CommaOrEnd,
    Nothing,
}

/// The first error of a document; `None` when it is well formed.
pub(super) fn complaint(bytes: &[u8]) -> Option<String> {
    let mut scanner = Scanner { bytes, at: 0, open: Vec::new() };
    let mut next = Next::Value;
    loop {
        scanner.skip_space();
        let Some(byte) = scanner.take() else {
            return (next != Next::Nothing).then(|| END.to_owned());
        };
        next = match scanner.step(next, byte) {
            Ok(next) => next,
            Err(complaint) => return Some(complaint),
        };
    }
}

/// The same document with U+FFFD for every escaped half of a pair, which Go reads that way.
pub(super) fn without_lone_surrogates(text: &str) -> String {
    let mut mended = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('\\') {
        let (before, escape) = rest.split_at(start);
        mended.push_str(before);
        let length = match (unit(escape), escape.get(6..).and_then(unit)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                mended.push_str("\\ufffd");
                rest = escape.get(6..).unwrap_or_default();
                continue;
            }
            (Some(_), _) => 6,
            (None, _) => 1 + escape.chars().nth(1).map_or(0, char::len_utf8),
        };
        let (kept, after) = escape.split_at(length);
        mended.push_str(kept);
        rest = after;
    }
    mended.push_str(rest);
    mended
}

/// The number in `\uXXXX` at the start of the text.
fn unit(text: &str) -> Option<u32> {
    text.strip_prefix("\\u").and_then(|rest| rest.get(..4)).and_then(|hex| u32::from_str_radix(hex, 16).ok())
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The brackets that are open.
    open: Vec<u8>,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self) -> Option<u8> {
        let byte = self.peek();
        self.at += usize::from(byte.is_some());
        byte
    }

    /// The next byte of a word or number. Go asks for a space at the end of the input, and complains of that.
    fn take_inside(&mut self) -> u8 {
        self.take().unwrap_or(b' ')
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn step(&mut self, next: Next, byte: u8) -> Result<Next, String> {
        match (next, byte) {
            (Next::ValueOrEnd, b']') | (Next::KeyOrEnd, b'}') => Ok(self.close()),
            (Next::Value | Next::ValueOrEnd, _) => self.value(byte),
            (Next::Key | Next::KeyOrEnd, b'"') => self.string().map(|()| Next::Colon),
            (Next::Key | Next::KeyOrEnd, _) => refuse(byte, "looking for beginning of object key string"),
            (Next::Colon, b':') => Ok(Next::Value),
            (Next::Colon, _) => refuse(byte, "after object key"),
            (Next::CommaOrEnd, _) => match (self.open.last(), byte) {
                (Some(b'{'), b'}') | (Some(b'['), b']') => Ok(self.close()),
                (Some(b'{'), b',') => Ok(Next::Key),
                (Some(b'{'), _) => refuse(byte, "after object key:value pair"),
                (_, b',') => Ok(Next::Value),
                (_, _) => refuse(byte, "after array element"),
            },
            (Next::Nothing, _) => refuse(byte, "after top-level value"),
        }
    }

    fn value(&mut self, byte: u8) -> Result<Next, String> {
        match byte {
            b'{' | b'[' => {
                self.open.push(byte);
                if self.open.len() > MAX_DEPTH {
                    return refuse(byte, "exceeded max depth");
                }
                return Ok(if byte == b'{' { Next::KeyOrEnd } else { Next::ValueOrEnd });
            }
            b'"' => self.string()?,
            b'-' | b'0'..=b'9' => self.number(byte)?,
            b't' => self.word("true")?,
            b'f' => self.word("false")?,
            b'n' => self.word("null")?,
            _ => return refuse(byte, "looking for beginning of value"),
        }
        Ok(self.after_value())
    }

    fn close(&mut self) -> Next {
        self.open.pop();
        self.after_value()
    }

    fn after_value(&self) -> Next {
        if self.open.is_empty() { Next::Nothing } else { Next::CommaOrEnd }
    }

    /// The rest of a string, behind its first quote.
    fn string(&mut self) -> Result<(), String> {
        loop {
            match self.take().ok_or(END)? {
                b'"' => return Ok(()),
                b'\\' => self.escape()?,
                byte @ ..0x20 => return refuse(byte, "in string literal"),
                _ => {}
            }
        }
    }

    fn escape(&mut self) -> Result<(), String> {
        match self.take_inside() {
            b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => Ok(()),
            b'u' => {
                for _ in 0..4 {
                    let byte = self.take_inside();
                    if !byte.is_ascii_hexdigit() {
                        return refuse(byte, "in \\u hexadecimal character escape");
                    }
                }
                Ok(())
            }
            byte => refuse(byte, "in string escape code"),
        }
    }

    /// The rest of a number, behind its first byte.
    fn number(&mut self, first: u8) -> Result<(), String> {
        let mut lead = first;
        if first == b'-' {
            lead = self.digit("in numeric literal")?;
        }
        if lead != b'0' {
            self.digits();
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digit("after decimal point in numeric literal")?;
            self.digits();
        }
        if self.peek().is_some_and(|byte| matches!(byte, b'e' | b'E')) {
            self.at += 1;
            if self.peek().is_some_and(|byte| matches!(byte, b'+' | b'-')) {
                self.at += 1;
            }
            self.digit("in exponent of numeric literal")?;
            self.digits();
        }
        Ok(())
    }

    fn digit(&mut self, place: &str) -> Result<u8, String> {
        let byte = self.take_inside();
        if byte.is_ascii_digit() { Ok(byte) } else { refuse(byte, place) }
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }

    /// The rest of `true`, `false` or `null`, behind its first letter.
    fn word(&mut self, word: &str) -> Result<(), String> {
        for want in word.bytes().skip(1) {
            let byte = self.take_inside();
            if byte != want {
                return refuse(byte, &format!("in literal {word} (expecting '{}')", char::from(want)));
            }
        }
        Ok(())
    }
}

fn refuse<T>(byte: u8, place: &str) -> Result<T, String> {
    Err(format!("invalid character {} {place}", quoted(byte)))
}

/// A byte between quotes, escaped where a reader would not see it.
fn quoted(byte: u8) -> String {
    let shown = match byte {
        b'\'' => "\\'".to_owned(),
        b'\\' => "\\\\".to_owned(),
        0x07 => "\\a".to_owned(),
        0x08 => "\\b".to_owned(),
        b'\t' => "\\t".to_owned(),
        b'\n' => "\\n".to_owned(),
        0x0B => "\\v".to_owned(),
        0x0C => "\\f".to_owned(),
        b'\r' => "\\r".to_owned(),
        ..0x20 | 0x7F => format!("\\x{byte:02x}"),
        0x80..=0xA0 | 0xAD => format!("\\u{byte:04x}"),
        _ => char::from(byte).to_string(),
    };
    format!("'{shown}'")
}
