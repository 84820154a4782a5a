//! Bad input: every row is a request that must be refused, with the code and reason a real server gives.

mod harness;

use harness::{Asker, CONFIGS, DEFINITIONS, House, WIDGETS, config, widgets};
use http::Method;
use serde_json::{Value, json};

async fn house() -> (House, Asker) {
    let house = House::new().await;
    let admin = house.admin();
    admin.made(DEFINITIONS, &widgets()).await;
    admin.made(CONFIGS, &config("there")).await;
    (house, admin)
}

#[tokio::test]
async fn every_bad_request_gets_its_code_and_reason() {
    let (_house, admin) = house().await;
    let one = format!("{CONFIGS}/there");
    let deep = format!("{}1{}", "{\"a\":".repeat(5000), "}".repeat(5000));
    let deep = format!(r#"{{"metadata":{{"name":"x"}},"data":{deep}}}"#);
    let large = format!(r#"{{"metadata":{{"name":"x"}},"data":{{"a":"{}"}}}}"#, "a".repeat(5 << 20));
    let long = format!(r#"{{"metadata":{{"name":"{}"}}}}"#, "a".repeat(254));
    let json = "application/json";
    let rows: Vec<(&str, Method, &str, &str, &str, &str)> = vec![
        ("malformed JSON", Method::POST, CONFIGS, json, "{\"a\":", "400 BadRequest"),
        ("an empty body", Method::POST, CONFIGS, json, "", "400 BadRequest"),
        ("a body that is null", Method::POST, CONFIGS, json, "null", "400 BadRequest"),
        ("a body that is a list", Method::POST, CONFIGS, json, "[]", "400 BadRequest"),
        ("malformed YAML", Method::POST, CONFIGS, "application/yaml", "a: [", "400 BadRequest"),
        ("a YAML alias bomb", Method::POST, CONFIGS, "application/yaml", BOMB, "400 BadRequest"),
        (
            "broken protobuf",
            Method::POST,
            CONFIGS,
            "application/vnd.kubernetes.protobuf",
            "k8s\0\u{1}",
            "400 BadRequest",
        ),
        ("deep nesting", Method::POST, CONFIGS, json, &deep, "400 BadRequest"),
        ("5 MiB of body", Method::POST, CONFIGS, json, &large, "413 RequestEntityTooLarge"),
        ("an unknown content type", Method::POST, CONFIGS, "text/plain", "x", "415 UnsupportedMediaType"),
        ("a patch of no known kind", Method::PATCH, &one, json, "{}", "415 UnsupportedMediaType"),
        (
            "a strategic patch of a custom resource",
            Method::PATCH,
            "/apis/demo.io/v1/namespaces/default/widgets/w",
            "application/strategic-merge-patch+json",
            "{}",
            "415 UnsupportedMediaType",
        ),
        (
            "an apply without a manager",
            Method::PATCH,
            &one,
            "application/apply-patch+yaml",
            "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"}",
            "422 Invalid",
        ),
        (
            "an invalid name",
            Method::POST,
            CONFIGS,
            json,
            r#"{"metadata":{"name":"Not_Good"}}"#,
            "422 Invalid",
        ),
        ("a name of 254 letters", Method::POST, CONFIGS, json, &long, "422 Invalid"),
        ("no name at all", Method::POST, CONFIGS, json, r#"{"metadata":{}}"#, "422 Invalid"),
        (
            "a bad label",
            Method::POST,
            CONFIGS,
            json,
            r#"{"metadata":{"name":"x","labels":{"a b":"c"}}}"#,
            "422 Invalid",
        ),
        (
            "another kind",
            Method::POST,
            CONFIGS,
            json,
            r#"{"kind":"Secret","apiVersion":"v1","metadata":{"name":"x"}}"#,
            "400 BadRequest",
        ),
        (
            "another version",
            Method::POST,
            CONFIGS,
            json,
            r#"{"kind":"ConfigMap","apiVersion":"v7","metadata":{"name":"x"}}"#,
            "400 BadRequest",
        ),
        (
            "another version of a custom kind",
            Method::POST,
            WIDGETS,
            json,
            r#"{"kind":"Widget","apiVersion":"demo.io/v7","metadata":{"name":"x"}}"#,
            "400 BadRequest",
        ),
        (
            "another namespace",
            Method::POST,
            CONFIGS,
            json,
            r#"{"metadata":{"name":"x","namespace":"elsewhere"}}"#,
            "400 BadRequest",
        ),
        (
            "a namespace that is not there",
            Method::POST,
            "/api/v1/namespaces/nowhere/configmaps",
            json,
            r#"{"metadata":{"name":"x"}}"#,
            "404 NotFound",
        ),
        ("an unknown resource", Method::GET, "/api/v1/namespaces/default/gadgets", "", "", "404 NotFound"),
        ("an unknown group", Method::GET, "/apis/nowhere.io/v1/gadgets", "", "", "404"),
        ("an unknown subresource", Method::GET, "CONFIGS/there/shadow", "", "", "404 NotFound"),
        ("a method that is not served", Method::POST, &one, json, "{}", "405 MethodNotAllowed"),
        ("an object that is not there", Method::GET, "CONFIGS/nobody", "", "", "404 NotFound"),
        (
            "a name that is taken",
            Method::POST,
            CONFIGS,
            json,
            r#"{"metadata":{"name":"there"}}"#,
            "409 AlreadyExists",
        ),
        (
            "a version that has passed",
            Method::PUT,
            &one,
            json,
            r#"{"metadata":{"name":"there","resourceVersion":"1"}}"#,
            "409 Conflict",
        ),
        ("a version that is no number", Method::GET, "CONFIGS?resourceVersion=abc", "", "", "400 BadRequest"),
        ("a version of the future", Method::GET, "CONFIGS?resourceVersion=99999999", "", "", "504 Timeout"),
        (
            "a label selector nobody can read",
            Method::GET,
            "CONFIGS?labelSelector=a%20b",
            "",
            "",
            "400 BadRequest",
        ),
        (
            "a field nobody can select by",
            Method::GET,
            "CONFIGS?fieldSelector=data.a%3Db",
            "",
            "",
            "400 BadRequest",
        ),
        ("a limit that is no number", Method::GET, "CONFIGS?limit=many", "", "", "400 BadRequest"),
        ("a token for another page", Method::GET, "CONFIGS?limit=1&continue=zzz", "", "", "400 BadRequest"),
        (
            "an answer in HTML",
            Method::GET,
            "/apis/demo.io/v1/namespaces/default/widgets?pretty=1",
            "",
            "",
            "200",
        ),
        ("a path that is not UTF-8", Method::GET, "/api/v1/namespaces/%ff/pods", "", "", "400 BadRequest"),
        (
            "a JSON patch of a path that is not there",
            Method::PATCH,
            &one,
            "application/json-patch+json",
            r#"[{"op":"remove","path":"/data/x"}]"#,
            "422 Invalid",
        ),
        (
            "a JSON patch that is an object",
            Method::PATCH,
            &one,
            "application/json-patch+json",
            "{}",
            "400 BadRequest",
        ),
        (
            "a merge patch that is a list",
            Method::PATCH,
            &one,
            "application/merge-patch+json",
            "[]",
            "400 BadRequest",
        ),
        (
            "webhooks",
            Method::POST,
            "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
            json,
            r#"{"metadata":{"name":"x"}}"#,
            "405 MethodNotAllowed",
        ),
        (
            "aggregation",
            Method::POST,
            "/apis/apiregistration.k8s.io/v1/apiservices",
            json,
            r#"{"metadata":{"name":"v1.x.io"},"spec":{"group":"x.io","version":"v1","groupPriorityMinimum":1,"versionPriority":1}}"#,
            "405 MethodNotAllowed",
        ),
    ];
    for (what, method, path, kind, body, want) in rows {
        let path = path.replace("CONFIGS", CONFIGS);
        let reply = admin.ask(method, &path, kind, body.to_owned()).await;
        assert_eq!(reply.told(), want, "{what}: {}", reply.text.chars().take(300).collect::<String>());
    }
    let names: Vec<Value> = admin.get(CONFIGS).await.json()["items"]
        .as_array()
        .expect("is a list")
        .iter()
        .map(|item| item["metadata"]["name"].clone())
        .collect();
    assert!(!names.contains(&json!("x")), "nothing of all this was stored");
}

const BOMB: &str = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n\
    d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n\
    g: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\nh: [*g,*g,*g,*g,*g,*g,*g,*g,*g]\n";

#[tokio::test]
async fn a_conversion_webhook_is_refused_in_words() {
    let house = House::new().await;
    let mut definition = widgets();
    definition["spec"]["conversion"] = json!({
        "strategy": "Webhook",
        "webhook": { "conversionReviewVersions": ["v1"], "clientConfig": { "url": "https://127.0.0.1/convert" } },
    });
    let reply = house.admin().post(DEFINITIONS, &definition).await;
    assert_eq!(reply.told(), "422 Invalid");
    assert!(
        reply.json()["message"].as_str().expect("is text").contains("spec.conversion.strategy"),
        "{}",
        reply.text
    );
}

#[tokio::test]
async fn unknown_fields_are_judged_by_the_clients_wish() {
    let (_house, admin) = house().await;
    let object = json!({ "apiVersion": "demo.io/v1", "kind": "Widget", "metadata": { "name": "w" }, "spec": { "size": 1, "bogus": 1 } });
    let strict = admin.post(&format!("{WIDGETS}?fieldValidation=Strict"), &object).await;
    assert_eq!(strict.told(), "400 BadRequest");
    assert!(strict.text.contains("unknown field \\\"spec.bogus\\\""), "{}", strict.text);
    let warned = admin.post(&format!("{WIDGETS}?fieldValidation=Warn&dryRun=All"), &object).await;
    assert_eq!(warned.headers["warning"], "299 - \"unknown field \\\"spec.bogus\\\"\"");
    let ignored = admin.post(&format!("{WIDGETS}?fieldValidation=Ignore"), &object).await;
    assert_eq!((ignored.code, ignored.headers.get("warning")), (201, None));
    assert_eq!(ignored.json()["spec"], json!({ "size": 1, "color": "red", "replicas": 1 }));
}

#[tokio::test]
async fn a_dry_run_answers_and_writes_nothing() {
    let (_house, admin) = house().await;
    let one = format!("{CONFIGS}/there");
    let before = admin.get(&one).await.json();
    let made = admin.post(&format!("{CONFIGS}?dryRun=All"), &config("new")).await;
    assert_eq!((made.code, made.json()["metadata"].get("resourceVersion")), (201, None));
    let patched = admin.merge(&format!("{CONFIGS}/there?dryRun=All"), &json!({ "data": { "a": "1" } })).await;
    assert_eq!(patched.json()["data"], json!({ "a": "1" }));
    assert_eq!(admin.delete(&one, &json!({ "dryRun": ["All"] })).await.code, 200);
    assert_eq!(admin.get(&one).await.json(), before);
    assert_eq!(admin.get(&format!("{CONFIGS}/new")).await.code, 404);
}

#[tokio::test]
async fn names_are_made_up_where_only_a_stem_is_given() {
    let (_house, admin) = house().await;
    let object = json!({ "metadata": { "generateName": "job-" } });
    let first = admin.made(CONFIGS, &object).await;
    let second = admin.made(CONFIGS, &object).await;
    assert!(first["metadata"]["name"].as_str().expect("has a name").starts_with("job-"));
    assert_ne!(first["metadata"]["name"], second["metadata"]["name"]);
}
