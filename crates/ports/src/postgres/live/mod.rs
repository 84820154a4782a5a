//! Real servers.
//!
//! Every server runs as the user of its namespace, listens on 127.0.0.1 alone, and is the child of a shim, so it
//! outlives the platform and is found again. What its user could change is never trusted with more than that user's own
//! data.

mod backup;
mod conf;
mod failover;
mod files;
mod look;
mod places;
mod program;
mod record;
mod recover;
mod restore;
mod roles;
mod run;
mod sql;
mod standby;
mod template;
mod work;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use api::secret::Sealed;
use jiff::Timestamp;
use kit::Name;
use parking_lot::Mutex;
use tokio::sync::broadcast;

use self::places::Places;
use self::record::Record;
use self::run::Life;
use self::sql::Line;
use self::work::Work;
use super::builds;
use super::{
    Backup, Build, Certificate, Error, Key, Login, Number, Postgres, Role, Seen, Settings as Wanted, Source,
    Stop, Superuser,
};
use crate::loopback;
use crate::process::{self, Id, Processes as _};

/// Names of changes that wait for a slow listener.
const CHANGES: usize = 1024;

/// Where servers live, and what they run with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The directory of everything; those above it must let the servers' users pass.
    pub root: PathBuf,
    /// Program and arguments that end in [`shim::run`].
    pub shim: Vec<String>,
    /// Directories of programs that were named by hand.
    pub builds: Vec<PathBuf>,
    /// Where versions are installed.
    pub cache: Option<PathBuf>,
    /// The user of a namespace's servers; the namespace without a name makes the templates. `None` where the platform
    /// is not root: everything then runs as the platform.
    pub user: fn(&str) -> Option<u32>,
}

/// PostgreSQL on this machine, for real. Dropping it leaves the servers running.
#[derive(Clone)]
pub struct Live {
    inner: Arc<Inner>,
}

type Place = (String, Number);

struct Inner {
    settings: Settings,
    places: Places,
    processes: process::Live,
    ports: loopback::Live,
    superuser: Sealed<String>,
    records: Mutex<BTreeMap<String, Record>>,
    writing: tokio::sync::Mutex<()>,
    templates: tokio::sync::Mutex<()>,
    gates: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
    works: Mutex<BTreeMap<Place, Work>>,
    backups: Mutex<BTreeMap<String, Work>>,
    lines: Mutex<HashMap<Place, Line>>,
    lives: Mutex<HashMap<Place, Life>>,
    sizes: Mutex<HashMap<String, (Instant, u64)>>,
    opened: Timestamp,
    changes: broadcast::Sender<Name>,
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("settings", &self.inner.settings).finish_non_exhaustive()
    }
}

impl Live {
    /// Opens the directory, adopts the servers that run, and clears away what was left half done.
    pub async fn open(settings: Settings) -> Result<Self, Error> {
        let root = std::path::absolute(&settings.root).map_err(files::at(&settings.root))?;
        let places = Places { root };
        let here = places.clone();
        let superuser = files::blocking(move || {
            for path in ["", "templates", "clusters", "backups", "wal"] {
                files::make(&here.root.join(path), files::PASSABLE, None)?;
            }
            files::make(&here.runs(), files::PRIVATE, None)?;
            superuser(&here)
        })
        .await?;
        let runs = process::Settings { shim: settings.shim.clone(), dir: places.runs() };
        let processes = process::Live::open(runs).await?;
        let inner = Arc::new(Inner {
            settings,
            records: Mutex::new(record::all(&places)?),
            places,
            processes,
            superuser,
            ports: loopback::Live::default(),
            writing: tokio::sync::Mutex::default(),
            templates: tokio::sync::Mutex::default(),
            gates: Mutex::default(),
            works: Mutex::default(),
            backups: Mutex::default(),
            lines: Mutex::default(),
            lives: Mutex::default(),
            sizes: Mutex::default(),
            opened: Timestamp::now(),
            changes: broadcast::Sender::new(CHANGES),
        });
        inner.clear().await?;
        listen(&inner);
        Ok(Self { inner })
    }

    /// Stops every server, all at the same time, and everything else that runs. Who needs longer than the grace is ended at
    /// once, which costs nothing but a recovery at the next start. Nothing can be started any more.
    pub async fn stop_all(&self, grace: Duration) -> Result<(), Error> {
        match tokio::time::timeout(grace, self.stop_each()).await {
            Ok(stopped) => stopped?,
            Err(_) => tracing::info!("some servers were ended before they had written everything"),
        }
        self.inner.lines.lock().clear();
        Ok(self.inner.processes.stop_all(Duration::ZERO).await?)
    }

