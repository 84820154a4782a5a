//! A server that answers what it is told to, and notes what it was asked.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ports::oci::{Error, Live, Oci, digest_of};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::registry;

type Heard = Arc<Mutex<Vec<String>>>;

/// Answers each request by its path and whether it shows a key; an empty answer leaves it waiting.
async fn serve(answer: impl Fn(&str, Option<&str>) -> String + Send + 'static) -> (String, Heard) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback is there");
    let host = listener.local_addr().expect("it is bound").to_string();
    let heard = Heard::default();
    let notes = heard.clone();
    tokio::spawn(async move {
        let mut waiting = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut buffer = vec![0; 8192];
            let count = stream.read(&mut buffer).await.unwrap_or_default();
            let request = String::from_utf8_lossy(&buffer[..count]).into_owned();
            let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
            let key = request.lines().find_map(|line| line.strip_prefix("authorization: "));
            notes.lock().expect("nobody panics").push(format!("{path} {}", key.unwrap_or("-")));
            let said = answer(&path, key);
            if said.is_empty() {
                waiting.push(stream);
            } else {
                let _ = stream.write_all(said.as_bytes()).await;
            }
        }
    });
    (host, heard)
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

fn live() -> Live {
    Live::new().expect("a client").within(Duration::from_secs(5))
}

#[tokio::test]
async fn a_token_is_fetched_with_the_login_and_shown_in_its_place() {
    let (realm, asked) = serve(|_, key| match key {
        Some("Basic YW5uOmh1bnRlcjI=") => answer("200 OK", "", r#"{"token":"t0"}"#),
        _ => answer("401 Unauthorized", "", ""),
    })
    .await;
    let challenge = format!(
        "www-authenticate: Bearer realm=\"http://{realm}/token\",service=\"r\",scope=\"repository:team/shop:pull\"\r\n"
    );
    let (host, heard) = serve(move |_, key| match key {
        Some("Bearer t0") => answer("200 OK", "", r#"{"tags":["1.0.0"]}"#),
        _ => answer("401 Unauthorized", &challenge, ""),
    })
    .await;
    let tags = live().tags(&registry(&host, Some(("ann", "hunter2"))), "shop").await.expect("let in");
    assert_eq!(tags, Some(vec!["1.0.0".to_owned()]));
    let asked = asked.lock().expect("nobody panics").join("\n");
    assert!(asked.starts_with("/token?service=r&scope=repository%3Ateam%2Fshop%3Apull Basic"), "{asked}");
    let heard = heard.lock().expect("nobody panics").join("\n");
    assert!(!heard.contains("Basic"), "the password goes to the realm alone: {heard}");
    let refused = live().tags(&registry(&host, Some(("ann", "wrong"))), "shop").await;
    assert_eq!(refused, Err(Error::Denied { registry: host }));
}

#[tokio::test]
async fn a_blob_elsewhere_is_fetched_without_the_key_and_its_digest_is_checked() {
    let (store, asked) = serve(|_, _| answer("200 OK", "", "hello")).await;
    let to = format!("location: http://{store}/x\r\n");
    let (host, _) = serve(move |_, key| match key {
        Some(_) => answer("307 Temporary Redirect", &to, ""),
        None => answer("401 Unauthorized", "www-authenticate: Basic realm=\"x\"\r\n", ""),
    })
    .await;
    let asks = registry(&host, Some(("ann", "hunter2")));
    let bytes = live().blob(&asks, "shop", &digest_of(b"hello"), 9).await.expect("it is there");
    assert_eq!(&bytes[..], b"hello");
    let wrong = live().blob(&asks, "shop", &digest_of(b"other"), 9).await.expect_err("another digest");
    assert!(matches!(wrong, Error::Garbled { .. }), "{wrong}");
    assert_eq!(*asked.lock().expect("nobody panics"), ["/x -", "/x -"]);
    let away = live().manifest(&asks, "shop", "1.0.0").await.expect_err("only blobs may lie elsewhere");
    assert!(matches!(away, Error::Garbled { .. }), "{away}");
}

#[tokio::test]
async fn every_answer_has_its_meaning() {
    let table = [
        (answer("403 Forbidden", "", ""), "PermissionMissing"),
        (answer("429 Too Many Requests", "retry-after: 7\r\n", ""), "RateLimited"),
        (answer("503 Service Unavailable", "", ""), "RegistryUnreachable"),
        (answer("418 Teapot", "", ""), "AnswerGarbled"),
        (answer("200 OK", "", "no list"), "AnswerGarbled"),
        (answer("200 OK", "link: </v2/x>; rel=\"next\"\r\n", r#"{"tags":[]}"#), "AnswerGarbled"),
        (
            answer("200 OK", "link: <http://127.0.0.1:1/x>; rel=\"next\"\r\n", r#"{"tags":[]}"#),
            "AnswerGarbled",
        ),
        (String::new(), "RegistrySlow"),
    ];
    for (said, want) in table {
        let shown = said.clone();
        let (host, _) = serve(move |_, _| said.clone()).await;
        let client = Live::new()
            .expect("a client")
            .within(Duration::from_millis(if want == "RegistrySlow" { 50 } else { 5000 }));
        let error = client.tags(&registry(&host, None), "shop").await.expect_err("it is no list of tags");
        assert_eq!(error.reason().as_str(), want, "{shown}");
        if want == "RateLimited" {
            assert_eq!(error, Error::Limited { registry: host, wait: Duration::from_secs(7) });
        }
    }
}

#[tokio::test]
async fn all_pages_of_tags_are_read() {
    let (host, _) = serve(|path, _| match path {
        "/v2/team/shop/tags/list?n=1000" => {
            answer("200 OK", "link: </v2/team/shop/tags/list?last=a>; rel=\"next\"\r\n", r#"{"tags":["a"]}"#)
        }
        "/v2/team/shop/tags/list?last=a" => answer("200 OK", "", r#"{"tags":["b"]}"#),
        _ => answer("404 Not Found", "", ""),
    })
    .await;
    let tags = live().tags(&registry(&host, None), "shop").await.expect("it answers");
    assert_eq!(tags, Some(vec!["a".to_owned(), "b".to_owned()]));
}
