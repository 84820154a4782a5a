//! Node: what npm installs, what `build` makes, what `start` starts.

use serde_json::Value;

use super::{CACHE, Layer, Listing, PAGES, Recipe, Start, words};

/// Scripts that run when dependencies are installed and may read anything.
const INSTALL_SCRIPTS: [&str; 4] = ["preinstall", "install", "postinstall", "prepare"];
/// Programs that are started where nothing else is said.
const SERVERS: [&str; 4] = ["server.js", "index.js", "app.js", "main.js"];

/// The recipe for a package.
pub(super) fn detect(files: &Listing, has_procfile: bool) -> Option<Result<Recipe, String>> {
    let text = files.text("package.json")?;
    Some(match serde_json::from_str::<Value>(text) {
        Ok(package) => recipe(files, &package, has_procfile),
        Err(error) => Err(format!("package.json cannot be read: {error}")),
    })
}

fn recipe(files: &Listing, package: &Value, has_procfile: bool) -> Result<Recipe, String> {
    let script = |name: &str| package["scripts"][name].as_str();
    let (tool, lock) = tool(files);
    let mut build = Vec::new();
    if script("build").is_some() {
        build.push(words(&[tool, "run", "build"]));
    }
    let start = match start(files, package) {
        Some(start) => start,
        None if !build.is_empty() => Start::Files(PAGES[1..].to_vec()),
        None if has_procfile => Start::default(),
        None => {
            return Err("package.json has no `start` script and no `main`, and there is no server.js; \
                        say what is started"
                .into());
        }
    };
    Ok(Recipe {
        language: "node",
        install: install(package, tool, lock),
        build,
        start,
        build_env: [
            ("npm_config_cache", format!("{CACHE}/npm")),
            ("YARN_CACHE_FOLDER", format!("{CACHE}/yarn")),
        ]
        .into(),
        env: [("NODE_ENV", "production".to_owned())].into(),
        path: vec!["node_modules/.bin"],
        runtime: Some("node"),
        layer: layer(package, lock),
    })
}

/// The program that installs, and its lock file.
fn tool(files: &Listing) -> (&'static str, Option<&'static str>) {
    let known = [
        ("npm", "package-lock.json"),
        ("npm", "npm-shrinkwrap.json"),
        ("yarn", "yarn.lock"),
        ("pnpm", "pnpm-lock.yaml"),
    ];
    let found = known.into_iter().find(|(_, lock)| files.has(lock));
    found.map_or(("npm", None), |(tool, lock)| (tool, Some(lock)))
}

fn install(package: &Value, tool: &str, lock: Option<&str>) -> Vec<Vec<String>> {
    let depends =
        ["dependencies", "devDependencies", "optionalDependencies", "workspaces"].iter().any(|key| {
            match &package[*key] {
                Value::Object(map) => !map.is_empty(),
                Value::Array(list) => !list.is_empty(),
                _ => false,
            }
        });
    let scripted = INSTALL_SCRIPTS.iter().any(|name| package["scripts"][*name].is_string());
    match (tool, lock) {
        _ if !depends && !scripted => Vec::new(),
        ("npm", Some(_)) => vec![words(&["npm", "ci", "--no-audit", "--no-fund"])],
        ("npm", None) => vec![words(&["npm", "install", "--no-audit", "--no-fund"])],
        (other, _) => vec![words(&[other, "install", "--frozen-lockfile"])],
    }
}

/// Dependencies can be used again where they follow from the manifest and the lock file alone.
fn layer(package: &Value, lock: Option<&'static str>) -> Option<Layer> {
    let scripted = INSTALL_SCRIPTS.iter().any(|name| package["scripts"][*name].is_string());
    let text = package.to_string();
    let local = text.contains("\"file:") || text.contains("\"link:") || !package["workspaces"].is_null();
    let key_files = vec!["package.json", lock?, ".npmrc"];
    (!scripted && !local).then_some(Layer { directory: "node_modules", key_files })
}

fn start(files: &Listing, package: &Value) -> Option<Start> {
    let script = |name: &str| package["scripts"][name].as_str();
    if let Some(line) = script("start") {
        // Without npm between, signals reach the program and its memory is its own; hooks need npm.
        let hooked = script("prestart").is_some() || script("poststart").is_some();
        return Some(if hooked {
            Start::Program(words(&["npm", "start"]))
        } else {
            Start::Shell(line.to_owned())
        });
    }
    let main = package["main"].as_str().filter(|main| files.has(main.trim_start_matches("./")));
    let program = main.or_else(|| SERVERS.into_iter().find(|name| files.has(name)))?;
    Some(Start::Program(words(&["node", program])))
}
