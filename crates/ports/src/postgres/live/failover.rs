//! Who is the primary, and whom it waits for. The order of the steps here is what keeps acknowledged commits: read it
//! twice before changing it.

use std::collections::BTreeSet;
use std::time::Duration;

use super::super::{Certificate, Error, Instance, Key, Lsn, Number, Run, Stop};
use super::places::standby_signal;
use super::program::Call;
use super::{Inner, Live, conf, files};

/// How long a standby may take to become the primary.
const PROMOTION: Duration = Duration::from_secs(20);
/// How long a call waits until the standbys have everything.
const CATCH_UP: Duration = Duration::from_secs(5);
/// How often they are looked at meanwhile.
const LOOK: Duration = Duration::from_millis(50);
/// Lies in a fence while the data directory is being changed, which makes it useless as a primary.
pub(super) const TORN: &str = "rejoining\n";
const FENCED: &str = "fenced\n";
const PROMOTE: &str = "cannot promote";
const WAIT: &str = "cannot wait for standbys";

impl Live {
    /// Puts a primary aside.
    pub(super) async fn fence_one(&self, cluster: &Key, number: Number) -> Result<(), Error> {
        let gate = self.inner.gate(&cluster.uid);
        let _alone = gate.lock().await;
        self.inner.there(cluster, number)?;
        self.inner.put_aside(cluster, number, Stop::Immediate).await
    }

    /// Takes a fence back.
    pub(super) async fn unfence_one(&self, cluster: &Key, number: Number) -> Result<(), Error> {
        let gate = self.inner.gate(&cluster.uid);
        let _alone = gate.lock().await;
        let (inner, uid) = (&self.inner, &cluster.uid);
        let record = inner.there(cluster, number)?;
        let fence = inner.places.fence(uid, number);
        match files::read(&fence)? {
            None => return Ok(()),
            Some(text) if text == TORN => {
                let story = format!("instance {number} of {} was given up and must rejoin", cluster.name);
                return Err(Error::Unfit(story));
            }
            Some(_) => {}
        }
        let others = record.instances.keys().filter(|other| **other != number);
        if let Some(other) = others.into_iter().find(|other| inner.is_primary(uid, **other)) {
            let story = format!("instance {other} of {} is the primary already", cluster.name);
            return Err(Error::Unfit(story));
        }
        // The fence last: until it is gone nothing starts.
        let signal = standby_signal(&inner.places.data(uid, number));
        files::blocking(move || {
            files::remove(&signal)?;
            files::remove(&fence)
        })
        .await
    }

    /// Makes a standby the primary.
    pub(super) async fn promote_one(&self, cluster: &Key, number: Number) -> Result<(), Error> {
        let gate = self.inner.gate(&cluster.uid);
        let _alone = gate.lock().await;
        let (inner, uid) = (&self.inner, &cluster.uid);
        let record = inner.there(cluster, number)?;
        for other in record.instances.keys().copied().filter(|other| *other != number) {
            if inner.is_primary(uid, other) {
                let story = format!("instance {other} of {} is the primary and not put aside", cluster.name);
                return Err(Error::Unfit(story));
            }
            // A platform that was killed while it put the old primary aside may have left it running.
            if inner.places.fence(uid, other).exists() {
                inner.put_aside(cluster, other, Stop::Immediate).await?;
            }
        }
        inner.has_most(cluster, number).await?;
        // What the new primary acknowledges, nobody has waited for: this must be known before the first commit.
        inner
            .update(uid, |record| {
                record.synchronous.clear();
                record.instances.entry(number).or_default().waits_for.clear();
            })
            .await?;
        inner.write_own(uid, number).await?;
        inner.reload(uid, number, None).await;
        let place = (uid.as_str(), number);
        if inner.ask_one(place, PROMOTE, "SELECT pg_is_in_recovery()").await?.as_deref() == Some("t") {
            let sql = format!("SELECT pg_promote(true, {})", PROMOTION.as_secs());
            inner.ask(place, PROMOTE, &sql, PROMOTION + Duration::from_secs(2)).await?;
        }
        if inner.ask_one(place, PROMOTE, "SELECT pg_is_in_recovery()").await?.as_deref() != Some("f") {
            return Err(Error::Server { what: PROMOTE, story: "it is still in recovery".to_owned() });
        }
        inner.update(uid, |record| record.instances.entry(number).or_default().follows = None).await?;
        inner.write_own(uid, number).await
    }

