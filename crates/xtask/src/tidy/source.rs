//! A Rust file as the rules see it: code without comments and strings, and where its functions are.

use std::ops::RangeInclusive;

/// One `.rs` file.
pub(super) struct Source {
    pub path: String,
    /// The text with comments and the insides of strings blanked; as many lines as the file.
    pub code: Vec<char>,
    /// Comments with the line each starts on.
    pub comments: Vec<(usize, String)>,
    /// Functions that have a body.
    pub functions: Vec<Function>,
    /// Lines under `#[cfg(test)]`.
    tests: Vec<RangeInclusive<usize>>,
}

/// One function with a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub name: String,
    pub line: usize,
    /// Lines from `fn` to the closing brace that hold code.
    pub length: usize,
    /// Counting `self`.
    pub parameters: usize,
    /// How deep `if`, `match` and loops stand inside each other.
    pub depth: usize,
}

impl Source {
    pub fn new(path: &str, text: &str) -> Self {
        let (code, comments) = blank(text);
        let mut source =
            Self { path: path.to_owned(), code, comments, functions: Vec::new(), tests: Vec::new() };
        source.tests = source.test_regions();
        source.functions = source.find_functions();
        source
    }

    /// Lines of the file that are not test code.
    pub fn length(&self) -> usize {
        let total = self.code.split(|c| *c == '\n').count() - usize::from(self.code.last() == Some(&'\n'));
        let tests: usize = self.tests.iter().map(|lines| lines.end() + 1 - lines.start()).sum();
        total - tests
    }

    /// Whether the whole file is test code, by its place.
    pub fn is_test(&self) -> bool {
        let parts: Vec<&str> = self.path.split('/').collect();
        let (file, folders) = parts.split_last().expect("splitting yields at least one part");
        *file == "tests.rs" || folders.iter().any(|f| ["tests", "benches", "fuzz_targets"].contains(f))
    }

    /// Whether this line is test code.
    pub fn in_test(&self, line: usize) -> bool {
        self.is_test() || self.tests.iter().any(|lines| lines.contains(&line))
    }

