//! What a server tells of a database and of roles, in one round trip.

use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use tokio_postgres::types::Type;

use super::super::quote::checked;
use super::super::{Asked, Database, Error, Role, Seen, Title};
use super::lines::Lease;

/// `$1` is the database, `$2` the roles. The options of a membership are columns since version 16 only, hence
/// `to_jsonb(m)`.
const SEEN: &str = "
SELECT jsonb_build_object(
  'version', current_setting('server_version_num')::int,
  'recovery', pg_is_in_recovery(),
  'superuser', (SELECT rolsuper FROM pg_roles WHERE rolname = current_user),
  'database', (SELECT jsonb_build_object(
      'owner', pg_get_userbyid(d.datdba),
      'mark', shobj_description(d.oid, 'pg_database'),
      'public', EXISTS (SELECT FROM aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a WHERE a.grantee = 0),
      'open', d.datallowconn,
      'sessions', (SELECT count(*) FROM pg_stat_activity s WHERE s.datid = d.oid
                   AND s.backend_type = 'client backend' AND s.usename IS DISTINCT FROM current_user))
    FROM pg_database d WHERE d.datname = $1),
  'roles', (SELECT coalesce(jsonb_object_agg(r.rolname, jsonb_build_object(
      'login', r.rolcanlogin, 'superuser', r.rolsuper, 'replication', r.rolreplication,
      'create_db', r.rolcreatedb, 'create_role', r.rolcreaterole, 'bypass_rls', r.rolbypassrls,
      'inherit', r.rolinherit,
      'connection_limit', nullif(r.rolconnlimit, -1),
      'valid_until', CASE WHEN isfinite(r.rolvaliduntil)
          THEN to_char(r.rolvaliduntil AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') END,
      'member_of', (SELECT coalesce(jsonb_object_agg(pg_get_userbyid(g.roleid), g.options), '{}') FROM (
          SELECT m.roleid, jsonb_build_object(
            'admin', bool_or(m.admin_option),
            'inherit', bool_or(coalesce((to_jsonb(m) ->> 'inherit_option')::boolean, r.rolinherit)),
            'set', bool_or(coalesce((to_jsonb(m) ->> 'set_option')::boolean, true))) AS options
          FROM pg_auth_members m WHERE m.member = r.oid GROUP BY m.roleid) g),
      'settings', (SELECT coalesce(jsonb_object_agg(split_part(c, '=', 1), substr(c, strpos(c, '=') + 1)), '{}')
          FROM unnest(r.rolconfig) c),
      'mark', shobj_description(r.oid, 'pg_authid'),
      'sessions', (SELECT count(*) FROM pg_stat_activity s WHERE s.usesysid = r.oid)
    )), '{}') FROM pg_roles r WHERE r.rolname = ANY($2))
)::text";

/// Databases that belong to servers.
const RESERVED: [&str; 5] = ["postgres", "template0", "template1", "rdsadmin", "cloudsqladmin"];

#[derive(Deserialize)]
struct Told {
    version: u32,
    recovery: bool,
    superuser: bool,
    database: Option<Database>,
    roles: BTreeMap<String, Role>,
}

impl Lease {
    /// Looks at all that was asked for but the database's content.
    pub(super) async fn look(&self, asked: &Asked) -> Result<Seen, Error> {
        for name in asked.roles.iter().chain(&asked.database) {
            checked(name)?;
        }
        let roles: Vec<&String> = asked.roles.iter().collect();
        let text = self.text(SEEN, &[(&asked.database, Type::TEXT), (&roles, Type::TEXT_ARRAY)]).await?;
        let Told { version, recovery, superuser, database, roles } = self.parsed(&text)?;
        Ok(Seen { version, recovery, superuser, database, roles })
    }

    /// Looks at one database and some roles.
    pub(super) async fn seen(&self, database: Option<&str>, roles: &[&str]) -> Result<Seen, Error> {
        let roles: BTreeSet<String> = roles.iter().map(|name| (*name).to_owned()).collect();
        self.look(&Asked { database: database.map(str::to_owned), content: false, roles }).await
    }

    /// A role that has to be there, and that the title covers.
    pub(super) fn covered<'a>(&self, seen: &'a Seen, role: &str, title: &Title) -> Result<&'a Role, Error> {
        let found = seen.roles.get(role).ok_or_else(|| self.missing("role", role))?;
        self.covers(role, found, title).map(|()| found)
    }

    /// Whether a role may be used: never the administrator's own, and never a superuser that nobody marked.
    pub(super) fn covers(&self, name: &str, role: &Role, title: &Title) -> Result<(), Error> {
        let stranger = role.mark.is_none() && role.superuser;
        match title.covers(role.mark.as_deref()) && name != self.server.user && !stranger {
            true => Ok(()),
            false => Err(self.not_ours("role", name)),
        }
    }

    /// Refuses databases that belong to the server.
    pub(super) fn unreserved(&self, database: &str) -> Result<(), Error> {
        match RESERVED.contains(&database) || self.server.database == database {
            true => Err(self.not_ours("database", database)),
            false => Ok(()),
        }
    }

    pub(super) fn not_ours(&self, what: &'static str, name: &str) -> Error {
        Error::NotOurs { server: self.server.place(), what, name: name.to_owned() }
    }

    pub(super) fn missing(&self, what: &'static str, name: &str) -> Error {
        Error::Missing { server: self.server.place(), what, name: name.to_owned() }
    }

    pub(super) fn parsed<T: for<'de> Deserialize<'de>>(&self, text: &str) -> Result<T, Error> {
        serde_json::from_str(text).map_err(|error| Error::Statement {
            server: self.server.place(),
            sqlstate: "XX000".to_owned(),
            message: format!("the server's answer cannot be read: {error}"),
        })
    }
}
