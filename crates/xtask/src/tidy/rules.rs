//! One function per rule of STYLE.md.

use std::collections::BTreeSet;

use super::source::Source;
use super::{Finding, Tree};

/// Lines of a file, tests apart (STYLE §3, Size).
const FILE_LINES: usize = 400;
/// Lines of a function (STYLE §3, Size).
const FUNCTION_LINES: usize = 60;
/// Parameters of a function, counting `self` (STYLE §3, Size).
const PARAMETERS: usize = 5;
/// Levels of control flow in a body (STYLE §3, Size).
const LEVELS: usize = 4;
/// Lines after which a planner becomes a folder (STYLE §2).
const PLAN_LINES: usize = 250;
/// Names that say nothing about what a module holds (STYLE §3, Names).
const DRAWERS: [&str; 6] = ["util", "common", "helpers", "misc", "types", "manager"];
/// What a planner may not reach for (STYLE §2): waiting, clock, dice, client, environment, log.
const IMPURE: [&str; 16] = [
    "async",
    "await",
    "now()",
    "SystemTime",
    "Instant",
    "rand",
    "Client",
    "std::env",
    "env!",
    "env::var",
    "env::vars",
    "env::var_os",
    "tracing",
    "println",
    "eprintln",
    "spawn",
];
/// Files of a room beside the folder `plan/` (STYLE §2).
const ROOM: [&str; 5] = ["mod.rs", "observe.rs", "plan.rs", "act.rs", "tests.rs"];

/// Which of our crates a crate may use (STYLE §1), and which more in its tests. `terrace` and `xtask`
/// stand on top and may use all.
const MAY_USE: [(&str, &[&str], &[&str]); 10] = [
    ("api", &[], &[]),
    ("kit", &["api"], &["control-plane"]),
    ("shim", &[], &[]),
    ("gateway", &[], &[]),
    ("ports", &["api", "kit", "gateway", "shim"], &["control-plane"]),
    ("controllers", &["api", "kit", "ports", "gateway", "hotload"], &["control-plane"]),
    ("control-plane", &[], &[]),
    ("agents", &["api"], &["control-plane"]),
    ("hotload", &[], &[]),
    ("pgproxy", &["hotload"], &[]),
];

/// Words that tell of one machine or bind us to one registry. Split, so that this file holds none of them.
const FOREIGN_WORDS: [&str; 8] = [
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("crates", ".io"),
    concat!("pypi", ".org"),
    concat!("npmjs", ".org"),
    concat!("deb.debian", ".org"),
    concat!("proxy.golang", ".org"),
    concat!("artifact", "ory"),
];

/// All rules.
pub(super) const ALL: [fn(&Tree) -> Vec<Finding>; 11] = [
    file_length,
    function_shape,
    module_names,
    unfinished,
    unnumbered_todo,
    tests_that_wait,
    pure_planners,
    room_files,
    dead_files,
    crate_direction,
    foreign_words,
];

fn file_length(tree: &Tree) -> Vec<Finding> {
    let long = tree.sources.iter().filter(|s| !s.is_test() && s.length() > FILE_LINES);
    long.map(|s| at(s, 1, "file-length", format!("{} lines; at most {FILE_LINES}", s.length()))).collect()
}

fn function_shape(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for source in &tree.sources {
        for function in source.functions.iter().filter(|f| !source.in_test(f.line)) {
            let limits = [
                ("function-length", "lines", function.length, FUNCTION_LINES),
                ("parameters", "parameters", function.parameters, PARAMETERS),
                ("nesting", "levels", function.depth, LEVELS),
            ];
            for (rule, what, count, most) in limits {
                if count > most {
                    let message = format!("`{}` has {count} {what}; at most {most}", function.name);
                    found.push(at(source, function.line, rule, message));
                }
            }
        }
    }
    found
}

fn module_names(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for source in &tree.sources {
        let parts = source.path.trim_end_matches(".rs").split('/');
        if let Some(name) = parts.skip_while(|part| *part != "src").find(|part| DRAWERS.contains(part)) {
            found.push(at(source, 1, "module-name", format!("`{name}` names no noun")));
        }
    }
    found
}

fn unfinished(tree: &Tree) -> Vec<Finding> {
    let marks = ["todo!", "unimplemented!", "#[ignore"];
    by_line(tree, |_, _, line| {
        let mark = marks.iter().find(|mark| line.contains(**mark))?;
        Some(("unfinished", format!("`{mark}` is left")))
    })
}

fn unnumbered_todo(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for source in &tree.sources {
        for (line, comment) in &source.comments {
            let marked =
                comment.split(|c: char| !c.is_alphanumeric()).any(|word| ["TODO", "FIXME"].contains(&word));
            let numbered =
                comment.split('#').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
            if marked && !numbered {
                found.push(at(source, *line, "todo", "a TODO names its issue: `TODO #12: …`".into()));
            }
        }
    }
    found
}

fn tests_that_wait(tree: &Tree) -> Vec<Finding> {
    by_line(tree, |source, number, line| {
        let waits = source.in_test(number) && line.contains("sleep(");
        waits.then(|| ("sleep", "a test waits for what it can see, never for time".into()))
    })
}

