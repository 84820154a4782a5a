//! Real servers, over `tokio-postgres`.
//!
//! Statements are in this folder only. Each act reads first, then sends what differs as one message, which PostgreSQL
//! carries out as one transaction.

mod content;
mod databases;
mod drops;
mod grants;
mod lines;
mod look;
mod roles;
mod said;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use super::{Act, Admin, Asked, Error, Login, Proof, Seen, Server};
use lines::{Lanes, Lease};

/// The bounds within which servers are spoken to.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How many connections one server ever has from us.
    pub connections: usize,
    /// How long a connection is kept without use.
    pub idle: Duration,
    /// How long a login may take.
    pub connect: Duration,
    /// How long an answer may take.
    pub statement: Duration,
    /// How long to wait for one of the server's connections.
    pub turn: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        // Together they stay below the 30 s that a step may take.
        Self {
            connections: 4,
            idle: Duration::from_secs(30),
            connect: Duration::from_secs(5),
            statement: Duration::from_secs(15),
            turn: Duration::from_secs(5),
        }
    }
}

/// Real servers. A server that is slow or dead takes its own connections only, so it delays no other.
#[derive(Clone)]
pub struct Live {
    lanes: Arc<Lanes>,
}

impl Default for Live {
    fn default() -> Self {
        Self::new(Settings::default())
    }
}

impl Live {
    /// Speaks to servers within these bounds.
    pub fn new(settings: Settings) -> Self {
        Self { lanes: Arc::new(Lanes::new(settings)) }
    }

    /// A connection as the administrator to the administrator's own database.
    async fn main(&self, server: &Server) -> Result<Lease, Error> {
        self.lanes.lease(server, &server.database).await
    }

    /// A connection as the administrator to another database.
    async fn inside(&self, server: &Server, database: &str) -> Result<Lease, Error> {
        self.lanes.lease(server, super::quote::checked(database)?).await
    }
}

impl Admin for Live {
    async fn look(&self, server: &Server, asked: &Asked) -> Result<Seen, Error> {
        let main = self.main(server).await?;
        let mut seen = main.look(asked).await?;
        // Another connection may be needed, and this one would be waited for by everybody who holds one.
        drop(main);
        if let (Some(found), Some(name), true) = (&mut seen.database, &asked.database, asked.content)
            && found.open
        {
            found.content = Some(self.inside(server, name).await?.content(&asked.roles).await?);
        }
        Ok(seen)
    }

    async fn act(&self, server: &Server, act: &Act) -> Result<(), Error> {
        match act {
            Act::EnsureOwner { role, powers, title } => {
                self.main(server).await?.ensure_owner(role, *powers, title).await
            }
            Act::EnsureLogin { role, owner, powers, title } => {
                self.main(server).await?.ensure_login((role, owner), *powers, title).await
            }
            Act::SetPassword { role, password, title } => {
                self.main(server).await?.set_password(role, password, title).await
            }
            Act::Lock { role, title } => self.main(server).await?.lock(role, title).await,
            Act::EnsureDatabase { database, owner, title } => {
                self.main(server).await?.ensure_database(database, owner, title).await
            }
            Act::EnsureSchema { database, schema, owner } => {
                self.inside(server, database).await?.ensure_schema(schema, owner).await
            }
            Act::EnsureExtensions { database, extensions } => {
                self.inside(server, database).await?.ensure_extensions(extensions).await
            }
            Act::Grant { database, role, creators, rights, title } => {
                self.inside(server, database).await?.grant(role, creators, rights, title).await
            }
            Act::Reassign { database, from, to, title } => {
                self.inside(server, database).await?.reassign(from, to, title).await
            }
            Act::Close { database, title } => self.main(server).await?.close(database, title).await,
            Act::Hold { database, held, title } => {
                self.lanes.hang_up(server, database);
                self.main(server).await?.hold((database, held), title).await
            }
            Act::Release { held, database, title } => {
                self.main(server).await?.release((held, database), title).await
            }
            Act::RenameRole { from, to, title } => {
                self.main(server).await?.rename_role((from, to), title).await
            }
            Act::DropDatabase { database, title } => {
                self.lanes.hang_up(server, database);
                self.main(server).await?.drop_database(database, title).await
            }
            Act::DropRole { role, heir, title } => {
                self.drop_role(server, (role, heir.as_deref()), title).await
            }
        }
    }

    async fn prove(&self, server: &Server, login: &Login) -> Result<Proof, Error> {
        let server = Server {
            user: login.role.clone(),
            password: login.password.clone(),
            database: login.database.clone(),
            ..server.clone()
        };
        self.lanes.prove(&server).await
    }
}
