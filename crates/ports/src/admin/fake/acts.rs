//! What the acts do to a server in memory.

use std::collections::{BTreeMap, BTreeSet};

use api::claims::RoleType;

use super::super::{Act, Error, Powers, Privileges, Recipe, Title, recipe};
use super::state::{Base, MEMBER, Schema, State, empty, plain};

/// All names in an act.
pub(super) fn names(act: &Act) -> Vec<&str> {
    match act {
        Act::EnsureOwner { role, .. } | Act::SetPassword { role, .. } | Act::Lock { role, .. } => vec![role],
        Act::EnsureLogin { role, owner, .. } => vec![role, owner],
        Act::EnsureDatabase { database, owner, .. } => vec![database, owner],
        Act::EnsureSchema { database, schema, owner } => vec![database, schema, owner],
        Act::EnsureExtensions { database, extensions } => {
            extensions.iter().chain([database]).map(String::as_str).collect()
        }
        Act::Grant { database, role, creators, rights, .. } => {
            creators.iter().chain(rights.keys()).chain([database, role]).map(String::as_str).collect()
        }
        Act::Reassign { database, from, to, .. } => {
            from.iter().chain([database, to]).map(String::as_str).collect()
        }
        Act::Close { database, .. } | Act::DropDatabase { database, .. } => vec![database],
        Act::Hold { database, held, .. } | Act::Release { held, database, .. } => vec![database, held],
        Act::RenameRole { from, to, .. } => vec![from, to],
        Act::DropRole { role, heir, .. } => heir.iter().chain([role]).map(String::as_str).collect(),
    }
}

impl State {
    pub(super) fn act(&mut self, act: &Act) -> Result<(), Error> {
        if self.recovery {
            let story = "cannot execute this in a read-only transaction".to_owned();
            return Err(Error::ReadOnly { server: self.place.clone(), story });
        }
        match act {
            Act::EnsureOwner { role, powers, title } => self.ensure(role, None, *powers, title),
            Act::EnsureLogin { role, owner, powers, title } => self.ensure(role, Some(owner), *powers, title),
            Act::SetPassword { role, password, title } => {
                self.covered(role, title)?;
                self.set_password(role, Some(password.open().clone()));
                Ok(())
            }
            Act::Lock { role, title } => {
                if self.roles.contains_key(role) {
                    self.covered(role, title)?;
                    self.set_password(role, None);
                }
                Ok(())
            }
            Act::EnsureDatabase { database, owner, title } => self.ensure_database(database, owner, title),
            Act::EnsureSchema { database, schema, owner } => {
                let fresh = Schema { owner: owner.clone(), ..Schema::default() };
                self.base(database)?.schemas.entry(schema.clone()).or_insert(fresh);
                Ok(())
            }
            Act::EnsureExtensions { database, extensions } => {
                let base = self.base(database)?;
                for name in extensions {
                    base.extensions.entry(name.clone()).or_insert_with(|| "1.0".to_owned());
                }
                Ok(())
            }
            Act::Grant { database, role, creators, rights, title } => {
                self.covered(role, title)?;
                self.grant((database, role), creators, rights)
            }
            Act::Reassign { database, from, to, title } => {
                for role in from.iter().filter(|role| self.roles.contains_key(*role)) {
                    self.covered(role, title)?;
                }
                let base = self.base(database)?;
                from.iter().for_each(|role| base.give(role, to));
                Ok(())
            }
            Act::Close { database, title } => self.close(database, title),
            Act::Hold { database, held, title } => self.hold(database, held, title),
            Act::Release { held, database, title } => self.release(held, database, title),
            Act::RenameRole { from, to, title } => self.rename_role(from, to, title),
            Act::DropDatabase { database, title } => self.drop_database(database, title),
            Act::DropRole { role, heir, title } => self.drop_role(role, heir.as_ref(), title),
        }
    }

    fn base(&mut self, database: &str) -> Result<&mut Base, Error> {
        let missing = self.missing("database", database);
        self.databases.get_mut(database).ok_or(missing)
    }

