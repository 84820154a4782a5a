//! An indexed snapshot of all roles and bindings.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::rule::{Rule, missing, quoted};
use super::{Attributes, RBAC_GROUP, User, service_account_name};
use crate::status::Status;

/// Roles and bindings as they were at one moment, found by user and group in constant time.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Grants in the whole cluster.
    cluster: Grants,
    /// Grants in one namespace.
    namespaces: HashMap<String, Grants>,
    /// Rules by namespace (empty for ClusterRoles) and name.
    roles: HashMap<(String, String), Arc<[Rule]>>,
}

/// Grants by who receives them.
#[derive(Clone, Debug, Default)]
struct Grants {
    users: HashMap<String, Vec<Grant>>,
    groups: HashMap<String, Vec<Grant>>,
}

#[derive(Clone, Debug)]
struct Grant {
    /// `RoleBinding "b/ns" of Role "r" to User "u"`.
    source: String,
    rules: Arc<[Rule]>,
}

impl Policy {
    /// Indexes the four kinds of objects. A binding to a role that does not exist grants nothing.
    pub fn build(
        roles: &[Value],
        cluster_roles: &[Value],
        role_bindings: &[Value],
        cluster_role_bindings: &[Value],
    ) -> Self {
        let mut policy = Self::default();
        for role in roles {
            let key = (name_of(role, "namespace").to_owned(), name_of(role, "name").to_owned());
            policy.roles.insert(key, Rule::read_all(&role["rules"]).into());
        }
        for role in cluster_roles {
            let key = (String::new(), name_of(role, "name").to_owned());
            policy.roles.insert(key, Rule::read_all(&role["rules"]).into());
        }
        for binding in cluster_role_bindings {
            if let Some(rules) = policy.rules_of(&binding["roleRef"], "") {
                policy.cluster.bind(binding, "", &rules);
            }
        }
        for binding in role_bindings {
            let namespace = name_of(binding, "namespace");
            if let Some(rules) = policy.rules_of(&binding["roleRef"], namespace) {
                policy.namespaces.entry(namespace.to_owned()).or_default().bind(binding, namespace, &rules);
            }
        }
        policy
    }

    /// Why the request is allowed, or that it is not.
    #[allow(clippy::result_unit_err)]
    pub fn allows(&self, user: &User, attrs: &Attributes<'_>) -> Result<String, ()> {
        if user.is_master() {
            return Ok(String::new());
        }
        let mut grants = self.grants(user, attrs.namespace);
        let grant = grants.find(|grant| grant.rules.iter().any(|rule| rule.allows(attrs))).ok_or(())?;
        Ok(format!("RBAC: allowed by {}", grant.source))
    }

    /// All rules that apply to the user in the namespace, as a rules review lists them: for resources, for paths.
    pub fn rules_for(&self, user: &User, namespace: &str) -> (Vec<Value>, Vec<Value>) {
        let (resources, paths): (Vec<_>, Vec<_>) =
            self.owned(user, namespace).iter().map(Rule::reviewed).unzip();
        (resources.into_iter().flatten().collect(), paths.into_iter().flatten().collect())
    }

    /// Refuses rules that the user does not hold in the namespace.
    pub fn escalation(&self, user: &User, namespace: &str, rules: &[Value]) -> Result<(), String> {
        let wanted: Vec<Rule> = rules.iter().map(Rule::read).collect();
        self.covered(user, namespace, &wanted)
    }

    /// Whether the user may write this Role or ClusterRole: holds what it gives, or may `escalate` it.
    pub fn may_write_role(&self, user: &User, role: &Value, old: Option<&Value>) -> Result<(), Status> {
        if old.is_some_and(|old| {
            old["rules"] == role["rules"] && old["aggregationRule"] == role["aggregationRule"]
        }) {
            return Ok(());
        }
        let (namespace, name) = (name_of(role, "namespace"), name_of(role, "name"));
        let resource = if namespace.is_empty() { "clusterroles" } else { "roles" };
        let attrs = Attributes {
            verb: "escalate",
            group: RBAC_GROUP,
            version: "*",
            resource,
            namespace,
            name,
            ..Attributes::default()
        };
        if self.allows(user, &attrs).is_ok() {
            return Ok(());
        }
        let refused = |why: String| Status::forbidden(RBAC_GROUP, resource, name, &why);
        self.covered(user, namespace, &Rule::read_all(&role["rules"])).map_err(refused)?;
        // Whoever writes an aggregation decides what others will put into the role.
        if role["aggregationRule"].is_object() {
            let told = "must have cluster-admin privileges to use the aggregationRule";
            self.covered(user, namespace, &Rule::all()).map_err(|_| refused(told.into()))?;
        }
        Ok(())
    }

