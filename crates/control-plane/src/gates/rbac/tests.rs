use serde_json::{Value, json};

use super::*;

fn user(name: &str, groups: &[&str]) -> User {
    User { name: name.into(), groups: groups.iter().map(|g| (*g).to_owned()).collect(), ..User::default() }
}

fn role(namespace: &str, name: &str, rules: Value) -> Value {
    json!({"metadata": {"name": name, "namespace": namespace}, "rules": rules})
}

fn binding(namespace: &str, kind: &str, role: &str, subject: Value) -> Value {
    json!({
        "metadata": {"name": format!("{role}-binding"), "namespace": namespace},
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": kind, "name": role},
        "subjects": [subject],
    })
}

fn subject(kind: &str, name: &str) -> Value {
    json!({"kind": kind, "name": name})
}

/// A policy that gives `rules` to alice in the whole cluster.
fn alice(rules: Value) -> Policy {
    let binding = binding("", "ClusterRole", "r", subject("User", "alice"));
    Policy::build(&[], &[role("", "r", rules)], &[], &[binding])
}

/// `verb group/resource[/subresource] namespace/name`; a path instead of the resource begins with two slashes.
fn asked(text: &str) -> Attributes<'_> {
    let mut words = text.split(' ');
    let verb = words.next().unwrap_or_default();
    let what = words.next().unwrap_or_default();
    if let Some(path) = what.strip_prefix('/') {
        return Attributes { verb, path: Some(path), ..Attributes::default() };
    }
    let mut parts = what.splitn(3, '/');
    let mut part = || parts.next().unwrap_or_default();
    let (group, resource, subresource) = (part(), part(), part());
    let (namespace, name) = words.next().and_then(|word| word.split_once('/')).unwrap_or_default();
    Attributes { verb, group, version: "v1", resource, subresource, namespace, name, path: None }
}

