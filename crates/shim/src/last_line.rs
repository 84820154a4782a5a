//! The last line that a program printed, made fit to be shown.

/// How long a line is when it is shown.
const SHOWN_CHARS: usize = 300;
/// How much of a line is kept: enough for the longest characters, and for escapes that are taken out.
const KEPT_BYTES: usize = 4 * 1024;

/// Remembers the last line of a stream that has something in it, in bounded memory.
#[derive(Debug, Default)]
pub(crate) struct LastLine {
    line: Vec<u8>,
    last: Option<String>,
}

impl LastLine {
    /// Takes in what was printed next.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        // A carriage return ends a line too: progress bars write over themselves.
        let mut pieces = bytes.split(|byte| matches!(byte, b'\n' | b'\r'));
        self.add(pieces.next().unwrap_or_default());
        for piece in pieces {
            self.close();
            self.add(piece);
        }
    }

    /// The line, once nothing more is printed.
    pub(crate) fn finish(mut self) -> Option<String> {
        self.close();
        self.last
    }

    fn add(&mut self, piece: &[u8]) {
        let room = KEPT_BYTES - self.line.len();
        self.line.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    fn close(&mut self) {
        let shown = clean(&self.line);
        self.line.clear();
        if !shown.is_empty() {
            self.last = Some(shown);
        }
    }
}

/// A line without terminal escapes and control characters, cut to a readable length.
pub(crate) fn clean(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let mut rest = text.chars().peekable();
    let mut shown = String::new();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => match rest.next() {
                Some('[') => skip_sequence(&mut rest),
                Some(']' | 'P' | 'X' | '^' | '_') => skip_string(&mut rest),
                Some(_) | None => {}
            },
            '\u{9b}' => skip_sequence(&mut rest),
            '\t' => shown.push(' '),
            c if c.is_control() || turns_text(c) => {}
            c => shown.push(c),
        }
    }
    shown.trim().chars().take(SHOWN_CHARS).collect()
}

/// Characters that reverse the order in which a line is read.
fn turns_text(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn skip_sequence(rest: &mut impl Iterator<Item = char>) {
    rest.find(|c| matches!(c, '@'..='~'));
}

fn skip_string(rest: &mut std::iter::Peekable<impl Iterator<Item = char>>) {
    while let Some(c) = rest.next() {
        if c == '\u{7}' || (c == '\u{1b}' && rest.next_if_eq(&'\\').is_some()) {
            return;
        }
    }
}
