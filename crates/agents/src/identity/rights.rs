//! What tokens may: roles and bindings, as objects, so that RBAC decides and nothing else.

use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use super::{Caller, Role};
use crate::Error;

/// The group of what only agents ask for: `sessions`, `gitcredentials`. Nothing is stored under it; RBAC knows it.
pub const GROUP: &str = "agents.terrace.dev";
/// The role of a session token in its own sessions.
pub const TENANT: &str = "terrace-agent-tenant";
/// The role of everybody who looks.
pub const READER: &str = "terrace-agent-reader";
/// The role of everybody who works everywhere.
pub const ADMIN: &str = "terrace-agent-admin";
/// The role of everybody who begins sessions.
pub const SESSION: &str = "terrace-agent-session";

const ALL: [&str; 7] = ["get", "list", "watch", "create", "update", "patch", "delete"];
const LOOK: [&str; 3] = ["get", "list", "watch"];

/// Kinds that are worked with: group and plurals.
const WORK: [(&str, &[&str]); 2] = [
    ("iaf.io", &["applications", "managedservices"]),
    ("persistance.atlas.infoblox.com", &["databaseclaims", "dbroleclaims"]),
];
/// Kinds that are looked at: group and plurals. No Secrets.
const LOOKED_AT: [(&str, &[&str]); 3] = [
    ("", &["pods", "pods/log", "events"]),
    ("apps", &["deployments", "replicasets"]),
    ("postgresql.cnpg.io", &["backups"]),
];
/// Kinds that administrators work with besides.
const EVERYWHERE: [(&str, &[&str]); 3] = [
    ("iaf.io", &["datasources"]),
    ("aws-infra-operator.runner.codes", &["*"]),
    ("mpas.ocm.software", &["*"]),
];

/// The objects that give every kind of token its rights.
pub fn objects() -> Vec<Value> {
    let rules = |kinds: &[(&str, &[&str])], verbs: &[&str]| -> Vec<Value> {
        kinds.iter().map(|(group, plurals)| rule(group, plurals, verbs)).collect()
    };
    let catalog = rule("iaf.io", &["datasources"], &LOOK);
    let namespaces = rule("", &["namespaces"], &LOOK);
    let tenant = [
        rules(&WORK, &ALL),
        rules(&LOOKED_AT, &LOOK),
        vec![
            rule(GROUP, &["gitcredentials"], &["list", "create", "delete"]),
            rule(GROUP, &["sessions"], &["delete"]),
        ],
    ];
    let reader = [
        rules(&WORK, &LOOK),
        rules(&LOOKED_AT, &LOOK),
        vec![catalog.clone(), namespaces.clone(), rule(GROUP, &["gitcredentials"], &["list"])],
    ];
    let admin = [
        tenant.concat(),
        rules(&EVERYWHERE, &ALL),
        vec![namespaces, rule(GROUP, &["sessions"], &["create", "delete"])],
    ];
    let session = vec![catalog, rule(GROUP, &["sessions"], &["create"])];
    vec![
        role(TENANT, &tenant.concat()),
        role(READER, &reader.concat()),
        role(ADMIN, &admin.concat()),
        role(SESSION, &session),
        bound(READER, Role::ReadOnly),
        bound(ADMIN, Role::Admin),
        bound(SESSION, Role::Session),
    ]
}

/// Gives a caller a role in one namespace.
pub fn granted(caller: &Caller, role: &str, namespace: &str) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {
            "name": format!("terrace-agent-{}", caller.fingerprint), "namespace": namespace,
            "labels": { "app.kubernetes.io/managed-by": "terrace" },
        },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": caller.user() }],
    })
}

/// Writes an object, whoever wrote it before.
pub async fn apply(client: &Client, object: &Value) -> Result<(), Error> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
    let (group, version) = version.rsplit_once('/').unwrap_or(("", &version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &kind));
    let api: Api<DynamicObject> = match object["metadata"]["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let params = PatchParams::apply("terrace-agents").force();
    api.patch(&text(&object["metadata"]["name"]), &params, &Patch::Apply(object)).await?;
    Ok(())
}

/// Writes everything that tokens get their rights from.
pub async fn install(client: &Client) -> Result<(), Error> {
    let home = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": super::NAMESPACE } });
    apply(client, &home).await?;
    for object in objects() {
        apply(client, &object).await?;
    }
    Ok(())
}

/// Whether the holder of a client may do something.
pub async fn may(
    client: &Client,
    verb: &str,
    resource: &str,
    namespace: Option<&str>,
) -> Result<bool, Error> {
    let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(ResourceAttributes {
                verb: Some(verb.into()),
                group: Some(group.into()),
                resource: Some(plural.into()),
                namespace: namespace.map(str::to_owned),
                ..ResourceAttributes::default()
            }),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    };
    let reviews: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    let answer = reviews.create(&PostParams::default(), &review).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

fn rule(group: &str, plurals: &[&str], verbs: &[&str]) -> Value {
    json!({ "apiGroups": [group], "resources": plurals, "verbs": verbs })
}

fn role(name: &str, rules: &[Value]) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": { "name": name, "labels": { "app.kubernetes.io/managed-by": "terrace" } },
        "rules": rules,
    })
}

fn bound(name: &str, role: Role) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": { "name": name, "labels": { "app.kubernetes.io/managed-by": "terrace" } },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": role.group() }],
    })
}
