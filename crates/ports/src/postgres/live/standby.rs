//! Standbys: how they come, whom they follow, how they come back, and how they go.

use std::time::Duration;

use super::super::{Build, Error, Key, Number, Stop};
use super::failover::TORN;
use super::places::standby_signal;
use super::program::Call;
use super::roles::REPLICA;
use super::run::major;
use super::{Inner, Live, conf, files};

/// How long a checkpoint before a rewind may take.
const CHECKPOINT: Duration = Duration::from_secs(60);
const SLOT: &str = "cannot make a replication slot";

impl Live {
    /// Begins to copy the primary.
    pub(super) async fn copy_one(&self, cluster: &Key, number: Number, primary: Number) -> Result<(), Error> {
        let gate = self.inner.gate(&cluster.uid);
        let _alone = gate.lock().await;
        let (inner, uid) = (&self.inner, &cluster.uid);
        inner.there(cluster, primary)?;
        if inner.idle(uid, number).is_err() {
            return Ok(());
        }
        if inner.places.data(uid, number).exists() {
            inner.forget_work(uid, number);
            return Ok(());
        }
        inner.prepare(cluster, primary).await?;
        inner.count(uid, number).await?;
        let (inner, key) = (self.inner.clone(), cluster.clone());
        self.work(cluster, number, async move {
            let copied = inner.fresh_copy(&key, number, primary).await;
            let (fresh, data) = (inner.places.fresh(&key.uid, number), inner.places.data(&key.uid, number));
            if copied.is_err() {
                files::remove(&fresh)?;
            }
            copied?;
            files::blocking(move || files::rename(&fresh, &data)).await
        });
        Ok(())
    }

    /// Lets a standby follow a primary.
    pub(super) async fn follow_one(
        &self,
        cluster: &Key,
        number: Number,
        primary: Number,
    ) -> Result<(), Error> {
        let gate = self.inner.gate(&cluster.uid);
        let _alone = gate.lock().await;
        self.inner.there(cluster, number)?;
        self.inner.prepare_to_follow(cluster, number, primary).await?;
        self.inner.reload(&cluster.uid, number, None).await;
        Ok(())
    }

    /// Begins to make an instance a standby again.
    pub(super) async fn rejoin_one(
        &self,
        cluster: &Key,
        number: Number,
        primary: Number,
    ) -> Result<(), Error> {
        let gate = self.inner.gate(&cluster.uid);
        let _alone = gate.lock().await;
        let (inner, uid) = (self.inner.clone(), &cluster.uid);
        if inner.idle(uid, number).is_err() {
            return Ok(());
        }
        inner.there(cluster, number)?;
        if number == primary || !inner.is_primary(uid, primary) {
            let story = format!("instance {primary} of {} is not a primary to rejoin", cluster.name);
            return Err(Error::Unfit(story));
        }
        inner.put_aside(cluster, number, Stop::Immediate).await?;
        let key = cluster.clone();
        self.work(cluster, number, async move { inner.come_back(&key, number, primary).await });
        Ok(())
    }

    /// Removes a standby.
    pub(super) async fn remove_one(&self, cluster: &Key, number: Number) -> Result<(), Error> {
        let gate = self.inner.gate(&cluster.uid);
        let _alone = gate.lock().await;
        let (inner, uid) = (&self.inner, &cluster.uid);
        inner.idle(uid, number)?;
        if inner.is_primary(uid, number) {
            return Err(Error::Unfit(format!("instance {number} of {} is the primary", cluster.name)));
        }
        inner.halt(uid, number, Stop::Fast).await?;
        let (places, of) = (inner.places.clone(), uid.clone());
        files::blocking(move || {
            let paths = [places.data(&of, number), places.fresh(&of, number), places.fence(&of, number)];
            let more =
                [places.settings(&of, number), places.own_settings(&of, number), places.log(&of, number)];
            paths.iter().chain(&more).try_for_each(|path| files::remove(path))
        })
        .await?;
        inner.forget_work(uid, number);
        let gone = |record: &mut super::record::Record| {
            record.instances.remove(&number);
            if record.synchronous.contains(&number) {
                record.synchronous.clear();
            }
        };
        inner.update(uid, gone).await?;
        match inner.running_primary(uid).await? {
            Some(primary) => inner.tidy_slots(cluster, primary).await,
            None => Ok(()),
        }
    }
}

