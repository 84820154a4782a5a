//! A build is tried before it is trusted: it makes a database directory, as the platform will let it.

use std::os::unix::fs::{DirBuilderExt, chown};
use std::path::Path;

use anyhow::Context;
use nix::unistd::User;
use tokio::process::Command;

use super::apt::answer;
use crate::place;

/// Who owns nothing, on every system.
const NOBODY: &str = "nobody";

/// Lets a build make a database directory below `work`, as a user without rights, and removes it again.
pub(super) async fn run(bin: &Path, work: &Path) -> anyhow::Result<()> {
    let dir = work.join("trial");
    std::fs::DirBuilder::new().mode(0o700).create(&dir)?;
    let mut command = Command::new(bin.join("initdb"));
    command.args(["--no-sync", "-A", "scram-sha-256", "-U", "postgres", "-E", "UTF8", "--locale=C"]);
    let password = dir.join("password");
    // Of a directory that is removed in a moment, and which no server ever runs on.
    std::fs::write(&password, "trial\n")?;
    command.arg("--pwfile").arg(&password).arg("-D").arg(dir.join("data"));
    if place::is_root() {
        // PostgreSQL refuses to run as root, and initdb wants a user that has a name.
        let nobody = User::from_name(NOBODY)?.with_context(|| format!("there is no user {NOBODY}"))?;
        let (user, group) = (nobody.uid.as_raw(), nobody.gid.as_raw());
        chown(&dir, Some(user), Some(group))?;
        chown(&password, Some(user), Some(group))?;
        command.uid(user).gid(group);
    }
    command.env("HOME", &dir).env_remove("LD_LIBRARY_PATH").current_dir(&dir);
    answer(&mut command).await.context("the build does not work on this machine")?;
    std::fs::remove_dir_all(&dir).context("cannot remove the trial")
}
