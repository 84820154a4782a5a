//! Transcripts: commands with the output a person would see.

use std::fmt::Write as _;
use std::path::Path;

use regex::Regex;

use crate::platform::Platform;
use crate::{folder, stdout_of};

/// One command of a transcript and what it must print.
#[derive(Debug, Default, PartialEq, Eq)]
struct Step {
    /// Line in the file, from 1.
    line: usize,
    command: String,
    expected: Vec<String>,
    /// `< 1.24`: only with such a kubectl.
    guard: Option<Guard>,
}

/// For which versions of kubectl a step is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Guard {
    older: bool,
    minor: u32,
}

/// Runs every step; fails with all differences at once.
pub fn play(path: &Path, platform: &Platform) {
    let text = std::fs::read_to_string(path).expect("the story can be read");
    let minor = kubectl_minor(platform);
    let normal = Normal::new(platform);
    let mut report = String::new();
    for step in parse(&text) {
        if step.guard.is_some_and(|guard| guard.older != (minor < guard.minor)) {
            continue;
        }
        let seen = run(&step.command, platform, &normal);
        if !matches(&step.expected, &seen) {
            let place = format!("{}:{}", path.file_name().unwrap_or_default().to_string_lossy(), step.line);
            writeln!(report, "{place}: $ {}\n{}", step.command, difference(&step.expected, &seen))
                .expect("a String takes everything");
        }
    }
    let words = platform.last_words();
    assert!(report.is_empty(), "with kubectl 1.{minor} ( - told, + seen):\n\n{report}\n{words}");
}

fn run(command: &str, platform: &Platform, normal: &Normal) -> Vec<String> {
    let script = format!(". '{}'\n{command}", folder().join("shell.bash").display());
    let output = platform
        .command("timeout")
        .args(["--kill-after=5", "60", "bash", "-c", &format!("{{ {script}\n}} 2>&1")])
        .output()
        .expect("timeout and bash are on every Debian");
    let mut lines = normal.lines(&String::from_utf8_lossy(&output.stdout));
    if !output.status.success() {
        lines.push(format!("[exit {}]", output.status.code().unwrap_or(-1)));
    }
    lines
}

/// The minor version of the kubectl that talks to this server.
fn kubectl_minor(platform: &Platform) -> u32 {
    let told = stdout_of(platform.command("kubectl").args(["version", "-o", "json"]));
    let client = told.split("\"minor\": \"").nth(1).unwrap_or_default();
    let digits: String = client.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("no kubectl that tells its version: {told}"))
}

/// A line starting with `$ ` begins a step, `> ` continues its command, `# ` is a remark, `@ ` a guard for
/// the next step; everything else is output.
fn parse(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut guard = None;
    for (number, line) in text.lines().enumerate() {
        if let Some(command) = line.strip_prefix("$ ") {
            let step =
                Step { line: number + 1, command: command.into(), guard: guard.take(), ..Step::default() };
            steps.push(step);
        } else if let Some(words) = line.strip_prefix("@ ") {
            guard = Some(Guard::parse(words));
        } else if line.starts_with("# ") || (line.is_empty() && steps.is_empty()) {
            continue;
        } else if let Some(step) = steps.last_mut() {
            match line.strip_prefix('>').filter(|_| step.expected.is_empty()) {
                Some(more) => step.command.extend(["\n", more.strip_prefix(' ').unwrap_or(more)]),
                None => step.expected.push(line.to_owned()),
            }
        }
    }
    for step in &mut steps {
        while step.expected.last().is_some_and(String::is_empty) {
            step.expected.pop();
        }
    }
    steps
}

impl Guard {
    fn parse(words: &str) -> Self {
        let (sign, minor) =
            words.strip_prefix("kubectl ").and_then(|w| w.split_once(" 1.")).expect("`kubectl < 1.24`");
        Self { older: sign == "<", minor: minor.trim().parse().expect("a minor version") }
    }
}

