//! Every page, with tools that stand in for those that write applications.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tar::{EntryType, Header};

use super::archive::{self, Limits};
use crate::Error;
use crate::audit::Outcome;
use crate::door::stage::{Heard, Setting, Stage};
use crate::identity::Role;
use crate::sessions::register::Register;
use crate::tool::{Call, Erased, Hints, Question, Stop, Tool};

/// Arguments of all tools that stand in.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    image: Option<String>,
    #[serde(default)]
    replicas: Option<u16>,
    #[serde(default)]
    lines: Option<u32>,
    #[serde(default)]
    build: bool,
    #[serde(default)]
    files: Vec<Value>,
}

/// What they were asked.
#[derive(Serialize, JsonSchema)]
struct Output {
    tool: String,
    asked: Input,
}

macro_rules! stand_in {
    ($($kind:ident $name:literal),*) => {$(
        struct $kind;
        impl Tool for $kind {
            const NAME: &'static str = $name;
            const TITLE: &'static str = $name;
            const DESCRIPTION: &'static str = "Stands in";
            const HINTS: Hints = Hints::WRITES;
            type Input = Input;
            type Output = Output;
            async fn run(call: &Call<'_>, asked: Input) -> Result<Output, Stop> {
                pretend(call, $name, asked)
            }
        }
    )*};
}

stand_in!(
    List "list_apps", Deploy "deploy_app", Status "app_status", Delete "delete_app", Push "push_code", Logs "app_logs"
);

/// There is an application `there`, and one whose data a person has to give up.
fn pretend(call: &Call<'_>, tool: &str, asked: Input) -> Result<Output, Stop> {
    let name = asked.name.clone().unwrap_or_default();
    let known = tool == "list_apps" || tool == "push_code" || tool == "deploy_app";
    match (tool, name.as_str()) {
        ("delete_app", "data") => Err(Stop::Ask(Question {
            what: "Delete data and its database?".into(),
            plan: Vec::new(),
            command: "terrace delete app data".into(),
        })),
        ("deploy_app", "bound") => Err(Error::StillBound { apps: vec!["bound".into()] }.into()),
        ("deploy_app", "denied") => Err(Error::Denied { what: "deploy".into() }.into()),
        (_, "there") => Ok(Output { tool: tool.into(), asked }),
        _ if known => Ok(Output { tool: tool.into(), asked }),
        _ => Err(Error::NotFound { what: "application", name, namespace: call.namespace.clone() }.into()),
    }
}

fn tools() -> Vec<Erased> {
    vec![
        Erased::of::<Register>(),
        Erased::of::<List>(),
        Erased::of::<Deploy>(),
        Erased::of::<Status>(),
        Erased::of::<Delete>(),
        Erased::of::<Push>(),
        Erased::of::<Logs>(),
    ]
}

async fn stage() -> Stage {
    Stage::start(Setting { tools: tools(), ..Setting::default() }).await
}

const JSON: &str = "application/json";
const APPS: &str = "/api/v1/applications";

type Sent<'a> = Option<(&'a str, &'a [u8])>;

