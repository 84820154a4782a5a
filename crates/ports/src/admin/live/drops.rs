//! What is removed for good, and who gets what is left.

use std::collections::BTreeSet;

use tokio_postgres::types::Type;

use super::super::{Error, Server, Title, identifier};
use super::Live;
use super::databases::{ended, unfinished};
use super::lines::Lease;
use super::roles::joined;

/// The first version that ends sessions by itself when a database is dropped.
const FORCE: u32 = 130_000;
/// Databases in which something depends on a role.
const DEPENDENT: &str = "SELECT coalesce(jsonb_agg(DISTINCT d.datname), '[]')::text
  FROM pg_shdepend s JOIN pg_database d ON d.oid = s.dbid
  WHERE s.refclassid = 'pg_authid'::regclass AND s.refobjid = (SELECT oid FROM pg_roles WHERE rolname = $1)";

impl Lease {
    /// Removes a database, finished or not.
    pub(super) async fn drop_database(&self, database: &str, title: &Title) -> Result<(), Error> {
        self.unreserved(database)?;
        let draft = unfinished(database, title);
        for name in [database, &draft] {
            let seen = self.seen(Some(name), &[]).await?;
            let Some(found) = &seen.database else { continue };
            if !title.owns(found.mark.as_deref()) && name == database {
                return Err(self.not_ours("database", database));
            }
            let quoted = identifier(name)?;
            self.join_sessions(&seen, name).await?;
            // Neither can stand in a transaction, and two statements in one message would be one.
            if seen.version >= FORCE {
                self.run(&[format!("DROP DATABASE {quoted} WITH (FORCE)")]).await?;
            } else {
                self.run(&[ended(name, "")]).await?;
                self.run(&[format!("DROP DATABASE {quoted}")]).await?;
            }
        }
        Ok(())
    }

    /// Gives away what some roles own in the database of this connection.
    pub(super) async fn reassign(
        &self,
        from: &BTreeSet<String>,
        to: &str,
        title: &Title,
    ) -> Result<(), Error> {
        let names: Vec<&str> = from.iter().map(String::as_str).chain([to]).collect();
        let seen = self.seen(None, &names).await?;
        let mut statements = Vec::from_iter(joined(&seen, to)?);
        for role in from.iter().filter(|role| *role != to && seen.roles.contains_key(*role)) {
            self.covered(&seen, role, title)?;
            statements.extend(joined(&seen, role)?);
            statements.push(format!("REASSIGN OWNED BY {} TO {}", identifier(role)?, identifier(to)?));
        }
        self.run(&statements).await
    }
}

impl Live {
    /// Removes a role. What it owns goes to its heir in every database first, so that no data goes with it.
    pub(super) async fn drop_role(
        &self,
        server: &Server,
        (role, heir): (&str, Option<&str>),
        title: &Title,
    ) -> Result<(), Error> {
        let main = self.main(server).await?;
        let seen = main.seen(None, &[role]).await?;
        let Some(found) = seen.roles.get(role) else { return Ok(()) };
        if !title.owns(found.mark.as_deref()) || role == server.user {
            return Err(main.not_ours("role", role));
        }
        if found.sessions > 0 {
            let story = format!("role `{role}` has {} open sessions", found.sessions);
            return Err(Error::Busy { server: server.place(), story });
        }
        let databases = main.text(DEPENDENT, &[(&role, Type::TEXT)]).await?;
        let databases: Vec<String> = main.parsed(&databases)?;
        let name = identifier(role)?;
        let heir_name = heir.map_or_else(|| Ok("CURRENT_USER".to_owned()), identifier)?;
        let mut leave = Vec::from_iter(joined(&seen, role)?);
        leave.extend(heir.map(|heir| joined(&seen, heir)).transpose()?.flatten());
        leave.push(format!("REASSIGN OWNED BY {name} TO {heir_name}"));
        // By now it owns nothing, so only its rights go.
        leave.push(format!("DROP OWNED BY {name}"));
        main.run(&leave).await?;
        drop(main);
        for database in databases.iter().filter(|database| **database != server.database) {
            self.inside(server, database).await?.run(&leave).await?;
        }
        self.main(server).await?.run(&[format!("DROP ROLE IF EXISTS {name}")]).await
    }
}
