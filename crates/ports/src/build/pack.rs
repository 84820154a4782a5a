//! What a finished tree becomes: a manifest, and scripts that do not care where they lie.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::detect::{Recipe, Start};
use super::images::{HERE, Manifest, Run};
use super::runner::Failure;
use super::toolchain::Tool;
use super::{Error, digest, tree};

/// How long a script is that only starts a module; longer ones are left alone.
const SCRIPT_BYTES: u64 = 64 << 10;
/// Jars beside the one that runs.
const OTHER_JARS: [&str; 4] = ["-sources.jar", "-javadoc.jar", "-plain.jar", "-tests.jar"];

/// How the image of this tree runs.
pub(super) fn manifest<'a>(
    recipe: &Recipe,
    app: &Path,
    tool: impl Fn(&str) -> Option<&'a Tool>,
    tools_path: &str,
) -> Result<Manifest, Failure> {
    let run = run(&recipe.start, app, &tool)?;
    let own = recipe.path.iter().map(|directory| format!("{HERE}/{directory}"));
    let path = own.chain([tools_path.to_owned()]).collect::<Vec<_>>().join(":");
    let mut env: BTreeMap<String, String> =
        recipe.env.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    env.insert("PATH".into(), path);
    let expose = recipe.runtime.and_then(&tool).and_then(|tool| tool.expose.clone());
    Ok(Manifest { run, env, expose: expose.into_iter().collect() })
}

fn run<'a>(start: &Start, app: &Path, tool: &impl Fn(&str) -> Option<&'a Tool>) -> Result<Run, Failure> {
    match start {
        Start::Shell(line) => Ok(Run::Command(vec!["/bin/sh".into(), "-c".into(), line.clone()])),
        Start::Program(command) => {
            let mut command = command.clone();
            if let Some(program) = command.first_mut()
                && let Some(found) = tool(program)
            {
                *program = found.program.to_string_lossy().into_owned();
            }
            Ok(Run::Command(command))
        }
        Start::Files(places) => {
            let page = |place: &&&str| app.join(place).join("index.html").is_file();
            let found = places.iter().find(page).map(|place| Run::Files((*place).to_string()));
            found.ok_or_else(|| {
                let list = places.join(", ");
                Failure::Told(format!("the build made no index.html in any of {list}"))
            })
        }
        Start::Jar(places) => {
            let jar = places.iter().find_map(|place| jar(app, place).transpose()).transpose()?;
            let jar =
                jar.ok_or_else(|| Failure::Told(format!("the build made no jar in {}", places.join(", "))))?;
            let java = tool("java").map_or("java".into(), |tool| tool.program.to_string_lossy().into_owned());
            Ok(Run::Command(vec![java, "-jar".into(), jar]))
        }
    }
}

/// The one jar in a directory that can run.
fn jar(app: &Path, place: &str) -> Result<Option<String>, Failure> {
    let directory = app.join(place);
    let Ok(entries) = fs::read_dir(&directory) else { return Ok(None) };
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let runs = |name: &String| {
        name.ends_with(".jar")
            && !name.starts_with("original-")
            && !OTHER_JARS.iter().any(|suffix| name.ends_with(suffix))
    };
    let mut jars: Vec<String> = names.filter(runs).collect();
    jars.sort();
    match jars.len() {
        0 => Ok(None),
        1 => Ok(jars.pop().map(|name| format!("{place}/{name}"))),
        _ => Err(Failure::Told(format!(
            "the build made several jars ({}); say which runs in a Procfile",
            jars.join(", ")
        ))),
    }
}

/// Lets the scripts of a virtual environment run from wherever it is moved to: they name its Python by the path where
/// it was made, and the image's `PATH` finds the right one.
pub(super) fn free_scripts(directory: &Path, made_in: &Path) -> Result<(), Error> {
    let bound = made_in.join(".venv/bin/python").to_string_lossy().into_owned();
    let Ok(entries) = fs::read_dir(directory) else { return Ok(()) };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| {
        fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() < SCRIPT_BYTES)
    });
    for path in paths {
        let mut text = Vec::new();
        digest::open(&path).and_then(|mut file| file.read_to_end(&mut text)).map_err(Error::at(&path))?;
        let Some(body) = String::from_utf8(text).ok().and_then(|text| body(&text, &bound)) else { continue };
        fs::write(&path, format!("#!/usr/bin/env python3\n{body}")).map_err(Error::at(&path))?;
        tree::set_mode(&path, 0o755)?;
    }
    Ok(())
}

/// What stands below the lines that name the Python of this environment.
fn body(text: &str, bound: &str) -> Option<String> {
    let (first, rest) = text.split_once('\n')?;
    if first.starts_with("#!") && first.contains(bound) {
        return Some(rest.to_owned());
    }
    // A path too long for a first line: pip lets a shell start Python, in lines that Python reads as a string.
    let (second, rest) = rest.split_once('\n')?;
    let (_, rest) = (first == "#!/bin/sh" && second.contains(bound)).then(|| rest.split_once('\n'))??;
    Some(rest.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_lose_the_path_they_were_made_in() {
        let bound = "/made/here/.venv/bin/python";
        let table = [
            ("#!/made/here/.venv/bin/python3\nimport x\n", Some("import x\n")),
            (
                "#!/bin/sh\n'''exec' \"/made/here/.venv/bin/python\" \"$0\" \"$@\"\n' '''\nimport x\n",
                Some("import x\n"),
            ),
            ("#!/usr/bin/perl\nx\n", None),
            ("#!/bin/sh\necho hi\n", None),
            ("", None),
        ];
        for (text, want) in table {
            assert_eq!(body(text, bound).as_deref(), want, "{text}");
        }
    }
}
