//! One server in memory.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{
    Asked, Content, Database, Error, Grants, Login, Membership, Privileges, Role, Seen, Server, Spread, Stray,
};

/// A server.
pub(super) struct State {
    pub(super) place: String,
    pub(super) recovery: bool,
    pub(super) broken: Option<Error>,
    pub(super) administrator: String,
    pub(super) maintenance: String,
    pub(super) roles: BTreeMap<String, (Role, Option<String>)>,
    pub(super) databases: BTreeMap<String, Base>,
    /// Number, login and database of each session.
    pub(super) sessions: BTreeMap<u64, (String, String)>,
    pub(super) sessions_ever: u64,
}

/// A database.
#[derive(Clone, Default)]
pub(super) struct Base {
    pub(super) owner: String,
    pub(super) mark: Option<String>,
    pub(super) public: bool,
    pub(super) closed: bool,
    /// Who may enter beside its owner.
    pub(super) guests: BTreeSet<String>,
    pub(super) extensions: BTreeMap<String, String>,
    pub(super) schemas: BTreeMap<String, Schema>,
}

/// A schema.
#[derive(Clone, Default)]
pub(super) struct Schema {
    pub(super) owner: String,
    pub(super) acl: BTreeMap<String, Privileges>,
    pub(super) tables: BTreeMap<String, Table>,
    /// By creator and role: on later tables, on later sequences.
    pub(super) later: BTreeMap<(String, String), (Privileges, Privileges)>,
}

/// A table.
#[derive(Clone, Default)]
pub(super) struct Table {
    pub(super) owner: String,
    pub(super) acl: BTreeMap<String, Privileges>,
}

/// A role that may nothing.
pub(super) fn plain(mark: Option<String>) -> Role {
    Role {
        login: false,
        superuser: false,
        replication: false,
        create_db: false,
        create_role: false,
        bypass_rls: false,
        inherit: true,
        connection_limit: None,
        valid_until: None,
        member_of: BTreeMap::new(),
        settings: BTreeMap::new(),
        mark,
        sessions: 0,
    }
}

/// A database with nothing in it.
pub(super) fn empty(owner: &str, mark: Option<String>) -> Base {
    let public = Schema { owner: "pg_database_owner".to_owned(), ..Schema::default() };
    Base {
        owner: owner.to_owned(),
        public: mark.is_none(),
        mark,
        extensions: BTreeMap::from([("plpgsql".to_owned(), "1.0".to_owned())]),
        schemas: BTreeMap::from([("public".to_owned(), public)]),
        ..Base::default()
    }
}

impl State {
    pub(super) fn new(server: &Server) -> Self {
        let boss = Role { login: true, superuser: true, ..plain(None) };
        let password = Some(server.password.open().clone());
        let names = BTreeSet::from(["postgres", &server.database]);
        Self {
            place: server.place(),
            recovery: false,
            broken: None,
            administrator: server.user.clone(),
            maintenance: server.database.clone(),
            roles: BTreeMap::from([(server.user.clone(), (boss, password))]),
            databases: names.into_iter().map(|name| (name.to_owned(), empty(&server.user, None))).collect(),
            sessions: BTreeMap::new(),
            sessions_ever: 0,
        }
    }

    /// Whether it answers at all.
    pub(super) fn answers(&self) -> Result<(), Error> {
        self.broken.clone().map_or(Ok(()), Err)
    }

    /// Whether somebody may log in.
    pub(super) fn admits(&self, user: &str, password: &str) -> Result<(), Error> {
        let denied =
            |story: String| Error::Denied { server: self.place.clone(), user: user.to_owned(), story };
        match self.roles.get(user) {
            Some((role, Some(good))) if role.login && good == password => Ok(()),
            Some((role, _)) if !role.login => {
                Err(denied(format!("role \"{user}\" is not permitted to log in")))
            }
            Some(_) | None => Err(denied(format!("password authentication failed for user \"{user}\""))),
        }
    }

    /// Whether somebody may enter a database.
    pub(super) fn enter(&self, login: &Login) -> Result<(), Error> {
        let Login { database, role, password } = login;
        self.admits(role, password.open())?;
        let base = self.databases.get(database).ok_or_else(|| self.missing("database", database))?;
        let mine = self.rights_of(role);
        let invited =
            base.public || mine.contains(&base.owner) || base.guests.iter().any(|guest| mine.contains(guest));
        let superuser = self.roles.get(role).is_some_and(|(role, _)| role.superuser);
        match !base.closed && (invited || superuser) {
            true => Ok(()),
            false => Err(Error::Privilege {
                server: self.place.clone(),
                story: format!("permission denied for database \"{database}\""),
            }),
        }
    }

