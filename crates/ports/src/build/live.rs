//! Real builds: one task each, a few at a time. What was ordered is on disk, so a build outlives the platform: one that
//! was under way begins again.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, broadcast, watch};
use tokio::time::Instant;

use super::fetch::{git, without_login};
use super::images::Images;
use super::make::Maker;
use super::places::{Places, part, short};
use super::record::{Record, records, store};
use super::runner::{Command, Failure, PREFIX, Runner, Wish, end_all, keep_logs, logs};
use super::toolchain::{Toolchain, passed};
use super::{Builds, Error, Limits, Login, Order, Progress, Stage, tree};
use crate::process::Processes;

/// How many names wait for a slow listener before it loses some.
const CHANGES: usize = 256;
/// How many logs of an application are kept.
const LOGS: usize = 5;
/// How long a repository has to tell what a branch points to.
const HEAD_TIME: std::time::Duration = std::time::Duration::from_secs(25);

/// What real builds are told of the machine.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The platform's data directory, which nobody else enters.
    pub data: PathBuf,
    /// The directory that programs of builds and images can reach.
    pub shared: PathBuf,
    /// The platform's environment: where programs are, and where packages come from.
    pub environment: BTreeMap<String, String>,
    /// Whether repositories of this machine may be built (`file://`).
    pub file_urls: bool,
    /// How many builds run at one time.
    pub parallel: usize,
}

/// Real builds, run through `P`. Cheap to clone.
pub struct Live<P> {
    inner: Arc<Inner<P>>,
}

impl<P> Clone for Live<P> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

struct Inner<P> {
    settings: Settings,
    places: Places,
    images: Images,
    toolchain: Toolchain,
    processes: Arc<P>,
    builds: Mutex<BTreeMap<String, Entry>>,
    /// Builds that were forgotten while they were under way, until they have ended.
    leaving: Mutex<Vec<tokio::task::JoinHandle<()>>>,
    slots: Arc<Semaphore>,
    changes: broadcast::Sender<String>,
    heads: std::sync::atomic::AtomicU64,
}

struct Entry {
    record: Record,
    wish: watch::Sender<Wish>,
    task: Option<tokio::task::JoinHandle<()>>,
}

impl<P: Processes> Live<P> {
    /// Finds the builds of an earlier life, ends what is left of them, and begins those again that were under way.
    pub async fn open(settings: Settings, images: Images, processes: Arc<P>) -> Result<Self, Error> {
        let places = Places::make(&settings.data, &settings.shared)?;
        end_all(&*processes).await?;
        tree::empty(&places.work)?;
        tree::empty(&places.staging)?;
        let inner = Inner {
            toolchain: Toolchain::new(&settings.environment),
            slots: Arc::new(Semaphore::new(settings.parallel.max(1))),
            builds: Mutex::default(),
            leaving: Mutex::default(),
            changes: broadcast::Sender::new(CHANGES),
            heads: std::sync::atomic::AtomicU64::default(),
            settings,
            places,
            images,
            processes,
        };
        let live = Self { inner: Arc::new(inner) };
        for record in records(&live.inner.places.state)? {
            live.begin(record);
        }
        Ok(live)
    }

    /// Ends the programs of all builds that are under way; they begin again at the next start.
    pub async fn close(&self) {
        let mut tasks: Vec<_> = self.inner.builds.lock().values_mut().filter_map(Entry::close).collect();
        tasks.append(&mut self.inner.leaving.lock());
        for task in tasks {
            // A task that panicked has ended too.
            let _ = task.await;
        }
    }

    /// Ends like a platform that is killed: its programs go on, and nothing is written down any more.
    #[cfg(test)]
    pub(super) fn die(&self) {
        self.inner
            .builds
            .lock()
            .values()
            .filter_map(|entry| entry.task.as_ref())
            .for_each(|task| task.abort());
    }

    /// Takes a build into the list, and starts it unless it is over. A name that is known is left as it is.
    fn begin(&self, record: Record) {
        let (wish, wishes) = watch::channel(Wish::Go);
        let order = (!record.progress.is_over()).then(|| record.order.clone());
        let id = record.order.id.clone();
        let mut builds = self.inner.builds.lock();
        if builds.contains_key(&id) {
            return;
        }
        let task = order.map(|order| tokio::spawn(Arc::clone(&self.inner).work(order, wishes)));
        builds.insert(id.clone(), Entry { record, wish, task });
        drop(builds);
        self.inner.tell(&id);
    }
}

impl Entry {
    fn close(&mut self) -> Option<tokio::task::JoinHandle<()>> {
        self.wish.send_if_modified(|wish| {
            let going = *wish == Wish::Go;
            if going {
                *wish = Wish::Close;
            }
            going
        });
        self.task.take()
    }
}

