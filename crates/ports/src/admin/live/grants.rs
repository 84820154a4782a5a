//! Rights per schema.

use std::collections::{BTreeMap, BTreeSet};

use api::claims::RoleType;

use super::super::{Error, Recipe, Title, identifier, recipe};
use super::lines::Lease;

impl Lease {
    /// Gives a role these rights in the database of this connection, and takes all others. One transaction, so that
    /// nobody ever sees a right missing.
    pub(super) async fn grant(
        &self,
        role: &str,
        creators: &BTreeSet<String>,
        rights: &BTreeMap<String, RoleType>,
        title: &Title,
    ) -> Result<(), Error> {
        let seen = self.seen(Some(&self.server.database), &[role]).await?;
        self.covered(&seen, role, title)?;
        let content = self.content(&BTreeSet::from([role.to_owned()])).await?;
        if let Some(schema) = rights.keys().find(|schema| !content.schemas.contains_key(*schema)) {
            return Err(self.missing("schema", schema));
        }
        let (name, base) = (identifier(role)?, identifier(&self.server.database)?);
        let mut statements = match rights.is_empty() {
            true => vec![format!("REVOKE ALL ON DATABASE {base} FROM {name}")],
            false => vec![format!("GRANT CONNECT, TEMPORARY ON DATABASE {base} TO {name}")],
        };
        let none = BTreeMap::new();
        let held = content.grants.get(role).unwrap_or(&none);
        for (schema, found) in held {
            if rights.get(schema).is_some_and(|right| found.is(*right, creators)) {
                continue;
            }
            let makers = found.later_tables.keys().chain(found.later_sequences.keys());
            statements.extend(revoked(&name, schema, &makers.collect())?);
        }
        for (schema, right) in rights {
            if !held.get(schema).is_some_and(|found| found.is(*right, creators)) {
                statements.extend(granted(&name, schema, recipe(*right), creators)?);
            }
        }
        self.run(&statements).await
    }
}

fn revoked(role: &str, schema: &str, creators: &BTreeSet<&String>) -> Result<Vec<String>, Error> {
    let schema = identifier(schema)?;
    let mut statements = vec![
        format!("REVOKE ALL ON SCHEMA {schema} FROM {role}"),
        format!("REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {role}"),
        format!("REVOKE ALL ON ALL SEQUENCES IN SCHEMA {schema} FROM {role}"),
        format!("REVOKE ALL ON ALL ROUTINES IN SCHEMA {schema} FROM {role}"),
    ];
    for creator in creators {
        let later = format!("ALTER DEFAULT PRIVILEGES FOR ROLE {} IN SCHEMA {schema}", identifier(creator)?);
        statements.push(format!("{later} REVOKE ALL ON TABLES FROM {role}"));
        statements.push(format!("{later} REVOKE ALL ON SEQUENCES FROM {role}"));
    }
    Ok(statements)
}

fn granted(
    role: &str,
    schema: &str,
    recipe: Recipe,
    creators: &BTreeSet<String>,
) -> Result<Vec<String>, Error> {
    let schema = identifier(schema)?;
    let [on_schema, tables, sequences] =
        [recipe.schema, recipe.tables, recipe.sequences].map(|words| words.join(", "));
    let mut statements = vec![
        format!("GRANT {on_schema} ON SCHEMA {schema} TO {role}"),
        format!("GRANT {tables} ON ALL TABLES IN SCHEMA {schema} TO {role}"),
        format!("GRANT {sequences} ON ALL SEQUENCES IN SCHEMA {schema} TO {role}"),
    ];
    for creator in creators {
        let later = format!("ALTER DEFAULT PRIVILEGES FOR ROLE {} IN SCHEMA {schema}", identifier(creator)?);
        statements.push(format!("{later} GRANT {tables} ON TABLES TO {role}"));
        statements.push(format!("{later} GRANT {sequences} ON SEQUENCES TO {role}"));
    }
    Ok(statements)
}
