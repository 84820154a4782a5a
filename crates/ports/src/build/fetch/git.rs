//! Repositories, fetched by the real git. Addresses and revisions are arguments behind `--`, never options.

use std::collections::BTreeMap;
use std::path::Path;

use super::super::Login;
use super::without_login;

/// Protocols that git may speak on a tenant's behalf.
const PROTOCOLS: &str = "https:http:ssh";

/// Judges an address.
pub(in super::super) fn judge_url(url: &str, files_allowed: bool) -> Result<(), String> {
    let schemes = ["https://", "http://", "ssh://"];
    let known = schemes.iter().any(|scheme| url.len() > scheme.len() && url.starts_with(scheme));
    let odd = url.starts_with('-') || url.chars().any(|c| c.is_whitespace() || c.is_control());
    let allowed = known || copy_style(url) || files_allowed && url.starts_with("file:///");
    if odd || !allowed {
        let shown: String = without_login(url).chars().flat_map(char::escape_debug).collect();
        return Err(format!("repository `{shown}` is no https, http or ssh address"));
    }
    Ok(())
}

/// `user@host:path`, as it is written for ssh.
fn copy_style(url: &str) -> bool {
    let Some((user, rest)) = url.split_once('@') else { return false };
    let Some((host, path)) = rest.split_once(':') else { return false };
    let word = |text: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        !text.is_empty() && !text.starts_with('-') && text.chars().all(plain)
    };
    word(user) && word(host) && !path.is_empty() && !path.starts_with('-')
}

/// Judges a branch, tag or commit: nothing that git would read as anything else.
pub(in super::super) fn judge_revision(revision: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '+' | '@' | '#');
    let good = !revision.is_empty()
        && revision.len() <= 255
        && revision.chars().all(plain)
        && !revision.starts_with(['-', '+', '/', '.', '@'])
        && !revision.ends_with(['/', '.'])
        && !revision.contains("..")
        && !revision.contains("//");
    if good {
        return Ok(());
    }
    let shown: String = revision.chars().take(80).flat_map(char::escape_debug).collect();
    Err(format!("revision `{shown}` is no name of a branch, tag or commit"))
}

