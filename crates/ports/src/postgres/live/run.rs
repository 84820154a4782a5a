//! The processes of the instances.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use nix::sys::signal::Signal;

use super::super::builds;
use super::super::{Build, Error, Key, Number, Stop};
use super::places::standby_signal;
use super::program::{Call, environment};
use super::{Inner, Live, conf, files};
use crate::loopback::Loopback as _;
use crate::process::{Id, Launch, Limits, Processes as _, State};

/// How long a start is waited for.
const START: Duration = Duration::from_secs(5);
/// How often a server is asked whether it takes connections by now: nobody tells.
const LOOK: Duration = Duration::from_millis(40);
/// How long a server may take to write everything before it is ended at once.
const FAST: Duration = Duration::from_secs(15);
/// How long it may take to end at once before it is killed: a little longer than it gives its own processes.
const IMMEDIATE: Duration = Duration::from_secs(6);
/// How much is kept of a server's log.
const LOG_BYTES: u64 = 16 << 20;

/// What is remembered of the runs of an instance.
#[derive(Clone, Debug, Default)]
pub(super) struct Life {
    run: u64,
    /// When the server answered last.
    pub(super) answered: Option<Timestamp>,
    /// How many runs before this one ended without an answer, in a row.
    failures: u32,
}

impl Live {
    /// Starts an instance.
    pub(super) async fn start_one(&self, cluster: &Key, number: Number) -> Result<(), Error> {
        let gate = self.inner.gate(&cluster.uid);
        let _alone = gate.lock().await;
        self.inner.start(cluster, number).await
    }

    /// Stops an instance.
    pub(super) async fn stop_one(&self, cluster: &Key, number: Number, how: Stop) -> Result<(), Error> {
        let gate = self.inner.gate(&cluster.uid);
        let _alone = gate.lock().await;
        self.inner.idle(&cluster.uid, number)?;
        self.inner.halt(&cluster.uid, number, how).await
    }
}

impl Inner {
    /// The name of the current run of an instance.
    pub(super) fn run_id(uid: &str, number: Number, run: u64) -> Id {
        Id::new(&format!("{uid}.{number}.{run}"))
    }

    /// How the current run of an instance stands.
    pub(super) async fn state(&self, uid: &str, number: Number) -> Result<Option<State>, Error> {
        let run = self.record(uid).map_or(0, |record| record.kept(number).run);
        Ok(self.processes.look(&Self::run_id(uid, number, run)).await?)
    }

    pub(super) async fn runs(&self, uid: &str, number: Number) -> Result<bool, Error> {
        Ok(matches!(self.state(uid, number).await?, Some(State::Running { .. })))
    }

    pub(super) async fn start(&self, cluster: &Key, number: Number) -> Result<(), Error> {
        let uid = &cluster.uid;
        self.may_start(cluster, number).await?;
        if !self.runs(uid, number).await? {
            self.launch(cluster, number).await?;
        }
        self.await_connections(cluster, number).await
    }

    /// Refuses what could become a second primary, or is not ready to run.
    async fn may_start(&self, cluster: &Key, number: Number) -> Result<(), Error> {
        let (uid, record) = (&cluster.uid, self.known(cluster)?);
        self.idle(uid, number)?;
        let data = self.places.data(uid, number);
        if !data.exists() {
            return Err(Error::Unfit(format!("instance {number} of {} is not there", cluster.name)));
        }
        if self.places.fence(uid, number).exists() {
            return Err(Error::Unfit(format!(
                "instance {number} of {} was put aside and has to rejoin first",
                cluster.name
            )));
        }
        if standby_signal(&data).exists() {
            return Ok(());
        }
        for other in record.instances.keys().copied().filter(|other| *other != number) {
            let primary = !standby_signal(&self.places.data(uid, other)).exists();
            if primary && self.runs(uid, other).await? {
                return Err(Error::Unfit(format!(
                    "instance {other} of {} runs as the primary; instance {number} must not",
                    cluster.name
                )));
            }
        }
        Ok(())
    }