#[test]
fn a_rule_allows_what_it_names() {
    let rule = |groups: &[&str], resources: &[&str], verbs: &[&str]| json!([{"apiGroups": groups, "resources": resources, "verbs": verbs}]);
    let named = json!([{"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["s"], "verbs": ["get", "list"]}]);
    let paths = json!([{"nonResourceURLs": ["/healthz", "/apis/*"], "verbs": ["get"]}]);
    let all_paths = json!([{"nonResourceURLs": ["*"], "verbs": ["*"]}]);
    let pods = || rule(&[""], &["pods"], &["get"]);
    // The core group is nothing before the slash, so a resource reads `/pods`; here written with `core`.
    let table = [
        ("verb and resource", pods(), "get core/pods n/p", true),
        ("another verb", pods(), "list core/pods n/", false),
        ("another resource", pods(), "get core/secrets n/p", false),
        ("another group", pods(), "get apps/pods n/p", false),
        ("a subresource is another resource", pods(), "get core/pods/log n/p", false),
        ("any verb", rule(&[""], &["pods"], &["*"]), "deletecollection core/pods n/", true),
        ("any group", rule(&["*"], &["pods"], &["get"]), "get apps/pods n/p", true),
        ("any resource", rule(&[""], &["*"], &["get"]), "get core/secrets n/p", true),
        ("any resource takes in subresources", rule(&[""], &["*"], &["get"]), "get core/pods/log n/p", true),
        ("the subresource named", rule(&[""], &["pods/log"], &["get"]), "get core/pods/log n/p", true),
        ("the subresource alone", rule(&[""], &["pods/log"], &["get"]), "get core/pods n/p", false),
        (
            "a subresource of any",
            rule(&["*"], &["*/scale"], &["get"]),
            "get apps/deployments/scale n/d",
            true,
        ),
        (
            "another subresource of any",
            rule(&["*"], &["*/scale"], &["get"]),
            "get apps/deployments/status n/d",
            false,
        ),
        (
            "a subresource of any, without",
            rule(&["*"], &["*/scale"], &["get"]),
            "get apps/deployments n/d",
            false,
        ),
        ("no wildcard within a word", rule(&[""], &["pods/*"], &["get"]), "get core/pods/log n/p", false),
        ("the name", named.clone(), "get core/secrets n/s", true),
        ("another name", named.clone(), "get core/secrets n/t", false),
        ("no name", named, "list core/secrets n/", false),
        ("the path", paths.clone(), "get //healthz", true),
        ("below the path", paths.clone(), "get //healthz/etcd", false),
        ("below a starred path", paths.clone(), "get //apis/apps/v1", true),
        ("the starred path itself", paths.clone(), "get //apis", false),
        ("another method", paths.clone(), "post //healthz", false),
        ("paths are no resources", paths, "get core/healthz n/p", false),
        ("any path", all_paths, "put //anything", true),
        ("resources are no paths", rule(&["*"], &["*"], &["*"]), "get //healthz", false),
    ];
    for (rule, rules, request, want) in table {
        let mut attrs = asked(request);
        attrs.group = if attrs.group == "core" { "" } else { attrs.group };
        assert_eq!(alice(rules).allows(&user("alice", &[]), &attrs).is_ok(), want, "{rule}");
    }
}

#[test]
fn a_binding_reaches_its_subjects() {
    let pods = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
    let service_account =
        |namespace: Value| json!({"kind": "ServiceAccount", "name": "bob", "namespace": namespace});
    let bob = User::service_account("n", "bob", "u");
    let local = |kind: &str, subject: Value| {
        let roles = [role("n", "r", pods.clone())];
        let cluster_roles = [role("", "r", pods.clone())];
        Policy::build(&roles, &cluster_roles, &[binding("n", kind, "r", subject)], &[])
    };
    let wide = |kind: &str, subject: Value| {
        let roles = [role("n", "r", pods.clone())];
        Policy::build(&roles, &[role("", "r", pods.clone())], &[], &[binding("", kind, "r", subject)])
    };
    let anne = user("anne", &["dev"]);
    let table = [
        ("a user", local("Role", subject("User", "anne")), &anne, "n", true),
        ("another user", local("Role", subject("User", "ann")), &anne, "n", false),
        ("a group", local("Role", subject("Group", "dev")), &anne, "n", true),
        ("a group is no user", local("Role", subject("User", "dev")), &anne, "n", false),
        ("another namespace", local("Role", subject("User", "anne")), &anne, "m", false),
        ("the whole cluster", local("Role", subject("User", "anne")), &anne, "", false),
        ("a cluster role in a namespace", local("ClusterRole", subject("User", "anne")), &anne, "n", true),
        (
            "a cluster role in that namespace only",
            local("ClusterRole", subject("User", "anne")),
            &anne,
            "m",
            false,
        ),
        ("a cluster role everywhere", wide("ClusterRole", subject("User", "anne")), &anne, "m", true),
        (
            "a cluster role at the cluster scope",
            wide("ClusterRole", subject("User", "anne")),
            &anne,
            "",
            true,
        ),
        ("no role everywhere", wide("Role", subject("User", "anne")), &anne, "n", false),
        ("a service account", local("Role", service_account(json!("n"))), &bob, "n", true),
        (
            "a service account of the binding's namespace",
            local("Role", service_account(Value::Null)),
            &bob,
            "n",
            true,
        ),
        ("a service account of another", local("Role", service_account(json!("m"))), &bob, "n", false),
        (
            "a service account without namespace",
            wide("ClusterRole", service_account(Value::Null)),
            &bob,
            "n",
            false,
        ),
        (
            "all service accounts",
            local("Role", subject("Group", "system:serviceaccounts:n")),
            &bob,
            "n",
            true,
        ),
        (
            "a role that is not there",
            Policy::build(&[], &[], &[binding("n", "Role", "r", subject("User", "anne"))], &[]),
            &anne,
            "n",
            false,
        ),
        ("a kind nobody knows", local("Role", subject("Robot", "anne")), &anne, "n", false),
    ];
    for (rule, policy, user, namespace, want) in table {
        let attrs = Attributes { verb: "get", resource: "pods", namespace, ..Attributes::default() };
        assert_eq!(policy.allows(user, &attrs).is_ok(), want, "{rule}");
    }
}

#[test]
fn the_reason_names_the_binding() {
    let pods = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
    let account = json!({"kind": "ServiceAccount", "name": "bob"});
    let roles = [role("n", "r", pods.clone())];
    let local = Policy::build(&roles, &[], &[binding("n", "Role", "r", account)], &[]);
    let attrs = Attributes { verb: "get", resource: "pods", namespace: "n", ..Attributes::default() };
    assert_eq!(
        local.allows(&User::service_account("n", "bob", ""), &attrs),
        Ok("RBAC: allowed by RoleBinding \"r-binding/n\" of Role \"r\" to ServiceAccount \"bob/n\"".into())
    );
    assert_eq!(
        alice(pods).allows(&user("alice", &[]), &attrs),
        Ok("RBAC: allowed by ClusterRoleBinding \"r-binding\" of ClusterRole \"r\" to User \"alice\"".into())
    );
}

#[test]
fn masters_are_above_all_roles() {
    let master = user("root", &[MASTERS]);
    let none = Policy::default();
    assert_eq!(none.allows(&master, &asked("delete apps/deployments n/d")), Ok(String::new()));
    assert_eq!(none.allows(&master, &asked("get //metrics")), Ok(String::new()));
    let everything = json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]});
    let paths = json!({"verbs": ["*"], "nonResourceURLs": ["*"]});
    assert_eq!(none.rules_for(&master, "n"), (vec![everything.clone()], vec![paths]));
    assert_eq!(none.escalation(&master, "", &[everything]), Ok(()));
}

