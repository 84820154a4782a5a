//! Go: one program, built into `bin/app`.

use std::collections::BTreeSet;

use super::{CACHE, Listing, Recipe, Start, words};

/// The recipe for a Go module.
pub(super) fn detect(files: &Listing, _: bool) -> Option<Result<Recipe, String>> {
    let module = files.text("go.mod")?;
    Some(package(files, module).map(|package| {
        Recipe {
            language: "go",
            build: vec![words(&["go", "build", "-o", "bin/app", &package])],
            start: Start::Program(words(&["bin/app"])),
            build_env: [
                ("GOMODCACHE", format!("{CACHE}/go/mod")),
                ("GOCACHE", format!("{CACHE}/go/build")),
                // The modules would be read-only and could not be removed with the cache.
                ("GOFLAGS", "-modcacherw -buildvcs=false".to_owned()),
            ]
            .into(),
            path: vec!["bin"],
            ..Recipe::default()
        }
    }))
}

/// The package with the program: the root, or the one command.
fn package(files: &Listing, module: &str) -> Result<String, String> {
    let in_root = |(path, text): (&str, &str)| {
        !path.contains('/') && path.ends_with(".go") && text.lines().any(|line| line.trim() == "package main")
    };
    if files.texts().any(in_root) {
        return Ok(".".into());
    }
    let commands: BTreeSet<&str> = files
        .paths()
        .filter(|path| path.ends_with(".go"))
        .filter_map(|path| path.strip_prefix("cmd/")?.split_once('/'))
        .map(|(command, _)| command)
        .collect();
    let line = module.lines().find_map(|line| line.trim().strip_prefix("module "));
    let name = line.and_then(|path| path.trim().rsplit('/').next()).unwrap_or_default();
    match commands.len() {
        0 => Err("go.mod is there, but no `package main` in the root and no command under cmd/".into()),
        1 => Ok(commands.iter().map(|command| format!("./cmd/{command}")).collect()),
        _ if commands.contains(name) => Ok(format!("./cmd/{name}")),
        _ => {
            let list = commands.into_iter().collect::<Vec<_>>().join(", ");
            Err(format!(
                "there are several commands under cmd/ ({list}) and none is named `{name}` as the module"
            ))
        }
    }
}
