//! What others do to servers in memory: programs that use them, and what goes wrong.

use super::super::{Error, Login, Role, Server};
use super::Fake;
use super::state::{State, Table, empty, plain};

/// A session that somebody has. It ends when it is let go.
pub struct Session {
    fake: Fake,
    server: Server,
    number: u64,
}

impl Session {
    /// Whether the server has not ended it.
    pub fn is_open(&self) -> bool {
        self.fake.reach(&self.server, |state| state.sessions.contains_key(&self.number))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.fake.reach(&self.server, |state| state.sessions.remove(&self.number));
    }
}

impl Fake {
    /// Lets every call to a server fail with this, until it is taken back with `None`.
    pub fn break_down(&self, server: &Server, error: Option<Error>) {
        self.reach(server, |state| state.broken = error);
    }

    /// Makes a server a standby, or the primary again.
    pub fn set_standby(&self, server: &Server, standby: bool) {
        self.reach(server, |state| state.recovery = standby);
    }

    /// A role that somebody else made.
    pub fn add_role(&self, server: &Server, role: &str) {
        self.reach(server, |state| state.roles.insert(role.to_owned(), (plain(None), None)));
    }

    /// A database that somebody else made.
    pub fn add_database(&self, server: &Server, database: &str) {
        self.reach(server, |state| {
            let base = empty(&state.administrator, None);
            state.databases.insert(database.to_owned(), base)
        });
    }

    /// Changes a role behind everybody's back.
    pub fn alter_role(&self, server: &Server, role: &str, change: impl FnOnce(&mut Role)) {
        self.reach(server, |state| state.roles.get_mut(role).map(|(role, _)| change(role)));
    }

    /// Gives a database to somebody else, and lets the public in or not.
    pub fn alter_database(&self, server: &Server, database: &str, owner: &str, public: bool) {
        self.reach(server, |state| {
            if let Some(base) = state.databases.get_mut(database) {
                (base.owner, base.public) = (owner.to_owned(), public);
            }
        });
    }

    /// Takes an extension out of a database.
    pub fn drop_extension(&self, server: &Server, database: &str, extension: &str) {
        self.reach(server, |state| state.databases.get_mut(database)?.extensions.remove(extension));
    }

    /// The databases of a server, but for the one that it came with.
    pub fn databases(&self, server: &Server) -> Vec<String> {
        let own = |state: &State| [state.maintenance.clone(), "postgres".to_owned()];
        self.reach(server, |state| {
            state.databases.keys().filter(|name| !own(state).contains(name)).cloned().collect()
        })
    }

    /// The roles of a server, but for its administrator.
    pub fn roles(&self, server: &Server) -> Vec<String> {
        self.reach(server, |state| {
            state.roles.keys().filter(|name| **name != state.administrator).cloned().collect()
        })
    }

    /// A session of a program.
    pub fn connect(&self, server: &Server, login: &Login) -> Result<Session, Error> {
        let number = self.reach(server, |state| {
            state.answers()?;
            state.enter(login)?;
            state.sessions_ever += 1;
            state.sessions.insert(state.sessions_ever, (login.role.clone(), login.database.clone()));
            Ok(state.sessions_ever)
        })?;
        Ok(Session { fake: self.clone(), server: server.clone(), number })
    }

    /// Makes a table, as a program does.
    pub fn create_table(
        &self,
        server: &Server,
        login: &Login,
        (schema, table): (&str, &str),
    ) -> Result<(), Error> {
        self.reach(server, |state| {
            state.answers()?;
            state.enter(login)?;
            let who = state.acting(&login.role);
            let mine = state.rights_of(&who);
            let refused = denied(state, "schema", schema);
            let missing = state.missing("schema", schema);
            let base = state.databases.get_mut(&login.database).ok_or(refused.clone())?;
            let lord = base.owner.clone();
            let place = base.schemas.get_mut(schema).ok_or(missing)?;
            let may = place.acl.iter().any(|(role, words)| mine.contains(role) && words.contains("CREATE"));
            let owns = mine.contains(&place.owner) || schema == "public" && mine.contains(&lord);
            if !may && !owns {
                return Err(refused);
            }
            let later = place.later.iter().filter(|((creator, _), _)| *creator == who);
            let acl = later.map(|((_, role), (tables, _))| (role.clone(), tables.clone())).collect();
            place.tables.insert(table.to_owned(), Table { owner: who, acl });
            Ok(())
        })
    }

    /// Uses a table, as a program does: `SELECT`, `INSERT` and so on.
    pub fn use_table(
        &self,
        server: &Server,
        login: &Login,
        (schema, table): (&str, &str),
        privilege: &str,
    ) -> Result<(), Error> {
        self.reach(server, |state| {
            state.answers()?;
            state.enter(login)?;
            let mine = state.rights_of(&state.acting(&login.role));
            let base = state.databases.get(&login.database).ok_or_else(|| denied(state, "table", table))?;
            let place = base.schemas.get(schema).ok_or_else(|| state.missing("schema", schema))?;
            let found = place.tables.get(table).ok_or_else(|| state.missing("table", table))?;
            let may = found.acl.iter().any(|(role, words)| mine.contains(role) && words.contains(privilege));
            if may || mine.contains(&found.owner) { Ok(()) } else { Err(denied(state, "table", table)) }
        })
    }
}

fn denied(state: &State, what: &str, name: &str) -> Error {
    Error::Privilege { server: state.place.clone(), story: format!("permission denied for {what} {name}") }
}