#[test]
fn refusals_read_as_recorded() {
    let attrs = |verb, resource, namespace, name| Attributes {
        verb,
        resource,
        namespace,
        name,
        version: "v1",
        ..Attributes::default()
    };
    let table = [
        (
            "anonymous",
            User::anonymous(),
            attrs("list", "configmaps", "default", ""),
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"configmaps is forbidden: User \"system:anonymous\" cannot list resource \"configmaps\" in API group \"\" in the namespace \"default\"","reason":"Forbidden","details":{"kind":"configmaps"},"code":403}"#,
        ),
        (
            "forbidden named cluster",
            user("user1", &[]),
            attrs("delete", "namespaces", "default", "default"),
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"namespaces \"default\" is forbidden: User \"user1\" cannot delete resource \"namespaces\" in API group \"\" in the namespace \"default\"","reason":"Forbidden","details":{"name":"default","kind":"namespaces"},"code":403}"#,
        ),
        (
            "a role",
            user("user1", &[]),
            Attributes { group: RBAC_GROUP, ..attrs("create", "roles", "default", "") },
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"roles.rbac.authorization.k8s.io is forbidden: User \"user1\" cannot create resource \"roles\" in API group \"rbac.authorization.k8s.io\" in the namespace \"default\"","reason":"Forbidden","details":{"group":"rbac.authorization.k8s.io","kind":"roles"},"code":403}"#,
        ),
        (
            "a path",
            user("x", &[]),
            asked("get //y"),
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"forbidden: User \"x\" cannot get path \"/y\"","reason":"Forbidden","details":{},"code":403}"#,
        ),
    ];
    for (rule, user, attrs, want) in table {
        assert_eq!(forbidden(&user, &attrs).to_json().to_string(), want, "{rule}");
    }
    let log = Attributes { subresource: "log", ..attrs("get", "pods", "", "p") };
    assert_eq!(
        forbidden(&user("<b>", &[]), &log).message,
        "pods \"p\" is forbidden: User \"&lt;b&gt;\" cannot get resource \"pods/log\" in API group \"\" at the cluster \
         scope"
    );
}