    fn covered(&self, role: &str, title: &Title) -> Result<(), Error> {
        let (found, _) = self.roles.get(role).ok_or_else(|| self.missing("role", role))?;
        let stranger = found.mark.is_none() && found.superuser;
        match title.covers(found.mark.as_deref()) && role != self.administrator && !stranger {
            true => Ok(()),
            false => Err(self.not_ours("role", role)),
        }
    }

    fn set_password(&mut self, role: &str, password: Option<String>) {
        if let Some((found, kept)) = self.roles.get_mut(role) {
            found.login = password.is_some();
            *kept = password;
        }
    }

    fn ensure(
        &mut self,
        role: &str,
        owner: Option<&String>,
        powers: Powers,
        title: &Title,
    ) -> Result<(), Error> {
        if let Some(owner) = owner.filter(|owner| !self.roles.contains_key(*owner)) {
            return Err(self.missing("role", owner));
        }
        if self.roles.contains_key(role) {
            self.covered(role, title)?;
        }
        let fresh = || (plain(Some(title.mark.clone())), None);
        let (found, _) = self.roles.entry(role.to_owned()).or_insert_with(fresh);
        (found.superuser, found.replication) = (powers.superuser, powers.replication);
        (found.create_db, found.create_role, found.bypass_rls) = (false, false, false);
        match owner {
            Some(owner) => {
                found.member_of = BTreeMap::from([(owner.clone(), MEMBER)]);
                found.settings.insert("role".to_owned(), owner.clone());
            }
            None => found.login = false,
        }
        Ok(())
    }

    fn unreserved(&self, database: &str) -> Result<(), Error> {
        match ["postgres", "template0", "template1", &self.maintenance].contains(&database) {
            true => Err(self.not_ours("database", database)),
            false => Ok(()),
        }
    }

    fn ensure_database(&mut self, database: &str, owner: &str, title: &Title) -> Result<(), Error> {
        self.unreserved(database)?;
        if !self.roles.contains_key(owner) {
            return Err(self.missing("role", owner));
        }
        let not_ours = self.not_ours("database", database);
        match self.databases.get_mut(database) {
            None => {
                self.databases.insert(database.to_owned(), empty(owner, Some(title.mark.clone())));
            }
            Some(found) if title.covers(found.mark.as_deref()) => {
                found.owner = owner.to_owned();
                found.public = found.public && found.mark.is_none();
            }
            Some(_) => return Err(not_ours),
        }
        Ok(())
    }

    fn grant(
        &mut self,
        (database, role): (&str, &str),
        creators: &BTreeSet<String>,
        rights: &BTreeMap<String, RoleType>,
    ) -> Result<(), Error> {
        let base = self.base(database)?;
        let absent = rights.keys().find(|schema| !base.schemas.contains_key(*schema)).cloned();
        if let Some(schema) = absent {
            return Err(self.missing("schema", &schema));
        }
        match rights.is_empty() {
            true => base.guests.remove(role),
            false => base.guests.insert(role.to_owned()),
        };
        for (name, schema) in &mut base.schemas {
            schema.take_all(role);
            if let Some(right) = rights.get(name) {
                schema.give_all(role, recipe(*right), creators);
            }
        }
        Ok(())
    }

    fn close(&mut self, database: &str, title: &Title) -> Result<(), Error> {
        let Some(found) = self.databases.get(database) else { return Ok(()) };
        if !title.covers(found.mark.as_deref()) {
            return Err(self.not_ours("database", database));
        }
        self.sessions.retain(|_, (_, place)| place != database);
        Ok(())
    }

    /// Refuses what does not carry the mark.
    fn owned(&self, database: &str, title: &Title) -> Result<(), Error> {
        let mark = self.databases.get(database).and_then(|base| base.mark.as_deref());
        if title.owns(mark) { Ok(()) } else { Err(self.not_ours("database", database)) }
    }

    fn hold(&mut self, database: &str, held: &str, title: &Title) -> Result<(), Error> {
        self.unreserved(database)?;
        if !self.databases.contains_key(database) {
            return Ok(());
        }
        self.owned(database, title)?;
        self.sessions.retain(|_, (_, place)| place != database);
        if let Some(base) = self.databases.remove(database) {
            self.databases.insert(held.to_owned(), Base { closed: true, ..base });
        }
        Ok(())
    }

