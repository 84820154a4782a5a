//! PostgreSQL in memory behind a gate that can break each call, for tests.

use std::collections::{BTreeMap, BTreeSet};

use kit::Name;
use kit::testing::{Broken, Gate};
use ports::postgres::{
    Backup, Build, Certificate, Error, Fake, Key, Login, Number, Postgres, Role, Seen, Settings, Source,
    Stop, Superuser,
};
use tokio::sync::broadcast;

/// The fake behind a gate.
#[derive(Clone)]
pub(super) struct Gated {
    pub(super) fake: Fake,
    pub(super) gate: Gate,
}

fn broken(broken: Broken) -> Error {
    Error::Unfit(broken.to_string())
}

macro_rules! writes {
    ($($call:ident($($name:ident: $type:ty),*);)*) => {$(
        async fn $call(&self, cluster: &Key, $($name: $type),*) -> Result<(), Error> {
            let work = self.fake.$call(cluster, $($name),*);
            self.gate.write(concat!("postgres ", stringify!($call)), work).await.map_err(broken)?
        }
    )*};
}

impl Postgres for Gated {
    fn builds(&self) -> BTreeMap<u32, Build> {
        self.fake.builds()
    }

    async fn look(&self, cluster: &Key) -> Result<Seen, Error> {
        self.gate.read("postgres look", self.fake.look(cluster)).await.map_err(broken)?
    }

    writes! {
        make(number: Number, major: u32);
        restore(number: Number, source: &Source);
        copy(number: Number, primary: Number);
        configure(number: Number, settings: &Settings);
        certify(certificate: &Certificate);
        start(number: Number);
        stop(number: Number, how: Stop);
        fence(number: Number);
        unfence(number: Number);
        promote(number: Number);
        follow(number: Number, primary: Number);
        rejoin(number: Number, primary: Number);
        wait_for(primary: Number, standbys: &BTreeSet<Number>);
        grant(primary: Number, login: &Login);
        superuser(primary: Number, login: Option<&Superuser>);
        role(primary: Number, role: &Role);
        remove(number: Number);
        retire(backup: &str);
        back_up(number: Number, backup: &str);
    }

    async fn backup(&self, backup: &str) -> Result<Option<Backup>, Error> {
        self.gate.read("postgres backup", self.fake.backup(backup)).await.map_err(broken)?
    }

    async fn discard(&self, backup: &str) -> Result<(), Error> {
        self.gate.write("postgres discard", self.fake.discard(backup)).await.map_err(broken)?
    }

    fn changes(&self) -> broadcast::Receiver<Name> {
        self.fake.changes()
    }
}
