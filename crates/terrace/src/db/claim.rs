//! What both kinds of claims have in common, read off the API's objects. Pure.

use std::collections::BTreeMap;

use api::annotations::KEPT_UNTIL;
use api::claims::{
    ConnectionInfo, DatabaseClaim, DatabaseClaimSpec, DatabaseClaimStatus, DatabaseStatus, DbRoleClaim,
    DbRoleClaimSpec, DbRoleClaimStatus,
};
use api::conditions::{READY, STALLED, find};
use api::drift::Drift;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use serde_json::{Value, json};

use crate::services::wait::Seen;

/// The two kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `DatabaseClaim`.
    Database,
    /// `DbRoleClaim`.
    Role,
}

impl Kind {
    pub(super) const ALL: [Self; 2] = [Self::Database, Self::Role];

    /// As it stands in a table.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Database => "claim",
            Self::Role => "role",
        }
    }

    /// As it stands in the API's paths.
    pub(super) fn plural(self) -> &'static str {
        match self {
            Self::Database => "databaseclaims",
            Self::Role => "dbroleclaims",
        }
    }
}

/// A claim of either kind.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub kind: Kind,
    pub namespace: String,
    pub name: String,
    pub class: String,
    pub secret: String,
    pub created: Option<Timestamp>,
    pub deleting: bool,
    /// Until when its database is kept although it is to go.
    pub held: Option<String>,
    pub database: Option<String>,
    /// The connection that its Secret holds, less the password.
    pub server: Option<ConnectionInfo>,
    pub login: Option<String>,
    /// When the login was issued.
    pub issued: Option<Timestamp>,
    pub conditions: Vec<Condition>,
    pub drift: Vec<Drift>,
    pub error: Option<String>,
    /// What only one of the kinds tells, in words.
    pub more: Vec<(&'static str, String)>,
    /// The claim that made the database, as `namespace/name`, for a role.
    pub source: Option<String>,
    /// Its status as it stands. No password is in it.
    pub status: Value,
    generation: Option<i64>,
}

impl Claim {
    /// Whether it says, of the spec as it is now, that it is ready.
    pub(super) fn is_ready(&self) -> bool {
        self.ready().is_some_and(|ready| ready.status == "True") && self.held.is_none()
    }

    /// What it says of being ready, if that is about the spec as it is now.
    pub(super) fn ready(&self) -> Option<&Condition> {
        find(&self.conditions, READY).filter(|condition| self.is_current(condition))
    }

    fn is_current(&self, condition: &Condition) -> bool {
        condition.observed_generation.is_none_or(|seen| Some(seen) >= self.generation)
    }

    /// Host and port of its server.
    pub(super) fn address(&self) -> Option<String> {
        let server = self.server.as_ref()?;
        let host = server.host_name.as_ref()?;
        Some(server.port.as_ref().map_or_else(|| host.clone(), |port| format!("{host}:{port}")))
    }

    /// Takes what a role does not say of its database from the claim that made it.
    pub(super) fn found_in(&mut self, source: &Self) {
        self.database.clone_from(&source.database);
        self.server.clone_from(&source.server);
    }

    /// Whether this is the claim that a role names.
    pub(super) fn is_source_of(&self, role: &Self) -> bool {
        self.kind == Kind::Database
            && role.source.as_deref() == Some(&format!("{}/{}", self.namespace, self.name))
    }

    /// How far it is, for whoever waits until it is ready.
    pub(super) fn stand(&self) -> Seen<()> {
        let stalled = find(&self.conditions, STALLED).filter(|stalled| self.is_current(stalled));
        if self.is_ready() {
            Seen::Done(())
        } else if self.deleting || self.held.is_some() {
            Seen::Failed("somebody deletes it".into())
        } else if let Some(stalled) = stalled.filter(|stalled| stalled.status == "True") {
            Seen::Failed(format!("{}: {}", stalled.reason, stalled.message))
        } else {
            Seen::Waiting(format!("{}: {}", self.name, self.standing()))
        }
    }

    /// How far a rotation is that was asked for when the claim was as `before`.
    pub(super) fn rotated(&self, before: &Self) -> Seen<()> {
        if self.deleting || self.held.is_some() {
            return Seen::Failed("somebody deletes it".into());
        }
        // Times are kept in whole seconds: two logins may be of the same one.
        let newer =
            self.issued > before.issued || (self.issued == before.issued && self.login != before.login);
        let login = self.login.as_deref().unwrap_or("-");
        match (newer, self.is_ready()) {
            (true, true) => Seen::Done(()),
            (true, false) => Seen::Waiting(format!("{}: {login} is issued: {}", self.name, self.standing())),
            (false, true) => Seen::Waiting(format!(
                "{}: waiting for the controller of class {} to issue a login",
                self.name, self.class
            )),
            (false, false) => Seen::Waiting(format!("{}: {}", self.name, self.standing())),
        }
    }

    /// Whether it is ready, and why not, in words.
    pub(super) fn standing(&self) -> String {
        match (&self.held, self.ready()) {
            (Some(until), _) => format!("held until {until}"),
            (None, None) => format!("waiting for the controller of class {} to take it up", self.class),
            (None, Some(ready)) if ready.status == "True" => "True".into(),
            (None, Some(ready)) => format!("{}: {}: {}", ready.status, ready.reason, ready.message),
        }
    }
}

