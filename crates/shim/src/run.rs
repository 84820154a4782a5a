//! The life of a shim: one order, one program, one record.

use std::fs;
use std::io::{self, PipeReader, Write as _};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::WaitStatus;
use nix::unistd::{close, dup2_stderr, dup2_stdin, dup2_stdout, setsid};

use crate::bounds;
use crate::cgroup::{self, Cgroups};
use crate::grace;
use crate::launch::launch;
use crate::log::{Log, drain};
use crate::order::{Limits, Order, STARTED};
use crate::process::{self, Process};
use crate::record::{Cause, End, Record, now_ms};
use crate::tree;

/// How long a program may take to end when whoever asks does not say: what a cluster gives a pod, shortened to what
/// a machine that shuts down waits for.
const GRACE: Duration = Duration::from_secs(10);
/// The longest time that is given for anything: a year, which can still be added to a moment.
const FOR_EVER: Duration = Duration::from_secs(365 * 24 * 3600);
/// How often limits are looked at that the kernel holds: only to notice that it had to.
const HELD: Duration = Duration::from_secs(1);
/// How often limits are looked at that nobody else holds.
const WATCHED: Duration = Duration::from_millis(200);
/// How often another shim's record is looked at until it tells how the start went.
const DECISION: Duration = Duration::from_millis(5);
/// So many orphans at once are a fork bomb, or look like one: a thousand processes that start others leave the shim too
/// little of the machine to count them while they run.
const CROWD: usize = 32;
/// The longest wait: a net under every signal that might get lost.
const IDLE: Duration = Duration::from_secs(60);
/// How long the end of the output is waited for once everything has ended. Only a process outside the group that was
/// handed the pipe can hold it open.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Reads an order from standard input, runs it to its end, and returns.
///
/// Nothing else may have been opened in this process before: what it inherited by accident is closed, so that neither
/// it nor the program keeps anything of the platform alive. Standard output tells once how the start went: [`STARTED`] when the record says how the run stands, otherwise what
/// is wrong with the shim itself. Secrets are in the order only, never in an argument, a file or a message.
pub fn run() -> ExitCode {
    match attend() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            answer(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

fn attend() -> io::Result<()> {
    process::open_files().into_iter().filter(|file| *file > 2).for_each(|file| {
        // Reading the list opened one more, which is closed already.
        let _ = close(file);
    });
    let order = Order::read(io::stdin().lock())?;
    let signals = detach()?;
    let shim = Process::this()?;
    let cgroups = Cgroups::make(&format!("terrace-{}-{}", shim.pid, shim.start), &order.limits);
    let mut record = Record {
        boot: process::boot()?,
        shim,
        program: None,
        since_ms: now_ms(),
        cgroups: cgroups.directories(),
        end: None,
    };
    let done = match record.create(&order.record) {
        Ok(()) => serve(order, &mut record, &cgroups, signals),
        // An earlier shim has this order already, and tells in its record how the start went.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            while !Record::read(&order.record)?.is_decided() {
                thread::sleep(DECISION);
            }
            answer(STARTED);
            Ok(())
        }
        Err(error) => Err(error),
    };
    cgroup::remove(&cgroups.directories());
    done
}

/// Leaves the platform's session, and takes in every orphan of the program's tree from here on.
fn detach() -> io::Result<SignalFd> {
    // It fails for the leader of a group, which has what it wants already.
    let _ = setsid();
    prctl::set_child_subreaper(true)?;
    std::env::set_current_dir("/")?;
    let nothing = fs::File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(nothing.as_fd())?;
    dup2_stderr(nothing.as_fd())?;
    let mut held = SigSet::empty();
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGHUP, Signal::SIGCHLD] {
        held.add(signal);
    }
    held.thread_block()?;
    Ok(SignalFd::with_flags(&held, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?)
}

fn serve(order: Order, record: &mut Record, cgroups: &Cgroups, signals: SignalFd) -> io::Result<()> {
    let log = Log::open(&order.log, order.limits.log_bytes);
    let launched = log
        .map_err(|error| format!("cannot write the log {}: {error}", order.log.display()))
        .and_then(|log| listener(log).map_err(|error| format!("cannot listen to the program: {error}")))
        .and_then(|listener| launch(&order, cgroups).map(|(program, output)| (program, output, listener)));
    // From here on the environment is needed no more.
    let Order { record: path, limits, .. } = order;
    let (program, output, listener) = match launched {
        Ok(launched) => launched,
        Err(message) => return finish(record, &path, Cause::NotStarted(message), None),
    };
    let last_line = listener.hear(output);
    record.program = Some(program);
    record.since_ms = now_ms();
    let told = record.replace(&path);
    let watch = Watch::new(program, &limits, cgroups, &path, signals);
    // A run that nobody could find again must not go on.
    let cause = told.map(|()| {
        answer(STARTED);
        watch.wait()
    });
    cgroups.close();
    tree::end_members(&cgroups.directories());
    tree::end_below(std::process::id());
    let cause = cgroups.crossed().map_or(cause, Ok)?;
    finish(record, &path, cause, last_line.recv_timeout(LAST_WORDS).ok().flatten())
}

/// A thread that keeps what the program prints.
struct Listener {
    output: mpsc::Sender<PipeReader>,
    last_line: mpsc::Receiver<Option<String>>,
}