fn told(heard: &Heard) -> String {
    let body = heard.json();
    match heard.header("content-type") {
        Some("application/problem+json") => {
            assert_eq!(body["status"], heard.code, "{heard:?}");
            assert!(body["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{heard:?}");
            format!("{} {}", heard.code, body["reason"].as_str().expect("a reason"))
        }
        Some(JSON) => format!("{} {}", heard.code, body["tool"].as_str().expect("a tool")),
        other => panic!("{other:?}: {heard:?}"),
    }
}

#[tokio::test]
async fn every_request_is_answered_by_its_tool_or_refused_and_leaves_one_record() {
    let stage = stage().await;
    let session = stage.session().await;
    let before = stage.trail().len();
    let in_session = |path: &str| format!("{APPS}{path}?session={session}");
    let none: Sent = None;
    let deep = "[".repeat(100_000);
    let huge: &[u8] = br#"{"name":"a","replicas":99999999999999999999}"#;
    let table: Vec<(&str, String, Sent, &str)> = vec![
        ("GET", in_session(""), none, "200 list_apps"),
        ("POST", in_session(""), Some((JSON, br#"{"name":"new","image":"nginx:1"}"#)), "201 deploy_app"),
        (
            "POST",
            in_session(""),
            Some(("Application/JSON; charset=UTF-8", br#"{"name":"new"}"#)),
            "201 deploy_app",
        ),
        ("POST", in_session(""), Some((JSON, br#"{"name":"there","image":"nginx:1"}"#)), "409 Exists"),
        ("GET", in_session("/there"), none, "200 app_status"),
        ("GET", in_session("/gone"), none, "404 NotFound"),
        ("PUT", in_session("/new"), Some((JSON, br#"{"replicas":2}"#)), "202 deploy_app"),
        ("PUT", in_session("/bound"), Some((JSON, b"{}")), "409 StillBound"),
        ("PUT", in_session("/denied"), Some((JSON, b"{}")), "403 Denied"),
        ("DELETE", in_session("/there"), none, "200 delete_app"),
        ("DELETE", in_session("/data"), none, "409 NeedsPerson"),
        ("PUT", in_session("/new/source"), Some((JSON, br#"{"files":[]}"#)), "202 push_code"),
        ("POST", in_session("/new/source"), Some((JSON, br#"{"files":[]}"#)), "202 push_code"),
        ("GET", in_session("/there/logs") + "&lines=5", none, "200 app_logs"),
        ("GET", in_session("/there/build"), none, "200 app_logs"),
        // What cannot be read.
        ("POST", in_session(""), Some((JSON, br#"{"name":"a","colour":"red"}"#)), "400 Invalid"),
        ("POST", in_session(""), Some((JSON, br#"{"name":"a","session_id":"b"}"#)), "400 Invalid"),
        ("PUT", in_session("/new"), Some((JSON, br#"{"name":"other"}"#)), "400 Invalid"),
        ("POST", in_session(""), Some((JSON, b"{")), "400 Invalid"),
        ("POST", in_session(""), Some((JSON, b"")), "400 Invalid"),
        ("POST", in_session(""), Some((JSON, b"[]")), "400 Invalid"),
        ("POST", in_session(""), Some((JSON, b"{\"name\":\"\xff\"}")), "400 Invalid"),
        ("POST", in_session(""), Some((JSON, huge)), "400 Invalid"),
        ("POST", in_session(""), Some((JSON, br#"{"name":"a","replicas":1e999}"#)), "400 Invalid"),
        ("POST", in_session(""), Some((JSON, br#"{"name":"a","replicas":-1}"#)), "400 Invalid"),
        ("POST", in_session(""), Some((JSON, br#"{"name":7}"#)), "400 Invalid"),
        ("POST", in_session(""), Some((JSON, deep.as_bytes())), "400 Invalid"),
        ("POST", in_session(""), Some(("text/plain", b"{}")), "415 ContentType"),
        ("POST", in_session(""), Some(("application/json; charset=latin1", b"{}")), "415 ContentType"),
        ("POST", in_session(""), Some(("application/gzip", b"{}")), "415 ContentType"),
        ("POST", in_session(""), none, "415 ContentType"),
        ("PUT", in_session("/new/source"), Some(("application/gzip", b"no archive")), "400 Invalid"),
        ("DELETE", in_session("/there"), Some((JSON, b"{}")), "400 Invalid"),
        ("GET", in_session("/.."), none, "400 Invalid"),
        ("GET", in_session("/%2e%2e"), none, "400 Invalid"),
        ("GET", in_session("/a%2Fb"), none, "400 Invalid"),
        ("GET", in_session("/Upper"), none, "400 Invalid"),
        ("GET", in_session(&format!("/{}", "a".repeat(64))), none, "400 Invalid"),
        ("GET", in_session("/../secrets/x"), none, "404 NoPage"),
        ("GET", in_session("/"), none, "404 NoPage"),
        ("GET", in_session("/there/logs/more"), none, "404 NoPage"),
        ("GET", "/api/v2/applications".into(), none, "404 NoPage"),
        ("PATCH", in_session("/there"), none, "405 Method"),
        ("GET", APPS.into(), none, "400 Invalid"),
        ("GET", in_session("") + "&session=b", none, "400 Invalid"),
        ("GET", in_session("") + "&colour=red", none, "400 Invalid"),
        ("GET", in_session("/there/logs") + "&lines=many", none, "400 Invalid"),
        ("GET", in_session("/there/logs") + "&lines=99999999999", none, "400 Invalid"),
        ("GET", format!("{APPS}?session=a%20b"), none, "400 Invalid"),
        ("GET", format!("{APPS}?session=somebodyelses"), none, "404 NoSession"),
        ("GET", format!("{APPS}?session=default"), none, "404 NoSession"),
    ];
    let count = table.len();
    for (row, (method, path, body, want)) in table.into_iter().enumerate() {
        let heard = stage.ask(method, &path, body).await;
        assert_eq!(told(&heard), want, "row {row}: {method} {path}: {heard:?}");
    }
    let trail = stage.trail();
    assert_eq!(trail.len() - before, count, "each leaves one record");
    let first = &trail[before].record;
    assert_eq!(
        (first.action.as_str(), &first.subject, first.outcome),
        ("GET /api/v1/applications", &session, Outcome::Done)
    );
    assert_eq!(first.name, "tester");
}

#[tokio::test]
async fn what_needs_a_person_is_refused_with_the_command() {
    let stage = stage().await;
    let session = stage.session().await;
    let heard = stage.ask("DELETE", &format!("{APPS}/data?session={session}"), None).await.json();
    assert_eq!(heard["command"], "terrace delete app data");
    let record = stage.trail().pop().expect("a record").record;
    assert_eq!((record.outcome, record.reason.as_deref()), (Outcome::Refused, Some("NeedsPerson")));
    let made =
        stage.ask("POST", &format!("{APPS}?session={session}"), Some((JSON, br#"{"name":"new"}"#))).await;
    assert_eq!(made.header("location"), Some(format!("{APPS}/new?session={session}").as_str()));
    let logs = stage.ask("GET", &format!("{APPS}/there/build?session={session}&lines=7"), None).await.json();
    assert_eq!((&logs["asked"]["lines"], &logs["asked"]["build"]), (&json!(7), &json!(true)));
}

#[tokio::test]
async fn a_server_without_a_tool_says_so() {
    let stage = Stage::start(Setting { tools: vec![Erased::of::<Register>()], ..Setting::default() }).await;
    let session = stage.session().await;
    let heard = stage.ask("GET", &format!("{APPS}?session={session}"), None).await;
    assert_eq!(told(&heard), "503 NotAvailable");
}

#[tokio::test]
async fn a_token_that_only_looks_sees_no_session_of_others_that_is_not_there() {
    let stage = Stage::start(Setting { role: Role::ReadOnly, tools: tools(), ..Setting::default() }).await;
    let heard = stage.ask("GET", &format!("{APPS}?session=nothere"), None).await;
    assert_eq!(told(&heard), "404 NoSession");
}

/// A tar.gz of entries: their kind, their name, what is in them.
fn packed(entries: &[(EntryType, &str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (kind, name, content) in entries {
        let mut header = Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_size(content.len() as u64);
        // As it is: a well-meaning library would refuse what others pack.
        let bytes = name.as_bytes();
        header.as_old_mut().name[..bytes.len()].copy_from_slice(bytes);
        if kind.is_symlink() {
            header.set_link_name("/etc/passwd").expect("a link");
        }
        header.set_cksum();
        builder.append(&header, *content).expect("is packed");
    }
    builder.into_inner().expect("is packed").finish().expect("is packed")
}

#[tokio::test]
async fn an_archive_becomes_the_files_that_are_pushed() {
    let stage = stage().await;
    let session = stage.session().await;
    let file = EntryType::Regular;
    let good = packed(&[
        (EntryType::Directory, "./", b""),
        (file, "./app.py", b"print()"),
        (file, "static/logo.png", b"\xff\x00"),
    ]);
    let heard = stage
        .ask("PUT", &format!("{APPS}/shop/source?session={session}"), Some(("application/gzip", &good)))
        .await;
    assert_eq!(told(&heard), "202 push_code");
    let want = json!([
        { "path": "app.py", "content": "print()" },
        { "path": "static/logo.png", "content": "/wA=", "encoding": "base64" },
    ]);
    assert_eq!(heard.json()["asked"]["files"], want);
    let large = packed(&[(file, "a", &[b'x'; 100_001])]);
    let heard = stage
        .ask("PUT", &format!("{APPS}/shop/source?session={session}"), Some(("application/gzip", &large)))
        .await;
    assert_eq!(told(&heard), "413 TooLarge");
}

#[test]
fn archives_that_hold_too_much_or_lead_elsewhere_are_refused() {
    let limits = Limits { bytes: 1_000, files: 3 };
    let file = EntryType::Regular;
    let directories: Vec<(EntryType, &str, &[u8])> = vec![(EntryType::Directory, "d/", b""); 40];
    let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
    bomb.write_all(&packed_bomb()).expect("is packed");
    let bomb = bomb.finish().expect("is packed");
    let table: [(&str, Vec<u8>, &str); 8] = [
        ("as much as there may be", packed(&[(file, "a", &[b'x'; 1_000])]), "1"),
        ("a byte more", packed(&[(file, "a", &[b'x'; 600]), (file, "b", &[b'x'; 401])]), "413"),
        ("too many files", packed(&vec![(file, "a", &b""[..]); 4]), "413"),
        ("too many directories", packed(&directories), "413"),
        ("a link", packed(&[(EntryType::Symlink, "a", b"")]), "400"),
        ("a device", packed(&[(EntryType::Char, "a", b"")]), "400"),
        ("a bomb", bomb, "413"),
        ("cut off", packed(&[(file, "a", &[b'x'; 900])])[..40].to_vec(), "400"),
    ];
    for (what, bytes, want) in table {
        let told = match archive::files(&bytes, limits) {
            Ok(files) => files.len().to_string(),
            Err(problem) => problem.response(http::HeaderMap::new()).status().as_str().to_owned(),
        };
        assert_eq!(told, want, "{what}");
    }
}

/// An entry that says it holds a gigabyte, with some of it.
fn packed_bomb() -> Vec<u8> {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_size(1 << 30);
    header.set_path("bomb").expect("a name");
    header.set_cksum();
    let mut bytes = header.as_bytes().to_vec();
    bytes.resize(4 << 20, 0);
    bytes
}

#[tokio::test]
async fn the_document_tells_of_every_page_that_answers_and_of_no_other() {
    let stage = stage().await;
    let session = stage.session().await;
    let heard = stage.get(super::DOCUMENT).await;
    assert_eq!((heard.code, heard.header("content-type")), (200, Some(JSON)));
    let document = heard.json();
    let paths = document["paths"].as_object().expect("paths");
    let mut asked = 0;
    for path in paths.keys().map(String::as_str).chain([
        "/api/v1",
        "/api/v1/applications/{name}/other",
        "/api/v1/apps",
    ]) {
        for method in ["GET", "PUT", "POST", "DELETE", "PATCH", "OPTIONS"] {
            let documented =
                paths.get(path).is_some_and(|page| page.get(method.to_ascii_lowercase()).is_some());
            let real = format!("{}?session={session}", path.replace("{name}", "there"));
            let body: Sent =
                documented.then_some((JSON, &b"{}"[..])).filter(|_| matches!(method, "PUT" | "POST"));
            let told = told(&stage.ask(method, &real, body).await);
            let answered = !told.ends_with("NoPage") && !told.ends_with("Method");
            assert_eq!(answered, documented, "{method} {real}: {told}");
            let code = told.split(' ').next().expect("a code");
            assert!(
                !documented || paths[path][method.to_ascii_lowercase()]["responses"].get(code).is_some(),
                "{told}"
            );
            asked += usize::from(documented);
        }
    }
    assert_eq!(asked, super::routes::ROUTES.len());
}

#[test]
fn the_document_is_of_the_shape_that_openapi_asks_for() {
    let document = super::openapi::document(&tools());
    assert_eq!(document["openapi"], "3.1.0");
    for field in ["title", "version"] {
        assert!(document["info"][field].is_string());
    }
    let mut ids = std::collections::BTreeSet::new();
    for (path, page) in document["paths"].as_object().expect("paths") {
        assert!(path.starts_with('/'));
        for (method, operation) in page.as_object().expect("operations") {
            assert!(["get", "put", "post", "delete"].contains(&method.as_str()), "{method}");
            assert!(
                ids.insert(operation["operationId"].as_str().expect("an id").to_owned()),
                "ids are told apart"
            );
            let parameters = operation["parameters"].as_array().expect("parameters");
            let named = parameters
                .iter()
                .any(|one| one["in"] == "path" && one["name"] == "name" && one["required"] == true);
            assert_eq!(named, path.contains("{name}"), "{path}");
            for parameter in parameters {
                assert!(
                    parameter["schema"]["type"].is_string() && parameter["in"].is_string(),
                    "{parameter}"
                );
            }
            let answers = operation["responses"].as_object().expect("answers");
            assert!(answers.keys().any(|code| code.starts_with('2')));
            assert!(
                answers
                    .values()
                    .all(|answer| answer["description"].is_string() || resolved(&document, answer))
            );
            let content = operation["requestBody"]["content"].as_object();
            assert_eq!(content.is_some(), ["put", "post"].contains(&method.as_str()), "{method} {path}");
            let schema = content.and_then(|content| content[JSON]["schema"]["properties"].as_object());
            assert!(schema.is_none_or(|fields: &Map<String, Value>| !fields.contains_key("session_id")));
        }
    }
    let text = document.to_string();
    assert!(!text.contains("null") && !text.contains("#/$defs"), "{text}");
}

/// Whether what an answer refers to is there.
fn resolved(document: &Value, answer: &Value) -> bool {
    let place = answer["$ref"].as_str().and_then(|place| place.strip_prefix('#'));
    place.and_then(|place| document.pointer(place)).is_some_and(|found| found["description"].is_string())
}