impl From<DatabaseClaim> for Claim {
    fn from(DatabaseClaim { metadata, spec, status }: DatabaseClaim) -> Self {
        let status = status.unwrap_or_default();
        let told = json!(status);
        let more = of_database(&spec, &status);
        let DatabaseClaimSpec { class, secret_name, .. } = spec;
        let named = spec.db_name_override.or(spec.database_name).map(|name| name.to_string());
        let DatabaseClaimStatus { error, connection_info, drift, conditions, .. } = status;
        let login = connection_info.as_ref().and_then(|info| info.user_name.clone());
        let issued = connection_info.as_ref().and_then(|info| Some(info.user_updated_at.as_ref()?.0));
        let database = connection_info.as_ref().and_then(|info| info.database_name.clone());
        Self {
            class,
            database: database.or(named).or(spec.app_id),
            server: connection_info,
            login,
            issued,
            conditions,
            drift,
            error,
            more,
            status: told,
            ..Self::bare(Kind::Database, metadata, secret_name.map(|name| name.to_string()))
        }
    }
}

impl From<DbRoleClaim> for Claim {
    fn from(DbRoleClaim { metadata, spec, status }: DbRoleClaim) -> Self {
        let status = status.unwrap_or_default();
        let told = json!(status);
        let DbRoleClaimSpec { class, source_database_claim, secret_name, schema_role_map } = spec;
        let DbRoleClaimStatus { error, username, user_updated_at, drift, conditions, .. } = status;
        let rights: BTreeMap<String, Value> =
            schema_role_map.iter().map(|(schema, role)| (schema.to_string(), json!(role))).collect();
        let mut more = Vec::new();
        for (schema, role) in rights {
            more.push(("rights", format!("{} in schema {schema}", role.as_str().unwrap_or_default())));
        }
        let schemas = status.schemas_status.unwrap_or_default();
        more.extend(schemas.schemastatus.iter().map(|(name, said)| ("schema", format!("{name}: {said}"))));
        more.extend(schemas.rolestatus.iter().map(|(name, said)| ("role", format!("{name}: {said}"))));
        let bare = Self::bare(Kind::Role, metadata, secret_name.map(|name| name.to_string()));
        let place = source_database_claim.namespace.map(|place| place.to_string());
        let place = place.unwrap_or_else(|| bare.namespace.clone());
        Self {
            class,
            source: Some(format!("{place}/{}", source_database_claim.name)),
            login: username,
            issued: user_updated_at.map(|time| time.0),
            conditions,
            drift,
            error,
            more,
            status: told,
            ..bare
        }
    }
}

impl Claim {
    /// What the metadata tells.
    fn bare(kind: Kind, metadata: ObjectMeta, secret: Option<String>) -> Self {
        let name = metadata.name.unwrap_or_default();
        let held = metadata.annotations.and_then(|mut all| all.remove(KEPT_UNTIL));
        Self {
            kind,
            namespace: metadata.namespace.unwrap_or_default(),
            class: String::new(),
            secret: secret.unwrap_or_else(|| name.clone()),
            name,
            created: metadata.creation_timestamp.map(|time| time.0),
            deleting: metadata.deletion_timestamp.is_some(),
            held,
            database: None,
            server: None,
            login: None,
            issued: None,
            conditions: Vec::new(),
            drift: Vec::new(),
            error: None,
            more: Vec::new(),
            source: None,
            status: Value::Null,
            generation: metadata.generation,
        }
    }
}

/// What a claim on a database tells beside the rest.
fn of_database(spec: &DatabaseClaimSpec, status: &DatabaseClaimStatus) -> Vec<(&'static str, String)> {
    let mut more = Vec::new();
    let mut tell = |what, words: Option<String>| more.extend(words.map(|words| (what, words)));
    let label = match (&spec.instance_label, &status.matched_label) {
        (Some(asked), Some(found)) if asked != found => Some(format!("{found} (for {asked})")),
        (Some(asked), None) => Some(format!("none is found for {asked}")),
        (_, found) => found.clone(),
    };
    tell("label", label);
    tell("created", status.db_created_at.as_ref().map(|time| time.0.to_string()));
    tell("connection", status.connection_info_updated_at.as_ref().map(|at| format!("changed {}", at.0)));
    tell("migration", status.migration_state.map(|state| format!("{state:?}")));
    tell("active", status.active_db.as_ref().map(instance));
    tell("moving to", status.new_db.as_ref().map(instance));
    tell("left", status.old_db.as_ref().map(instance));
    tell("canary", status.canary_secret_name.as_ref().map(|name| format!("offered in the Secret {name}")));
    more
}

/// One of the databases of a migration: how it stands, where, and what its server is.
fn instance(database: &DatabaseStatus) -> String {
    let word = |value: Value| value.as_str().map(str::to_owned);
    let server = database.connection_info.as_ref().and_then(|info| info.host_name.clone());
    let parts = [
        database.db_state.and_then(|state| word(json!(state))),
        server.map(|host| format!("on {host}")),
        database.match_label.as_ref().map(|label| format!("label {label}")),
        database.type_.and_then(|type_| word(json!(type_))),
        database.db_version.as_ref().map(|version| format!("version {version}")),
        database.shape.as_ref().map(|shape| format!("shape {shape}")),
        database.min_storage_gb.map(|size| format!("{size} GiB")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
