//! Python: a virtual environment beside the source.

use super::{CACHE, Layer, Listing, Recipe, Start, toml_values, words};

/// Files that are started, or hold the object that a server starts, in this order.
const PROGRAMS: [&str; 5] = ["app.py", "main.py", "server.py", "wsgi.py", "asgi.py"];
/// Frameworks whose applications speak ASGI.
const ASYNC: [&str; 4] = ["fastapi", "starlette", "quart", "litestar"];
/// Python of the virtual environment.
const PYTHON: &str = ".venv/bin/python";

/// The recipe for a program in Python.
pub(super) fn detect(files: &Listing, has_procfile: bool) -> Option<Result<Recipe, String>> {
    let manifest = files.has("requirements.txt") || files.has("pyproject.toml") || files.has("setup.py");
    if !manifest && !files.has("app.py") && !files.has("main.py") {
        return None;
    }
    let requirements = files.text("requirements.txt");
    let start = match start(files) {
        Some(start) => start,
        None if has_procfile => Start::default(),
        None => {
            return Some(Err(
                "found Python, but neither app.py nor main.py nor one script in pyproject.toml; \
                             write a Procfile with a `web:` line"
                    .into(),
            ));
        }
    };
    let (install, layer) = install(files, requirements);
    Some(Ok(Recipe {
        language: "python",
        install,
        start,
        build_env: [
            ("PIP_CACHE_DIR", format!("{CACHE}/pip")),
            ("PIP_NO_INPUT", "1".to_owned()),
            ("PIP_DISABLE_PIP_VERSION_CHECK", "1".to_owned()),
            // Compiled files that carry no time are the same in every build.
            ("SOURCE_DATE_EPOCH", "315532800".to_owned()),
        ]
        .into(),
        env: [
            ("VIRTUAL_ENV", format!("{}/.venv", super::super::images::HERE)),
            ("PYTHONUNBUFFERED", "1".to_owned()),
            ("PYTHONDONTWRITEBYTECODE", "1".to_owned()),
        ]
        .into(),
        path: vec![".venv/bin"],
        runtime: Some("python3"),
        layer,
        ..Recipe::default()
    }))
}

fn install(files: &Listing, requirements: Option<&str>) -> (Vec<Vec<String>>, Option<Layer>) {
    let lines: Vec<&str> = requirements
        .unwrap_or_default()
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    let pip = |rest: &[&str]| words(&[&[PYTHON, "-m", "pip", "install"], rest].concat());
    let venv = words(&["python3", "-m", "venv", ".venv"]);
    if !lines.is_empty() {
        // What a line takes from elsewhere in the source does not show in the file itself.
        let whole = |line: &&str| !(line.starts_with('-') || line.starts_with('.') || line.contains("file:"));
        let layer = Layer { directory: ".venv", key_files: vec!["requirements.txt"] };
        let reusable = lines.iter().all(whole);
        return (vec![venv, pip(&["-r", "requirements.txt"])], reusable.then_some(layer));
    }
    let packaged = files.text("pyproject.toml").is_some_and(|text| text.contains("[project]"));
    if requirements.is_none() && (packaged || files.has("setup.py")) {
        return (vec![venv, pip(&["."])], None);
    }
    // Nothing to install: without pip the environment is there at once.
    (vec![words(&["python3", "-m", "venv", "--without-pip", ".venv"])], None)
}

fn start(files: &Listing) -> Option<Start> {
    let mut depends = files.text("requirements.txt").unwrap_or_default().to_lowercase();
    depends.push_str(&files.text("pyproject.toml").unwrap_or_default().to_lowercase());
    if let Some(project) = django(files).filter(|_| depends.contains("gunicorn")) {
        return Some(gunicorn(&format!("{project}.wsgi")));
    }
    for program in PROGRAMS {
        let Some(text) = files.text(program) else { continue };
        let module = program.trim_end_matches(".py");
        let Some(object) = object(text) else {
            if matches!(program, "wsgi.py" | "asgi.py") {
                continue;
            }
            return Some(Start::Program(words(&[PYTHON, program])));
        };
        let asynchronous =
            ASYNC.iter().any(|name| text.to_lowercase().contains(name)) || program == "asgi.py";
        if depends.contains("uvicorn") && (asynchronous || !depends.contains("gunicorn")) {
            let line = "--host 127.0.0.1 --port \"${PORT:-8080}\"";
            return Some(Start::Shell(format!("exec {PYTHON} -m uvicorn {line} {module}:{object}")));
        }
        if depends.contains("gunicorn") {
            return Some(gunicorn(&format!("{module}:{object}")));
        }
        if depends.contains("flask") && !text.contains(".run(") {
            let line = "run --host 127.0.0.1 --port \"${PORT:-8080}\"";
            return Some(Start::Shell(format!("exec {PYTHON} -m flask --app {module}:{object} {line}")));
        }
        return Some(Start::Program(words(&[PYTHON, program])));
    }
    script(files)
}

/// These words are our own or identifiers, so the shell reads nothing that was not meant for it.
fn gunicorn(object: &str) -> Start {
    Start::Shell(format!("exec {PYTHON} -m gunicorn --bind \"127.0.0.1:${{PORT:-8080}}\" {object}"))
}

/// The object that a server starts, by the name it has by custom.
fn object(text: &str) -> Option<&'static str> {
    ["app", "application"].into_iter().find(|name| {
        text.lines().any(|line| {
            let rest = line.strip_prefix(name).map(str::trim_start);
            rest.is_some_and(|rest| rest.starts_with('=') && !rest.starts_with("==") || rest.starts_with(':'))
        })
    })
}

/// The project of a Django site.
fn django(files: &Listing) -> Option<&str> {
    if !files.has("manage.py") {
        return None;
    }
    let identifier = |name: &&str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    files.paths().filter_map(|path| path.strip_suffix("/wsgi.py")).find(identifier)
}

/// The one script that a project installs.
fn script(files: &Listing) -> Option<Start> {
    let text = files.text("pyproject.toml")?;
    let section = text.split("[project.scripts]").nth(1)?;
    let names: Vec<&str> = section
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split_once('='))
        .map(|(name, _)| name.trim().trim_matches('"'))
        .collect();
    let project = toml_values(text, "[project]", "name").into_iter().next().unwrap_or_default();
    let name = match names.as_slice() {
        [only] => only,
        several => several.iter().find(|name| **name == project)?,
    };
    Some(Start::Program(words(&[PYTHON, &format!(".venv/bin/{name}")])))
}
