//! Roles and databases: those of the machinery, and those that were asked for.

use std::time::Duration;

use super::super::{Error, Key, Login, Number, Role, Superuser};
use super::sql::{identifier, literal};
use super::{Inner, Live};

/// The role that standbys follow with.
pub(super) const REPLICA: &str = "terrace_replica";
/// The role of the machinery itself: a superuser beside `postgres`, whose password is the owner's to have.
pub(super) const ADMIN: &str = "terrace_admin";
/// The superuser that every server is made with.
pub(super) const SUPERUSER: &str = "postgres";
/// How long making a database may take: it copies one.
const MAKING: Duration = Duration::from_secs(20);
/// What `pg_rewind` reads a server's files with.
/// https://www.postgresql.org/docs/current/app-pgrewind.html
const REWIND: &str = "\
GRANT EXECUTE ON FUNCTION pg_catalog.pg_ls_dir(text, boolean, boolean) TO terrace_replica;
GRANT EXECUTE ON FUNCTION pg_catalog.pg_stat_file(text, boolean) TO terrace_replica;
GRANT EXECUTE ON FUNCTION pg_catalog.pg_read_binary_file(text) TO terrace_replica;
GRANT EXECUTE ON FUNCTION pg_catalog.pg_read_binary_file(text, bigint, bigint, boolean) TO terrace_replica;";

impl Live {
    /// Makes the role and the database of a login, or gives the role its password.
    pub(super) async fn grant_login(
        &self,
        cluster: &Key,
        primary: Number,
        login: &Login,
    ) -> Result<(), Error> {
        let gate = self.inner.gate(&cluster.uid);
        let _alone = gate.lock().await;
        let inner = &self.inner;
        if inner.known(cluster)?.granted.as_ref() == Some(&login.mark) {
            return Ok(());
        }
        let Login { owner, database, password, mark } = login;
        if [owner, database].iter().any(|name| name.is_empty() || name.contains('\0'))
            || [REPLICA, ADMIN, SUPERUSER].contains(&owner.as_str())
        {
            return Err(Error::Unfit(format!("`{owner}` cannot own the database `{database}`")));
        }
        inner.prepare(cluster, primary).await?;
        let place = (cluster.uid.as_str(), primary);
        let (role, base) = (identifier(owner), identifier(database));
        let verb = inner.verb(place, owner).await?;
        let sql = format!("{verb} ROLE {role} LOGIN PASSWORD {}", verifier(password.open()));
        inner.ask(place, LOGIN, &sql, MAKING).await?;
        let there = format!("SELECT 1 FROM pg_database WHERE datname = {}", literal(database));
        let sql = if inner.ask_one(place, LOGIN, &there).await?.is_some() {
            format!("ALTER DATABASE {base} OWNER TO {role}")
        } else {
            format!("CREATE DATABASE {base} OWNER {role}")
        };
        inner.ask(place, LOGIN, &sql, MAKING).await?;
        inner.ask(place, LOGIN, &format!("REVOKE ALL ON DATABASE {base} FROM PUBLIC"), MAKING).await?;
        inner.update(&cluster.uid, |record| record.granted = Some(mark.clone())).await
    }

    /// Gives `postgres` this password, or takes away the one that it has.
    pub(super) async fn let_superuser(
        &self,
        cluster: &Key,
        primary: Number,
        login: Option<&Superuser>,
    ) -> Result<(), Error> {
        let gate = self.inner.gate(&cluster.uid);
        let _alone = gate.lock().await;
        let inner = &self.inner;
        let mark = login.map(|login| login.mark.clone());
        inner.prepare(cluster, primary).await?;
        if inner.known(cluster)?.superuser == mark {
            return Ok(());
        }
        let password = login.map_or_else(|| "NULL".to_owned(), |login| verifier(login.password.open()));
        let sql = format!("ALTER ROLE {SUPERUSER} LOGIN PASSWORD {password}");
        inner.ask((&cluster.uid, primary), LOGIN, &sql, MAKING).await?;
        inner.update(&cluster.uid, |record| record.superuser = mark).await
    }

    /// Makes a role, or gives it its rights and its password.
    pub(super) async fn let_role(&self, cluster: &Key, primary: Number, role: &Role) -> Result<(), Error> {
        let gate = self.inner.gate(&cluster.uid);
        let _alone = gate.lock().await;
        let inner = &self.inner;
        let Role { name, password, creates_databases, creates_roles, mark } = role;
        inner.prepare(cluster, primary).await?;
        if inner.known(cluster)?.roles.get(name) == Some(mark) {
            return Ok(());
        }
        if name.is_empty() || name.contains('\0') || [REPLICA, ADMIN, SUPERUSER].contains(&name.as_str()) {
            return Err(Error::Unfit(format!("`{name}` is not a role that can be made")));
        }
        let place = (cluster.uid.as_str(), primary);
        let verb = inner.verb(place, name).await?;
        let databases = if *creates_databases { "CREATEDB" } else { "NOCREATEDB" };
        let roles = if *creates_roles { "CREATEROLE" } else { "NOCREATEROLE" };
        let (called, password) = (identifier(name), verifier(password.open()));
        let sql = format!("{verb} ROLE {called} LOGIN {databases} {roles} PASSWORD {password}");
        inner.ask(place, LOGIN, &sql, MAKING).await?;
        inner.update(&cluster.uid, |record| drop(record.roles.insert(name.clone(), mark.clone()))).await
    }
}

const LOGIN: &str = "cannot make the login";

impl Inner {
    /// Gives the roles of the machinery their passwords, once, on the primary. From then on `postgres` has none, until it
    /// is given one.
    pub(super) async fn prepare(&self, cluster: &Key, primary: Number) -> Result<(), Error> {
        let record = self.known(cluster)?;
        if record.prepared && record.administered {
            return Ok(());
        }
        let place = (cluster.uid.as_str(), primary);
        let (replica, admin) = (self.verb(place, REPLICA).await?, self.verb(place, ADMIN).await?);
        let sql = format!(
            "{replica} ROLE {REPLICA} LOGIN REPLICATION PASSWORD {};{REWIND};\
             {admin} ROLE {ADMIN} LOGIN SUPERUSER PASSWORD {};ALTER ROLE {SUPERUSER} PASSWORD NULL",
            verifier(&record.replica),
            verifier(self.password(&cluster.uid).open()),
        );
        self.ask(place, PREPARE, &sql, MAKING).await?;
        self.update(&cluster.uid, |record| (record.prepared, record.administered) = (true, true)).await
    }

    /// What makes a role be as wanted, there or not.
    async fn verb(&self, place: (&str, Number), role: &str) -> Result<&'static str, Error> {
        let there = format!("SELECT 1 FROM pg_roles WHERE rolname = {}", literal(role));
        Ok(if self.ask_one(place, PREPARE, &there).await?.is_some() { "ALTER" } else { "CREATE" })
    }
}

/// What a server checks a password with. The password itself is in no statement, so no log can show it.
fn verifier(password: &str) -> String {
    literal(&postgres_protocol::password::scram_sha_256(password.as_bytes()))
}

const PREPARE: &str = "cannot prepare the server";
