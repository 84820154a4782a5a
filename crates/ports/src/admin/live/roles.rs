//! Roles: owners, logins, passwords.

use api::secret::Sealed;

use super::super::{Error, Powers, Role, Seen, Title, identifier, literal};
use super::lines::Lease;

impl Lease {
    /// A role that nobody logs in as.
    pub(super) async fn ensure_owner(&self, role: &str, powers: Powers, title: &Title) -> Result<(), Error> {
        let seen = self.seen(None, &[role]).await?;
        let mut statements = match seen.roles.get(role) {
            None => created(role, powers, title)?,
            Some(found) => {
                self.covers(role, found, title)?;
                let mut words = differing(found, powers);
                words.extend(found.login.then_some("NOLOGIN"));
                altered(role, &words)?
            }
        };
        statements.extend(joined(&seen, role)?);
        self.run(&statements).await
    }

    /// A login that stands for an owner.
    pub(super) async fn ensure_login(
        &self,
        (role, owner): (&str, &str),
        powers: Powers,
        title: &Title,
    ) -> Result<(), Error> {
        let seen = self.seen(None, &[role, owner]).await?;
        if !seen.roles.contains_key(owner) {
            return Err(self.missing("role", owner));
        }
        let (name, group) = (identifier(role)?, identifier(owner)?);
        let found = seen.roles.get(role);
        let mut statements = match found {
            None => created(role, powers, title)?,
            Some(found) => {
                self.covers(role, found, title)?;
                let mut words = differing(found, powers);
                words.extend((!found.inherit).then_some("INHERIT"));
                altered(role, &words)?
            }
        };
        for other in found.iter().flat_map(|found| found.member_of.keys()).filter(|other| *other != owner) {
            statements.push(format!("REVOKE {} FROM {name}", identifier(other)?));
        }
        let member = found.and_then(|found| found.member_of.get(owner));
        if !member.is_some_and(|member| member.inherit && member.set) {
            // Since version 16 a membership has options; before, the role's own attribute decides.
            let options = if seen.version >= 160_000 { " WITH INHERIT TRUE, SET TRUE" } else { "" };
            statements.push(format!("GRANT {group} TO {name}{options}"));
        }
        if found.and_then(|found| found.settings.get("role")).map(String::as_str) != Some(owner) {
            statements.push(format!("ALTER ROLE {name} SET role = {}", literal(owner)));
        }
        self.run(&statements).await
    }

    /// Lets a login in with this password.
    pub(super) async fn set_password(
        &self,
        role: &str,
        password: &Sealed<String>,
        title: &Title,
    ) -> Result<(), Error> {
        let seen = self.seen(None, &[role]).await?;
        self.covered(&seen, role, title)?;
        let verifier = postgres_protocol::password::scram_sha_256(password.open().as_bytes());
        self.run(&[format!("ALTER ROLE {} LOGIN PASSWORD {}", identifier(role)?, literal(&verifier))]).await
    }

    /// Lets a login in no more.
    pub(super) async fn lock(&self, role: &str, title: &Title) -> Result<(), Error> {
        let seen = self.seen(None, &[role]).await?;
        if !seen.roles.contains_key(role) {
            return Ok(());
        }
        self.covered(&seen, role, title)?;
        self.run(&[format!("ALTER ROLE {} NOLOGIN PASSWORD NULL", identifier(role)?)]).await
    }

    /// Puts a role aside. Its password goes with the name: some servers salt with it.
    pub(super) async fn rename_role(&self, (from, to): (&str, &str), title: &Title) -> Result<(), Error> {
        let seen = self.seen(None, &[from]).await?;
        let Some(found) = seen.roles.get(from) else { return Ok(()) };
        if !title.owns(found.mark.as_deref()) || from == self.server.user {
            return Err(self.not_ours("role", from));
        }
        let (old, new) = (identifier(from)?, identifier(to)?);
        self.run(&[
            format!("ALTER ROLE {old} NOLOGIN PASSWORD NULL"),
            format!("ALTER ROLE {old} RENAME TO {new}"),
        ])
        .await
    }
}

/// Makes a role and marks it, in one transaction: what carries no mark was not made here.
fn created(role: &str, powers: Powers, title: &Title) -> Result<Vec<String>, Error> {
    let name = identifier(role)?;
    let Powers { superuser, replication } = powers;
    let more = [(superuser, " SUPERUSER"), (replication, " REPLICATION")];
    let more: String = more.into_iter().filter_map(|(on, word)| on.then_some(word)).collect();
    Ok(vec![
        format!("CREATE ROLE {name} NOLOGIN{more}"),
        format!("COMMENT ON ROLE {name} IS {}", literal(&title.mark)),
    ])
}

/// The attributes to change. Those that are right are not named: to name some of them takes a superuser.
fn differing(found: &Role, powers: Powers) -> Vec<&'static str> {
    let Powers { superuser, replication } = powers;
    let table = [
        (found.superuser, superuser, ["NOSUPERUSER", "SUPERUSER"]),
        (found.replication, replication, ["NOREPLICATION", "REPLICATION"]),
        (found.create_db, false, ["NOCREATEDB", "CREATEDB"]),
        (found.create_role, false, ["NOCREATEROLE", "CREATEROLE"]),
        (found.bypass_rls, false, ["NOBYPASSRLS", "BYPASSRLS"]),
    ];
    let differing = table.into_iter().filter(|(is, want, _)| is != want);
    differing.map(|(_, want, words)| words[usize::from(want)]).collect()
}

fn altered(role: &str, words: &[&str]) -> Result<Vec<String>, Error> {
    let name = identifier(role)?;
    Ok(match words {
        [] => Vec::new(),
        words => vec![format!("ALTER ROLE {name} {}", words.join(" "))],
    })
}

/// An administrator that is no superuser has to be a member of a role to give things to it.
pub(super) fn joined(seen: &Seen, role: &str) -> Result<Option<String>, Error> {
    let name = identifier(role)?;
    Ok((!seen.superuser).then(|| format!("GRANT {name} TO CURRENT_USER")))
}