    /// Code lines with their numbers, from 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, String)> + '_ {
        self.code.split(|c| *c == '\n').enumerate().map(|(i, line)| (i + 1, line.iter().collect()))
    }

    /// The line that holds this position.
    pub fn line_of(&self, position: usize) -> usize {
        1 + self.code.iter().take(position).filter(|c| **c == '\n').count()
    }

    /// Positions where this word stands alone in the code.
    pub fn words(&self, word: &str) -> Vec<usize> {
        let wanted: Vec<char> = word.chars().collect();
        let code = &self.code;
        let free = |at: Option<usize>| at.and_then(|i| code.get(i)).is_none_or(|c| !is_word(*c));
        let starts =
            code.windows(wanted.len()).enumerate().filter(|(_, window)| *window == wanted.as_slice());
        starts.map(|(i, _)| i).filter(|i| free(i.checked_sub(1)) && free(Some(i + wanted.len()))).collect()
    }

    fn test_regions(&self) -> Vec<RangeInclusive<usize>> {
        let marker: Vec<char> = "#[cfg(test)]".chars().collect();
        let starts = self.code.windows(marker.len()).enumerate().filter(|(_, w)| *w == marker.as_slice());
        let region = |start: usize| {
            let open = (start..self.code.len()).find(|i| matches!(self.code.get(*i), Some('{' | ';')))?;
            let end = if self.code.get(open) == Some(&'{') { closing(&self.code, open)? } else { open };
            Some(self.line_of(start)..=self.line_of(end))
        };
        starts.filter_map(|(start, _)| region(start)).collect()
    }

    fn find_functions(&self) -> Vec<Function> {
        self.words("fn").into_iter().filter_map(|at| self.function_at(at)).collect()
    }

    fn function_at(&self, at: usize) -> Option<Function> {
        let code = &self.code;
        let start = (at + 2..code.len()).find(|i| !code[*i].is_whitespace())?;
        let name: String = code[start..].iter().take_while(|c| is_word(**c)).collect();
        if name.is_empty() {
            return None;
        }
        let after = start + name.chars().count();
        let open = if code.get(after) == Some(&'<') { closing(code, after)? + 1 } else { after };
        let open = (open..code.len()).find(|i| code[*i] == '(')?;
        let close = closing(code, open)?;
        let body = body_after(code, close + 1)?;
        let end = closing(code, body)?;
        let held = code[at..=end].split(|c| *c == '\n').filter(|l| l.iter().any(|c| !c.is_whitespace()));
        Some(Function {
            name,
            line: self.line_of(at),
            length: held.count(),
            parameters: parameters(&code[open + 1..close]),
            depth: depth(&code[body + 1..end]),
        })
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The position of the bracket that closes the one at `open`. Arrows are no angle brackets, and angle
/// brackets only count when the first bracket is one or inside parentheses they cannot be told apart.
fn closing(code: &[char], open: usize) -> Option<usize> {
    let angle = code[open] == '<';
    let mut level = 0_usize;
    for at in open..code.len() {
        let arrow = at > 0 && matches!(code[at - 1], '-' | '=');
        match code[at] {
            '(' | '[' | '{' => level += 1,
            '<' if angle => level += 1,
            '>' if angle && !arrow => level = level.checked_sub(1)?,
            ')' | ']' | '}' => level = level.checked_sub(1)?,
            _ => continue,
        }
        if level == 0 {
            return Some(at);
        }
    }
    None
}

/// The opening brace of a function's body; nothing for a declaration that ends in a semicolon.
fn body_after(code: &[char], from: usize) -> Option<usize> {
    let mut at = from;
    while at < code.len() {
        match code[at] {
            '{' => return Some(at),
            ';' => return None,
            '(' | '[' => at = closing(code, at)? + 1,
            _ => at += 1,
        }
    }
    None
}

/// How many parameters stand between the parentheses.
fn parameters(inside: &[char]) -> usize {
    let mut level = 0_i32;
    let mut count = 0;
    let mut held = false;
    for (at, c) in inside.iter().enumerate() {
        let arrow = at > 0 && matches!(inside[at - 1], '-' | '=');
        match c {
            '(' | '[' | '{' | '<' => level += 1,
            ')' | ']' | '}' => level -= 1,
            '>' if !arrow => level -= 1,
            ',' if level == 0 => {
                count += usize::from(held);
                held = false;
                continue;
            }
            _ => {}
        }
        held |= !c.is_whitespace();
    }
    count + usize::from(held)
}

/// The deepest nesting of control flow in a body. Literals, closures and match arms do not count.
fn depth(body: &[char]) -> usize {
    let mut stack = Vec::new();
    let mut deepest = 0;
    let mut segment = String::new();
    for c in body {
        match c {
            '{' => {
                stack.push(is_control(&segment));
                deepest = deepest.max(stack.iter().filter(|control| **control).count());
                segment.clear();
            }
            '}' => {
                stack.pop();
                segment.clear();
            }
            ';' => segment.clear(),
            _ => segment.push(*c),
        }
    }
    deepest
}

fn is_control(segment: &str) -> bool {
    let last = segment.rsplit("=>").next().unwrap_or_default();
    let mut words = last.split(|c: char| !is_word(c));
    words.any(|word| ["if", "else", "match", "for", "while", "loop"].contains(&word))
}

/// The text with comments and the insides of literals blanked, and the comments themselves.
fn blank(text: &str) -> (Vec<char>, Vec<(usize, String)>) {
    let chars: Vec<char> = text.chars().collect();
    let mut code = Vec::with_capacity(chars.len());
    let mut comments = Vec::new();
    let mut at = 0;
    let mut line = 1;
    while at < chars.len() {
        let rest = &chars[at..];
        let (length, kind) = piece(rest, at > 0 && is_word(chars[at - 1]));
        let piece = &rest[..length];
        match kind {
            Piece::Code => code.extend(piece),
            Piece::Comment | Piece::Literal => {
                code.extend(piece.iter().map(|c| if *c == '\n' { '\n' } else { ' ' }));
            }
        }
        if matches!(kind, Piece::Comment) {
            comments.push((line, piece.iter().collect()));
        }
        if matches!(kind, Piece::Literal) {
            // The quotes stay, so that a literal is still something that stands there.
            let end = code.len();
            code[end - length] = '"';
        }
        line += piece.iter().filter(|c| **c == '\n').count();
        at += length;
    }
    (code, comments)
}

enum Piece {
    Code,
    Comment,
    Literal,
}

/// How long the piece at the start is, and what it is. `inside_word` keeps `r"` at the end of a name apart.
fn piece(rest: &[char], inside_word: bool) -> (usize, Piece) {
    match rest {
        ['/', '/', ..] => (rest.iter().position(|c| *c == '\n').unwrap_or(rest.len()), Piece::Comment),
        ['/', '*', ..] => (block_comment(rest), Piece::Comment),
        ['"', ..] => (string(rest, 0), Piece::Literal),
        ['\'', '\\', ..] => (string(rest, 0), Piece::Literal),
        ['\'', _, '\'', ..] => (3, Piece::Literal),
        ['r' | 'b' | 'c', ..] if !inside_word => match prefixed(rest) {
            Some(length) => (length, Piece::Literal),
            None => (1, Piece::Code),
        },
        _ => (1, Piece::Code),
    }
}

fn block_comment(rest: &[char]) -> usize {
    let mut level = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        match &rest[at..] {
            ['/', '*', ..] => {
                level += 1;
                at += 2;
            }
            ['*', '/', ..] => {
                level -= 1;
                at += 2;
            }
            _ => at += 1,
        }
        if level == 0 {
            return at;
        }
    }
    rest.len()
}

/// A quoted literal that starts at `from`; a backslash takes the next character with it.
fn string(rest: &[char], from: usize) -> usize {
    let quote = rest[from];
    let mut at = from + 1;
    while at < rest.len() {
        match rest[at] {
            '\\' => at += 2,
            c if c == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// A literal with a prefix (`b"…"`, `r#"…"#`, `br"…"`), or nothing when it is only a name.
fn prefixed(rest: &[char]) -> Option<usize> {
    let prefix = rest.iter().take_while(|c| matches!(c, 'r' | 'b' | 'c')).count();
    let raw = rest[..prefix].contains(&'r');
    let hashes = rest[prefix..].iter().take_while(|c| **c == '#').count();
    match rest.get(prefix + hashes)? {
        '"' if !raw && hashes == 0 => Some(string(rest, prefix)),
        '\'' if rest[0] == 'b' && prefix == 1 && hashes == 0 => Some(string(rest, prefix)),
        '"' if raw => {
            let mut end = vec!['"'];
            end.extend(std::iter::repeat_n('#', hashes));
            let from = prefix + hashes + 1;
            let found = rest[from..].windows(end.len()).position(|window| window == end.as_slice());
            Some(found.map_or(rest.len(), |at| from + at + end.len()))
        }
        _ => None,
    }
}
