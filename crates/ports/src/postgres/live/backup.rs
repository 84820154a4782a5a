//! Backups: a copy of a data directory each, and the archived history that leads on from it.

use std::collections::BTreeSet;

use jiff::Timestamp;
use kit::Name;
use serde::{Deserialize, Serialize};

use super::super::{Backup, Copied, Error, Key, Lsn, Number, Stop};
use super::run::major;
use super::work::{Work, story};
use super::{Inner, Live, conf, files, places};

/// The size of a piece of history, as the templates are made.
const PIECE: u64 = 4 << 20;

/// A backup, as it is told beside its copy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Note {
    /// Whose data it is.
    pub(super) cluster: String,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) major: u32,
    pub(super) began: Timestamp,
    pub(super) ended: Timestamp,
    pub(super) first: Option<u64>,
    pub(super) last: Option<u64>,
    pub(super) bytes: u64,
    /// Whether it is what a cluster left behind when it went.
    pub(super) retired: bool,
}

impl Live {
    /// Begins a backup.
    pub(super) async fn begin_backup(
        &self,
        cluster: &Key,
        number: Number,
        backup: &str,
    ) -> Result<(), Error> {
        places::check(backup)?;
        let gate = self.inner.gate(&cluster.uid);
        let _alone = gate.lock().await;
        let inner = self.inner.clone();
        inner.there(cluster, number)?;
        if inner.note(backup)?.is_some() || inner.backups.lock().get(backup).is_some_and(Work::is_running) {
            return Ok(());
        }
        let place = (cluster.uid.as_str(), number);
        let command = inner.ask_one(place, BACKUP, "SELECT current_setting('archive_command')").await?;
        if !command.as_deref().is_some_and(conf::archives) {
            let story = format!("the history of {} is not archived yet", cluster.name);
            return Err(Error::Unfit(story));
        }
        inner.backups.lock().insert(backup.to_owned(), Work::Running { since: Timestamp::now() });
        let (key, backup) = (cluster.clone(), backup.to_owned());
        tokio::spawn(async move {
            match inner.back_up(&key, number, &backup).await {
                Ok(()) => inner.backups.lock().remove(&backup),
                Err(error) => {
                    let work = Work::Failed { story: story(&error), at: Timestamp::now() };
                    inner.backups.lock().insert(backup, work)
                }
            };
            inner.tell(key.name);
        });
        Ok(())
    }

    /// How far a backup is.
    pub(super) fn see_backup(&self, backup: &str) -> Result<Option<Backup>, Error> {
        places::check(backup)?;
        let work = self.inner.backups.lock().get(backup).cloned();
        if let Some(Work::Running { since }) = work {
            return Ok(Some(Backup::Running { since }));
        }
        let note = self.inner.note(backup)?;
        if let Some(Note { major, began, ended, first, last, bytes, .. }) = note {
            let (first, last) = (first.map(Lsn), last.map(Lsn));
            return Ok(Some(Backup::Done(Copied { major, began, ended, first, last, bytes })));
        }
        Ok(work.map(|work| match work {
            Work::Failed { story, .. } => Backup::Failed { story },
            Work::Running { since } => Backup::Running { since },
        }))
    }

    /// Removes a backup, and history that is of no use any more.
    pub(super) async fn discard_one(&self, backup: &str) -> Result<(), Error> {
        places::check(backup)?;
        let inner = self.inner.clone();
        if inner.backups.lock().get(backup).is_some_and(Work::is_running) {
            return Err(Error::Unfit("the backup is being made".to_owned()));
        }
        inner.backups.lock().remove(backup);
        let note = inner.note(backup)?;
        let place = inner.places.backup(backup);
        files::blocking(move || files::remove(&place)).await?;
        let Some(note) = note else { return Ok(()) };
        // No backup of that cluster begins meanwhile, for which this history would be needed.
        let gate = inner.gate(&note.cluster);
        let _alone = gate.lock().await;
        files::blocking(move || inner.trim_archive(&note.cluster)).await
    }

    /// Ends a cluster, and keeps its data as a backup.
    pub(super) async fn retire_cluster(&self, cluster: &Key, backup: &str) -> Result<(), Error> {
        places::check(backup)?;
        let gate = self.inner.gate(&cluster.uid);
        let _alone = gate.lock().await;
        let (inner, uid) = (self.inner.clone(), cluster.uid.clone());
        let Some(record) = inner.record(&uid) else { return Ok(()) };
        let mut numbers: Vec<Number> = record.instances.keys().copied().collect();
        for number in &numbers {
            inner.idle(&uid, *number)?;
        }
        // The primary first, so that its standbys receive everything; it is also the one whose data is kept.
        numbers.sort_by_key(|number| {
            let fenced = inner.places.fence(&uid, *number).exists();
            (!inner.is_primary(&uid, *number), !fenced, *number)
        });
        let began = Timestamp::now();
        for number in &numbers {
            inner.halt(&uid, *number, Stop::Fast).await?;
        }
        let kept = numbers.into_iter().find(|number| inner.places.data(&uid, *number).exists());
        let (this, of, name, backup) = (inner.clone(), uid.clone(), cluster.name.clone(), backup.to_owned());
        files::blocking(move || {
            this.keep(&of, (kept, &name), &backup, began)?;
            files::remove(&this.places.cluster(&of))?;
            this.records.lock().remove(&of);
            this.trim_archive(&of)
        })
        .await?;
        inner.works.lock().retain(|(of, _), _| *of != uid);
        inner.lives.lock().retain(|(of, _), _| *of != uid);
        inner.sizes.lock().remove(&uid);
        Ok(())
    }
}

const BACKUP: &str = "cannot back up";