    fn release(&mut self, held: &str, database: &str, title: &Title) -> Result<(), Error> {
        let Some(base) = self.databases.get(held).cloned() else {
            return self.base(database).map(|base| base.closed = false);
        };
        self.owned(held, title)?;
        self.databases.remove(held);
        self.databases.insert(database.to_owned(), Base { closed: false, ..base });
        Ok(())
    }

    fn rename_role(&mut self, from: &str, to: &str, title: &Title) -> Result<(), Error> {
        let Some((found, _)) = self.roles.get(from).cloned() else { return Ok(()) };
        if !title.owns(found.mark.as_deref()) {
            return Err(self.not_ours("role", from));
        }
        self.roles.remove(from);
        let found = super::super::Role { login: false, ..found };
        self.roles.insert(to.to_owned(), (found, None));
        for (role, _) in self.roles.values_mut() {
            if let Some(member) = role.member_of.remove(from) {
                role.member_of.insert(to.to_owned(), member);
            }
        }
        for base in self.databases.values_mut() {
            base.give(from, to);
            if base.owner == from {
                base.owner = to.to_owned();
            }
            base.schemas.values_mut().for_each(|schema| schema.rename(from, to));
        }
        Ok(())
    }

    fn drop_database(&mut self, database: &str, title: &Title) -> Result<(), Error> {
        self.unreserved(database)?;
        if !self.databases.contains_key(database) {
            return Ok(());
        }
        self.owned(database, title)?;
        self.sessions.retain(|_, (_, place)| place != database);
        self.databases.remove(database);
        Ok(())
    }

    fn drop_role(&mut self, role: &str, heir: Option<&String>, title: &Title) -> Result<(), Error> {
        let Some((found, _)) = self.roles.get(role) else { return Ok(()) };
        if !title.owns(found.mark.as_deref()) {
            return Err(self.not_ours("role", role));
        }
        let sessions = self.sessions.values().filter(|(login, _)| login == role).count();
        if sessions > 0 {
            let story = format!("role `{role}` has {sessions} open sessions");
            return Err(Error::Busy { server: self.place.clone(), story });
        }
        let heir = heir.unwrap_or(&self.administrator).clone();
        for base in self.databases.values_mut() {
            base.give(role, &heir);
            base.guests.remove(role);
            base.schemas.values_mut().for_each(|schema| schema.take_all(role));
            if base.owner == role {
                base.owner.clone_from(&heir);
            }
        }
        self.roles.remove(role);
        for (other, _) in self.roles.values_mut() {
            other.member_of.remove(role);
        }
        Ok(())
    }
}

impl Base {
    /// Gives what one role owns to another.
    fn give(&mut self, from: &str, to: &str) {
        for schema in self.schemas.values_mut() {
            let tables = schema.tables.values_mut().map(|table| &mut table.owner);
            for owner in tables.chain([&mut schema.owner]).filter(|owner| *owner == from) {
                to.clone_into(owner);
            }
        }
    }
}

impl Schema {
    fn take_all(&mut self, role: &str) {
        self.acl.remove(role);
        self.later.retain(|(creator, grantee), _| grantee != role && creator != role);
        for table in self.tables.values_mut() {
            table.acl.remove(role);
        }
    }

    fn give_all(&mut self, role: &str, recipe: Recipe, creators: &BTreeSet<String>) {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Privileges>();
        self.acl.insert(role.to_owned(), words(recipe.schema));
        for table in self.tables.values_mut().filter(|table| table.owner != role) {
            table.acl.insert(role.to_owned(), words(recipe.tables));
        }
        for creator in creators {
            let later = (words(recipe.tables), words(recipe.sequences));
            self.later.insert((creator.clone(), role.to_owned()), later);
        }
    }

    fn rename(&mut self, from: &str, to: &str) {
        let acls = self.tables.values_mut().map(|table| &mut table.acl).chain([&mut self.acl]);
        for acl in acls {
            if let Some(words) = acl.remove(from) {
                acl.insert(to.to_owned(), words);
            }
        }
        let named = |name: String| if name == from { to.to_owned() } else { name };
        let later = std::mem::take(&mut self.later).into_iter();
        self.later = later.map(|((creator, role), words)| ((named(creator), named(role)), words)).collect();
    }
}
