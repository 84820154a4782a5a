//! What the parts of a plan stand on.

use std::sync::Arc;

use api::claims::DatabaseClaim;
use api::connection::Connection;
use api::names::Side;
use kit::Name;
use ports::admin::{Powers, Seen, Server, Title};

use super::World;
use crate::claims::logins::{Pair, Published};
use crate::claims::target::{Place, Target};

/// A claim, and the server that it is on.
pub(super) struct Ground<'a> {
    pub(super) claim: &'a DatabaseClaim,
    pub(super) world: &'a World,
    pub(super) target: &'a Target,
    pub(super) server: &'a Arc<Server>,
    pub(super) seen: &'a Seen,
    pub(super) title: Title,
}

/// The mark on all that is made for a claim. It names one claim and nobody else.
pub(in crate::claims) fn mark(identity: &Name) -> String {
    format!("made by Terrace for DatabaseClaim {identity}")
}

impl<'a> Ground<'a> {
    pub(super) fn new(
        claim: &'a DatabaseClaim,
        world: &'a World,
        target: &'a Target,
        server: &'a Arc<Server>,
        seen: &'a Seen,
    ) -> Self {
        let title = Title { mark: mark(&world.identity), adopt: target.terms.adopt };
        Self { claim, world, target, server, seen, title }
    }

    /// The role that owns the database, or stands for who does.
    pub(super) fn owner(&self) -> &'a str {
        self.world.names.stem.as_str()
    }

    /// The database.
    pub(super) fn database(&self) -> &'a str {
        &self.world.names.database
    }

    /// Whether the database is somebody else's, and only its users are ours.
    pub(super) fn is_source(&self) -> bool {
        matches!(self.target.place, Place::Source(_))
    }

    pub(super) fn powers(&self) -> Powers {
        let spec = &self.claim.spec;
        Powers { superuser: spec.enable_super_user, replication: spec.enable_replication_role }
    }

    /// The two logins.
    pub(super) fn pair(&self) -> Pair<'_> {
        Pair {
            server: self.server,
            database: self.database(),
            stem: &self.world.names.stem,
            owner: self.owner(),
            powers: self.powers(),
            title: &self.title,
        }
    }

    /// What programs get.
    pub(super) fn connection(&self, published: &Published) -> Connection {
        Connection {
            host: self.server.host.clone(),
            read_only_host: None,
            port: self.server.port,
            database: self.database().to_owned(),
            username: published.username.clone(),
            password: published.password.clone(),
            ssl_mode: self.server.ssl_mode,
        }
    }

    /// What on the server has a name that the claim wants, and was not made for it.
    pub(super) fn foreign(&self) -> Option<String> {
        let place = self.server.place();
        let hint = "; choose another name, or let the platform's operators set adoptExisting for this server";
        let stem = &self.world.names.stem;
        let logins = [Side::A, Side::B].map(|side| stem.login(side).to_string());
        let mut roles = logins.iter().map(String::as_str).chain([self.owner()]);
        let not_ours = |role: &&str| {
            self.seen.roles.get(*role).is_some_and(|found| !self.title.covers(found.mark.as_deref()))
        };
        if let Some(role) = roles.find(not_ours) {
            return Some(format!(
                "role `{role}` on {place} was not made by this claim and is left alone{hint}"
            ));
        }
        if let Some(role) = self.mighty() {
            return Some(format!(
                "role `{role}` on {place} may do more than a claim may ask for, and is not adopted; choose another name"
            ));
        }
        let database = self.seen.database.as_ref();
        let foreign = database.filter(|found| !self.title.covers(found.mark.as_deref()) && !self.is_source());
        foreign.map(|_| {
            let database = self.database();
            format!("database `{database}` on {place} was not made by this claim and is left alone{hint}")
        })
    }

    /// A role that would be adopted, and that would make whoever claims it an administrator.
    fn mighty(&self) -> Option<&'a str> {
        let owner = self.owner();
        let found = self.seen.roles.get(owner).filter(|found| found.mark.is_none() && !self.is_source())?;
        let powers = self.powers();
        let more = found.superuser && !powers.superuser
            || found.replication && !powers.replication
            || found.create_role
            || found.create_db
            || found.bypass_rls
            || owner == self.server.user;
        more.then_some(owner)
    }
}