impl<P: Processes> Inner<P> {
    /// One build, from waiting for its turn to its end.
    async fn work(self: Arc<Self>, order: Order, mut wish: watch::Receiver<Wish>) {
        let id = order.id.clone();
        let slot = tokio::select! {
            slot = Arc::clone(&self.slots).acquire_owned() => slot.ok(),
            _ = wish.changed() => None,
        };
        let progress = match slot {
            Some(_slot) => self.build(order, wish.clone()).await,
            None => Progress::Failed { stage: Stage::Fetching, message: Failure::Unwanted.message() },
        };
        let closing = *wish.borrow() == Wish::Close;
        let failed = matches!(progress, Progress::Failed { .. });
        if !(closing && failed) {
            self.finish(&id, progress);
        }
    }

    async fn build(self: &Arc<Self>, order: Order, wish: watch::Receiver<Wish>) -> Progress {
        let (id, tag) = (order.id.clone(), order.tag.clone());
        let mut maker = match self.maker(order, wish) {
            Ok(maker) => maker,
            Err(error) => {
                return Progress::Failed { stage: Stage::Fetching, message: Failure::from(error).message() };
            }
        };
        let made = maker.make().await;
        let cleaned = tree::blocking({
            let (work, staging) = maker.rooms();
            move || tree::remove(&work).and_then(|()| tree::remove(&staging))
        });
        // The next start removes what could not be removed now.
        let cleaned = cleaned.await.err().map(|error| Failure::from(error).message());
        if let Some(why) = cleaned {
            let _ = maker.runner.note(&why);
        }
        let end = match made {
            Ok(made) => Progress::Done {
                image: format!("{tag}@sha256:{}", made.hex),
                language: made.language.to_owned(),
                commit: made.commit,
            },
            Err(failure) => Progress::Failed { stage: self.stage(&id), message: failure.message() },
        };
        let _ = maker.runner.note(match &end {
            Progress::Done { image, .. } => image,
            Progress::Failed { message, .. } => message.lines().next().unwrap_or("failed"),
            Progress::Running { .. } => "running",
        });
        end
    }

    fn maker(self: &Arc<Self>, order: Order, wish: watch::Receiver<Wish>) -> Result<Maker<P>, Error> {
        let log = self.places.log(&order.namespace, &order.name, order.number);
        if let Some(directory) = log.parent() {
            tree::make_private(directory, tree::PRIVATE)?;
            keep_logs(directory, &part(&order.name), LOGS)?;
        }
        fs::write(&log, "").map_err(Error::at(&log))?;
        let (inner, id) = (Arc::clone(self), order.id.clone());
        Ok(Maker {
            places: self.places.clone(),
            images: self.images.clone(),
            toolchain: self.toolchain.clone(),
            environment: self.settings.environment.clone(),
            file_urls: self.settings.file_urls,
            runner: Runner {
                processes: Arc::clone(&self.processes),
                prefix: format!("{PREFIX}{}", short(&order.id)),
                user: order.user,
                limits: order.limits.clone(),
                log,
                wish,
                deadline: Instant::now() + order.limits.time,
                count: 0,
            },
            order,
            tell: Box::new(move |stage| inner.enter(&id, stage)),
        })
    }

    fn enter(&self, id: &str, next: Stage) {
        if let Some(entry) = self.builds.lock().get_mut(id)
            && let Progress::Running { stage, .. } = &mut entry.record.progress
        {
            *stage = next;
        }
        self.tell(id);
    }

    fn stage(&self, id: &str) -> Stage {
        match self.builds.lock().get(id).map(|entry| &entry.record.progress) {
            Some(Progress::Running { stage, .. } | Progress::Failed { stage, .. }) => *stage,
            Some(Progress::Done { .. }) | None => Stage::Fetching,
        }
    }

    /// Writes down what came of a build, unless it was forgotten meanwhile.
    fn finish(&self, id: &str, progress: Progress) {
        {
            let mut builds = self.builds.lock();
            let Some(entry) = builds.get_mut(id) else { return };
            entry.record.progress = progress;
            // If it cannot be written it begins again at the next start, and ends the same way.
            let _ = store(&self.places.state_file(id), &entry.record);
        }
        self.tell(id);
    }

    fn tell(&self, id: &str) {
        // Nobody has to listen.
        let _ = self.changes.send(id.to_owned());
    }

