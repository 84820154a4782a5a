//! Credentials: what agents see of them, the page where a person enters one, and what is stored.

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::Full;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::api::{Api, PostParams};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::host::{Host, Kind};
use super::page;
use crate::identity::{Caller, Role};
use crate::server::Asked;
use crate::sessions::stage::{Stage, refused};
use crate::tool::{Entry, Progress, Stop};

const CANARY: &str = "canary-t0ken&+%";

#[test]
fn a_credential_is_for_a_host_and_not_for_less() {
    let trusted = ["git.lan".to_owned()];
    let table = [
        ("github.com", Kind::Token, Some("https://github.com")),
        ("https://GitHub.com/", Kind::Token, Some("https://github.com")),
        ("https://git.example.com:8443/Team/a", Kind::Token, Some("https://git.example.com:8443/Team/a")),
        ("http://127.0.0.1:3000", Kind::Token, Some("http://127.0.0.1:3000")),
        ("http://localhost", Kind::Token, Some("http://localhost")),
        ("http://git.lan", Kind::Token, Some("http://git.lan")),
        ("http://example.com", Kind::Token, None),
        ("https://user:pass@github.com", Kind::Token, None),
        ("https://github.com/../x", Kind::Token, None),
        ("https://", Kind::Token, None),
        ("file:///etc", Kind::Token, None),
        ("ssh://git@github.com", Kind::Token, None),
        ("https://a b", Kind::Token, None),
        ("", Kind::Token, None),
        ("git@GitHub.com", Kind::Ssh, Some("git@github.com")),
        ("ssh://me@example.com", Kind::Ssh, Some("me@example.com")),
        ("github.com", Kind::Ssh, Some("git@github.com")),
        ("https://github.com", Kind::Ssh, None),
        ("-oProxyCommand=x", Kind::Ssh, None),
        ("git@-oProxyCommand", Kind::Ssh, None),
    ];
    for (text, kind, want) in table {
        let host = Host::read(text, kind, &trusted).ok();
        assert_eq!(host.as_ref().map(Host::as_str), want, "{text} {kind}");
    }
}

fn wish(session: &str) -> Value {
    json!({ "session_id": session, "name": "hub", "host": "https://github.com", "username": "ann" })
}

async fn entry(stage: &Stage, caller: &Caller, arguments: Value) -> Entry {
    match stage.ask(caller, "add_git_credential", arguments).await {
        Err(Stop::Enter(entry)) => entry,
        other => panic!("a person is led to a page: {other:?}"),
    }
}

async fn led(stage: &Stage, caller: &Caller, arguments: Value) -> Value {
    let arguments = serde_json::from_value(arguments).expect("an object");
    let asked = Asked { tool: "add_git_credential".into(), arguments, answered: None, led: true };
    stage.agents.run(caller, asked, Progress::default()).await.expect("it answers")
}

/// The credential's Secret, as nobody but the platform sees it.
async fn secret(stage: &Stage, session: &str) -> Option<Secret> {
    let secrets: Api<Secret> = Api::namespaced(stage.client.clone(), &format!("iaf-{session}"));
    secrets.get_opt("git-credential-hub").await.expect("answers")
}

