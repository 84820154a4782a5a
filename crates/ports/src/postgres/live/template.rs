//! Data directories that are prepared once for each version and then copied: that is faster than making each anew.

use nix::unistd::{Uid, User};

use super::super::{Build, Error, Key, Number};
use super::program::Call;
use super::{Inner, Live, files};

/// Users without rights that machines have, the better first.
const MAKERS: [&str; 2] = ["postgres", "nobody"];

impl Live {
    /// Makes the first instance of a cluster, empty.
    pub(super) async fn make_first(&self, cluster: &Key, number: Number, major: u32) -> Result<(), Error> {
        let gate = self.inner.gate(&cluster.uid);
        let _alone = gate.lock().await;
        let inner = self.inner.clone();
        let build = inner.build(major)?;
        inner.begin(cluster).await?;
        let owner = inner.owner(&cluster.name.namespace)?;
        let (data, fresh) =
            (inner.places.data(&cluster.uid, number), inner.places.fresh(&cluster.uid, number));
        if data.exists() {
            return Ok(());
        }
        inner.count(&cluster.uid, number).await?;
        // A task of its own: whoever gives up waiting leaves no half of a template behind.
        let making = tokio::spawn(async move {
            inner.template(&build).await.map(|()| inner.places.template(&build.version))
        });
        let template = making
            .await
            .map_err(|error| Error::Unfit(format!("the template was interrupted: {error}")))??;
        let made = data.clone();
        files::blocking(move || {
            files::remove(&fresh)?;
            files::copy(&template, &fresh, owner)?;
            files::rename(&fresh, &made)
        })
        .await?;
        // Nobody waits for the disk here: only a power cut within the next moments would need it.
        tokio::task::spawn_blocking(move || {
            if let Err(error) = files::sync(&data) {
                tracing::warn!(%error, "cannot make a new data directory durable");
            }
        });
        Ok(())
    }
}

impl Inner {
    /// Writes down that a number is used.
    pub(super) async fn count(&self, uid: &str, number: Number) -> Result<(), Error> {
        self.update(uid, |record| {
            record.highest = record.highest.max(number);
            record.instances.entry(number).or_default();
        })
        .await
    }

    /// Makes the template of a version, unless it is there.
    async fn template(&self, build: &Build) -> Result<(), Error> {
        let _one_maker = self.templates.lock().await;
        let place = self.places.template(&build.version);
        if place.exists() {
            return Ok(());
        }
        let owner = self.maker()?;
        let fresh = files::added(&place, "new");
        let (target, password) = (fresh.clone(), self.superuser.clone());
        let words = files::added(&place, "words");
        let pwfile = words.clone();
        files::blocking(move || {
            files::remove(&target)?;
            files::make(&target, files::PRIVATE, owner)?;
            files::write(&words, &format!("{}\n", password.open()), owner)
        })
        .await?;
        let made = match self.initdb(build, &fresh, &pwfile, "C.UTF-8").await {
            // Not every machine has the locale.
            Err(Error::Program { story, .. }) if story.contains("locale") => {
                self.initdb(build, &fresh, &pwfile, "C").await
            }
            other => other,
        };
        files::remove(&pwfile)?;
        made?;
        files::blocking(move || {
            files::claim(&fresh)?;
            files::sync(&fresh)?;
            files::rename(&fresh, &place)
        })
        .await
    }

    /// Who makes templates. `initdb` wants a user that the machine has a name for, which those of namespaces need not
    /// have; it makes the same whoever runs it.
    fn maker(&self) -> Result<Option<u32>, Error> {
        let Some(user) = self.owner("")? else { return Ok(None) };
        let named =
            |user: Result<Option<User>, nix::Error>| user.ok().flatten().map(|user| user.uid.as_raw());
        let own = named(User::from_uid(Uid::from_raw(user)));
        let makers = MAKERS.iter().filter_map(|name| named(User::from_name(name)));
        own.into_iter().chain(makers).find(|user| *user != 0).map(Some).ok_or_else(|| {
            Error::Unfit("`initdb` needs a user with a name, such as `nobody`, and there is none".to_owned())
        })
    }

    async fn initdb(
        &self,
        build: &Build,
        fresh: &std::path::Path,
        pwfile: &std::path::Path,
        locale: &str,
    ) -> Result<(), Error> {
        let mut call = Call::new(build, "initdb", fresh).with([
            "-k",
            "--no-sync",
            "--wal-segsize=4",
            "-U",
            "postgres",
            "-A",
            "scram-sha-256",
            "-E",
            "UTF8",
            &format!("--locale={locale}"),
            &format!("--pwfile={}", pwfile.display()),
            "-D",
            &fresh.display().to_string(),
        ]);
        call.owner = self.maker()?;
        self.call(call).await.map(drop)
    }
}