    /// Lets a primary wait for standbys.
    pub(super) async fn wait_for_some(
        &self,
        cluster: &Key,
        primary: Number,
        standbys: &BTreeSet<Number>,
    ) -> Result<(), Error> {
        let gate = self.inner.gate(&cluster.uid);
        let _alone = gate.lock().await;
        let (inner, uid) = (&self.inner, &cluster.uid);
        let record = inner.there(cluster, primary)?;
        let place = (uid.as_str(), primary);
        let names = conf::standby_names(standbys);
        let now = inner.ask_one(place, WAIT, "SELECT current_setting('synchronous_standby_names')").await?;
        if record.synchronous == *standbys && now.as_deref() == Some(names.as_str()) {
            return Ok(());
        }
        // First nobody counts: while the server changes over, a commit may be acknowledged by the old rule or the new.
        let set = standbys.clone();
        inner
            .update(uid, move |record| {
                record.synchronous.clear();
                record.instances.entry(primary).or_default().waits_for = set;
            })
            .await?;
        inner.write_own(uid, primary).await?;
        if now.as_deref() != Some(names.as_str()) {
            inner.ask(place, WAIT, "SELECT pg_reload_conf()", super::sql::ANSWER).await?;
        }
        if standbys.is_empty() {
            return Ok(());
        }
        match tokio::time::timeout(CATCH_UP, inner.caught_up(place, standbys)).await {
            Ok(caught_up) => caught_up?,
            // The next call goes on from here.
            Err(_) => return Ok(()),
        }
        let set = standbys.clone();
        inner.update(uid, move |record| record.synchronous = set).await
    }

    /// Keeps the certificate of a cluster.
    pub(super) async fn keep_certificate(
        &self,
        cluster: &Key,
        certificate: &Certificate,
    ) -> Result<(), Error> {
        let gate = self.inner.gate(&cluster.uid);
        let _alone = gate.lock().await;
        self.inner.begin(cluster).await?;
        let owner = self.inner.owner(&cluster.name.namespace)?;
        let (tls, certificate) = (self.inner.places.tls(&cluster.uid), certificate.clone());
        files::blocking(move || {
            // All three at once: a server that starts with a key of another certificate does not start.
            let (fresh, old) = (files::added(&tls, "new"), files::added(&tls, "old"));
            files::remove(&fresh)?;
            files::make(&fresh, files::PASSABLE, None)?;
            files::write(&fresh.join("server.crt"), &certificate.chain_pem, owner)?;
            files::write(&fresh.join("server.key"), certificate.key_pem.open(), owner)?;
            files::write(&fresh.join("root.crt"), &certificate.root_pem, owner)?;
            if tls.exists() {
                files::remove(&old)?;
                files::rename(&tls, &old)?;
            }
            files::rename(&fresh, &tls)?;
            files::remove(&old)
        })
        .await
    }
}

impl Inner {
    /// The record of a cluster that has this instance, which nobody works on.
    pub(super) fn there(&self, cluster: &Key, number: Number) -> Result<super::record::Record, Error> {
        let record = self.known(cluster)?;
        self.idle(&cluster.uid, number)?;
        if self.places.data(&cluster.uid, number).exists() {
            return Ok(record);
        }
        Err(Error::Unfit(format!("instance {number} of {} is not there", cluster.name)))
    }

    /// Whether an instance would start as a primary.
    pub(super) fn is_primary(&self, uid: &str, number: Number) -> bool {
        let data = self.places.data(uid, number);
        data.exists() && !standby_signal(&data).exists() && !self.places.fence(uid, number).exists()
    }

    /// Sees to it that an instance neither runs nor can start, and is a standby when it can again.
    ///
    /// The fence first: from then on nothing starts it, whatever happens to us. Only then is it ended, and only then may
    /// anybody else be promoted. The record is left alone: what the standbys have together is still everything.
    pub(super) async fn put_aside(&self, cluster: &Key, number: Number, how: Stop) -> Result<(), Error> {
        let uid = &cluster.uid;
        let (fence, data) = (self.places.fence(uid, number), self.places.data(uid, number));
        if !fence.exists() {
            let path = fence.clone();
            files::blocking(move || files::write(&path, FENCED, None)).await?;
        }
        self.halt(uid, number, how).await?;
        let (signal, owner) = (standby_signal(&data), self.owner(&cluster.name.namespace)?);
        let was_primary = !signal.exists();
        files::blocking(move || if signal.exists() { Ok(()) } else { files::write(&signal, "", owner) })
            .await?;
        if was_primary {
            self.archive_rest(cluster, number).await;
        }
        Ok(())
    }