/// One exchange over a connection of its own: the code, and all of the answer.
async fn exchange(address: &str, head: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.expect("connects");
    let size = body.len();
    let request = format!("{head}\r\nConnection: close\r\nContent-Length: {size}\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).await.expect("is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("is answered");
    let code = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
    (code, answer)
}

#[tokio::test]
async fn a_person_enters_the_secret_and_the_agent_never_sees_it() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let stage = Stage::at(&format!("http://{address}")).await;
    tokio::spawn(stage.agents.clone().serve(listener));
    let owner = stage.caller("builder <b>", Role::Session);
    let id = stage.session(&owner).await;
    let entry = entry(&stage, &owner, wish(&id)).await;
    let path = entry.url.strip_prefix(&format!("http://{address}")).expect("a page here").to_owned();
    assert_eq!(path, format!("/enter/{}", entry.id));
    assert_eq!(
        entry.command,
        format!("terrace credential add hub --host https://github.com --username ann -n iaf-{id}")
    );
    assert_eq!(led(&stage, &owner, wish(&id)).await["status"], "waiting");

    let get = |host: &str| format!("GET {path} HTTP/1.1\r\nHost: {host}");
    let (code, page) = exchange(&address, &get(&address), "").await;
    assert_eq!(code, 200);
    for part in [
        "https://github.com",
        &id,
        "builder &lt;b&gt;",
        "value=\"ann\"",
        "no-store",
        "x-frame-options: DENY",
        "content-security-policy: default-src 'none'; style-src 'unsafe-inline'; form-action 'self'",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("<script") && !page.contains("<b>"));
    assert_eq!(
        exchange(&address, &get("evil.example"), "").await.0,
        421,
        "the door asks for whom it is meant"
    );

    let kind = "Content-Type: application/x-www-form-urlencoded";
    let post = |path: &str, more: &str| format!("POST {path} HTTP/1.1\r\nHost: {address}\r\n{kind}{more}");
    let form = "username=&secret=canary-t0ken%26%2B%25";
    let strange = [
        "\r\nOrigin: https://evil.example",
        "\r\nOrigin: null",
        "\r\nSec-Fetch-Site: cross-site",
        &format!("\r\nOrigin: http://{address}\r\nSec-Fetch-Site: cross-site"),
    ];
    for more in strange {
        assert_eq!(exchange(&address, &post(&path, more), form).await.0, 403, "{more}");
    }
    let own = format!("\r\nOrigin: http://{address}\r\nSec-Fetch-Site: same-origin");
    let guessed = format!("/enter/{}", "0".repeat(32));
    assert_eq!(exchange(&address, &post(&guessed, &own), form).await.0, 404);
    let large = format!("secret={}", "x".repeat(80 * 1024));
    assert_eq!(exchange(&address, &post(&path, &own), &large).await.0, 400);
    assert_eq!(exchange(&address, &post(&path, &own), "secret=").await.0, 400, "it can be tried again");
    assert!(secret(&stage, &id).await.is_none());

    let (code, page) = exchange(&address, &post(&path, &own), form).await;
    assert_eq!(code, 200, "{page}");
    assert!(page.contains("You can close this page") && !page.contains("canary"), "{page}");
    assert_eq!(exchange(&address, &post(&path, &own), form).await.0, 404, "it is used once");

    let stored = secret(&stage, &id).await.expect("is stored");
    assert_eq!(stored.type_.as_deref(), Some("kubernetes.io/basic-auth"));
    assert_eq!(stored.annotations().get("kpack.io/git").map(String::as_str), Some("https://github.com"));
    let data = stored.data.expect("data");
    assert_eq!((&*data["username"].0, &*data["password"].0), (&b"ann"[..], CANARY.as_bytes()));
    let mut seen = led(&stage, &owner, wish(&id)).await.to_string();
    seen += &stage.ask(&owner, "add_git_credential", wish(&id)).await.expect("it is there").to_string();
    let listed = stage.ask(&owner, "list_git_credentials", json!({ "session_id": id })).await.expect("lists");
    assert_eq!(listed["credentials"][0]["host"], "https://github.com");
    seen += &listed.to_string();
    seen += &std::fs::read_to_string(stage.dir.path().join("audit.log")).expect("a trail");
    assert!(seen.contains("\"stored\"") && !seen.contains("canary") && !seen.contains(&entry.id), "{seen}");
    let pages = seen.lines().filter(|line| line.contains("/enter/")).count();
    assert_eq!(pages, 11, "each use of a page leaves a record");
}

