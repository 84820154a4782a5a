use super::*;
use crate::gates::rbac::{Attributes, Policy, User, aggregate};

fn named<'a>(objects: &'a [Value], name: &str) -> &'a Value {
    objects.iter().find(|object| object["metadata"]["name"] == name).expect(name)
}

#[test]
fn defaults_are_marked_as_the_servers_own() {
    for object in cluster_roles().iter().chain(&cluster_role_bindings()) {
        let name = &object["metadata"]["name"];
        assert_eq!(object["metadata"]["labels"]["kubernetes.io/bootstrapping"], "rbac-defaults", "{name}");
        let annotations = &object["metadata"]["annotations"];
        assert_eq!(annotations["rbac.authorization.kubernetes.io/autoupdate"], "true", "{name}");
    }
    let names: Vec<_> = namespaces().iter().map(|space| space["metadata"]["name"].clone()).collect();
    assert_eq!(names, ["default", "kube-system", "kube-public", "kube-node-lease"]);
}

#[test]
fn sums_come_out_settled() {
    let roles = cluster_roles();
    assert_eq!(aggregate(&roles), vec![]);
    let rules = |name: &str| named(&roles, name)["rules"].as_array().map(Vec::len).unwrap_or_default();
    assert!(rules("view") > 0 && rules("edit") > rules("view") && rules("admin") > rules("edit"));
}

#[test]
fn default_roles_give_what_they_promise() {
    let mut bindings = cluster_role_bindings();
    for role in ["view", "edit", "admin"] {
        bindings.push(binding(role, &[role]));
    }
    let policy = Policy::build(&[], &cluster_roles(), &[], &bindings);
    let user = |group: &str| User { name: "u".into(), groups: vec![group.into()], ..User::default() };
    let on =
        |verb, group, resource| Attributes { verb, group, resource, namespace: "n", ..Attributes::default() };
    let path = |path| Attributes { verb: "get", path: Some(path), ..Attributes::default() };
    let table = [
        ("view reads pods", "view", on("list", "", "pods"), true),
        ("view reads no secrets", "view", on("get", "", "secrets"), false),
        ("view writes nothing", "view", on("create", "", "pods"), false),
        ("edit reads secrets", "edit", on("get", "", "secrets"), true),
        ("edit writes deployments", "edit", on("patch", "apps", "deployments"), true),
        ("edit gives no roles", "edit", on("create", RBAC_GROUP, "roles"), false),
        ("edit leaves quotas", "edit", on("update", "", "resourcequotas"), false),
        ("admin gives roles", "admin", on("create", RBAC_GROUP, "rolebindings"), true),
        ("admin leaves nodes", "admin", on("delete", "", "nodes"), false),
        (
            "everybody known asks",
            AUTHENTICATED,
            on("create", "authorization.k8s.io", "selfsubjectaccessreviews"),
            true,
        ),
        ("everybody known discovers", AUTHENTICATED, path("/apis/apps/v1"), true),
        ("everybody sees the version", UNAUTHENTICATED, path("/version"), true),
        ("strangers discover nothing", UNAUTHENTICATED, path("/apis"), false),
        ("accounts find the keys", "system:serviceaccounts", path("/openid/v1/jwks"), true),
        ("monitoring reads metrics", "system:monitoring", path("/metrics"), true),
    ];
    for (rule, group, attrs, want) in table {
        assert_eq!(policy.allows(&user(group), &attrs).is_ok(), want, "{rule}");
    }
}