    /// Puts complete pieces of history into the archive that an ended primary had no time for: its standbys do not.
    async fn archive_rest(&self, cluster: &Key, number: Number) {
        let uid = &cluster.uid;
        let settings = files::read(&self.places.settings(uid, number)).ok().flatten().unwrap_or_default();
        let data = self.places.data(uid, number);
        if !settings.contains("archive_command = 'd=") {
            return;
        }
        let script = format!(
            "d={}; for r in pg_wal/archive_status/*.ready; do f=$(basename \"$r\" .ready); \
             if [ -f \"pg_wal/$f\" ] && [ ! -e \"$d/$f\" ]; then cp \"pg_wal/$f\" \"$d/$f.next\" && \
             sync \"$d/$f.next\" && mv \"$d/$f.next\" \"$d/$f\"; fi; done",
            conf::shell(&self.places.archive(uid).display().to_string())
        );
        let call = Call {
            program: "sh",
            path: "/bin/sh".into(),
            arguments: vec!["-c".to_owned(), script],
            owner: self.owner(&cluster.name.namespace).ok().flatten(),
            directory: data,
            passfile: None,
        };
        if let Err(error) = self.call(call).await {
            tracing::warn!(cluster = %cluster.name, %error, "the archive may miss what was written last");
        }
    }

    /// Refuses a standby that has less than another one that counts.
    ///
    /// What made somebody choose it may be older than the last commits: instances are looked at side by side, and a
    /// primary that is seen dead may have lived on after its standbys were seen. Now nobody takes writes, so what they
    /// have is all there is.
    async fn has_most(&self, cluster: &Key, number: Number) -> Result<(), Error> {
        let uid = &cluster.uid;
        let Some(record) = self.record(uid) else { return Ok(()) };
        // One that has been promoted already has nothing to be compared with.
        let Some(own) = self.reached(uid, number).await? else { return Ok(()) };
        for other in record.synchronous.iter().copied().filter(|other| *other != number) {
            if self.places.fence(uid, other).exists() {
                continue;
            }
            match self.reached(uid, other).await? {
                Some(reached) if reached > own => {
                    let story = format!("instance {other} has more than instance {number}");
                    return Err(Error::Server { what: PROMOTE, story });
                }
                None => {
                    let story =
                        format!("instance {other} may have more than instance {number}, and cannot be asked");
                    return Err(Error::Server { what: PROMOTE, story });
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// How far a standby is that can be asked.
    async fn reached(&self, uid: &str, number: Number) -> Result<Option<(u32, Lsn)>, Error> {
        let Some(Instance::There(there)) = self.see_one(uid, number).await? else { return Ok(None) };
        match there.run {
            Run::Up(facts) if facts.in_recovery => Ok(Some((facts.timeline, facts.lsn))),
            Run::Up(_) | Run::Stopped | Run::Ended { .. } | Run::Starting { .. } => Ok(None),
        }
    }

    /// Waits until the primary waits for these standbys and no others, and each of them has everything that was
    /// acknowledged before that.
    async fn caught_up(&self, place: (&str, Number), standbys: &BTreeSet<Number>) -> Result<(), Error> {
        let states =
            "SELECT application_name, sync_priority FROM pg_stat_replication WHERE state = 'streaming'";
        let mut poll = tokio::time::interval(LOOK);
        loop {
            poll.tick().await;
            let rows = self.ask(place, WAIT, states, super::sql::ANSWER).await?;
            let named = |row: &tokio_postgres::SimpleQueryRow| {
                row.get(0).and_then(|name| name.parse::<Number>().ok())
            };
            let counted = rows.iter().filter(|row| row.get(1).is_some_and(|priority| priority != "0"));
            if counted.filter_map(named).collect::<BTreeSet<_>>() == *standbys {
                break;
            }
        }
        // Backends begin to wait when the checkpointer has read the settings, which it does before a checkpoint.
        self.ask(place, WAIT, "CHECKPOINT", CATCH_UP).await?;
        let Some(reached) = self.ask_one(place, WAIT, "SELECT pg_current_wal_lsn()").await? else {
            return Ok(());
        };
        let question = format!(
            "SELECT application_name FROM pg_stat_replication WHERE state = 'streaming' AND flush_lsn >= '{reached}'"
        );
        loop {
            let rows = self.ask(place, WAIT, &question, super::sql::ANSWER).await?;
            let have: BTreeSet<Number> = rows.iter().filter_map(|row| row.get(0)?.parse().ok()).collect();
            if have.is_superset(standbys) {
                return Ok(());
            }
            poll.tick().await;
        }
    }
}
