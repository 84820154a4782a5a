//! The contract of `ports::process`, on the fake and on real processes with the real shim.
//!
//! Started by root, everything runs twice: as root, and once more as a user without rights.

#![expect(
    clippy::print_stdout,
    reason = "rows are told, and a platform that is about to be killed says when"
)]

mod adoption;
mod contract;
mod ends;
mod limits;
mod privacy;
mod room;

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};
use std::sync::Mutex;

use futures::FutureExt as _;
use futures::future::BoxFuture;

/// A user that nobody is.
const NOBODY: u32 = 299_999;

type Row = (&'static str, fn() -> BoxFuture<'static, ()>);

macro_rules! rows {
    ($($module:ident :: $name:ident),* $(,)?) => {
        &[$((concat!(stringify!($module), "::", stringify!($name)), || $module::$name().boxed())),*]
    };
}

const ROWS: &[Row] = rows![
    contract::the_fake_keeps_the_contract,
    contract::real_processes_keep_the_contract,
    contract::the_fake_can_be_made_to_fail,
    ends::what_it_prints_is_in_the_log_and_its_code_in_the_end,
    ends::a_signal_that_ends_it_is_told,
    ends::what_cannot_start_says_what_and_why,
    ends::a_program_that_listens_ends_within_its_grace,
    ends::a_program_that_does_not_listen_is_killed_after_its_grace,
    ends::a_second_stop_shortens_the_grace,
    ends::nothing_of_a_tree_is_left_however_it_hid,
    ends::everything_ends_at_once_when_the_platform_ends,
    limits::memory_is_bounded_for_the_whole_tree,
    limits::a_fork_bomb_is_contained,
    limits::time_is_bounded,
    limits::an_endless_line_fills_neither_memory_nor_disk,
    privacy::the_environment_is_what_was_given_and_nothing_else,
    privacy::secrets_are_in_no_argument_and_in_no_file,
    privacy::a_user_of_its_own_sees_what_is_exposed_and_no_more,
    adoption::a_platform_that_goes_leaves_its_runs_to_the_next,
    adoption::a_platform_that_is_killed_leaves_its_runs_to_the_next,
    adoption::an_end_that_nobody_saw_is_known_afterwards,
    adoption::a_run_whose_shim_is_killed_is_ended_and_lost,
    adoption::remains_of_a_dead_shim_are_ended_at_the_next_start,
    adoption::a_stranger_with_the_same_number_is_left_alone,
    adoption::two_platforms_start_a_run_once,
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("shim") => return shim::run(),
        Some("platform") => return adoption::platform(&arguments[1]),
        _ => {}
    }
    let filters: Vec<&String> = arguments.iter().filter(|word| !word.starts_with('-')).collect();
    let wanted = |name: &str| filters.is_empty() || filters.iter().any(|filter| name.contains(*filter));
    let failed = Mutex::new(0);
    for (name, row) in ROWS.iter().filter(|(name, _)| wanted(name)) {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
        let outcome = runtime.block_on(async { tokio::spawn(row()).await });
        println!("{} {name}", if outcome.is_ok() { "ok    " } else { "FAILED" });
        *failed.lock().expect("no thread panics here") += usize::from(outcome.is_err());
        runtime.shutdown_background();
    }
    let failed = failed.into_inner().expect("no thread panics here");
    let again = if nix::unistd::geteuid().is_root() { without_rights(&arguments) } else { true };
    if failed == 0 && again { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The same rows as a user who may make no control groups and mount nothing. The binary is copied to where that user
/// can read it.
fn without_rights(arguments: &[String]) -> bool {
    let place = tempfile::tempdir().expect("a directory");
    let everyone = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(place.path(), everyone).expect("the directory is ours");
    let copy = place.path().join("rows");
    std::fs::copy(std::env::current_exe().expect("this program"), &copy).expect("room for a copy");
    println!("as user {NOBODY}");
    let mut command = Command::new(&copy);
    command.args(arguments).uid(NOBODY).gid(NOBODY).current_dir("/").env("TMPDIR", place.path());
    command.status().expect("the copy starts").success()
}