    /// Who a login acts as.
    pub(super) fn acting(&self, login: &str) -> String {
        let set = self.roles.get(login).and_then(|(role, _)| role.settings.get("role"));
        set.cloned().unwrap_or_else(|| login.to_owned())
    }

    /// A role and all that it is a member of.
    pub(super) fn rights_of(&self, role: &str) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        let mut waiting = vec![role.to_owned()];
        while let Some(next) = waiting.pop() {
            let groups = self.roles.get(&next).map(|(role, _)| role.member_of.keys().cloned());
            if all.insert(next) {
                waiting.extend(groups.into_iter().flatten());
            }
        }
        all
    }

    pub(super) fn missing(&self, what: &'static str, name: &str) -> Error {
        Error::Missing { server: self.place.clone(), what, name: name.to_owned() }
    }

    pub(super) fn not_ours(&self, what: &'static str, name: &str) -> Error {
        Error::NotOurs { server: self.place.clone(), what, name: name.to_owned() }
    }

    /// What a look tells.
    pub(super) fn seen(&self, asked: &Asked) -> Seen {
        let role = |name: &String| {
            let (role, _) = self.roles.get(name)?;
            let sessions = self.sessions.values().filter(|(login, _)| login == name).count();
            Some((name.clone(), Role { sessions: bounded(sessions), ..role.clone() }))
        };
        let found = asked.database.as_ref().and_then(|name| Some((name, self.databases.get(name)?)));
        let database = found.map(|(name, base)| Database {
            owner: base.owner.clone(),
            mark: base.mark.clone(),
            public: base.public,
            open: !base.closed,
            sessions: bounded(self.sessions.values().filter(|(_, database)| database == name).count()),
            content: (asked.content && !base.closed).then(|| base.content(&asked.roles)),
        });
        Seen {
            version: 150_000,
            recovery: self.recovery,
            superuser: true,
            database,
            roles: asked.roles.iter().filter_map(role).collect(),
        }
    }
}

fn bounded(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// A membership as `GRANT` makes it.
pub(super) const MEMBER: Membership = Membership { admin: false, inherit: true, set: true };

impl Base {
    pub(super) fn content(&self, roles: &BTreeSet<String>) -> Content {
        let mut content = Content { extensions: self.extensions.clone(), ..Content::default() };
        for (name, schema) in &self.schemas {
            let owner = if schema.owner == self.owner { &self.owner } else { &schema.owner };
            content.schemas.insert(name.clone(), owner.clone());
            for role in roles {
                let grants = schema.grants(role);
                let bare = Spread { held: BTreeMap::new(), ..grants.tables.clone() };
                if (Grants { tables: bare.clone(), ..Grants::default() }) != grants {
                    content.grants.entry(role.clone()).or_default().insert(name.clone(), grants);
                }
            }
            let stray = |(table, owner): (&String, &String)| Stray {
                schema: name.clone(),
                name: table.clone(),
                owner: owner.clone(),
            };
            let tables = schema.tables.iter().map(|(name, table)| (name, &table.owner));
            let itself = (name != "public").then_some((name, &schema.owner));
            let others = tables.chain(itself).filter(|(_, owner)| **owner != self.owner);
            content.strays.extend(others.map(stray));
        }
        content.strays.sort();
        content
    }
}

impl Schema {
    fn grants(&self, role: &str) -> Grants {
        let mut grants =
            Grants { schema: self.acl.get(role).cloned().unwrap_or_default(), ..Grants::default() };
        for table in self.tables.values().filter(|table| table.owner != role) {
            grants.tables.count += 1;
            for word in table.acl.get(role).into_iter().flatten() {
                *grants.tables.held.entry(word.clone()).or_default() += 1;
            }
        }
        for ((creator, grantee), (tables, sequences)) in &self.later {
            if grantee == role {
                grants.later_tables.insert(creator.clone(), tables.clone());
                grants.later_sequences.insert(creator.clone(), sequences.clone());
            }
        }
        grants
    }
}
