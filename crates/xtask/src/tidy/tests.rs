//! Every rule by one file that breaks it and one that does not.

use super::source::Source;
use super::{Exception, Tree};

/// What is found in one file, as `line rule` words; every other rule's findings show too.
fn found(path: &str, text: &str) -> String {
    let lib = (String::from("crates/api/src/lib.rs"), String::from("mod plan;\nmod tests;\nmod it;\n"));
    let tree = Tree::new(vec![lib, (path.to_owned(), text.to_owned())]);
    let findings = tree.findings("").expect("no exceptions to misread");
    findings.iter().map(|f| format!("{} {}", f.line, f.rule)).collect::<Vec<_>>().join("; ")
}

fn function(body_lines: usize) -> String {
    format!("fn long() {{\n{}}}\n", "    call();\n".repeat(body_lines))
}

#[test]
fn every_rule_finds_what_it_is_for() {
    let it = "crates/api/src/it.rs";
    let four = "fn f() { if a { if b { if c { if d { } } } } }";
    let five = "fn f() { if a { if b { if c { if d { if e { } } } } } }";
    let nested_arms = "fn f() { match a { A => { if b { } } B if c => { X { y: Z { } } } } }";
    let table: Vec<(&str, &str, String, &str)> = vec![
        ("400 lines are a file", it, "//\n".repeat(400), ""),
        ("401 are too many", it, "//\n".repeat(401), "1 file-length"),
        ("tests in the file do not count", it, format!("#[cfg(test)]\nmod t {{\n{}}}\n", "//\n".repeat(500)), ""),
        ("a test file may be long", "crates/api/src/tests.rs", "//\n".repeat(900), ""),
        ("60 lines are a function", it, function(58), ""),
        ("61 are too many", it, function(59), "1 function-length"),
        ("five parameters", it, "fn f(&self, a: A<B, C>, b: (D, E), c: fn(u8, u8) -> u8, d: u8,) {}".into(), ""),
        ("six parameters", it, "fn f<T: Fn(u8) -> u8>(a: T, b: T, c: T, d: T, e: T, f: T) {}".into(), "1 parameters"),
        ("four levels", it, four.into(), ""),
        ("five levels", it, five.into(), "1 nesting"),
        ("arms and literals are no levels", it, nested_arms.into(), ""),
        ("an unfinished line", it, "\ntodo!()".into(), "2 unfinished"),
        ("the word in a string is no code", it, "fn f() { g(\"todo!() {\", '{', r#\"\"{\"#) }".into(), ""),
        ("a test that is never run", it, "#[ignore]\nfn f() {}".into(), "1 unfinished"),
        ("a TODO without an issue", it, "\n\n// TODO: later".into(), "3 todo"),
        ("a TODO with one", it, "// TODO #12: later".into(), ""),
        ("a test that sleeps", "crates/api/src/tests.rs", "fn f() { sleep(ONE) }".into(), "1 sleep"),
        ("code that sleeps", it, "fn f() { sleep(ONE) }".into(), ""),
        ("a pure planner", "crates/api/src/plan.rs", "fn plan() { world.now_is; renow() }".into(), ""),
        ("a planner with a field env", "crates/api/src/plan.rs", "fn plan() { spec.env; world.now }".into(), ""),
        ("a planner that asks its environment", "crates/api/src/plan.rs", "fn plan() { env::var(A) }".into(), "1 planner"),
        ("a planner that uses it", "crates/api/src/plan.rs", "use std::env;".into(), "1 planner"),
        ("a planner compiled from it", "crates/api/src/plan.rs", "fn plan() { env!(A) }".into(), "1 planner"),
        ("a planner that waits", "crates/api/src/plan.rs", "async fn plan() {}".into(), "1 planner"),
        ("a planner that asks the clock", "crates/api/src/plan.rs", "fn plan() { Timestamp::now() }".into(), "1 planner"),
        ("a file that nobody names", "crates/api/src/lost.rs", String::new(), "1 dead-file"),
        ("a drawer", "crates/api/src/util.rs", String::new(), "1 dead-file; 1 module-name"),
        ("a room's sixth file", "crates/controllers/src/a/b/extra.rs", String::new(), "1 dead-file; 1 room"),
        ("a crate that looks up", "crates/api/Cargo.toml", "[dependencies]\nkit.workspace = true".into(), "2 direction"),
        ("a crate that looks down", "crates/kit/Cargo.toml", "[dependencies]\napi.workspace = true".into(), ""),
        (
            "a crate may test itself with a feature",
            "crates/control-plane/Cargo.toml",
            "[dev-dependencies]\ncontrol-plane = { path = \".\" }".into(),
            "",
        ),
        (
            "control-plane is for kit's tests only",
            "crates/kit/Cargo.toml",
            "[dependencies]\ncontrol-plane.workspace = true\n[dev-dependencies]\ncontrol-plane.workspace = true".into(),
            "2 direction",
        ),
        ("a path of one machine", "docs/x.md", format!("see {}", concat!("/ro", "ot/x")), "1 foreign-word"),
    ];
    for (row, path, text, want) in table {
        assert_eq!(found(path, &text), want, "{row}");
    }
}

#[test]
fn modules_are_followed_through_folders_and_includes() {
    let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    let tree = Tree::new(vec![
        file("crates/api/src/main.rs", "pub(crate) mod a;\ninclude!(\"g.rs\");"),
        file("crates/api/src/a.rs", "mod b;"),
        file("crates/api/src/a/b/mod.rs", "mod c;"),
        file("crates/api/src/a/b/c.rs", ""),
        file("crates/api/src/g.rs", ""),
        file("crates/api/tests/story.rs", "mod shared;"),
        file("crates/api/tests/shared/mod.rs", ""),
    ]);
    assert_eq!(tree.findings("").expect("no exceptions to misread"), vec![]);
}

#[test]
fn an_exception_needs_a_reason_and_a_finding() {
    let tree = Tree::new(vec![("crates/api/src/lost.rs".into(), String::new())]);
    let told = |exceptions: &str| {
        let findings = tree.findings(exceptions).map_err(|error| format!("{error:#}"))?;
        Ok::<_, String>(findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
    };
    assert_eq!(told("crates/api/src/lost.rs | dead-file | it is a template"), Ok(String::new()));
    assert!(
        told("crates/api/src/lost.rs | dead-file |")
            .is_err_and(|error| error.contains("path | rule | reason"))
    );
    let stale = told("# a note\ncrates/api/src/lost.rs | dead-file | a\nx.rs | todo | b");
    assert_eq!(
        stale,
        Ok("crates/xtask/src/tidy/exceptions.txt:3: [exception] excepts nothing any more: x.rs | todo"
            .into())
    );
    assert!(Exception::parse("a | b").is_err());
}

#[test]
fn functions_are_found_with_their_shape() {
    let text = "impl X {\n  fn a(&self) -> [u8; 2] where T: Y {\n    /* { */ b()\n\n  }\n  fn declared();\n}\ntype F = fn(u8);";
    let source = Source::new("x.rs", text);
    let seen: Vec<_> =
        source.functions.iter().map(|f| (f.name.as_str(), f.line, f.length, f.parameters)).collect();
    assert_eq!(seen, vec![("a", 2, 3, 1)]);
}
