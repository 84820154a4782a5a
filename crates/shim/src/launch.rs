//! The start of the program: everything it is to inherit is set on one thread, which then starts it and ends.

use std::fs;
use std::io::{self, PipeReader, pipe};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::thread;

use nix::sys::prctl;
use nix::sys::signal::SigSet;
use nix::sys::stat::{Mode, umask};
use nix::unistd::geteuid;

use crate::bounds;
use crate::cgroup::Cgroups;
use crate::expose::expose;
use crate::order::Order;
use crate::process::Process;

/// Starts the program. Returns its first process and what it prints, or a message that says why it did not start.
///
/// The view of the file system, the signal mask and the control groups belong to a thread and are inherited from it:
/// the shim's other threads keep their own.
pub(crate) fn launch(order: &Order, cgroups: &Cgroups) -> Result<(Process, PipeReader), String> {
    let Some(program) = order.command.first() else { return Err("no program is named".into()) };
    bounds::set(order, cgroups);
    let started = thread::scope(|scope| {
        let thread = scope.spawn(|| start(order, cgroups));
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the start was interrupted")))
    });
    cgroups.launched();
    started.map_err(|error| complaint(order, program, &error))
}

fn start(order: &Order, cgroups: &Cgroups) -> io::Result<(Process, PipeReader)> {
    if geteuid().is_root() && order.user.is_some() {
        expose(&order.expose)?;
    }
    directory_there(order)?;
    prctl::set_no_new_privs()?;
    umask(Mode::from_bits_truncate(0o022));
    let (output, print) = pipe()?;
    let (program, arguments) = order.command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&order.directory).env_clear().envs(&order.env).process_group(0);
    command.stdin(Stdio::null()).stdout(print.try_clone()?).stderr(print);
    if let Some(user) = order.user.filter(|_| geteuid().is_root()) {
        command.uid(user).gid(user);
    }
    SigSet::empty().thread_set_mask()?;
    cgroups.join();
    let child = command.spawn()?;
    // It cannot have been collected yet, so the number is still its own, even if it has ended.
    let process = Process::find(child.id()).ok_or_else(|| io::Error::other("/proc does not know it"))?;
    Ok((process, output))
}

/// Both a missing directory and a missing program are "not found" to the kernel; this tells them apart.
fn directory_there(order: &Order) -> io::Result<()> {
    let problem = match fs::metadata(&order.directory) {
        Ok(found) if found.is_dir() => return Ok(()),
        Ok(_) => "is not a directory".to_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => "does not exist".to_owned(),
        Err(error) => format!("cannot be entered: {}", reason(&error)),
    };
    Err(io::Error::other(format!("its working directory {} {problem}", order.directory.display())))
}

fn complaint(order: &Order, program: &str, error: &io::Error) -> String {
    let message = match (error.kind(), is_there(order, program)) {
        // Looking through a path also fails with "permission denied" when one directory on it is closed.
        (io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied, false) => {
            "there is no such program".into()
        }
        (io::ErrorKind::NotFound, true) => "the interpreter that it names is missing".into(),
        (io::ErrorKind::PermissionDenied, true) => {
            format!("permission denied, either to execute it or to enter {}", order.directory.display())
        }
        (_, _) => reason(error),
    };
    let user = order.user.map(|user| format!(" as user {user}")).unwrap_or_default();
    format!("cannot start `{program}`{user}: {message}")
}

fn is_there(order: &Order, program: &str) -> bool {
    if program.contains('/') {
        return order.directory.join(program).exists();
    }
    let path = order.env.get("PATH").map_or("/bin:/usr/bin", String::as_str);
    path.split(':').any(|place| order.directory.join(place).join(program).exists())
}

/// What the kernel says, without the number that the standard library puts behind it.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_lowercase(),
        None => text,
    }
}