impl Inner {
    /// What is told of a backup that is there.
    pub(super) fn note(&self, backup: &str) -> Result<Option<Note>, Error> {
        let Some(text) = files::read(&self.places.backup(backup).join("backup.json"))? else {
            return Ok(None);
        };
        let damaged = |error| Error::Unfit(format!("the note of backup {backup} cannot be read: {error}"));
        serde_json::from_str(&text).map(Some).map_err(damaged)
    }

    fn write_note(&self, backup: &str, note: &Note) -> Result<(), Error> {
        let failed = |error| Error::Unfit(format!("the note of backup {backup} cannot be written: {error}"));
        let text = serde_json::to_string_pretty(note).map_err(failed)?;
        files::write(&self.places.backup(backup).join("backup.json"), &text, None)
    }

    async fn back_up(&self, cluster: &Key, number: Number, backup: &str) -> Result<(), Error> {
        let (began, owner) = (Timestamp::now(), self.owner(&cluster.name.namespace)?);
        let place = self.places.backup(backup);
        let fresh = place.join("base.new");
        let made = fresh.clone();
        files::blocking(move || {
            files::make(&place, files::PASSABLE, None)?;
            files::remove(&made)?;
            files::make(&made, files::PRIVATE, owner)
        })
        .await?;
        let (build, port) = self.build_of(cluster, number)?;
        let said = match self.call(self.base_backup(cluster, &build, port, &fresh)?).await {
            Ok(said) => said,
            Err(error) => {
                files::remove(&self.places.backup(backup))?;
                return Err(error);
            }
        };
        let ended = Timestamp::now();
        let base = fresh.with_file_name("base");
        let bytes = files::blocking(move || {
            files::remove(&base)?;
            files::rename(&fresh, &base)?;
            files::size(&base)
        })
        .await?;
        let major = major(&self.places.data(&cluster.uid, number))?.unwrap_or_default();
        let Name { namespace, name } = cluster.name.clone();
        let (first, last) = (point(&said, "start point: "), point(&said, "end point: "));
        let cluster = cluster.uid.clone();
        let retired = false;
        self.write_note(
            backup,
            &Note { cluster, namespace, name, major, began, ended, first, last, bytes, retired },
        )
    }

    /// Makes the data of an instance a backup, by another name for its directory.
    fn keep(
        &self,
        uid: &str,
        (number, name): (Option<Number>, &Name),
        backup: &str,
        began: Timestamp,
    ) -> Result<(), Error> {
        if self.note(backup)?.is_some() {
            return Ok(());
        }
        let base = self.places.backup(backup).join("base");
        if let Some(number) = number
            && !base.exists()
        {
            files::make(&self.places.backup(backup), files::PASSABLE, None)?;
            files::rename(&self.places.data(uid, number), &base)?;
        }
        let Some(major) = base.exists().then(|| major(&base)).transpose()?.flatten() else { return Ok(()) };
        let Name { namespace, name } = name.clone();
        let (cluster, ended, bytes) = (uid.to_owned(), Timestamp::now(), files::size(&base)?);
        let (first, last, retired) = (None, None, true);
        self.write_note(
            backup,
            &Note { cluster, namespace, name, major, began, ended, first, last, bytes, retired },
        )
    }

    /// Removes archived history that no backup leads on with.
    fn trim_archive(&self, uid: &str) -> Result<(), Error> {
        let archive = self.places.archive(uid);
        let backups = files::names(&self.places.backups())?;
        let notes: Vec<Note> = backups
            .iter()
            .map(|backup| self.note(backup))
            .collect::<Result<Vec<_>, Error>>()?
            .into_iter()
            .flatten()
            .filter(|note| note.cluster == uid && !note.retired)
            .collect();
        let first = match notes.iter().filter_map(|note| note.first).min() {
            Some(first) => first,
            None if self.record(uid).is_none() => return files::remove(&archive),
            // One that is being made needs what is archived from now on.
            None if self.backups.lock().values().any(Work::is_running) => return Ok(()),
            // Without a backup there is nothing that this history could lead on from.
            None => u64::MAX,
        };
        let old = pieces_before(&files::names(&archive)?, first);
        old.iter().try_for_each(|piece| files::remove(&archive.join(piece)))
    }
}

/// The pieces that lie before a place in history. Their names are the timeline and the place, in hexadecimal digits.
/// https://www.postgresql.org/docs/current/wal-internals.html
fn pieces_before(names: &[String], first: u64) -> BTreeSet<String> {
    let number = first / PIECE;
    let per_file = (1 << 32) / PIECE;
    let least = format!("{:08X}{:08X}", number / per_file, number % per_file);
    let piece = |name: &&String| name.len() == 24 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    names.iter().filter(piece).filter(|name| name[8..] < *least).cloned().collect()
}

/// A place in history that a program named behind these words.
fn point(said: &str, words: &str) -> Option<u64> {
    let (_, rest) = said.split_once(words)?;
    let (high, low) = rest.split_ascii_whitespace().next()?.split_once('/')?;
    Some((u64::from_str_radix(high, 16).ok()? << 32) | u64::from_str_radix(low, 16).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_history_are_read_and_older_pieces_found() {
        let said = "pg_basebackup: write-ahead log start point: 1/2000028 on timeline 1\n\
                    pg_basebackup: write-ahead log end point: 1/2000100\n";
        assert_eq!(point(said, "start point: "), Some(0x1_0200_0028));
        assert_eq!(point(said, "end point: "), Some(0x1_0200_0100));
        assert_eq!(point("nothing", "end point: "), None);
        let names = ["000000010000000100000007", "000000020000000100000008", "00000002.history"];
        let old = pieces_before(&names.map(str::to_owned), 0x1_0200_0028);
        assert_eq!(old, BTreeSet::from(["000000010000000100000007".to_owned()]));
    }
}
