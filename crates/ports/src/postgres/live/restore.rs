//! How a backup becomes a cluster again: the copy, then the history that was archived since, as far as is wanted.

use std::time::Duration;

use jiff::Timestamp;

use super::super::{Build, Error, Key, Number, Source, Stop};
use super::backup::Note;
use super::places::standby_signal;
use super::program::{Call, environment};
use super::{Inner, Live, conf, files, look};
use crate::process::{Launch, Limits, Processes as _, State};

/// How long the archive of a cluster that still runs may take to receive what was written last.
const ARCHIVE: Duration = Duration::from_secs(30);
/// How often a server that recovers is asked whether it is done: nobody tells.
const LOOK: Duration = Duration::from_millis(100);
const RESTORE: &str = "cannot finish the restore";

impl Live {
    /// Begins to make the first instance from a backup.
    pub(super) async fn begin_restore(
        &self,
        cluster: &Key,
        number: Number,
        source: &Source,
    ) -> Result<(), Error> {
        let gate = self.inner.gate(&cluster.uid);
        let _alone = gate.lock().await;
        let inner = self.inner.clone();
        let missing = || Error::Unfit(format!("backup {} is not there", source.backup));
        let note = inner.note(&source.backup)?.ok_or_else(missing)?;
        let build = inner.build(note.major)?;
        inner.begin(cluster).await?;
        if inner.idle(&cluster.uid, number).is_err() {
            return Ok(());
        }
        if inner.places.data(&cluster.uid, number).exists() {
            inner.forget_work(&cluster.uid, number);
            return Ok(());
        }
        inner.count(&cluster.uid, number).await?;
        let origin = note.cluster.clone();
        inner.update(&cluster.uid, |record| record.origin = Some(origin)).await?;
        let (key, source) = (cluster.clone(), source.clone());
        self.work(cluster, number, async move {
            let restored = inner.restore(&key, number, (&source, &note), &build).await;
            if restored.is_err() {
                inner.halt(&key.uid, number, Stop::Immediate).await?;
                files::remove(&inner.places.fresh(&key.uid, number))?;
            }
            restored
        });
        Ok(())
    }
}

impl Inner {
    async fn restore(
        &self,
        cluster: &Key,
        number: Number,
        (source, note): (&Source, &Note),
        build: &Build,
    ) -> Result<(), Error> {
        if let Some(until) = source.until.filter(|until| *until < note.ended) {
            let story =
                format!("{until} lies before the end of the backup, {}; take an older one", note.ended);
            return Err(Error::Unfit(story));
        }
        self.flush_archive(&note.cluster).await?;
        self.unpack(cluster, number, &source.backup).await?;
        let run = self.recover(cluster, number, (source, note), build).await?;
        self.await_recovery(cluster, number, source.until).await?;
        self.prepare(cluster, number).await?;
        let slots = "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE NOT active";
        self.ask((&cluster.uid, number), RESTORE, slots, ARCHIVE).await?;
        self.hang_up(&cluster.uid, number);
        self.halt_run(&Self::run_id(&cluster.uid, number, run), Stop::Fast).await?;
        self.update(&cluster.uid, |record| {
            (record.granted, record.superuser) = (None, None);
            record.roles.clear();
        })
        .await?;
        let (fresh, data) = (self.places.fresh(&cluster.uid, number), self.places.data(&cluster.uid, number));
        files::blocking(move || files::rename(&fresh, &data)).await
    }

    /// Lets a cluster that still runs put everything into its archive that was written until now.
    async fn flush_archive(&self, origin: &str) -> Result<(), Error> {
        let Some(primary) = self.running_primary(origin).await? else { return Ok(()) };
        // A commit of our own, so that there is one behind every moment that can be asked for.
        let commit = "SELECT pg_current_xact_id()";
        let place = (origin, primary);
        self.ask_one(place, "cannot archive", commit).await?;
        let sql = "SELECT pg_walfile_name(pg_switch_wal())";
        let Some(piece) = self.ask_one(place, "cannot archive", sql).await? else { return Ok(()) };
        let path = self.places.archive(origin).join(piece);
        let there = async {
            while !path.exists() {
                tokio::time::sleep(LOOK).await;
            }
        };
        // Later than that, the restore goes as far as the archive does.
        let _ = tokio::time::timeout(ARCHIVE, there).await;
        Ok(())
    }

