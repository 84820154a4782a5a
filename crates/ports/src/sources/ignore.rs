//! What of a repository is left out, in the words of `.gitignore`, judged by git itself.

/// What Flux leaves out unless an object says otherwise.
/// <https://fluxcd.io/flux/components/source/gitrepositories/#excluding-files>
const USUAL: &str = "\
.git/
.gitignore
.gitmodules
.gitattributes
*.jpg
*.jpeg
*.gif
*.png
*.wmv
*.flv
*.tar.gz
*.zip
.github/
.circleci/
.travis.yml
.gitlab-ci.yml
appveyor.yml
.drone.yml
cloudbuild.yaml
codeship-services.yml
codeship-steps.yml
**/.goreleaser.yml
**/.sops.yaml
**/.flux.yaml
";

/// The patterns for a whole tree. Those of an object replace the usual ones, as in Flux.
pub(super) fn patterns(own: Option<&str>) -> String {
    format!("/.git/\n{}\n", own.unwrap_or(USUAL))
}
