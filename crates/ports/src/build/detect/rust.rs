//! Rust: one program, built into `bin/`.

use std::collections::BTreeSet;

use super::{CACHE, Listing, Recipe, Start, toml_values, words};

/// The recipe for a package or a workspace with one program.
pub(super) fn detect(files: &Listing, _: bool) -> Option<Result<Recipe, String>> {
    let root = files.text("Cargo.toml")?;
    Some(program(files, root).map(|name| {
        let built = format!("{CACHE}/cargo/target/release/{name}");
        let program = format!("bin/{name}");
        Recipe {
            language: "rust",
            build: vec![
                words(&["cargo", "build", "--release", "--bin", &name]),
                words(&["mkdir", "-p", "bin"]),
                words(&["cp", "--", &built, &program]),
            ],
            start: Start::Program(vec![program]),
            build_env: [
                ("CARGO_HOME", format!("{CACHE}/cargo/home")),
                ("CARGO_TARGET_DIR", format!("{CACHE}/cargo/target")),
            ]
            .into(),
            path: vec!["bin"],
            ..Recipe::default()
        }
    }))
}

/// The program that is started: the one that `default-run` names, or the package's own, or the only one.
fn program(files: &Listing, root: &str) -> Result<String, String> {
    if let Some(name) = toml_values(root, "[package]", "default-run").pop() {
        return Ok(name);
    }
    let manifests = files.texts().filter(|(path, _)| *path == "Cargo.toml" || path.ends_with("/Cargo.toml"));
    let programs: BTreeSet<String> = manifests.flat_map(|(path, text)| programs(files, path, text)).collect();
    let own = toml_values(root, "[package]", "name").pop();
    match (own.filter(|own| programs.contains(own)), programs.len()) {
        (Some(own), _) => Ok(own),
        (None, 1) => Ok(programs.into_iter().collect()),
        (None, 0) => Err("Cargo.toml is there, but no program: neither src/main.rs nor a [[bin]]".into()),
        (None, _) => {
            let list = programs.into_iter().collect::<Vec<_>>().join(", ");
            Err(format!("there are several programs ({list}); name one as `default-run` in Cargo.toml"))
        }
    }
}

/// The programs of one package.
fn programs(files: &Listing, manifest: &str, text: &str) -> Vec<String> {
    let directory = manifest.trim_end_matches("Cargo.toml");
    let named = toml_values(text, "[[bin]]", "name");
    let mut programs = named.clone();
    let main = files.has(&format!("{directory}src/main.rs"));
    // A [[bin]] of another name can be what src/main.rs is built into.
    if main && !text.contains("\"src/main.rs\"") {
        programs.extend(toml_values(text, "[package]", "name"));
    }
    let prefix = format!("{directory}src/bin/");
    let files = files.paths().filter_map(|path| path.strip_prefix(prefix.as_str()));
    let stem =
        |file: &str| file.strip_suffix("/main.rs").or_else(|| file.strip_suffix(".rs")).map(str::to_owned);
    if named.is_empty() {
        programs.extend(files.filter_map(stem).filter(|name| !name.contains('/')));
    }
    programs
}