#[test]
fn nobody_grants_more_than_they_hold() {
    let rule = |groups: &[&str], resources: &[&str], verbs: &[&str]| json!({"apiGroups": groups, "resources": resources, "verbs": verbs});
    let named = json!({"apiGroups": [""], "resources": ["pods"], "resourceNames": ["p"], "verbs": ["get"]});
    let path = |url: &str| json!({"nonResourceURLs": [url], "verbs": ["get"]});
    let reads = || rule(&[""], &["pods"], &["get", "list"]);
    let table = [
        ("the same", reads(), reads(), ""),
        ("less", reads(), rule(&[""], &["pods"], &["get"]), ""),
        ("one named", reads(), named.clone(), ""),
        (
            "all for one named",
            named.clone(),
            reads(),
            "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\" \"list\"]}",
        ),
        (
            "another name",
            named,
            json!({"apiGroups": [""], "resources": ["pods"], "resourceNames": ["q"], "verbs": ["get"]}),
            "{APIGroups:[\"\"], Resources:[\"pods\"], ResourceNames:[\"q\"], Verbs:[\"get\"]}",
        ),
        (
            "another verb",
            reads(),
            rule(&[""], &["pods"], &["get", "delete"]),
            "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"delete\"]}",
        ),
        (
            "a wildcard",
            reads(),
            rule(&[""], &["pods"], &["*"]),
            "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"*\"]}",
        ),
        (
            "two lines",
            reads(),
            rule(&["apps", ""], &["pods"], &["create", "get"]),
            "{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"create\"]}\n{APIGroups:[\"apps\"], Resources:[\"pods\"], Verbs:[\"create\" \"get\"]}",
        ),
        ("wildcards cover", rule(&["*"], &["*"], &["*"]), rule(&["x"], &["y/z"], &["w"]), ""),
        (
            "a subresource of any covers",
            rule(&[""], &["*/log"], &["get"]),
            rule(&[""], &["pods/log"], &["get"]),
            "",
        ),
        ("a path", path("/a/*"), path("/a/b"), ""),
        ("a wider path", path("/a/b"), path("/a/*"), "{NonResourceURLs:[\"/a/*\"], Verbs:[\"get\"]}"),
        (
            "resources cover no paths",
            rule(&["*"], &["*"], &["*"]),
            path("/a"),
            "{NonResourceURLs:[\"/a\"], Verbs:[\"get\"]}",
        ),
    ];
    for (name, held, wanted, lacking) in table {
        let told = alice(json!([held])).escalation(&user("alice", &["a", "b"]), "", &[wanted]).err();
        let start = "user \"alice\" (groups=[\"a\" \"b\"]) is attempting to grant RBAC permissions not currently held:\n";
        let want = (!lacking.is_empty()).then(|| format!("{start}{lacking}"));
        assert_eq!(told, want, "{name}");
    }
}

#[test]
fn escalate_and_bind_are_verbs_of_their_own() {
    let strong = role("", "strong", json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]));
    let given = |verb: &str, names: Value| {
        let rules = json!([{"apiGroups": [RBAC_GROUP], "resources": ["clusterroles"], "resourceNames": names, "verbs": [verb]}]);
        let bound = binding("", "ClusterRole", "r", subject("User", "alice"));
        Policy::build(&[], &[role("", "r", rules), strong.clone()], &[], &[bound])
    };
    let anne = user("alice", &[]);
    let to_strong = binding("n", "ClusterRole", "strong", subject("User", "x"));
    let table = [
        ("escalate", given("escalate", json!(["strong"])).may_write_role(&anne, &strong, None).is_ok(), true),
        (
            "escalate another",
            given("escalate", json!(["weak"])).may_write_role(&anne, &strong, None).is_ok(),
            false,
        ),
        (
            "bind is not escalate",
            given("bind", json!([])).may_write_role(&anne, &strong, None).is_ok(),
            false,
        ),
        (
            "unchanged rules",
            given("get", json!([])).may_write_role(&anne, &strong, Some(&strong)).is_ok(),
            true,
        ),
        ("bind", given("bind", json!(["strong"])).may_bind(&anne, &to_strong).is_ok(), true),
        ("bind another", given("bind", json!(["weak"])).may_bind(&anne, &to_strong).is_ok(), false),
        ("escalate is not bind", given("escalate", json!([])).may_bind(&anne, &to_strong).is_ok(), false),
    ];
    for (rule, told, want) in table {
        assert_eq!(told, want, "{rule}");
    }
    let told = given("get", json!([])).may_bind(&anne, &to_strong).expect_err("nothing held");
    assert_eq!(
        told.message,
        "rolebindings.rbac.authorization.k8s.io \"strong-binding\" is forbidden: user \"alice\" (groups=[]) is attempting \
         to grant RBAC permissions not currently held:\n{APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"*\"]}"
    );
    let missing = binding("n", "ClusterRole", "gone", subject("User", "x"));
    let told = given("get", json!([])).may_bind(&anne, &missing).expect_err("no such role");
    assert_eq!(told.message, "clusterroles.rbac.authorization.k8s.io \"gone\" not found");
    let mut sum = role("", "sum", json!([]));
    sum["aggregationRule"] = json!({"clusterRoleSelectors": []});
    let told = given("get", json!([])).may_write_role(&anne, &sum, None).expect_err("not an administrator");
    assert!(told.message.ends_with("must have cluster-admin privileges to use the aggregationRule"));
    assert_eq!(told.details.and_then(|d| d.get("kind").cloned()), Some(json!("clusterroles")));
}

