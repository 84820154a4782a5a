//! From a JSON value to YAML in the layout of Go's encoder: sorted keys, block style, lists not indented
//! under their key, long lines folded, and quotes wherever an old reader would see something else than text.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::scalar::{Meaning, is_base_sixty, meaning};
use crate::kinds::table::number;

/// Columns after which a long text is folded at its next space.
const WIDTH: usize = 80;
/// The longest key that stands before its colon; a longer one gets a line of its own.
const SIMPLE_KEY: usize = 128;

/// What breaks a line for some reader; a key that holds one gets a line of its own too.
const BREAKS: [char; 5] = ['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'];

/// Writes a value as one YAML document.
pub fn to_yaml(value: &Value) -> String {
    let mut writer = Writer::default();
    writer.node(value, 0, Place::Root);
    writer.line(0);
    writer.out
}

/// Where a value stands.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// Alone.
    Root,
    /// Behind a key and its colon.
    Field,
    /// Behind a dash, or the colon of a key on a line of its own: a map or list begins on the same line.
    Item,
}

#[derive(Default)]
struct Writer {
    out: String,
    column: usize,
    /// Whether the line is broken already, by a text that keeps its last line breaks.
    broken: bool,
}

impl Writer {
    /// Writes a value. `indent` is that of the list or map it stands in.
    fn node(&mut self, value: &Value, indent: usize, place: Place) {
        match value {
            Value::Object(fields) if !fields.is_empty() => self.map(fields, indent, place),
            Value::Array(items) if !items.is_empty() => self.list(items, indent, place),
            _ => {
                if place != Place::Root {
                    self.put(" ");
                }
                match value {
                    Value::String(text) => self.text(text, indent + 2, place == Place::Root),
                    Value::Object(_) => self.put("{}"),
                    Value::Array(_) => self.put("[]"),
                    Value::Number(given) if given.is_f64() => {
                        self.put(&float(given.as_f64().unwrap_or_default()));
                    }
                    other => self.put(&other.to_string()),
                }
            }
        }
    }

    fn map(&mut self, fields: &Map<String, Value>, indent: usize, place: Place) {
        let indent = if place == Place::Root { indent } else { indent + 2 };
        let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
        sorted.sort_by(|left, right| natural(left.0, right.0));
        for (index, (key, value)) in sorted.into_iter().enumerate() {
            self.begin(index == 0, indent, place);
            if key.len() <= SIMPLE_KEY && !key.contains(BREAKS) {
                self.key(key);
                self.put(":");
                self.node(value, indent, Place::Field);
            } else {
                self.put("? ");
                self.text(key, indent + 2, false);
                self.line(indent);
                self.put(":");
                self.node(value, indent, Place::Item);
            }
        }
    }

    fn list(&mut self, items: &[Value], indent: usize, place: Place) {
        // Under a key, the dashes stand below its first letter.
        let indent = if place == Place::Item { indent + 2 } else { indent };
        for (index, item) in items.iter().enumerate() {
            self.begin(index == 0, indent, place);
            self.put("-");
            self.node(item, indent, Place::Item);
        }
    }

    /// Goes where the next entry of a map or list begins.
    fn begin(&mut self, first: bool, indent: usize, place: Place) {
        match (first, place) {
            (true, Place::Root) => {}
            (true, Place::Item) => self.put(" "),
            _ => self.line(indent),
        }
    }

    fn key(&mut self, key: &str) {
        match style(key) {
            // A plain `<<` would merge, not name.
            Style::Plain if key == "<<" => self.double(key, None),
            Style::Plain => self.put(key),
            Style::Single => self.single(key, None),
            Style::Double | Style::Literal => self.double(key, None),
        }
    }

    fn text(&mut self, text: &str, indent: usize, root: bool) {
        match style(text) {
            Style::Plain => self.folded(text, indent, false),
            Style::Single => self.single(text, Some(indent)),
            // Readers disagree about the indent of a text that stands alone and begins with white space.
            Style::Literal if root && text.starts_with([' ', '\n']) => self.double(text, Some(indent)),
            Style::Literal => self.literal(text, indent),
            Style::Double => self.double(text, Some(indent)),
        }
    }

    fn single(&mut self, text: &str, indent: Option<usize>) {
        self.put("'");
        let doubled = text.replace('\'', "''");
        match indent {
            Some(indent) => self.folded(&doubled, indent, true),
            None => self.put(&doubled),
        }
        self.put("'");
    }

    /// Writes a text of one line, breaking it at single spaces once it is wide enough.
    fn folded(&mut self, text: &str, indent: usize, quoted: bool) {
        let mut after_space = false;
        let mut letters = text.char_indices().peekable();
        while let Some((index, letter)) = letters.next() {
            let space_next = letters.peek().is_some_and(|(_, next)| *next == ' ');
            let inside = !quoted || (index > 0 && index + 1 < text.len());
            if letter == ' ' && !after_space && self.column > WIDTH && inside && !space_next {
                self.line(indent);
            } else {
                self.letter(letter);
            }
            after_space = letter == ' ';
        }
    }