    /// Asks a repository what a name points to.
    async fn ask(
        &self,
        url: &str,
        revision: &str,
        user: Option<u32>,
        login: Option<&Login>,
    ) -> Result<Option<String>, Failure> {
        git::judge_url(url, self.settings.file_urls).map_err(Failure::Told)?;
        git::judge_revision(revision).map_err(Failure::Told)?;
        let tool = self.toolchain.find("git", user.is_some()).map_err(Failure::Told)?;
        let number = self.heads.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("head-{number}");
        let (log, home) = (self.places.staging.join(&name), self.places.work.join(&name));
        tree::make_private(&home, tree::PRIVATE)?;
        tree::give_one(&home, user)?;
        let mut env = passed(&self.settings.environment);
        env.extend(git::environment(self.settings.file_urls, login));
        env.insert("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into());
        env.insert("HOME".into(), home.to_string_lossy().into_owned());
        let words = git::list(url, revision);
        let program = tool.program.to_string_lossy().into_owned();
        let command = Command {
            shown: words.iter().map(|word| without_login(word)).collect::<Vec<_>>().join(" "),
            words: [program].into_iter().chain(words.into_iter().skip(1)).collect(),
            directory: home.clone(),
            env,
            expose: tool.expose.into_iter().collect(),
        };
        let (_go, wish) = watch::channel(Wish::Go);
        let mut runner = Runner {
            processes: Arc::clone(&self.processes),
            prefix: format!("{PREFIX}{name}"),
            user,
            limits: Limits { time: HEAD_TIME, ..Limits::default() },
            log: log.clone(),
            wish,
            deadline: Instant::now() + HEAD_TIME,
            count: 0,
        };
        let result = runner.run(command).await;
        let output = fs::read_to_string(&log).unwrap_or_default();
        tree::remove(&log)?;
        tree::remove(&home)?;
        result.map(|()| git::listed(&output, revision))
    }
}

impl<P: Processes> Builds for Live<P> {
    async fn start(&self, order: Order) -> Result<(), Error> {
        if self.inner.builds.lock().contains_key(&order.id) {
            return Ok(());
        }
        let progress = Progress::Running { since: Timestamp::now(), stage: Stage::Fetching };
        let record = Record { order, progress };
        // A login is not written down. Without it the build could not begin again, so it is not written down either:
        // after a restart nobody knows it, and whoever ordered it orders it again.
        if record.order.login.is_none() {
            store(&self.inner.places.state_file(&record.order.id), &record)?;
        }
        self.begin(record);
        Ok(())
    }

    async fn look(&self, id: &str) -> Result<Option<Progress>, Error> {
        Ok(self.inner.builds.lock().get(id).map(|entry| entry.record.progress.clone()))
    }

    async fn cancel(&self, id: &str) -> Result<(), Error> {
        if let Some(entry) = self.inner.builds.lock().get(id) {
            entry.wish.send_replace(Wish::Cancel);
        }
        Ok(())
    }

    async fn forget(&self, id: &str) -> Result<(), Error> {
        let entry = self.inner.builds.lock().remove(id);
        if let Some(entry) = entry {
            entry.wish.send_replace(Wish::Cancel);
            let mut leaving = self.inner.leaving.lock();
            leaving.retain(|task| !task.is_finished());
            leaving.extend(entry.task);
        }
        tree::remove(&self.inner.places.state_file(id))
    }

    async fn head(
        &self,
        url: &str,
        revision: &str,
        user: Option<u32>,
        login: Option<&Login>,
    ) -> Result<Option<String>, Error> {
        if git::is_whole_commit(revision) {
            return Ok(Some(revision.to_owned()));
        }
        let message = match self.inner.ask(url, revision, user, login).await {
            Ok(commit) => return Ok(commit),
            Err(Failure::Machinery(error)) => return Err(error),
            Err(failure) => failure.message(),
        };
        Err(Error::Remote { url: without_login(url), revision: revision.to_owned(), message })
    }

    async fn clear(&self, namespace: &str, name: &str) -> Result<(), Error> {
        let places = self.inner.places.clone();
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        tree::blocking(move || {
            for place in [&places.keys, &places.layers, &places.caches] {
                tree::remove(&Places::of_app(place, &namespace, &name))?;
            }
            let directory = places.logs.join(part(&namespace));
            let logs = if directory.is_dir() { logs(&directory, &part(&name))? } else { Vec::new() };
            logs.iter().try_for_each(|(_, path)| tree::remove(path))
        })
        .await
    }

    fn log(&self, namespace: &str, name: &str, number: u64) -> PathBuf {
        self.inner.places.log(namespace, name, number)
    }

    fn changes(&self) -> broadcast::Receiver<String> {
        self.inner.changes.subscribe()
    }
}