    /// Copies a backup, as the user whose data it is.
    async fn unpack(&self, cluster: &Key, number: Number, backup: &str) -> Result<(), Error> {
        let owner = self.owner(&cluster.name.namespace)?;
        let (base, fresh) =
            (self.places.backup(backup).join("base"), self.places.fresh(&cluster.uid, number));
        let place = fresh.clone();
        files::blocking(move || {
            files::remove(&place)?;
            files::make(&place, files::PRIVATE, owner)
        })
        .await?;
        let arguments = vec!["-a".to_owned(), format!("{}/.", base.display()), fresh.display().to_string()];
        let path = "/bin/cp".into();
        let directory = fresh.clone();
        self.call(Call { program: "cp", path, arguments, owner, directory, passfile: None }).await?;
        files::blocking(move || {
            for name in ["postmaster.pid", "recovery.signal"] {
                files::remove(&fresh.join(name))?;
            }
            files::remove(&standby_signal(&fresh))?;
            files::write(&fresh.join("recovery.signal"), "", owner)?;
            files::sync(&fresh)
        })
        .await
    }

    /// Starts the server that recovers.
    async fn recover(
        &self,
        cluster: &Key,
        number: Number,
        (source, note): (&Source, &Note),
        build: &Build,
    ) -> Result<u64, Error> {
        let (uid, kept) = (&cluster.uid, self.known(cluster)?.kept(number));
        self.processes.forget(&Self::run_id(uid, number, kept.run)).await?;
        let (port, run) = (self.port(uid, number, kept.port)?, kept.run + 1);
        let change = |record: &mut super::record::Record| {
            let kept = record.instances.entry(number).or_default();
            (kept.port, kept.run) = (port, run);
        };
        self.update(uid, change).await?;
        let (path, owner) = (self.places.own_settings(uid, number), self.owner(&cluster.name.namespace)?);
        let text = self.recovery_text(uid, port, note, source.until);
        let (settings, fresh) = (path.clone(), self.places.fresh(uid, number));
        files::blocking(move || files::write(&settings, &text, owner)).await?;
        let program = build.bin.join("postgres");
        let config = format!("config_file={}", path.display());
        let words =
            [program.display().to_string(), "-D".into(), fresh.display().to_string(), "-c".into(), config];
        let launch = Launch {
            id: Self::run_id(uid, number, run),
            command: words.to_vec(),
            env: environment(&program, &fresh),
            directory: fresh,
            user: owner,
            expose: self.exposed(&program),
            log: self.places.log(uid, number),
            limits: Limits::default(),
        };
        self.processes.start(launch).await?;
        Ok(run)
    }

    fn recovery_text(&self, uid: &str, port: u16, note: &Note, until: Option<Timestamp>) -> String {
        let mut text = String::new();
        let archive = conf::restore_command(&self.places.archive(&note.cluster));
        let rows = [
            ("port", port.to_string()),
            ("listen_addresses", "127.0.0.1".to_owned()),
            ("unix_socket_directories", String::new()),
            ("hba_file", self.places.entry_rules(uid).display().to_string()),
            ("password_encryption", "scram-sha-256".to_owned()),
            // Nobody may read before it is done; and nothing then depends on the settings of the old server.
            ("hot_standby", "off".to_owned()),
            ("max_prepared_transactions", "100".to_owned()),
            ("shared_buffers", "32MB".to_owned()),
            ("archive_mode", "off".to_owned()),
            ("timezone", "UTC".to_owned()),
            ("log_timezone", "UTC".to_owned()),
            ("restore_command", archive),
            ("recovery_target_timeline", "latest".to_owned()),
        ];
        for (name, value) in rows {
            conf::line(&mut text, name, &value);
        }
        if let Some(until) = until {
            // While a server reads its settings it knows no names of zones, not even `Z`.
            let moment = until.strftime("%Y-%m-%d %H:%M:%S%.6f+00").to_string();
            conf::line(&mut text, "recovery_target_time", &moment);
            conf::line(&mut text, "recovery_target_action", "promote");
        }
        text
    }

    /// Waits until the server that recovers takes connections, which it does when it is done.
    async fn await_recovery(
        &self,
        cluster: &Key,
        number: Number,
        until: Option<Timestamp>,
    ) -> Result<(), Error> {
        loop {
            match self.state(&cluster.uid, number).await? {
                Some(State::Running { .. }) => {}
                Some(State::Ended(end)) => {
                    let story = look::last_words(&end, &self.places.log(&cluster.uid, number));
                    return Err(Error::Program { program: "postgres", story: explained(story, until) });
                }
                None => return Err(Error::Unfit("the server that recovers is gone".to_owned())),
            }
            if self.line(&cluster.uid, number).await.is_ok() {
                return Ok(());
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// Adds what a refusal of the server means here.
fn explained(story: String, until: Option<Timestamp>) -> String {
    match until {
        Some(until) if story.contains("before configured recovery target") => {
            format!("nothing was committed at or after {until}, as far as the history goes; {story}")
        }
        _ => story,
    }
}