/// Starts the listener, before there is anything to hear: a program that takes every process its user may have would
/// leave none for this thread.
fn listener(log: Log) -> io::Result<Listener> {
    let (give, given) = mpsc::channel();
    let (tell, told) = mpsc::channel();
    thread::Builder::new().spawn(move || {
        if let Ok(output) = given.recv() {
            // Nobody listening any more is no reason to stop draining.
            let _ = tell.send(drain(output, log));
        }
    })?;
    Ok(Listener { output: give, last_line: told })
}

impl Listener {
    fn hear(self, output: PipeReader) -> mpsc::Receiver<Option<String>> {
        // The thread waits for nothing else.
        let _ = self.output.send(output);
        self.last_line
    }
}

fn finish(record: &mut Record, path: &Path, cause: Cause, last_line: Option<String>) -> io::Result<()> {
    let unseen = record.program.is_none();
    record.end = Some(End { at_ms: now_ms(), cause, last_line });
    record.replace(path)?;
    if unseen {
        answer(STARTED);
    }
    Ok(())
}

/// Tells the platform, which may be gone, and lets go of the pipe.
fn answer(word: &str) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{word}").and_then(|()| out.flush());
    if let Ok(nothing) = fs::File::options().write(true).open("/dev/null") {
        let _ = dup2_stdout(nothing.as_fd());
    }
}

struct Watch<'a> {
    program: Process,
    limits: &'a Limits,
    cgroups: &'a Cgroups,
    record: &'a Path,
    signals: SignalFd,
    lifetime_ends: Option<Instant>,
    grace_ends: Option<Instant>,
}

impl<'a> Watch<'a> {
    fn new(
        program: Process,
        limits: &'a Limits,
        cgroups: &'a Cgroups,
        record: &'a Path,
        signals: SignalFd,
    ) -> Self {
        let lifetime_ends =
            limits.lifetime_ms.map(|ms| Instant::now() + Duration::from_millis(ms).min(FOR_EVER));
        Self { program, limits, cgroups, record, signals, lifetime_ends, grace_ends: None }
    }

    /// Waits until the program ended or has to. What is left of its tree is the caller's.
    fn wait(mut self) -> Cause {
        loop {
            let collected = tree::collect();
            // Orphans that end here, or the program itself: that is where the tree cannot be counted by its branches.
            let (some, crowd) = (!collected.is_empty(), collected.len() >= CROWD);
            let more = collected.len() >= tree::AT_ONCE;
            let ended = self.ended(collected);
            let count = || bounds::crossed(self.limits, self.cgroups, some);
            let crossed = self
                .cgroups
                .crossed()
                .or_else(|| if crowd { tree::while_stopped(self.program, count) } else { count() });
            // What its tree holds too much of is why the first process ended, if both are seen at once.
            if let Some(cause) = crossed.or(ended) {
                return cause;
            }
            if passed(self.lifetime_ends) {
                return Cause::TimedOut;
            }
            if passed(self.grace_ends) {
                let collected = tree::end_below(std::process::id());
                return self.ended(collected).unwrap_or(Cause::Lost);
            }
            self.pause(more);
        }
    }

    fn ended(&self, collected: impl IntoIterator<Item = (u32, WaitStatus)>) -> Option<Cause> {
        let (_, status) = collected.into_iter().find(|(pid, _)| *pid == self.program.pid)?;
        match status {
            WaitStatus::Exited(_, code) => Some(Cause::Exited(code)),
            WaitStatus::Signaled(_, signal, _) => Some(Cause::Signaled(signal as i32)),
            _ => None,
        }
    }

    /// Waits for the next thing to look at; not at all if there is `more` to collect.
    fn pause(&mut self, more: bool) {
        let mut longest = if more { Duration::ZERO } else { IDLE };
        if bounds::watched(self.limits, self.cgroups) {
            longest = longest.min(WATCHED);
        } else if self.limits.memory_bytes.is_some() || self.limits.processes.is_some() {
            longest = longest.min(HELD);
        }
        for moment in [self.lifetime_ends, self.grace_ends].into_iter().flatten() {
            longest =
                longest.min(moment.saturating_duration_since(Instant::now()) + Duration::from_millis(1));
        }
        let timeout = PollTimeout::try_from(longest).unwrap_or(PollTimeout::ZERO);
        let mut waiting = [PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        if !matches!(poll(&mut waiting, timeout), Ok(_) | Err(Errno::EINTR)) {
            thread::sleep(WATCHED);
        }
        while let Ok(Some(signal)) = self.signals.read_signal() {
            let number = i32::try_from(signal.ssi_signo).unwrap_or_default();
            if [Signal::SIGTERM, Signal::SIGINT, Signal::SIGQUIT].iter().any(|asks| *asks as i32 == number) {
                self.asked_to_end();
            }
        }
    }

    /// The tree is asked once; being asked again can only shorten the time it is given.
    fn asked_to_end(&mut self) {
        let ends = Instant::now() + grace::left(self.record).unwrap_or(GRACE).min(FOR_EVER);
        match self.grace_ends {
            Some(earlier) => self.grace_ends = Some(earlier.min(ends)),
            None => {
                self.grace_ends = Some(ends);
                tree::signal_below(std::process::id(), Signal::SIGTERM);
            }
        }
    }
}

fn passed(moment: Option<Instant>) -> bool {
    moment.is_some_and(|moment| Instant::now() >= moment)
}