    async fn stop_each(&self) -> Result<(), Error> {
        let mut stops = tokio::task::JoinSet::new();
        for id in self.inner.processes.list().await? {
            let inner = self.inner.clone();
            let how = if id.as_str().starts_with(program::PREFIX) { Stop::Immediate } else { Stop::Fast };
            stops.spawn(async move { inner.halt_run(&id, how).await });
        }
        while let Some(stopped) = stops.join_next().await {
            stopped.map_err(|error| Error::Unfit(format!("a stop was interrupted: {error}")))??;
        }
        Ok(())
    }
}

/// The secret that the passwords of the administrators come from, made once.
fn superuser(places: &Places) -> Result<Sealed<String>, Error> {
    let path = places.superuser();
    if let Some(text) = files::read(&path)? {
        return Ok(Sealed::new(text.trim().to_owned()));
    }
    let secret = record::secret();
    files::write(&path, &format!("{}\n", secret.open()), None)?;
    Ok(secret)
}

/// Tells of the clusters whose processes start or end.
fn listen(inner: &Arc<Inner>) {
    let (weak, mut changes) = (Arc::downgrade(inner), inner.processes.changes());
    tokio::spawn(async move {
        loop {
            let heard = changes.recv().await;
            let Some(inner) = weak.upgrade() else { return };
            let names: Vec<Name> = match heard {
                Ok(id) => id
                    .as_str()
                    .split('.')
                    .next()
                    .and_then(|uid| inner.record(uid))
                    .iter()
                    .map(Record::called)
                    .collect(),
                // Who knows what was missed: everybody looks.
                Err(broadcast::error::RecvError::Lagged(_)) => {
                    inner.records.lock().values().map(Record::called).collect()
                }
                Err(broadcast::error::RecvError::Closed) => return,
            };
            names.into_iter().for_each(|name| inner.tell(name));
        }
    });
}

impl Inner {
    /// Ends programs that an earlier life of the platform left behind, and removes what they were making.
    async fn clear(&self) -> Result<(), Error> {
        let records = self.records.lock().clone();
        let servers: BTreeSet<Id> = records
            .iter()
            .flat_map(|(uid, record)| {
                record.instances.iter().map(move |(number, kept)| Self::run_id(uid, *number, kept.run))
            })
            .collect();
        let recovering = |uid: &str, number: Number| self.places.fresh(uid, number).exists();
        for id in self.processes.list().await? {
            if !servers.contains(&id) {
                self.halt_run(&id, Stop::Immediate).await?;
            }
        }
        for (uid, record) in &records {
            for number in record.instances.keys().copied() {
                // A server that recovers runs where nothing is yet.
                if recovering(uid, number) && !self.places.data(uid, number).exists() {
                    self.halt(uid, number, Stop::Immediate).await?;
                }
            }
        }
        let places = self.places.clone();
        files::blocking(move || clear_files(&places, &records)).await
    }

    /// The lock that whoever changes a cluster holds.
    fn gate(&self, uid: &str) -> Arc<tokio::sync::Mutex<()>> {
        self.gates.lock().entry(uid.to_owned()).or_default().clone()
    }

    /// The user of a namespace's servers.
    fn owner(&self, namespace: &str) -> Result<Option<u32>, Error> {
        if !nix::unistd::geteuid().is_root() {
            return Ok(None);
        }
        match (self.settings.user)(namespace) {
            Some(user) if user != 0 => Ok(Some(user)),
            _ => Err(Error::Unfit("PostgreSQL does not run as root, and no other user is named".to_owned())),
        }
    }

    fn builds(&self) -> BTreeMap<u32, Build> {
        builds::find(&self.settings.builds, self.settings.cache.as_deref())
    }

    /// The build of a major version.
    fn build(&self, major: u32) -> Result<Build, Error> {
        let mut builds = self.builds();
        let versions: Vec<String> = builds.values().map(|build| build.version.clone()).collect();
        builds.remove(&major).ok_or_else(|| {
            let there = if versions.is_empty() {
                "no other is".to_owned()
            } else {
                format!("{} is", versions.join(", "))
            };
            Error::NoBuild { major, there }
        })
    }

    fn tell(&self, name: Name) {
        // Nobody listening is no failure.
        let _ = self.changes.send(name);
    }
}