#[tokio::test]
async fn agents_may_no_more_with_credentials_than_they_were_given() {
    let stage = Stage::start().await;
    let owner = stage.caller("owner", Role::Session);
    let id = stage.session(&owner).await;
    let reader = stage.caller("reader", Role::ReadOnly);
    let told = refused(stage.ask(&reader, "add_git_credential", wish(&id)).await);
    assert!(told.contains("may not add git credentials"), "{told}");
    let name = json!({ "session_id": id, "name": "hub" });
    let told = refused(stage.ask(&reader, "delete_git_credential", name.clone()).await);
    assert!(told.contains("may not delete git credentials"), "{told}");
    // A Secret that is no credential is neither listed nor deleted, whatever it is called.
    let secrets: Api<Secret> = Api::namespaced(stage.client.clone(), &format!("iaf-{id}"));
    let other = json!({ "metadata": { "name": "git-credential-hub" }, "stringData": { "password": CANARY } });
    let other: Secret = serde_json::from_value(other).expect("a Secret");
    secrets.create(&PostParams::default(), &other).await.expect("is created");
    let listed = stage.ask(&reader, "list_git_credentials", json!({ "session_id": id })).await;
    assert_eq!(listed.expect("may look"), json!({ "credentials": [] }));
    let told = refused(stage.ask(&owner, "delete_git_credential", name).await);
    assert!(told.contains("there is no git credential hub"), "{told}");
    let told = refused(stage.ask(&owner, "add_git_credential", wish(&id)).await);
    assert!(told.contains("there is a git credential hub"), "{told}");
    assert!(secrets.get_opt("git-credential-hub").await.expect("answers").is_some());
}

#[tokio::test]
async fn a_page_stores_nothing_for_a_token_that_was_revoked() {
    let stage = Stage::start().await;
    let gone = stage.stranger("gone");
    let id = stage.session(&gone).await;
    let entry = entry(&stage, &gone, wish(&id)).await;
    let request = Request::post(format!("/enter/{}", entry.id)).header("host", "localhost:7070");
    let request = request.body(Full::new(Bytes::from_static(b"secret=a-token"))).expect("a request");
    assert_eq!(page::answer(&stage.agents, request).await.status(), StatusCode::BAD_REQUEST);
    assert!(secret(&stage, &id).await.is_none());
}

#[tokio::test]
async fn a_private_key_is_stored_for_ssh_and_a_credential_can_be_deleted() {
    let stage = Stage::start().await;
    let owner = stage.caller("owner", Role::Session);
    let id = stage.session(&owner).await;
    let arguments = json!({ "session_id": id, "name": "hub", "host": "git@github.com", "kind": "ssh" });
    let entry = entry(&stage, &owner, arguments.clone()).await;
    let send = async |body: &'static str| {
        let request = Request::post(format!("/enter/{}", entry.id)).header("host", "localhost:7070");
        let request = request.body(Full::new(Bytes::from_static(body.as_bytes()))).expect("a request");
        page::answer(&stage.agents, request).await.status()
    };
    assert_eq!(send("secret=no+key").await, StatusCode::BAD_REQUEST);
    let key = "secret=-----BEGIN+OPENSSH+PRIVATE+KEY-----%0D%0Aabc%0D%0A-----END+OPENSSH+PRIVATE+KEY-----";
    assert_eq!(send(key).await, StatusCode::OK);
    let stored = secret(&stage, &id).await.expect("is stored");
    assert_eq!(stored.type_.as_deref(), Some("kubernetes.io/ssh-auth"));
    assert!(!stored.data.expect("data")["ssh-privatekey"].0.contains(&b'\r'));
    let other = json!({ "session_id": id, "name": "hub", "host": "https://github.com" });
    let told = refused(stage.ask(&owner, "add_git_credential", other).await);
    assert!(told.contains("there is one of that name for git@github.com"), "{told}");
    stage
        .ask(&owner, "delete_git_credential", json!({ "session_id": id, "name": "hub" }))
        .await
        .expect("goes");
    assert!(secret(&stage, &id).await.is_none());
}

#[tokio::test]
async fn a_page_of_a_session_that_has_ended_stores_nothing() {
    let stage = Stage::start().await;
    let owner = stage.caller("owner", Role::Session);
    let id = stage.session(&owner).await;
    let entry = entry(&stage, &owner, wish(&id)).await;
    stage
        .create::<api::foreign::cnpg::Backup>(
            &id,
            "held",
            json!({ "metadata": { "finalizers": ["test/held"] }, "spec": { "cluster": { "name": "db" } } }),
        )
        .await;
    stage.note(&id, json!({ crate::sessions::ENDED: "2026-01-01T00:00:00Z" })).await;
    let request = Request::post(format!("/enter/{}", entry.id)).header("host", "127.0.0.1:7070");
    let request = request.body(Full::new(Bytes::from_static(b"secret=x"))).expect("a request");
    assert_eq!(page::answer(&stage.agents, request).await.status(), StatusCode::BAD_REQUEST);
    assert!(secret(&stage, &id).await.is_none());
}