/// What differs from run to run, and the word that stands for it in a story.
struct Normal {
    rules: Vec<(Regex, &'static str)>,
}

impl Normal {
    fn new(platform: &Platform) -> Self {
        let directory = regex::escape(&platform.path().display().to_string());
        let rules = [
            (directory.as_str(), "<dir>"),
            (r"https://(127\.0\.0\.1|localhost):\d+", "<server>"),
            (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "<uid>"),
            (r"\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z", "<time>"),
            (r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} \+0000", "<time>"),
            (r#"(resourceVersion"?: ?"?)\d+"#, "${1}<version>"),
            (r"(Resource Version: +)\d+", "${1}<version>"),
            (r"(^|\s)(<invalid>|\d+(ms|s|m|h|d)(\d+s)?)(\s|$)", "${1}<age>${5}"),
            // Newer clients say more here.
            (r"( deleted) from \S+ namespace", "${1}"),
            // Widths of columns follow the longest cell, and cells differ in length.
            (r"(\S) {3,}", "${1}   "),
            (r"\s+$", ""),
        ];
        let compiled =
            |(pattern, word): (&str, &'static str)| (Regex::new(pattern).expect("a fixed pattern"), word);
        Self { rules: rules.into_iter().map(compiled).collect() }
    }

    fn lines(&self, text: &str) -> Vec<String> {
        let line = |line: &str| {
            let replace = |text: String, (rule, word): &(Regex, &'static str)| {
                rule.replace_all(&text, *word).into_owned()
            };
            self.rules.iter().fold(line.to_owned(), replace)
        };
        let mut lines: Vec<String> = text.lines().map(line).collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }
}

/// A line `...` stands for any number of lines.
fn matches(expected: &[String], seen: &[String]) -> bool {
    match expected {
        [] => seen.is_empty(),
        [dots, rest @ ..] if dots == "..." => (0..=seen.len()).any(|skipped| matches(rest, &seen[skipped..])),
        [first, rest @ ..] => seen.first() == Some(first) && matches(rest, &seen[1..]),
    }
}

/// Both texts line by line, equal lines once: the longest common part stays.
fn difference(expected: &[String], seen: &[String]) -> String {
    let (rows, columns) = (expected.len(), seen.len());
    let mut common = vec![vec![0_usize; columns + 1]; rows + 1];
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            common[row][column] = if expected[row] == seen[column] {
                common[row + 1][column + 1] + 1
            } else {
                common[row + 1][column].max(common[row][column + 1])
            };
        }
    }
    let (mut row, mut column, mut told) = (0, 0, String::new());
    while row < rows || column < columns {
        let equal = row < rows && column < columns && expected[row] == seen[column];
        let removed = row < rows && (column == columns || common[row + 1][column] >= common[row][column + 1]);
        let (sign, line) = match (equal, removed) {
            (true, _) => (' ', &expected[row]),
            (false, true) => ('-', &expected[row]),
            (false, false) => ('+', &seen[column]),
        };
        writeln!(told, "  {sign} {line}").expect("a String takes everything");
        row += usize::from(equal || removed);
        column += usize::from(equal || !removed);
    }
    told
}

#[test]
fn a_transcript_is_commands_with_their_output() {
    let text = "# A remark.\n\n$ one\n> two\nout\n\n@ kubectl < 1.24\n$ three\n\nlate\n\n";
    let steps = parse(text);
    assert_eq!(
        steps[0],
        Step { line: 3, command: "one\ntwo".into(), expected: vec!["out".into()], guard: None }
    );
    assert_eq!(steps[1].guard, Some(Guard { older: true, minor: 24 }));
    assert_eq!(steps[1].expected, ["", "late"]);
}

#[test]
fn dots_stand_for_any_lines() {
    let lines = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert!(matches(&lines("a ... d"), &lines("a b c d")));
    assert!(matches(&lines("a ..."), &lines("a")));
    assert!(!matches(&lines("a ... d"), &lines("a b c")));
    assert_eq!(difference(&lines("a b c"), &lines("a x c")), "    a\n  - b\n  + x\n    c\n");
}
