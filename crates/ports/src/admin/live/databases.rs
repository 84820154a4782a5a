//! Databases: made, put aside, taken back; schemas and extensions in them.

use std::collections::BTreeSet;

use sha2::{Digest as _, Sha256};
use tokio_postgres::types::Type;

use super::super::{Error, Seen, Title, identifier, literal};
use super::lines::Lease;
use super::roles::joined;

/// Roles with sessions in a database that the administrator is no member of.
const STRANGERS: &str = "SELECT coalesce(jsonb_agg(DISTINCT usename), '[]')::text
  FROM pg_stat_activity WHERE datname = $1 AND NOT pg_has_role(usesysid, 'MEMBER')";

impl Lease {
    /// A database with an owner. `CREATE DATABASE` stands in no transaction, so it is made under another name, and gets
    /// its own together with its mark: under its own name it is never without.
    pub(super) async fn ensure_database(
        &self,
        database: &str,
        owner: &str,
        title: &Title,
    ) -> Result<(), Error> {
        self.unreserved(database)?;
        let seen = self.seen(Some(database), &[owner]).await?;
        if !seen.roles.contains_key(owner) {
            return Err(self.missing("role", owner));
        }
        let (name, lord) = (identifier(database)?, identifier(owner)?);
        if let Some(found) = seen.database {
            if !title.covers(found.mark.as_deref()) {
                return Err(self.not_ours("database", database));
            }
            let owner = (found.owner != owner).then(|| format!("ALTER DATABASE {name} OWNER TO {lord}"));
            // Others may rely on getting into a database that we found.
            let close = found.public && found.mark.is_some();
            let close = close.then(|| format!("REVOKE ALL ON DATABASE {name} FROM PUBLIC"));
            return self.run(&owner.into_iter().chain(close).collect::<Vec<_>>()).await;
        }
        let unfinished = unfinished(database, title);
        let draft = identifier(&unfinished)?;
        if let Some(join) = joined(&seen, owner)? {
            self.run(&[join]).await?;
        }
        if self.seen(Some(&unfinished), &[]).await?.database.is_none() {
            self.run(&[format!("CREATE DATABASE {draft} OWNER {lord}")]).await?;
        }
        self.run(&[
            format!("COMMENT ON DATABASE {draft} IS {}", literal(&title.mark)),
            format!("REVOKE ALL ON DATABASE {draft} FROM PUBLIC"),
            format!("ALTER DATABASE {draft} OWNER TO {lord}"),
            format!("ALTER DATABASE {draft} RENAME TO {name}"),
        ])
        .await
    }

    /// A schema, in the database of this connection.
    pub(super) async fn ensure_schema(&self, schema: &str, owner: &str) -> Result<(), Error> {
        let (name, owner) = (identifier(schema)?, identifier(owner)?);
        self.run(&[format!("CREATE SCHEMA IF NOT EXISTS {name} AUTHORIZATION {owner}")]).await
    }

    /// Extensions, in the database of this connection. They go to `public`, but for those that have a place of their own.
    pub(super) async fn ensure_extensions(&self, extensions: &BTreeSet<String>) -> Result<(), Error> {
        let mut statements = vec!["SET LOCAL search_path = public, pg_catalog".to_owned()];
        for name in extensions {
            statements.push(format!("CREATE EXTENSION IF NOT EXISTS {}", identifier(name)?));
        }
        if extensions.is_empty() { Ok(()) } else { self.run(&statements).await }
    }

    /// Ends the sessions of a database.
    pub(super) async fn close(&self, database: &str, title: &Title) -> Result<(), Error> {
        let seen = self.seen(Some(database), &[]).await?;
        match &seen.database {
            None => Ok(()),
            Some(found) if title.covers(found.mark.as_deref()) => {
                self.join_sessions(&seen, database).await?;
                let administrator = "usename IS DISTINCT FROM current_user AND ";
                self.run(&[ended(database, administrator)]).await
            }
            Some(_) => Err(self.not_ours("database", database)),
        }
    }

    /// Puts a database aside.
    pub(super) async fn hold(&self, (database, held): (&str, &str), title: &Title) -> Result<(), Error> {
        self.unreserved(database)?;
        let seen = self.seen(Some(database), &[]).await?;
        let Some(found) = &seen.database else { return Ok(()) };
        if !title.owns(found.mark.as_deref()) {
            return Err(self.not_ours("database", database));
        }
        let (name, held) = (identifier(database)?, identifier(held)?);
        if found.open {
            // Committed first, so that nobody comes back between the end of the sessions and the new name.
            self.run(&[format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false")]).await?;
        }
        self.join_sessions(&seen, database).await?;
        self.run(&[ended(database, "")]).await?;
        self.run(&[format!("ALTER DATABASE {name} RENAME TO {held}")]).await
    }

    /// An administrator that is no superuser can end sessions only of roles that it is a member of.
    pub(super) async fn join_sessions(&self, seen: &Seen, database: &str) -> Result<(), Error> {
        if seen.superuser {
            return Ok(());
        }
        let strangers: Vec<String> = self.parsed(&self.text(STRANGERS, &[(&database, Type::TEXT)]).await?)?;
        let joined: Result<Vec<_>, Error> = strangers.iter().map(|role| joined(seen, role)).collect();
        self.run(&joined?.into_iter().flatten().collect::<Vec<_>>()).await
    }

    /// Takes a database back.
    pub(super) async fn release(&self, (held, database): (&str, &str), title: &Title) -> Result<(), Error> {
        let name = identifier(database)?;
        let open = format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true");
        let aside = self.seen(Some(held), &[]).await?.database;
        let there = self.seen(Some(database), &[]).await?.database;
        let statements = match (&aside, &there) {
            (Some(_), _) => vec![format!("ALTER DATABASE {} RENAME TO {name}", identifier(held)?), open],
            (None, Some(found)) if found.open => return Ok(()),
            (None, Some(_)) => vec![open],
            (None, None) => return Err(self.missing("database", held)),
        };
        let mark = aside.or(there).and_then(|found| found.mark);
        if !title.owns(mark.as_deref()) {
            return Err(self.not_ours("database", held));
        }
        self.run(&statements).await
    }
}

/// The name of a database that is not complete. It can be nobody else's, because nobody else knows the mark.
pub(super) fn unfinished(database: &str, title: &Title) -> String {
    let digest = Sha256::digest(format!("{}\0{database}", title.mark));
    let digits: String = digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    format!("terrace-unfinished-{digits}")
}

/// Ends sessions of a database, of those that the condition picks, but never the one that does it.
pub(super) fn ended(database: &str, condition: &str) -> String {
    format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
         WHERE {condition}datname = {} AND pid <> pg_backend_pid()",
        literal(database)
    )
}
