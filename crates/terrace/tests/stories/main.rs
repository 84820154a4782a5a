//! What a person types and sees: real clients against the real binary, one platform per story.
//!
//! The stories lie in `tests/stories/`; its README tells how they are written.

mod platform;
mod transcript;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use platform::Platform;

/// One test per story, so that cargo counts them and runs them side by side.
macro_rules! stories {
    ($($name:ident => $file:literal,)*) => {
        $(#[test] fn $name() { play($file); })*
        const TOLD: &[&str] = &[$($file),*];
    };
}

stories! {
    kubectl_reads_objects_in_every_form => "kubectl/get.story",
    kubectl_watches_changes_as_they_come => "kubectl/watch.story",
    kubectl_describes_objects_and_shows_events => "kubectl/describe.story",
    kubectl_applies_in_three_ways => "kubectl/apply.story",
    kubectl_applies_server_side_and_names_who_is_in_the_way => "kubectl/server-side.story",
    kubectl_creates_replaces_and_edits => "kubectl/write.story",
    kubectl_patches_in_three_languages => "kubectl/patch.story",
    kubectl_deletes_with_and_without_the_owned => "kubectl/delete.story",
    kubectl_explains_and_lists_what_is_served => "kubectl/explain.story",
    kubectl_installs_and_uses_a_new_kind => "kubectl/custom.story",
    kubectl_scales_rolls_out_and_reads_logs => "kubectl/workload.story",
    kubectl_asks_who_may_do_what => "kubectl/access.story",
    python_client_reads_writes_and_watches => "python/client.py",
    kopf_operator_lives_a_whole_life => "python/operator_story.py",
}

#[test]
fn every_story_is_told() {
    let told: BTreeSet<PathBuf> = TOLD.iter().map(|file| folder().join(file)).collect();
    for part in ["kubectl", "python"] {
        for entry in std::fs::read_dir(folder().join(part)).expect("the folder of stories is there") {
            let path = entry.expect("the folder can be read").path();
            let story = path.extension().is_some_and(|e| e == "story")
                || path
                    .file_name()
                    .is_some_and(|n| n == "client.py" || n.to_string_lossy().ends_with("_story.py"));
            assert!(!story || told.contains(&path), "no test tells {}", path.display());
        }
    }
}

/// Plays one story on a platform of its own.
fn play(file: &str) {
    let path = folder().join(file);
    let platform = Platform::start();
    if file.ends_with(".story") {
        transcript::play(&path, &platform);
    } else {
        run_python(&path, &platform);
    }
    platform.stop();
}

fn run_python(path: &Path, platform: &Platform) {
    let python = cache().join("venv/bin/python");
    assert!(python.exists(), "{} is missing: `make test` makes it", python.display());
    let output = platform
        .command("timeout")
        .args(["--kill-after=5", "120"])
        .arg(python)
        .arg("-B")
        .arg(path)
        .output()
        .expect("timeout is on every Debian");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{} ended with {}\n{}{}\n{}",
        path.display(),
        output.status,
        text(&output.stdout),
        text(&output.stderr),
        platform.last_words(),
    );
}

/// `tests/stories` of the repository.
fn folder() -> PathBuf {
    root().join("tests/stories")
}

/// Where `make test` put the Python environment.
fn cache() -> PathBuf {
    std::env::var_os("TERRACE_CACHE_DIR").map_or_else(|| root().join(".cache"), PathBuf::from)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the workspace is two folders up")
}

/// Runs a program to its end and gives back what it wrote to stdout.
fn stdout_of(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