    async fn launch(&self, cluster: &Key, number: Number) -> Result<(), Error> {
        let (uid, kept) = (&cluster.uid, self.known(cluster)?.kept(number));
        let data = self.places.data(uid, number);
        let build = self.build(major(&data)?.ok_or_else(|| damaged(cluster, number))?)?;
        let owner = self.owner(&cluster.name.namespace)?;
        self.processes.forget(&Self::run_id(uid, number, kept.run)).await?;
        let (port, run) = (self.port(uid, number, kept.port)?, kept.run + 1);
        let floors = self.floors(cluster, number, &build).await?;
        let change = |record: &mut super::record::Record| {
            let kept = record.instances.entry(number).or_default();
            (kept.port, kept.run, kept.floors) = (port, run, floors);
        };
        self.update(uid, change).await?;
        self.write_own(uid, number).await?;
        self.born(uid, number, run);
        self.hang_up(uid, number);
        let program = build.bin.join("postgres");
        let config = format!("config_file={}", self.places.own_settings(uid, number).display());
        let launch = Launch {
            id: Self::run_id(uid, number, run),
            command: server(&build, &data, [config]),
            env: environment(&program, &data),
            directory: data,
            user: owner,
            expose: self.exposed(&program),
            log: self.places.log(uid, number),
            limits: Limits { log_bytes: Some(LOG_BYTES), ..Limits::default() },
        };
        Ok(self.processes.start(launch).await?)
    }

    /// What the settings of a standby have to be raised to before it starts.
    async fn floors(
        &self,
        cluster: &Key,
        number: Number,
        build: &Build,
    ) -> Result<BTreeMap<String, u32>, Error> {
        let data = self.places.data(&cluster.uid, number);
        if !standby_signal(&data).exists() {
            return Ok(BTreeMap::new());
        }
        let mut call = Call::new(build, "pg_controldata", &data).with([&data.display().to_string()]);
        call.owner = self.owner(&cluster.name.namespace)?;
        let control = self.call(call).await?;
        let settings = files::read(&self.places.settings(&cluster.uid, number))?.unwrap_or_default();
        Ok(conf::floors(&control, &settings))
    }

    /// The port an instance had before, or another that is free.
    pub(super) fn port(&self, uid: &str, number: Number, before: u16) -> Result<u16, Error> {
        if before != 0 && TcpListener::bind((Ipv4Addr::LOCALHOST, before)).is_ok() {
            return Ok(before);
        }
        let records = self.records.lock();
        let ports = records.values().flat_map(|record| record.instances.values().map(|kept| kept.port));
        let taken: BTreeSet<u16> = ports.collect();
        let mut place = DefaultHasher::new();
        (uid, number).hash(&mut place);
        self.ports.free(&taken, place.finish()).ok_or(Error::NoPort)
    }

    /// Waits a few seconds until an instance takes connections, or ends.
    async fn await_connections(&self, cluster: &Key, number: Number) -> Result<(), Error> {
        let up = async {
            while self.runs(&cluster.uid, number).await? {
                if self.line(&cluster.uid, number).await.is_ok() {
                    self.answered(&cluster.uid, number);
                    if !standby_signal(&self.places.data(&cluster.uid, number)).exists() {
                        self.prepare(cluster, number).await?;
                    }
                    break;
                }
                tokio::time::sleep(LOOK).await;
            }
            Ok(())
        };
        tokio::time::timeout(START, up).await.unwrap_or(Ok(()))
    }

    /// Ends the process of an instance with everything it started. There is no trace of it afterwards.
    pub(super) async fn halt(&self, uid: &str, number: Number, how: Stop) -> Result<(), Error> {
        let run = self.record(uid).map_or(0, |record| record.kept(number).run);
        self.hang_up(uid, number);
        self.halt_run(&Self::run_id(uid, number, run), how).await
    }

