use http::{HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::*;
use crate::gates::rbac::Policy;

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        let name = HeaderName::from_bytes(name.to_ascii_lowercase().as_bytes()).expect("a name");
        headers.append(name, HeaderValue::from_str(value).expect("a value"));
    }
    headers
}

type Pairs<'a> = &'a [(&'a str, &'a str)];

/// What alice becomes when she holds `rules` and sends `pairs` with a request to list ConfigMaps.
fn turned(rules: Value, pairs: &[(&str, &str)]) -> Result<User, String> {
    let role = json!({"metadata": {"name": "r"}, "rules": rules});
    let binding = json!({
        "metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": "r"},
        "subjects": [{"kind": "User", "name": "user1"}],
    });
    let policy = Policy::build(&[], &[role], &[], &[binding]);
    let wanted = wanted(&headers(pairs)).map_err(|status| status.message)?.expect("somebody");
    let requester = User { name: "user1".into(), ..User::default() };
    let attrs =
        Attributes { verb: "list", resource: "configmaps", namespace: "default", ..Attributes::default() };
    let allows = |user: &User, attrs: &Attributes<'_>| policy.allows(user, attrs).is_ok();
    impersonate(&requester, &wanted, &attrs, &allows).map_err(|status| status.message)
}

fn wide() -> Value {
    json!([
        {"apiGroups": [""], "resources": ["users", "groups", "serviceaccounts"], "verbs": ["impersonate"]},
        {"apiGroups": ["authentication.k8s.io"], "resources": ["uids", "userextras/foo"], "verbs": ["impersonate"]},
    ])
}

#[test]
fn headers_name_a_whole_user() {
    let found = wanted(&headers(&[
        ("Impersonate-User", "alice"),
        ("Impersonate-Group", "g1"),
        ("Impersonate-Group", "g2"),
        ("Impersonate-Uid", "u1"),
        ("Impersonate-Extra-Foo", "bar"),
        ("Impersonate-Extra-Acme.com%2Fscope", "x"),
        ("Impersonate-Extra-Bad%zz", "y"),
    ]));
    let user = found.expect("well formed").expect("somebody");
    assert_eq!((user.name.as_str(), user.uid.as_str()), ("alice", "u1"));
    assert_eq!(user.groups, ["g1", "g2"]);
    assert_eq!(user.extra["foo"], ["bar"]);
    assert_eq!(user.extra["acme.com/scope"], ["x"]);
    assert_eq!(user.extra["bad%zz"], ["y"]);
    assert_eq!(wanted(&HeaderMap::new()), Ok(None));
}

#[test]
fn a_user_must_be_named() {
    let told = |pairs: &[(&str, &str)]| wanted(&headers(pairs)).expect_err("no user").message;
    assert_eq!(
        told(&[("Impersonate-Group", "g")]),
        "requested &user.DefaultInfo{Name:\"\", UID:\"\", Groups:[]string{\"g\"}, Extra:map[string][]string(nil)} without \
         impersonating a user name"
    );
    assert_eq!(
        told(&[("Impersonate-Extra-Foo", "bar"), ("Impersonate-Uid", "u")]),
        "requested &user.DefaultInfo{Name:\"\", UID:\"u\", Groups:[]string(nil), \
         Extra:map[string][]string{\"foo\":[]string{\"bar\"}}} without impersonating a user name"
    );
}

