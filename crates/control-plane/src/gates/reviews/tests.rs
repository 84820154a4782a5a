use super::*;
use crate::gates::rbac::{Attributes, Policy};

fn alice() -> User {
    User { name: "alice".into(), uid: "u1".into(), groups: vec!["g1".into()], ..User::default() }
}

/// Allows `get pods` to alice for a reason, everything to the group `all` for none, `get /x` to all.
fn authorize(user: &User, attrs: &Attributes<'_>) -> Result<String, ()> {
    match (user.name.as_str(), attrs.verb, attrs.resource, attrs.path) {
        ("alice", "get", "pods", _) => Ok("because".into()),
        (_, "get", _, Some("/x")) => Ok(String::new()),
        _ if user.groups.iter().any(|group| group == "all") => Ok(String::new()),
        _ => Err(()),
    }
}

#[test]
fn access_reviews_answer_beside_their_question() {
    let pods = json!({"resourceAttributes": {"namespace": "default", "verb": "get", "resource": "pods"}});
    let asked = |spec: Value| json!({"metadata": {"creationTimestamp": null}, "spec": spec});
    let own = |spec: &Value| {
        self_subject_access(&asked(spec.clone()), &alice(), &authorize).map(|review| review["status"].clone())
    };
    let table = [
        ("allowed", pods.clone(), json!({"allowed": true, "reason": "because"})),
        ("not allowed", json!({"resourceAttributes": {"verb": "list"}}), json!({"allowed": false})),
        ("a path", json!({"nonResourceAttributes": {"verb": "get", "path": "/x"}}), json!({"allowed": true})),
        (
            "another path",
            json!({"nonResourceAttributes": {"verb": "get", "path": "/y"}}),
            json!({"allowed": false}),
        ),
    ];
    for (rule, spec, want) in table {
        assert_eq!(own(&spec), Ok(want), "{rule}");
    }
    let review = self_subject_access(&json!({"spec": pods}), &alice(), &authorize).expect("answered");
    let keys: Vec<&String> = review.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["kind", "apiVersion", "metadata", "spec", "status"]);
    let mut others = pods.clone();
    others["user"] = json!("bob");
    others["groups"] = json!(["all"]);
    let review = subject_access(&asked(others.clone()), &authorize).expect("answered");
    assert_eq!(review["status"], json!({"allowed": true}));
    let local = json!({"metadata": {"namespace": "default"}, "spec": others});
    let review = local_subject_access(&local, "default", &authorize).expect("answered");
    assert_eq!(review["status"], json!({"allowed": true}));
    assert_eq!(review["kind"], "LocalSubjectAccessReview");
}

#[test]
fn senseless_access_reviews_are_refused() {
    let resource = json!({"verb": "get"});
    let user = "spec.user: Invalid value: \"\": at least one of user or group must be specified";
    let neither = "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or \
                   resourceAttributes must be specified";
    let kind = "SubjectAccessReview.authorization.k8s.io \"\" is invalid: ";
    let both = json!({"user": "a", "resourceAttributes": resource, "nonResourceAttributes": {"path": "/"}});
    let table = [
        ("nothing", json!({}), format!("{kind}[{neither}, {user}]")),
        ("no user", json!({"spec": {"resourceAttributes": resource}}), format!("{kind}{user}")),
        (
            "both",
            json!({"spec": both}),
            format!(
                "{kind}spec.nonResourceAttributes: Invalid value: {{\"path\":\"/\"}}: cannot be specified in combination with resourceAttributes"
            ),
        ),
        (
            "a name",
            json!({"metadata": {"name": "x"}, "spec": {"user": "a", "resourceAttributes": resource}}),
            format!("{kind}metadata: Invalid value: {{\"name\":\"x\"}}: must be empty"),
        ),
    ];
    for (rule, request, want) in table {
        let told = subject_access(&request, &authorize).expect_err(rule);
        assert_eq!((told.code.as_u16(), told.message), (422, want), "{rule}");
    }
    let local = |home: &str, namespace: &str| {
        let spec = json!({"user": "a", "resourceAttributes": {"namespace": namespace}});
        let request = json!({"metadata": {"namespace": home}, "spec": spec});
        local_subject_access(&request, "default", &authorize).map(|_| ()).map_err(|status| status.message)
    };
    assert_eq!(local("default", "default"), Ok(()));
    let told = local("default", "other").expect_err("two namespaces");
    assert!(told.ends_with(
        "spec.resourceAttributes.namespace: Invalid value: \"other\": must match metadata.namespace"
    ));
    let told = local("other", "other").expect_err("another path");
    assert_eq!(told, "spec.resourceAttributes.namespace must match namespace: default");
    assert!(self_subject_access(&json!({"spec": {}}), &alice(), &authorize).is_err());
}

#[test]
fn a_rules_review_needs_a_namespace() {
    let told = self_subject_rules(&json!({"spec": {}}), &alice(), &Policy::default());
    assert_eq!(told.expect_err("no namespace").message, "no namespace on request");
    let review = self_subject_rules(&json!({"spec": {"namespace": "n"}}), &alice(), &Policy::default());
    let want = json!({"resourceRules": [], "nonResourceRules": [], "incomplete": false});
    assert_eq!(review.expect("answered")["status"], want);
}

#[test]
fn a_self_review_reads_as_recorded() {
    let mut user = alice();
    user.groups.push("system:authenticated".into());
    user.extra.insert("foo".into(), vec!["bar".into()]);
    let now = "2026-11-15T18:59:38.123Z".parse().expect("a time");
    assert_eq!(
        self_subject(&user, now).to_string(),
        r#"{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1","metadata":{"creationTimestamp":"2026-11-15T18:59:38Z"},"status":{"userInfo":{"username":"alice","uid":"u1","groups":["g1","system:authenticated"],"extra":{"foo":["bar"]}}}}"#
    );
}

#[test]
fn token_reviews_tell_whose_it_is() {
    let authenticate = |token: &str, audiences: &[String]| match token {
        "good" => Ok((alice(), audiences.to_vec())),
        _ => Err("invalid bearer token".to_owned()),
    };
    let review = |spec: Value| token_review(&json!({"spec": spec}), &authenticate);
    let told = review(json!({"token": "x"})).expect("answered");
    let want = r#"{"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","metadata":{},"spec":{"token":"x"},"status":{"user":{},"error":"invalid bearer token"}}"#;
    assert_eq!(told.to_string(), want);
    let told = review(json!({"token": "good", "audiences": ["a"]})).expect("answered");
    let user = json!({"username": "alice", "uid": "u1", "groups": ["g1"]});
    assert_eq!(told["status"], json!({"authenticated": true, "user": user, "audiences": ["a"]}));
    let told = review(json!({})).expect_err("no token");
    assert_eq!(told.message, "token is required for TokenReview in authentication");
}

#[test]
fn token_requests_have_bounds() {
    let order = |spec: Value| token_request(&json!({"spec": spec}));
    assert_eq!(order(json!({})).map(|order| order.seconds), Ok(3600));
    assert_eq!(
        order(json!({"expirationSeconds": 600, "audiences": ["a"]})).map(|order| order.audiences),
        Ok(vec!["a".to_owned()])
    );
    let told = order(json!({"expirationSeconds": 60})).expect_err("too short");
    assert_eq!(
        told.message,
        "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 60: may not specify a \
         duration less than 10 minutes"
    );
    let told = order(json!({"expirationSeconds": 1_i64 << 33})).expect_err("too long");
    assert!(told.message.ends_with("may not specify a duration larger than 2^32 seconds"));
}