/// Removes what was being made, and puts back what was being replaced.
fn clear_files(places: &Places, records: &BTreeMap<String, Record>) -> Result<(), Error> {
    for (uid, record) in records {
        let tls = places.tls(uid);
        put_back(&files::added(&tls, "old"), &tls)?;
        files::remove(&files::added(&tls, "new"))?;
        for number in record.instances.keys().copied() {
            files::remove(&places.fresh(uid, number))?;
            put_back(&places.old(uid, number), &places.data(uid, number))?;
        }
    }
    for uid in files::names(&places.backups())? {
        files::remove(&places.backup(&uid).join("base.new"))?;
    }
    Ok(())
}

fn put_back(old: &std::path::Path, place: &std::path::Path) -> Result<(), Error> {
    if old.exists() && !place.exists() { files::rename(old, place) } else { files::remove(old) }
}

impl Postgres for Live {
    fn builds(&self) -> BTreeMap<u32, Build> {
        self.inner.builds()
    }

    async fn look(&self, cluster: &Key) -> Result<Seen, Error> {
        self.inner.clone().see(cluster).await
    }

    async fn make(&self, cluster: &Key, number: Number, major: u32) -> Result<(), Error> {
        self.make_first(cluster, number, major).await
    }

    async fn restore(&self, cluster: &Key, number: Number, source: &Source) -> Result<(), Error> {
        self.begin_restore(cluster, number, source).await
    }

    async fn copy(&self, cluster: &Key, number: Number, primary: Number) -> Result<(), Error> {
        self.copy_one(cluster, number, primary).await
    }

    async fn configure(&self, cluster: &Key, number: Number, settings: &Wanted) -> Result<(), Error> {
        self.write_settings(cluster, number, settings).await
    }

    async fn certify(&self, cluster: &Key, certificate: &Certificate) -> Result<(), Error> {
        self.keep_certificate(cluster, certificate).await
    }

    async fn start(&self, cluster: &Key, number: Number) -> Result<(), Error> {
        self.start_one(cluster, number).await
    }

    async fn stop(&self, cluster: &Key, number: Number, how: Stop) -> Result<(), Error> {
        self.stop_one(cluster, number, how).await
    }

    async fn fence(&self, cluster: &Key, number: Number) -> Result<(), Error> {
        self.fence_one(cluster, number).await
    }

    async fn unfence(&self, cluster: &Key, number: Number) -> Result<(), Error> {
        self.unfence_one(cluster, number).await
    }

    async fn promote(&self, cluster: &Key, number: Number) -> Result<(), Error> {
        self.promote_one(cluster, number).await
    }

    async fn follow(&self, cluster: &Key, number: Number, primary: Number) -> Result<(), Error> {
        self.follow_one(cluster, number, primary).await
    }

    async fn rejoin(&self, cluster: &Key, number: Number, primary: Number) -> Result<(), Error> {
        self.rejoin_one(cluster, number, primary).await
    }

    async fn wait_for(
        &self,
        cluster: &Key,
        primary: Number,
        standbys: &BTreeSet<Number>,
    ) -> Result<(), Error> {
        self.wait_for_some(cluster, primary, standbys).await
    }

    async fn grant(&self, cluster: &Key, primary: Number, login: &Login) -> Result<(), Error> {
        self.grant_login(cluster, primary, login).await
    }

    async fn superuser(
        &self,
        cluster: &Key,
        primary: Number,
        login: Option<&Superuser>,
    ) -> Result<(), Error> {
        self.let_superuser(cluster, primary, login).await
    }

    async fn role(&self, cluster: &Key, primary: Number, role: &Role) -> Result<(), Error> {
        self.let_role(cluster, primary, role).await
    }

    async fn remove(&self, cluster: &Key, number: Number) -> Result<(), Error> {
        self.remove_one(cluster, number).await
    }

    async fn retire(&self, cluster: &Key, backup: &str) -> Result<(), Error> {
        self.retire_cluster(cluster, backup).await
    }

    async fn back_up(&self, cluster: &Key, number: Number, backup: &str) -> Result<(), Error> {
        self.begin_backup(cluster, number, backup).await
    }

    async fn backup(&self, backup: &str) -> Result<Option<Backup>, Error> {
        self.see_backup(backup)
    }

    async fn discard(&self, backup: &str) -> Result<(), Error> {
        self.discard_one(backup).await
    }

    fn changes(&self) -> broadcast::Receiver<Name> {
        self.inner.changes.subscribe()
    }
}
