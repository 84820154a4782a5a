//! Java: what Maven or Gradle makes of it, which is one jar.

use super::{CACHE, Listing, Recipe, Start, words};

/// The recipe for a Maven or Gradle project.
pub(super) fn detect(files: &Listing, _: bool) -> Option<Result<Recipe, String>> {
    let repository = format!("-Dmaven.repo.local={CACHE}/m2");
    let (command, jars) = if files.has("pom.xml") {
        (words(&["mvn", "-q", "-B", "-DskipTests", &repository, "package"]), "target")
    } else if files.has("build.gradle") || files.has("build.gradle.kts") {
        (words(&["gradle", "-q", "--no-daemon", "build", "-x", "test"]), "build/libs")
    } else {
        return None;
    };
    Some(Ok(Recipe {
        language: "java",
        build: vec![command],
        start: Start::Jar(vec![jars]),
        build_env: [("GRADLE_USER_HOME", format!("{CACHE}/gradle"))].into(),
        runtime: Some("java"),
        ..Recipe::default()
    }))
}
