//! What nothing else tells of a cluster, in one small file that is always whole.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use api::secret::Sealed;
use kit::{Dice, Name};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::super::{Error, Key, Number};
use super::places::{self, Places};
use super::{Inner, files};

/// One cluster.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) namespace: String,
    pub(super) name: String,
    /// The highest number that an instance ever had.
    pub(super) highest: Number,
    pub(super) synchronous: BTreeSet<Number>,
    /// The mark of the login that was granted last.
    pub(super) granted: Option<String>,
    /// The mark of the password that `postgres` logs in with, if it has one.
    #[serde(default)]
    pub(super) superuser: Option<String>,
    /// The marks of further roles, by their names.
    #[serde(default)]
    pub(super) roles: BTreeMap<String, String>,
    /// The password of the role that standbys follow with. The passfile holds it as well.
    pub(super) replica: String,
    /// Whether the roles of the machinery have their passwords.
    pub(super) prepared: bool,
    /// Whether the machinery has a role of its own. In clusters of earlier releases it was `postgres`.
    #[serde(default)]
    pub(super) administered: bool,
    /// The cluster whose data this one began with.
    pub(super) origin: Option<String>,
    pub(super) instances: BTreeMap<Number, Kept>,
}

/// One instance.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Kept {
    /// Where it listened last; 0 if it never did.
    pub(super) port: u16,
    /// Counts its runs: each has a name of its own.
    pub(super) run: u64,
    /// Where its primary listens, if it follows one.
    pub(super) follows: Option<u16>,
    /// Whom it waits for while it is the primary.
    pub(super) waits_for: BTreeSet<Number>,
    /// What a standby must at least be set to, because its primary was.
    #[serde(default)]
    pub(super) floors: BTreeMap<String, u32>,
}

impl Record {
    fn new(name: &Name) -> Self {
        Self {
            namespace: name.namespace.clone(),
            name: name.name.clone(),
            highest: 0,
            synchronous: BTreeSet::new(),
            granted: None,
            superuser: None,
            roles: BTreeMap::new(),
            replica: secret().into_open(),
            prepared: false,
            administered: false,
            origin: None,
            instances: BTreeMap::new(),
        }
    }

    pub(super) fn called(&self) -> Name {
        Name::new(&self.namespace, &self.name)
    }

    pub(super) fn kept(&self, number: Number) -> Kept {
        self.instances.get(&number).cloned().unwrap_or_default()
    }
}

/// Something that nobody guesses: 256 random bits.
pub(super) fn secret() -> Sealed<String> {
    let dice = Dice::fair();
    Sealed::new((0..4).fold(String::new(), |mut text, _| {
        let _ = write!(text, "{:016x}", dice.roll());
        text
    }))
}

/// All records on disk, by uid.
pub(super) fn all(places: &Places) -> Result<BTreeMap<String, Record>, Error> {
    let mut found = BTreeMap::new();
    for uid in files::names(&places.clusters())? {
        if let Some(text) = files::read(&places.record(&uid))? {
            let record = serde_json::from_str(&text)
                .map_err(|error| Error::Unfit(format!("the record of {uid} cannot be read: {error}")))?;
            found.insert(uid, record);
        }
    }
    Ok(found)
}

impl Inner {
    /// The record of a cluster, if it was ever made.
    pub(super) fn record(&self, uid: &str) -> Option<Record> {
        self.records.lock().get(uid).cloned()
    }

    /// The record of a cluster that must be there.
    pub(super) fn known(&self, cluster: &Key) -> Result<Record, Error> {
        self.record(&cluster.uid).ok_or_else(|| Error::Unfit(format!("{} has no data here", cluster.name)))
    }

    /// Changes a record, first on disk.
    pub(super) async fn update(
        &self,
        uid: &str,
        change: impl FnOnce(&mut Record) + Send,
    ) -> Result<(), Error> {
        let _one_at_a_time = self.writing.lock().await;
        let Some(mut record) = self.record(uid) else {
            return Err(Error::Unfit(format!("{uid} has no data here")));
        };
        change(&mut record);
        self.store(uid, record).await
    }

    /// Makes the directory and the record of a cluster, unless they are there.
    pub(super) async fn begin(&self, cluster: &Key) -> Result<(), Error> {
        places::check(&cluster.uid)?;
        let owner = self.owner(&cluster.name.namespace)?;
        let _one_at_a_time = self.writing.lock().await;
        if self.record(&cluster.uid).is_some() {
            return Ok(());
        }
        let (places, uid, record) = (self.places.clone(), cluster.uid.clone(), Record::new(&cluster.name));
        let passfile = format!("*:*:*:{}:{}\n", super::roles::REPLICA, record.replica);
        files::blocking(move || {
            files::make(&places.cluster(&uid), files::PASSABLE, None)?;
            files::write(&places.passfile(&uid), &passfile, owner)?;
            files::write(&places.entry_rules(&uid), super::conf::ENTRY_RULES, owner)?;
            files::make(&places.archive(&uid), files::PRIVATE, owner)
        })
        .await?;
        self.store(&cluster.uid, record).await
    }

    async fn store(&self, uid: &str, record: Record) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(&record)
            .map_err(|error| Error::Unfit(format!("the record of {uid} cannot be written: {error}")))?;
        let path = self.places.record(uid);
        files::blocking(move || files::write(&path, &text, None)).await?;
        self.records.lock().insert(uid.to_owned(), record);
        Ok(())
    }

    /// What an administrator of a cluster logs in with. A server that its own user turned against us learns nothing
    /// that opens another.
    pub(super) fn password(&self, uid: &str) -> Sealed<String> {
        let digest = Sha256::new().chain_update(self.superuser.open()).chain_update(":").chain_update(uid);
        let bytes = digest.finalize();
        Sealed::new(bytes.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        }))
    }
}