/// Whether a revision can be the beginning of a commit's name.
pub(in super::super) fn is_commit(revision: &str) -> bool {
    (7..=64).contains(&revision.len()) && revision.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether a revision is a whole commit's name.
pub(in super::super) fn is_whole_commit(revision: &str) -> bool {
    is_commit(revision) && matches!(revision.len(), 40 | 64)
}

/// Commands that start a repository in the working directory and fetch one revision of another into it.
pub(in super::super) fn fetch_one(url: &str, revision: &str) -> [Vec<String>; 3] {
    let init = ["git", "init", "-q", "--template=", "."];
    let fetch =
        ["git", "fetch", "-q", "--depth=1", "--no-tags", "--no-recurse-submodules", "--", url, revision];
    let checkout = ["git", "checkout", "-q", "--detach", "FETCH_HEAD", "--"];
    [own(&init), own(&fetch), own(&checkout)]
}

/// Commands that fetch everything, for a commit that the other side does not give by its short name.
pub(in super::super) fn fetch_all(url: &str, commit: &str) -> [Vec<String>; 2] {
    let heads = "+refs/heads/*:refs/remotes/source/*";
    let fetch = ["git", "fetch", "-q", "--tags", "--no-recurse-submodules", "--", url, heads];
    let checkout = ["git", "checkout", "-q", "--detach", commit, "--"];
    [own(&fetch), own(&checkout)]
}

/// The command that tells what a name points to.
pub(in super::super) fn list(url: &str, revision: &str) -> Vec<String> {
    let names = names(revision);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    own(&[&["git", "ls-remote", "-q", "--", url][..], &names].concat())
}

/// Full names that a revision can mean, the first that is there counts; a tag's commit goes before the tag itself.
fn names(revision: &str) -> [String; 4] {
    [
        format!("refs/tags/{revision}^{{}}"),
        format!("refs/tags/{revision}"),
        format!("refs/heads/{revision}"),
        revision.to_owned(),
    ]
}

/// Reads the commit off what git printed.
pub(in super::super) fn listed(output: &str, revision: &str) -> Option<String> {
    let lines: BTreeMap<&str, &str> = output
        .lines()
        .filter_map(|line| line.trim().split_once('\t'))
        .map(|(commit, name)| (name, commit))
        .collect();
    let found = names(revision).into_iter().find_map(|name| lines.get(name.as_str()).copied());
    found.filter(|commit| is_whole_commit(commit)).map(str::to_owned)
}

/// The commit that a repository has checked out.
pub(in super::super) fn checked_out(repository: &Path) -> Option<String> {
    let head = std::fs::read_to_string(repository.join(".git/HEAD")).ok()?;
    Some(head.trim().to_owned()).filter(|commit| is_whole_commit(commit))
}

/// What git sees: no settings of this machine, no questions, no protocol that is not allowed; and the login, if it needs
/// one.
pub(in super::super) fn environment(files_allowed: bool, login: Option<&Login>) -> BTreeMap<String, String> {
    let protocols = if files_allowed { format!("{PROTOCOLS}:file") } else { PROTOCOLS.to_owned() };
    let ssh = "ssh -o BatchMode=yes -o StrictHostKeyChecking=accept-new";
    [
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_ASKPASS", "true"),
        ("GIT_LFS_SKIP_SMUDGE", "1"),
        ("GIT_SSH_COMMAND", ssh),
        ("GIT_ALLOW_PROTOCOL", &protocols),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .chain(login.map(Login::environment).unwrap_or_default())
    .collect()
}

fn own(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ordinary_addresses_and_revisions_pass() {
        let urls = [
            ("https://example.com/shop.git", true),
            ("ssh://git@example.com/shop", true),
            ("git@example.com:shop.git", true),
            ("file:///srv/shop", false),
            ("ext::sh -c touch% /tmp/x", false),
            ("--upload-pack=touch /tmp/x", false),
            ("-u@example.com:x", false),
            ("git@-oProxyCommand=x:y", false),
            ("https://", false),
            ("https://a b", false),
            ("/etc", false),
            ("", false),
        ];
        for (url, want) in urls {
            assert_eq!(judge_url(url, false).is_ok(), want, "{url}");
        }
        assert_eq!(judge_url("file:///srv/shop", true), Ok(()));
        let revisions = [
            ("main", true),
            ("feature/one-2.x", true),
            ("v1.0+build", true),
            ("0123abc", true),
            ("-x", false),
            ("--output=x", false),
            ("+main", false),
            ("main:refs/heads/x", false),
            ("a..b", false),
            ("HEAD^", false),
            ("HEAD~1", false),
            ("@{u}", false),
            ("a b", false),
            ("", false),
        ];
        for (revision, want) in revisions {
            assert_eq!(judge_revision(revision).is_ok(), want, "{revision}");
        }
        let told = judge_url("ftp://me:hunter2@example.com/x", false).expect_err("it is refused");
        assert!(!told.contains("hunter2"), "{told}");
    }

    #[test]
    fn a_name_means_its_tag_then_its_branch() {
        let (one, two, three) = ("1".repeat(40), "2".repeat(40), "3".repeat(40));
        let branch = format!("{one}\trefs/heads/main\n");
        assert_eq!(listed(&branch, "main"), Some(one.clone()));
        let both = format!("warning: x\n{branch}{two}\trefs/tags/main\n{three}\trefs/tags/main^{{}}\n");
        assert_eq!(listed(&both, "main"), Some(three));
        assert_eq!(listed(&branch, "other"), None);
        assert_eq!(listed("fatal: no\n", "main"), None);
    }
}