    pub(super) async fn halt_run(&self, id: &Id, how: Stop) -> Result<(), Error> {
        let asks = match how {
            Stop::Fast => &[(Signal::SIGINT, FAST), (Signal::SIGQUIT, IMMEDIATE)][..],
            Stop::Immediate => &[(Signal::SIGQUIT, IMMEDIATE)][..],
        };
        for (signal, patience) in asks {
            let Some(State::Running { pid, .. }) = self.processes.look(id).await? else { break };
            // The first process alone: its own processes must hear it from there.
            if let Some(process) = shim::process::Process::find(pid) {
                shim::tree::signal(process, *signal);
            }
            if let Ok(ended) = tokio::time::timeout(*patience, self.ended(id)).await {
                ended?;
                break;
            }
        }
        if let Some(State::Running { .. }) = self.processes.look(id).await? {
            self.processes.stop(id, Duration::ZERO).await?;
            self.ended(id).await?;
        }
        Ok(self.processes.forget(id).await?)
    }

    /// Lets a server read its settings again, and waits a moment until it has.
    pub(super) async fn reload(&self, uid: &str, number: Number, mark: Option<&str>) {
        let place = (uid, number);
        if !self.runs(uid, number).await.unwrap_or(false) {
            return;
        }
        let heard = async {
            // A server that cannot be asked reads them when it can; whoever looks sees which it runs with.
            if self.ask_one(place, "cannot reload", "SELECT pg_reload_conf()").await.is_err() {
                return;
            }
            let Some(mark) = mark else { return };
            let question = "SELECT current_setting('terrace.settings', true)";
            while self.ask_one(place, "cannot reload", question).await.ok().flatten().as_deref() != Some(mark)
            {
                tokio::time::sleep(LOOK).await;
            }
        };
        let _ = tokio::time::timeout(super::sql::ANSWER, heard).await;
    }

    fn born(&self, uid: &str, number: Number, run: u64) {
        let mut lives = self.lives.lock();
        let life = lives.entry((uid.to_owned(), number)).or_default();
        let failures = if life.run == 0 || life.answered.is_some() { 0 } else { life.failures + 1 };
        *life = Life { run, answered: None, failures };
    }

    /// Remembers that an instance has just answered.
    pub(super) fn answered(&self, uid: &str, number: Number) {
        let run = self.record(uid).map_or(0, |record| record.kept(number).run);
        let mut lives = self.lives.lock();
        let life = lives.entry((uid.to_owned(), number)).or_default();
        *life = Life { run, answered: Some(Timestamp::now()), failures: 0 };
    }

    pub(super) fn life(&self, uid: &str, number: Number) -> Life {
        self.lives.lock().get(&(uid.to_owned(), number)).cloned().unwrap_or_default()
    }
}

impl Life {
    /// How many runs in a row ended without an answer, the last one included.
    pub(super) fn failures(&self) -> u32 {
        if self.answered.is_some() { 0 } else { self.failures + 1 }
    }
}

/// The words that start a server with some settings beside those of its files.
pub(super) fn server<const N: usize>(build: &Build, data: &Path, settings: [String; N]) -> Vec<String> {
    let program = build.bin.join("postgres").display().to_string();
    // A build without TLS does not start with it, whatever certificate there is.
    let plain = builds::lacks_tls(&build.bin).then(|| "ssl=off".to_owned());
    let settings = settings.into_iter().chain(plain).flat_map(|setting| ["-c".to_owned(), setting]);
    [program, "-D".to_owned(), data.display().to_string()].into_iter().chain(settings).collect()
}

/// The major version of a data directory.
pub(super) fn major(data: &Path) -> Result<Option<u32>, Error> {
    Ok(files::read(&data.join("PG_VERSION"))?.and_then(|text| text.trim().parse().ok()))
}

fn damaged(cluster: &Key, number: Number) -> Error {
    Error::Unfit(format!("the directory of instance {number} of {} does not say its version", cluster.name))
}
