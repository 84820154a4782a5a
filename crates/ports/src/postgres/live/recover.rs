//! A server that goes through its history with nobody looking, and stops.

use std::path::Path;
use std::time::Duration;

use kit::Dice;

use super::super::{Build, Error, Key, Number, Stop};
use super::program::{PREFIX, environment};
use super::run::server;
use super::{Inner, files};
use crate::process::{Id, Launch, Limits, Processes as _, State};

/// How long a recovery may take; a copy would take longer by then.
const RECOVERY: Duration = Duration::from_secs(120);
/// How often it is looked whether it is over: nobody tells.
const LOOK: Duration = Duration::from_millis(40);
/// Nobody may connect.
const CLOSED: &str = "host all all all reject\n";

impl Inner {
    /// Lets an instance that was killed go through its history, and stops it in order: only from there can it be rewound.
    /// `pg_rewind` would do that itself with a server that wants a user with a name.
    pub(super) async fn recover_alone(
        &self,
        cluster: &Key,
        number: Number,
        build: &Build,
    ) -> Result<(), Error> {
        let (uid, owner) = (&cluster.uid, self.owner(&cluster.name.namespace)?);
        let data = self.places.data(uid, number);
        let closed = files::added(&data, "closed.conf");
        files::write(&closed, CLOSED, owner)?;
        let program = build.bin.join("postgres");
        let id = Id::new(&format!("{PREFIX}recovery.{:016x}", Dice::fair().roll()));
        let settings = [
            format!("config_file={}", self.places.own_settings(uid, number).display()),
            format!("hba_file={}", closed.display()),
            // What it writes now is about to be undone.
            "archive_command=/bin/true".to_owned(),
            "synchronous_standby_names=".to_owned(),
        ];
        let launch = Launch {
            id: id.clone(),
            command: server(build, &data, settings),
            env: environment(&program, &data),
            directory: data.clone(),
            user: owner,
            expose: self.exposed(&program),
            log: self.places.log(uid, number),
            limits: Limits { log_bytes: Some(1 << 20), ..Limits::default() },
        };
        self.processes.start(launch).await?;
        let recovered = tokio::time::timeout(RECOVERY, self.recovered(&id, &data)).await;
        self.halt_run(&id, Stop::Fast).await?;
        files::remove(&closed)?;
        match recovered {
            Ok(recovered) => recovered,
            Err(_) => {
                Err(Error::Program { program: "postgres", story: "its recovery takes too long".into() })
            }
        }
    }

    /// Waits until a server says that it is ready, where `pg_ctl` looks for it.
    async fn recovered(&self, id: &Id, data: &Path) -> Result<(), Error> {
        loop {
            let told = files::read(&data.join("postmaster.pid"))?.unwrap_or_default();
            if told.lines().nth(7).is_some_and(|line| line.trim() == "ready") {
                return Ok(());
            }
            if let Some(State::Ended(end)) = self.processes.look(id).await? {
                let story = end.last_line.unwrap_or_else(|| "it ended without a word".to_owned());
                return Err(Error::Program { program: "postgres", story });
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}