    /// Whether the user may write this RoleBinding or ClusterRoleBinding: may `bind` its role, or holds
    /// everything the role gives.
    pub fn may_bind(&self, user: &User, binding: &Value) -> Result<(), Status> {
        let (namespace, name) = (name_of(binding, "namespace"), name_of(binding, "name"));
        let reference = &binding["roleRef"];
        let role = reference["name"].as_str().unwrap_or_default();
        let resource = if reference["kind"] == "Role" { "roles" } else { "clusterroles" };
        let attrs = Attributes {
            verb: "bind",
            group: reference["apiGroup"].as_str().unwrap_or_default(),
            version: "*",
            resource,
            namespace,
            name: role,
            ..Attributes::default()
        };
        if self.allows(user, &attrs).is_ok() {
            return Ok(());
        }
        let rules = self.rules_of(reference, namespace);
        let rules = rules.ok_or_else(|| Status::not_found(RBAC_GROUP, resource, role))?;
        let bindings = if namespace.is_empty() { "clusterrolebindings" } else { "rolebindings" };
        self.covered(user, namespace, &rules)
            .map_err(|why| Status::forbidden(RBAC_GROUP, bindings, name, &why))
    }

    fn covered(&self, user: &User, namespace: &str, wanted: &[Rule]) -> Result<(), String> {
        if user.is_master() {
            return Ok(());
        }
        let lacking = missing(&self.owned(user, namespace), wanted);
        if lacking.is_empty() {
            return Ok(());
        }
        let lines: Vec<String> = lacking.into_iter().collect();
        Err(format!(
            "user {:?} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
            user.name,
            quoted(&user.groups),
            lines.join("\n")
        ))
    }

    fn owned(&self, user: &User, namespace: &str) -> Vec<Rule> {
        let mut rules: Vec<Rule> = if user.is_master() { Rule::all().into() } else { Vec::new() };
        rules.extend(self.grants(user, namespace).flat_map(|grant| grant.rules.iter().cloned()));
        rules
    }

    fn grants<'a>(&'a self, user: &'a User, namespace: &str) -> impl Iterator<Item = &'a Grant> {
        let local = if namespace.is_empty() { None } else { self.namespaces.get(namespace) };
        [Some(&self.cluster), local].into_iter().flatten().flat_map(|grants| grants.of(user))
    }

    fn rules_of(&self, reference: &Value, namespace: &str) -> Option<Arc<[Rule]>> {
        let name = reference["name"].as_str()?.to_owned();
        let namespace = match reference["kind"].as_str()? {
            "ClusterRole" => "",
            "Role" if !namespace.is_empty() => namespace,
            _ => return None,
        };
        self.roles.get(&(namespace.to_owned(), name)).cloned()
    }
}

impl Grants {
    fn bind(&mut self, binding: &Value, namespace: &str, rules: &Arc<[Rule]>) {
        for subject in binding["subjects"].as_array().into_iter().flatten() {
            let name = subject["name"].as_str().unwrap_or_default();
            let kind = subject["kind"].as_str().unwrap_or_default();
            let home = subject["namespace"].as_str().filter(|home| !home.is_empty()).unwrap_or(namespace);
            let (receivers, key, told) = match kind {
                "User" => (&mut self.users, name.to_owned(), name.to_owned()),
                "Group" => (&mut self.groups, name.to_owned(), name.to_owned()),
                "ServiceAccount" if !home.is_empty() => {
                    (&mut self.users, service_account_name(home, name), format!("{name}/{home}"))
                }
                _ => continue,
            };
            let source = format!("{} to {kind} {told:?}", describe(binding, namespace));
            receivers.entry(key).or_default().push(Grant { source, rules: rules.clone() });
        }
    }

    fn of<'a>(&'a self, user: &'a User) -> impl Iterator<Item = &'a Grant> {
        let own = self.users.get(&user.name).into_iter().flatten();
        own.chain(user.groups.iter().flat_map(|group| self.groups.get(group).into_iter().flatten()))
    }
}

fn describe(binding: &Value, namespace: &str) -> String {
    let role = |field: &str| binding["roleRef"][field].as_str().unwrap_or_default();
    let name = name_of(binding, "name");
    let what = match namespace {
        "" => format!("ClusterRoleBinding {name:?}"),
        _ => format!("RoleBinding {:?}", format!("{name}/{namespace}")),
    };
    format!("{what} of {} {:?}", role("kind"), role("name"))
}

fn name_of<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}
