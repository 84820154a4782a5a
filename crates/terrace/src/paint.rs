//! Colour, where a person looks and has not asked to be spared.

use std::io::IsTerminal;

/// Paints words, or leaves them alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint(bool);

impl Paint {
    /// For standard output.
    pub(crate) fn stdout() -> Self {
        Self(std::io::stdout().is_terminal() && wanted())
    }

    /// For standard error.
    pub(crate) fn stderr() -> Self {
        Self(std::io::stderr().is_terminal() && wanted())
    }

    /// Always, or never.
    #[cfg(test)]
    pub(crate) fn fixed(on: bool) -> Self {
        Self(on)
    }

    pub(crate) fn green(self, word: &str) -> String {
        self.painted("32", word)
    }

    pub(crate) fn red(self, word: &str) -> String {
        self.painted("31", word)
    }

    pub(crate) fn yellow(self, word: &str) -> String {
        self.painted("33", word)
    }

    pub(crate) fn bold(self, word: &str) -> String {
        self.painted("1", word)
    }

    pub(crate) fn dim(self, word: &str) -> String {
        self.painted("2", word)
    }

    /// One of a few colours, always the same for the same number.
    pub(crate) fn one_of_many(self, number: usize, word: &str) -> String {
        const COLOURS: [&str; 6] = ["36", "35", "33", "32", "34", "31"];
        self.painted(COLOURS[number % COLOURS.len()], word)
    }

    fn painted(self, code: &str, word: &str) -> String {
        if self.0 { format!("\u{1b}[{code}m{word}\u{1b}[0m") } else { word.to_owned() }
    }
}

/// Whether the environment leaves colour to us: <https://no-color.org>.
fn wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