#[test]
fn the_impersonated_user_has_the_groups_of_its_kind() {
    let table: Vec<(&str, Pairs<'_>, &[&str])> = vec![
        ("a user", &[("Impersonate-User", "a")], &[AUTHENTICATED]),
        ("with a group", &[("Impersonate-User", "a"), ("Impersonate-Group", "g1")], &["g1", AUTHENTICATED]),
        (
            "with all known",
            &[("Impersonate-User", "a"), ("Impersonate-Group", AUTHENTICATED)],
            &[AUTHENTICATED],
        ),
        (
            "with all unknown",
            &[("Impersonate-User", "a"), ("Impersonate-Group", UNAUTHENTICATED)],
            &[UNAUTHENTICATED],
        ),
        ("nobody", &[("Impersonate-User", ANONYMOUS)], &[UNAUTHENTICATED]),
        (
            "a service account",
            &[("Impersonate-User", "system:serviceaccount:n:bob")],
            &["system:serviceaccounts", "system:serviceaccounts:n", AUTHENTICATED],
        ),
        (
            "a service account with a group",
            &[("Impersonate-User", "system:serviceaccount:n:bob"), ("Impersonate-Group", "g")],
            &["g", AUTHENTICATED],
        ),
    ];
    for (rule, pairs, want) in table {
        assert_eq!(
            turned(wide(), pairs).map(|user| user.groups),
            Ok(want.iter().map(|g| (*g).to_owned()).collect()),
            "{rule}"
        );
    }
}

#[test]
fn every_part_needs_its_right() {
    let users = json!([{"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"]}]);
    let told = |rules: &Value, pairs: &[(&str, &str)]| turned(rules.clone(), pairs).map(|user| user.name);
    let first = "configmaps is forbidden: User \"user1\" cannot impersonate-on:user-info:list resource \"configmaps\" in \
                 API group \"\" in the namespace \"default\"";
    assert_eq!(told(&users, &[("Impersonate-User", "alice")]).as_deref(), Ok("alice"));
    let table: Vec<(&str, Value, Pairs<'_>)> = vec![
        ("no right at all", json!([]), &[("Impersonate-User", "alice")]),
        ("no right to groups", users.clone(), &[("Impersonate-User", "alice"), ("Impersonate-Group", "g")]),
        (
            "no right to masters",
            users.clone(),
            &[("Impersonate-User", "alice"), ("Impersonate-Group", MASTERS)],
        ),
        ("no right to uids", users.clone(), &[("Impersonate-User", "alice"), ("Impersonate-Uid", "u")]),
        (
            "no right to this extra",
            wide(),
            &[("Impersonate-User", "alice"), ("Impersonate-Extra-Other", "x")],
        ),
    ];
    for (rule, rules, pairs) in table {
        assert_eq!(told(&rules, pairs).err().as_deref(), Some(first), "{rule}");
    }
    assert!(told(&wide(), &[("Impersonate-User", "alice"), ("Impersonate-Extra-Foo", "x")]).is_ok());
    let account = [("Impersonate-User", "system:serviceaccount:n:bob")];
    let refused = told(&users, &account).expect_err("a service account is no user");
    assert!(refused.contains("cannot impersonate-on:serviceaccount:list"), "{refused}");
}

#[test]
fn narrow_rights_reach_one_kind_of_request() {
    let narrow = |verb: &str| {
        json!([
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": [format!("impersonate-on:user-info:{verb}")]},
            {"apiGroups": ["authentication.k8s.io"], "resources": ["users", "groups"], "verbs": ["impersonate:user-info"]},
        ])
    };
    let alice = [("Impersonate-User", "alice")];
    assert!(turned(narrow("list"), &alice).is_ok());
    assert!(turned(narrow("get"), &alice).is_err());
    let with = |group| [("Impersonate-User", "alice"), ("Impersonate-Group", group)];
    assert!(turned(narrow("list"), &with("g")).is_ok());
    let told = turned(narrow("list"), &with(MASTERS)).expect_err("never by a narrow right");
    assert!(told.ends_with("impersonating the system:masters group is not allowed"), "{told}");
    let mut extra = narrow("list");
    extra[1]["resources"] = json!(["*"]);
    let with = |key| [("Impersonate-User", "alice"), (key, "x")];
    assert!(turned(extra.clone(), &with("Impersonate-Extra-Acme.io%2Fa")).is_ok());
    let told = turned(extra, &with("Impersonate-Extra-Foo")).expect_err("a key without a domain");
    assert!(told.contains("impersonating an invalid key in extra is not allowed"), "{told}");
    let node = [("Impersonate-User", "system:node:one")];
    let told = turned(narrow("list"), &node).expect_err("a node is no user");
    assert!(told.contains("impersonate-on:arbitrary-node:list"), "{told}");
}
