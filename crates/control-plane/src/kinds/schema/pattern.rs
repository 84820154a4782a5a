//! Regular expressions as the API's authors mean them: Go's syntax, where `\d`, `\w` and `\s` are ASCII
//! and a bracket inside a class is a bracket.

use regex::{Error, Regex, RegexBuilder};

/// A compiled pattern may not take more memory than this; one of a hundred thousand repetitions is no
/// pattern but an attack.
const SIZE_LIMIT_BYTES: usize = 1 << 20;

/// Compiles a pattern written in Go's syntax.
pub fn pattern(text: &str) -> Result<Regex, Error> {
    RegexBuilder::new(&translate(text)).size_limit(SIZE_LIMIT_BYTES).dfa_size_limit(SIZE_LIMIT_BYTES).build()
}

fn translate(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut class = false;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (piece, length) = match first {
            '\\' if class => escape(rest, true),
            '\\' => escape(rest, false),
            '[' if class => bracket(rest),
            '[' => {
                class = true;
                // A closing bracket that stands first is a member of the class.
                let head =
                    ["[^]", "[]", "[^", "["].into_iter().find(|head| rest.starts_with(head)).unwrap_or("[");
                (head.replace(']', "\\]"), head.len())
            }
            ']' => {
                class = false;
                ("]".into(), 1)
            }
            '&' | '~' | '-' if class && rest[1..].starts_with(first) => (format!("\\{first}"), 1),
            other => (other.into(), other.len_utf8()),
        };
        out.push_str(&piece);
        rest = &rest[length..];
    }
    out
}

/// What `\x` means, and how many bytes of the input it takes.
fn escape(rest: &str, class: bool) -> (String, usize) {
    let Some(next) = rest[1..].chars().next() else { return ("\\".into(), 1) };
    let set = |members: &str, negated: bool| match (class, negated) {
        (true, false) => members.to_owned(),
        (_, true) => format!("[^{members}]"),
        (false, false) => format!("[{members}]"),
    };
    let text = match next {
        'd' => set("0-9", false),
        'D' => set("0-9", true),
        'w' => set("0-9A-Za-z_", false),
        'W' => set("0-9A-Za-z_", true),
        's' => set("\\t\\n\\f\\r ", false),
        'S' => set("\\t\\n\\f\\r ", true),
        'b' if !class => "(?-u:\\b)".into(),
        'B' if !class => "(?-u:\\B)".into(),
        '<' | '>' => next.into(),
        'Q' if !class => {
            let body = &rest[2..];
            let end = body.find("\\E");
            let quoted = regex::escape(&body[..end.unwrap_or(body.len())]);
            return (quoted, 2 + end.map_or(body.len(), |end| end + 2));
        }
        other => format!("\\{other}"),
    };
    (text, 1 + next.len_utf8())
}

/// A bracket inside a class: a named class such as `[:alpha:]`, or itself.
fn bracket(rest: &str) -> (String, usize) {
    let named = rest.strip_prefix("[:").and_then(|body| body.find(":]"));
    match named {
        Some(end) => (rest[..end + 4].to_owned(), end + 4),
        None => ("\\[".into(), 1),
    }
}