impl Inner {
    /// The instance that runs as the primary, if there is one.
    pub(super) async fn running_primary(&self, uid: &str) -> Result<Option<Number>, Error> {
        let Some(record) = self.record(uid) else { return Ok(None) };
        for number in record.instances.into_keys() {
            if self.is_primary(uid, number) && self.runs(uid, number).await? {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// Writes down whom a standby follows, and makes its slot there.
    async fn prepare_to_follow(&self, cluster: &Key, number: Number, primary: Number) -> Result<(), Error> {
        let port = self.there(cluster, primary)?.kept(primary).port;
        self.make_slot(cluster, number, primary).await?;
        self.update(&cluster.uid, |record| {
            let kept = record.instances.entry(number).or_default();
            kept.follows = Some(port);
            kept.waits_for.clear();
        })
        .await?;
        self.write_own(&cluster.uid, number).await
    }

    async fn make_slot(&self, cluster: &Key, number: Number, primary: Number) -> Result<(), Error> {
        self.tidy_slots(cluster, primary).await?;
        let slot = conf::slot(number);
        let sql = format!(
            "SELECT pg_create_physical_replication_slot('{slot}', true) \
             WHERE NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = '{slot}')"
        );
        self.ask((&cluster.uid, primary), SLOT, &sql, super::sql::ANSWER).await.map(drop)
    }

    /// Removes slots of standbys that are gone, and those that have lost what they were for.
    async fn tidy_slots(&self, cluster: &Key, primary: Number) -> Result<(), Error> {
        let numbers = self.known(cluster)?.instances.into_keys().filter(|number| *number != primary);
        let wanted: Vec<String> = numbers.map(|number| format!("'{}'", conf::slot(number))).collect();
        let sql = format!(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_type = 'physical' \
             AND NOT active AND (wal_status = 'lost' OR NOT slot_name = ANY (ARRAY[{}]::name[]))",
            wanted.join(",")
        );
        self.ask((&cluster.uid, primary), SLOT, &sql, super::sql::ANSWER).await.map(drop)
    }

    /// A copy of the primary beside where the instance is to be.
    async fn fresh_copy(&self, cluster: &Key, number: Number, primary: Number) -> Result<(), Error> {
        let (uid, owner) = (&cluster.uid, self.owner(&cluster.name.namespace)?);
        self.prepare_to_follow(cluster, number, primary).await?;
        let fresh = self.places.fresh(uid, number);
        let place = fresh.clone();
        files::blocking(move || {
            files::remove(&place)?;
            files::make(&place, files::PRIVATE, owner)
        })
        .await?;
        let (build, port) = self.build_of(cluster, primary)?;
        let call = self.base_backup(cluster, &build, port, &fresh)?.with(["-S", &conf::slot(number)]);
        self.call(call).await?;
        let (from, to) = (self.places.settings(uid, primary), self.places.settings(uid, number));
        files::blocking(move || {
            files::write(&standby_signal(&fresh), "", owner)?;
            match files::read(&from)? {
                Some(text) if !to.exists() => files::write(&to, &text, owner),
                _ => Ok(()),
            }
        })
        .await
    }

    /// The build that an instance's data needs, and where it listens.
    pub(super) fn build_of(&self, cluster: &Key, number: Number) -> Result<(Build, u16), Error> {
        let port = self.known(cluster)?.kept(number).port;
        let major = major(&self.places.data(&cluster.uid, number))?;
        let unknown =
            || Error::Unfit(format!("instance {number} of {} does not say its version", cluster.name));
        Ok((self.build(major.ok_or_else(unknown)?)?, port))
    }

    /// The call that copies what listens on a port into an empty directory.
    pub(super) fn base_backup(
        &self,
        cluster: &Key,
        build: &Build,
        port: u16,
        target: &std::path::Path,
    ) -> Result<Call, Error> {
        let mut call = Call::new(build, "pg_basebackup", target).with([
            "-D",
            &target.display().to_string(),
            "-d",
            &format!("host=127.0.0.1 port={port} user={REPLICA} sslmode=disable"),
            "-w",
            "-v",
            "-X",
            "stream",
            "--checkpoint=fast",
        ]);
        call.owner = self.owner(&cluster.name.namespace)?;
        call.passfile = Some(self.places.passfile(&cluster.uid));
        Ok(call)
    }

    /// Makes an instance that was put aside a standby: by a rewind or, if that cannot be done, by a fresh copy.
    async fn come_back(&self, cluster: &Key, number: Number, primary: Number) -> Result<(), Error> {
        let (uid, owner) = (&cluster.uid, self.owner(&cluster.name.namespace)?);
        let (data, fence) = (self.places.data(uid, number), self.places.fence(uid, number));
        if let Err(error) = self.rewind(cluster, number, primary).await {
            tracing::info!(cluster = %cluster.name, instance = number, %error, "copying anew, because it cannot be rewound");
            self.fresh_copy(cluster, number, primary).await?;
            let (fresh, old, data) =
                (self.places.fresh(uid, number), self.places.old(uid, number), data.clone());
            files::blocking(move || {
                files::remove(&old)?;
                files::rename(&data, &old)?;
                files::rename(&fresh, &data)?;
                files::remove(&old)
            })
            .await?;
        }
        self.prepare_to_follow(cluster, number, primary).await?;
        // The fence last: until it is gone nothing starts.
        files::blocking(move || {
            files::write(&standby_signal(&data), "", owner)?;
            files::remove(&fence)
        })
        .await
    }

    async fn rewind(&self, cluster: &Key, number: Number, primary: Number) -> Result<(), Error> {
        let uid = &cluster.uid;
        let data = self.places.data(uid, number);
        let (fence, signal) = (self.places.fence(uid, number), standby_signal(&data));
        // A fresh primary tells its timeline only after a checkpoint.
        self.ask((uid, primary), "cannot rewind", "CHECKPOINT", CHECKPOINT).await?;
        self.prepare_to_follow(cluster, number, primary).await?;
        files::blocking(move || {
            files::write(&fence, TORN, None)?;
            // The recovery that goes before a rewind refuses to run as a standby; the fence holds meanwhile.
            files::remove(&signal)
        })
        .await?;
        let (build, port) = self.build_of(cluster, primary)?;
        self.recover_alone(cluster, number, &build).await?;
        let mut call = Call::new(&build, "pg_rewind", &data).with([
            "--no-ensure-shutdown",
            "--target-pgdata",
            &data.display().to_string(),
            "--source-server",
            &format!("host=127.0.0.1 port={port} user={REPLICA} dbname=postgres sslmode=disable"),
        ]);
        call.owner = self.owner(&cluster.name.namespace)?;
        call.passfile = Some(self.places.passfile(uid));
        self.call(call).await.map(drop)
    }
}
