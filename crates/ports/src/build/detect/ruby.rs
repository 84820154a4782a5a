//! Ruby: what bundler installs, and a rack or a plain program.

use super::{CACHE, Layer, Listing, Recipe, Start, words};

/// Programs that are started where there is no rack file.
const PROGRAMS: [&str; 3] = ["app.rb", "main.rb", "server.rb"];

/// The recipe for a bundle.
pub(super) fn detect(files: &Listing, has_procfile: bool) -> Option<Result<Recipe, String>> {
    let gemfile = files.text("Gemfile")?;
    let program = PROGRAMS.into_iter().find(|name| files.has(name));
    let start = match program {
        _ if files.has("config.ru") => {
            let line = "exec bundle exec rackup --host 127.0.0.1 --port \"${PORT:-9292}\"";
            Start::Shell(line.into())
        }
        Some(program) => Start::Program(words(&["bundle", "exec", "ruby", program])),
        None if has_procfile => Start::default(),
        None => {
            return Some(
                Err("found a Gemfile, but neither config.ru nor app.rb; say what is started".into()),
            );
        }
    };
    let alone = files.has("Gemfile.lock") && !gemfile.contains("path");
    let key_files = vec!["Gemfile", "Gemfile.lock"];
    let home = [("BUNDLE_PATH", "vendor/bundle".to_owned())];
    Some(Ok(Recipe {
        language: "ruby",
        install: vec![words(&["bundle", "install"])],
        start,
        build_env: home.iter().cloned().chain([("BUNDLE_USER_HOME", format!("{CACHE}/bundle"))]).collect(),
        env: home.into(),
        runtime: Some("ruby"),
        layer: alone.then_some(Layer { directory: "vendor/bundle", key_files }),
        ..Recipe::default()
    }))
}
