//! What is told while one waits: one line that changes on a terminal, one line per change elsewhere.

use std::io::{IsTerminal, Write};

use crate::paint::Paint;
use crate::say;

const TURNS: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// The line on standard error that tells how far things are.
pub(crate) struct Progress {
    terminal: bool,
    paint: Paint,
    words: String,
    turn: usize,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self {
            terminal: std::io::stderr().is_terminal(),
            paint: Paint::stderr(),
            words: String::new(),
            turn: 0,
        }
    }

    /// Says how far things are; the same words again only show that it goes on.
    pub(crate) fn tell(&mut self, words: &str) {
        if self.terminal {
            words.clone_into(&mut self.words);
            self.draw();
        } else if self.words != words {
            words.clone_into(&mut self.words);
            say::note(words);
        }
    }

    /// Prints a line for good, above the one that changes.
    pub(crate) fn above(&mut self, line: &str) {
        self.clear();
        say::note(&self.paint.dim(line));
        if self.terminal && !self.words.is_empty() {
            self.draw();
        }
    }

    /// Takes the line away.
    pub(crate) fn clear(&self) {
        if self.terminal {
            // A terminal that cannot be written to shows nothing anyway.
            let _ = write!(std::io::stderr().lock(), "\r\u{1b}[2K");
        }
    }

    fn draw(&mut self) {
        self.turn = (self.turn + 1) % TURNS.len();
        // A line longer than the terminal could not be taken back.
        let words: String = self.words.replace(char::is_control, " ").chars().take(LINE_MAX).collect();
        let mut err = std::io::stderr().lock();
        let _ = write!(err, "\r\u{1b}[2K{} {words}", self.paint.green(TURNS[self.turn]))
            .and_then(|()| err.flush());
    }
}

/// How much of the words is shown where the line is drawn again and again; terminals are at least this wide.
const LINE_MAX: usize = 76;