fn pure_planners(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for source in tree.sources.iter().filter(|s| is_planner(&s.path)) {
        for word in IMPURE {
            for position in source.words(word) {
                let line = source.line_of(position);
                if !source.in_test(line) {
                    found.push(at(source, line, "planner", format!("a planner may not use `{word}`")));
                }
            }
        }
        if source.path.ends_with("/plan.rs") && source.length() > PLAN_LINES {
            let message = format!("{} lines; past {PLAN_LINES} it becomes `plan/mod.rs`", source.length());
            found.push(at(source, 1, "planner", message));
        }
    }
    found
}

fn is_planner(path: &str) -> bool {
    path.contains("/src/") && (path.ends_with("/plan.rs") || path.contains("/plan/"))
}

fn room_files(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for source in &tree.sources {
        let parts: Vec<&str> = source.path.split('/').collect();
        if let ["crates", "controllers", "src", _, _, file] = parts.as_slice()
            && !ROOM.contains(file)
        {
            found.push(at(source, 1, "room", format!("a room has no file `{file}`")));
        }
    }
    found
}

fn dead_files(tree: &Tree) -> Vec<Finding> {
    let paths: BTreeSet<&str> = tree.sources.iter().map(|s| s.path.as_str()).collect();
    let mut alive: BTreeSet<String> = BTreeSet::new();
    let mut waiting: Vec<String> = paths.iter().filter(|p| is_root(p)).map(ToString::to_string).collect();
    while let Some(path) = waiting.pop() {
        let Some(source) = tree.sources.iter().find(|s| s.path == path) else { continue };
        if alive.insert(path) {
            waiting.extend(named_by(source, tree).into_iter().filter(|path| paths.contains(path.as_str())));
        }
    }
    let dead = tree.sources.iter().filter(|s| !alive.contains(&s.path));
    dead.map(|s| at(s, 1, "dead-file", "no `mod` names this file".into())).collect()
}

/// Files that cargo compiles without a `mod`.
fn is_root(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        [.., "src", "lib.rs" | "main.rs"] | [.., "build.rs"] | [.., "src", "bin", _] => true,
        [.., "tests" | "benches", _, "main.rs"] => true,
        [.., folder, _] => {
            ["tests", "benches", "examples", "fuzz_targets"].contains(folder) && !path.contains("/src/")
        }
        _ => false,
    }
}

/// Files that the `mod` and `include!` lines of this file can mean.
fn named_by(source: &Source, tree: &Tree) -> Vec<String> {
    let (folder, file) = source.path.rsplit_once('/').unwrap_or(("", &source.path));
    let stem = file.trim_end_matches(".rs");
    let own =
        if is_root(&source.path) || stem == "mod" { folder.to_owned() } else { format!("{folder}/{stem}") };
    let mut named = Vec::new();
    for (_, line) in source.lines() {
        let Some((before, rest)) = line.split_once("mod ") else { continue };
        let name = rest.trim().trim_end_matches(';');
        if rest.contains(';') && before.chars().all(|c| c.is_alphanumeric() || " ()#[]_".contains(c)) {
            named.extend([format!("{own}/{name}.rs"), format!("{own}/{name}/mod.rs")]);
        }
    }
    // A path in a string is blanked in the code, so `include!` and `#[path]` are looked up in the text.
    let text = tree.texts.iter().find(|(path, _)| *path == source.path).map_or("", |(_, text)| text);
    for quoted in text.split('"').skip(1).step_by(2).filter(|quoted| quoted.ends_with(".rs")) {
        named.push(format!("{folder}/{quoted}"));
    }
    named
}

fn crate_direction(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, text) in &tree.texts {
        let name = path.strip_prefix("crates/").and_then(|rest| rest.strip_suffix("/Cargo.toml"));
        let Some((_, uses, in_tests)) = MAY_USE.iter().find(|(of, ..)| Some(*of) == name) else { continue };
        let mut section = "";
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.starts_with('[') {
                section = line;
            }
            let dependency = line.split(['.', '=', ' ']).next().unwrap_or_default();
            let ours = MAY_USE.iter().any(|(of, ..)| *of == dependency)
                || ["terrace", "xtask"].contains(&dependency);
            let allowed = uses.contains(&dependency)
                || (section == "[dev-dependencies]"
                    && (in_tests.contains(&dependency) || Some(dependency) == name));
            if section.ends_with("dependencies]") && ours && !allowed {
                let message = format!("`{}` may not use `{dependency}`", name.unwrap_or_default());
                found.push(Finding { path: path.clone(), line: number + 1, rule: "direction", message });
            }
        }
    }
    found
}

fn foreign_words(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, text) in &tree.texts {
        for (number, line) in text.lines().enumerate() {
            if let Some(word) = FOREIGN_WORDS.iter().find(|word| line.contains(**word)) {
                let message = format!("`{word}` belongs to one machine or one registry");
                found.push(Finding { path: path.clone(), line: number + 1, rule: "foreign-word", message });
            }
        }
    }
    found
}

fn by_line(
    tree: &Tree,
    judge: impl Fn(&Source, usize, &str) -> Option<(&'static str, String)>,
) -> Vec<Finding> {
    let mut found = Vec::new();
    for source in &tree.sources {
        for (number, line) in source.lines() {
            if let Some((rule, message)) = judge(source, number, &line) {
                found.push(at(source, number, rule, message));
            }
        }
    }
    found
}

fn at(source: &Source, line: usize, rule: &'static str, message: String) -> Finding {
    Finding { path: source.path.clone(), line, rule, message }
}