    fn double(&mut self, text: &str, indent: Option<usize>) {
        self.put("\"");
        let mut after_space = false;
        let mut letters = text.char_indices().peekable();
        while let Some((index, letter)) = letters.next() {
            let inside = index > 0 && index + 1 < text.len();
            match (letter, indent) {
                (' ', Some(indent)) if !after_space && self.column > WIDTH && inside => {
                    self.line(indent);
                    if letters.peek().is_some_and(|(_, next)| *next == ' ') {
                        self.put("\\");
                    }
                }
                _ => self.put(&escaped(letter)),
            }
            after_space = letter == ' ';
        }
        self.put("\"");
    }

    fn literal(&mut self, text: &str, indent: usize) {
        self.put("|");
        if text.starts_with([' ', '\n']) {
            self.put("2");
        }
        let body = text.trim_end_matches('\n');
        match text.len() - body.len() {
            0 => self.put("-"),
            1 if !body.is_empty() => {}
            _ => self.put("+"),
        }
        for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
            self.line(if line.is_empty() { 0 } else { indent });
            self.put(line);
        }
        if body.len() + 1 < text.len() || body.is_empty() {
            self.line(0);
            self.broken = true;
        }
    }

    fn put(&mut self, text: &str) {
        text.chars().for_each(|letter| self.letter(letter));
    }

    fn letter(&mut self, letter: char) {
        self.out.push(letter);
        self.column += 1;
        self.broken = false;
    }

    fn line(&mut self, indent: usize) {
        if !self.broken {
            self.out.push('\n');
        }
        self.out.extend(std::iter::repeat_n(' ', indent));
        self.column = indent;
        self.broken = false;
    }
}

/// How a text is written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

fn style(text: &str) -> Style {
    let resolves = meaning(text) != Meaning::Text || is_base_sixty(text);
    let odd = text.chars().any(|letter| !is_printable(letter) || matches!(letter, '\u{2028}' | '\u{2029}'));
    let space_before_break = text.contains(" \n");
    if text.contains('\n') {
        let literal = !odd && !space_before_break && !text.ends_with(' ');
        return if literal { Style::Literal } else { Style::Double };
    }
    if odd || resolves {
        Style::Double
    } else if text.starts_with(' ') || text.ends_with(' ') || has_indicator(text) {
        Style::Single
    } else {
        Style::Plain
    }
}

/// Whether a plain text would be read as something other than text, or as less of it.
fn has_indicator(text: &str) -> bool {
    if text.starts_with("---") || text.starts_with("...") {
        return true;
    }
    let mut blank_before = true;
    let mut letters = text.chars().enumerate().peekable();
    while let Some((index, letter)) = letters.next() {
        let blank_after = letters.peek().is_none_or(|(_, next)| *next == ' ');
        let stops = match (index, letter) {
            (
                0,
                '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@'
                | '`',
            ) => true,
            (0, '?' | '-') | (_, ':') => blank_after,
            (_, '#') => blank_before,
            _ => false,
        };
        if stops {
            return true;
        }
        blank_before = letter == ' ';
    }
    false
}

fn is_printable(letter: char) -> bool {
    matches!(letter, '\n' | ' '..='~' | '\u{A0}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}')
        && letter != '\u{FEFF}'
}

fn escaped(letter: char) -> String {
    let short = match letter {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{B}' => 'v',
        '\u{C}' => 'f',
        '\r' => 'r',
        '\u{1B}' => 'e',
        '"' => '"',
        '\\' => '\\',
        '\u{85}' => 'N',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        _ if is_printable(letter) => return letter.to_string(),
        _ => {
            let code = u32::from(letter);
            return match code {
                ..=0xFF => format!("\\x{code:02X}"),
                0x100..=0xFFFF => format!("\\u{code:04X}"),
                _ => format!("\\U{code:08X}"),
            };
        }
    };
    format!("\\{short}")
}

fn float(value: f64) -> String {
    match number::whole(value) {
        Value::Number(given) if !given.is_f64() => given.to_string(),
        // The sign of zero survives only beside a fraction.
        _ if value == 0.0 => "-0.0".to_owned(),
        _ => number::shortest(value),
    }
}

/// The order of keys: signs before numbers before letters, and numbers by their size, so that `a2` comes
/// before `a10`.
fn natural(left: &str, right: &str) -> Ordering {
    let (mut left, mut right) = (left, right);
    loop {
        match (part(&mut left), part(&mut right)) {
            (None, None) => return Ordering::Equal,
            (left, right) if left != right => return left.cmp(&right),
            _ => {}
        }
    }
}

/// A piece of a key that is compared as one.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Part<'a> {
    Sign(char),
    /// Digits without leading zeros: how many, which, and how many with the zeros.
    Number(usize, &'a str, usize),
    Letter(char),
}

fn part<'a>(text: &mut &'a str) -> Option<Part<'a>> {
    let whole: &'a str = text;
    let letter = whole.chars().next()?;
    let after = whole.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let length = whole.len() - after.len();
    if length > 0 {
        let (digits, rest) = whole.split_at(length);
        *text = rest;
        let number = digits.trim_start_matches('0');
        return Some(Part::Number(number.len(), number, length));
    }
    *text = whole.get(letter.len_utf8()..).unwrap_or_default();
    Some(if letter.is_alphabetic() { Part::Letter(letter) } else { Part::Sign(letter) })
}