#[test]
fn rules_for_a_user_are_those_of_cluster_and_namespace() {
    let wide = json!([{"apiGroups": [""], "resources": ["pods"], "resourceNames": ["p"], "verbs": ["get"]}, {"nonResourceURLs": ["/x"], "verbs": ["get"]}]);
    let local = json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["list"]}]);
    let policy = Policy::build(
        &[role("n", "l", local)],
        &[role("", "w", wide)],
        &[binding("n", "Role", "l", subject("User", "alice"))],
        &[binding("", "ClusterRole", "w", subject("User", "alice"))],
    );
    let pods = json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["p"]});
    let secrets = json!({"verbs": ["list"], "apiGroups": [""], "resources": ["secrets"]});
    let paths = vec![json!({"verbs": ["get"], "nonResourceURLs": ["/x"]})];
    let anne = user("alice", &[]);
    assert_eq!(policy.rules_for(&anne, "n"), (vec![pods.clone(), secrets], paths.clone()));
    assert_eq!(policy.rules_for(&anne, "m"), (vec![pods], paths));
    assert_eq!(policy.rules_for(&user("x", &[]), "n"), (vec![], vec![]));
}

#[test]
fn sums_of_roles_are_taken_until_nothing_changes() {
    let rule = |word: &str| json!({"apiGroups": [word], "resources": [word], "verbs": [word]});
    let part = |name: &str, into: &str, rules: Value| json!({"metadata": {"name": name, "labels": {into: "true"}}, "rules": rules});
    let sum = |name: &str, of: &str, into: &str| {
        let mut role = part(name, into, Value::Null);
        role["aggregationRule"] = json!({"clusterRoleSelectors": [{"matchLabels": {of: "true"}}]});
        role
    };
    let mut roles = vec![
        sum("admin", "to-admin", "none"),
        sum("edit", "to-edit", "to-admin"),
        part("one", "to-edit", json!([rule("a"), rule("b")])),
        part("two", "to-edit", json!([rule("b"), rule("c")])),
        part("other", "to-nobody", json!([rule("d")])),
    ];
    let all = json!([rule("a"), rule("b"), rule("c")]);
    let wanted = vec![("admin".to_owned(), all.clone()), ("edit".to_owned(), all.clone())];
    assert_eq!(aggregate(&roles), wanted);
    roles[0]["rules"] = all.clone();
    roles[1]["rules"] = all;
    assert_eq!(aggregate(&roles), vec![], "nothing to write when all is written");
    roles.remove(3);
    let less = json!([rule("a"), rule("b")]);
    assert_eq!(aggregate(&roles), vec![("admin".to_owned(), less.clone()), ("edit".to_owned(), less)]);
    let circle = [sum("a", "x", "y"), sum("b", "y", "x")];
    assert_eq!(aggregate(&circle), vec![], "a circle without rules stays empty");
}

#[test]
fn service_accounts_are_known_by_their_names() {
    let table = [
        ("system:serviceaccount:n:bob", Some(("n", "bob"))),
        ("system:serviceaccount:n:a.b", Some(("n", "a.b"))),
        ("system:serviceaccount:n:a:b", None),
        ("system:serviceaccount:n:", None),
        ("system:serviceaccount:N:bob", None),
        ("system:serviceaccount:bob", None),
        ("bob", None),
    ];
    for (name, want) in table {
        assert_eq!(split_service_account(name), want, "{name}");
    }
}
