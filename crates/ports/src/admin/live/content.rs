//! What is in a database: extensions, schemas, rights and strays, in one round trip.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use tokio_postgres::types::Type;

use super::super::{Content, Error, Grants, Stray};
use super::lines::Lease;

/// `$1` is the roles. What belongs to an extension is nobody's stray, and nobody's right.
const CONTENT: &str = "
WITH own AS (
  SELECT oid, nspname, nspowner, nspacl FROM pg_namespace
  WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'),
asked AS (SELECT oid, rolname FROM pg_roles WHERE rolname = ANY($1)),
lord AS (SELECT datdba FROM pg_database WHERE datname = current_database()),
objects AS (
  SELECT c.oid, c.relname, n.nspname, c.relowner, c.relacl, c.relkind = 'S' AS sequence
  FROM pg_class c JOIN own n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND NOT EXISTS (
    SELECT FROM pg_depend e WHERE e.classid = 'pg_class'::regclass AND e.objid = c.oid AND e.deptype = 'e')),
strays AS (
  SELECT nspname AS schema, relname AS name, relowner AS owner FROM objects
  UNION ALL
  SELECT n.nspname, p.proname, p.proowner FROM pg_proc p JOIN own n ON n.oid = p.pronamespace
  WHERE NOT EXISTS (
    SELECT FROM pg_depend e WHERE e.classid = 'pg_proc'::regclass AND e.objid = p.oid AND e.deptype = 'e')
  UNION ALL
  SELECT nspname, nspname, nspowner FROM own n WHERE nspname <> 'public' AND NOT EXISTS (
    SELECT FROM pg_depend e WHERE e.classid = 'pg_namespace'::regclass AND e.objid = n.oid AND e.deptype = 'e'))
SELECT jsonb_build_object(
  'extensions', (SELECT coalesce(jsonb_object_agg(extname, extversion), '{}') FROM pg_extension),
  'schemas', (SELECT coalesce(jsonb_object_agg(nspname, pg_get_userbyid(nspowner)), '{}') FROM own),
  'on_schemas', (SELECT coalesce(jsonb_agg(jsonb_build_array(r.rolname, n.nspname, a.privilege_type)), '[]')
    FROM own n, aclexplode(n.nspacl) a JOIN asked r ON r.oid = a.grantee WHERE a.grantee <> n.nspowner),
  'held', (SELECT coalesce(jsonb_agg(jsonb_build_array(h.rolname, h.nspname, h.sequence, h.privilege_type, h.n)), '[]')
    FROM (SELECT r.rolname, o.nspname, o.sequence, a.privilege_type, count(DISTINCT o.oid) AS n
      FROM objects o, aclexplode(o.relacl) a JOIN asked r ON r.oid = a.grantee
      WHERE a.grantee <> o.relowner GROUP BY 1, 2, 3, 4) h),
  'counts', (SELECT coalesce(jsonb_agg(jsonb_build_array(c.rolname, c.nspname, c.sequence, c.n)), '[]')
    FROM (SELECT r.rolname, o.nspname, o.sequence, count(*) AS n
      FROM objects o JOIN asked r ON r.oid <> o.relowner GROUP BY 1, 2, 3) c),
  'later', (SELECT coalesce(jsonb_agg(jsonb_build_array(
      r.rolname, n.nspname, d.defaclobjtype = 'S', pg_get_userbyid(d.defaclrole), a.privilege_type)), '[]')
    FROM pg_default_acl d JOIN own n ON n.oid = d.defaclnamespace, aclexplode(d.defaclacl) a
    JOIN asked r ON r.oid = a.grantee WHERE d.defaclobjtype IN ('r', 'S')),
  'strays', (SELECT coalesce(jsonb_agg(jsonb_build_object('schema', s.schema, 'name', s.name, 'owner', s.owner)), '[]')
    FROM (SELECT schema, name, pg_get_userbyid(owner) AS owner FROM strays, lord
      WHERE strays.owner <> lord.datdba ORDER BY 1, 2 LIMIT 100) s)
)::text";

#[derive(Deserialize)]
struct Told {
    extensions: BTreeMap<String, String>,
    schemas: BTreeMap<String, String>,
    on_schemas: Vec<(String, String, String)>,
    held: Vec<(String, String, bool, String, u32)>,
    counts: Vec<(String, String, bool, u32)>,
    later: Vec<(String, String, bool, String, String)>,
    strays: Vec<Stray>,
}

impl Lease {
    /// What is in the database of this connection; rights of these roles.
    pub(super) async fn content(&self, roles: &BTreeSet<String>) -> Result<Content, Error> {
        let roles: Vec<&String> = roles.iter().collect();
        let text = self.text(CONTENT, &[(&roles, Type::TEXT_ARRAY)]).await?;
        Ok(put_together(self.parsed(&text)?))
    }
}

fn put_together(told: Told) -> Content {
    let Told { extensions, schemas, on_schemas, held, counts, later, strays } = told;
    let mut grants: BTreeMap<String, BTreeMap<String, Grants>> = BTreeMap::new();
    for (role, schema, word) in on_schemas {
        grants.entry(role).or_default().entry(schema).or_default().schema.insert(word);
    }
    for (role, schema, sequence, word, count) in held {
        let found = grants.entry(role).or_default().entry(schema).or_default();
        let spread = if sequence { &mut found.sequences } else { &mut found.tables };
        spread.held.insert(word, count);
    }
    for (role, schema, sequence, creator, word) in later {
        let found = grants.entry(role).or_default().entry(schema).or_default();
        let later = if sequence { &mut found.later_sequences } else { &mut found.later_tables };
        later.entry(creator).or_default().insert(word);
    }
    // Last, because a schema where a role has nothing is not told.
    for (role, schema, sequence, count) in counts {
        let Some(found) = grants.get_mut(&role).and_then(|found| found.get_mut(&schema)) else { continue };
        let spread = if sequence { &mut found.sequences } else { &mut found.tables };
        spread.count = count;
    }
    Content { extensions, schemas, grants, strays }
}
