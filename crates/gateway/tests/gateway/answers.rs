//! What clients and backends see of each other when all is well, and what the gateway itself says.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::FutureExt;
use gateway::{Body, Doors, PlatformAnswer, Route, Settings};

use crate::stage::{Answer, Backend, Stage, Then, exchange, route, table, text, until};

/// Answers with the head it was sent.
async fn mirror() -> Backend {
    Backend::new(|request, _| (text(request), Then::Stay)).await
}

#[tokio::test]
async fn a_backend_sees_the_request_and_who_sent_it() {
    let backend = mirror().await;
    let stage = Stage::shop(&[backend.address]).await;
    let request = "GET /a%20b?c=d HTTP/1.1\r\nHost: Shop.Test:8080\r\nX-Forwarded-For: 6.6.6.6\r\nX-Real-IP: 6.6.6.6\r\n\
        Connection: close, X-Hop\r\nX-Hop: 1\r\nX-Stays: yes\r\n\r\n";
    let answer = stage.ask(request).await;
    let seen = answer.body.to_lowercase();
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(seen.starts_with("get /a%20b?c=d http/1.1\r\n"), "{seen}");
    for line in [
        "host: shop.test:8080",
        "x-forwarded-for: 127.0.0.1",
        "x-forwarded-host: shop.test:8080",
        "x-forwarded-proto: http",
        "x-stays: yes",
    ] {
        assert!(seen.lines().any(|there| there == line), "{line} is missing in {seen}");
    }
    for gone in ["6.6.6.6", "x-hop", "connection:"] {
        assert!(!seen.contains(gone), "{gone} went through: {seen}");
    }
}

#[tokio::test]
async fn a_host_is_the_same_however_it_is_written() {
    let backend = Backend::named("shop").await;
    let stage = Stage::shop(&[backend.address]).await;
    let table = [
        ("GET / HTTP/1.1\r\nHost: shop.test\r\n", 200),
        ("GET / HTTP/1.1\r\nHost: shop.test:81\r\n", 200),
        ("GET / HTTP/1.1\r\nHost: SHOP.test.\r\n", 200),
        ("GET http://shop.test/x HTTP/1.1\r\nHost: shop.test\r\n", 200),
        ("GET http://shop.test/x HTTP/1.1\r\nHost: other.test\r\n", 200),
        ("GET http://other.test/x HTTP/1.1\r\nHost: shop.test\r\n", 404),
        ("GET / HTTP/1.1\r\nHost: other.test\r\n", 404),
        ("GET / HTTP/1.1\r\nHost: x.shop.test\r\n", 404),
        ("GET / HTTP/1.1\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: shop.test\r\nHost: shop.test\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a b\r\n", 400),
        ("GET / HTTP/1.1\r\nHost:\r\n", 400),
        ("CONNECT shop.test:80 HTTP/1.1\r\nHost: shop.test:80\r\n", 405),
        ("OPTIONS * HTTP/1.1\r\nHost: shop.test\r\n", 200),
    ];
    for (request, want) in table {
        let answer = stage.ask(&format!("{request}Connection: close\r\n\r\n")).await;
        assert_eq!(answer.status, want, "{request} {answer:?}");
    }
}

#[tokio::test]
async fn an_absolute_target_goes_on_as_a_path_with_its_own_host() {
    let backend = mirror().await;
    let stage = Stage::shop(&[backend.address]).await;
    let answer = stage
        .ask("GET http://shop.test:99/x?y HTTP/1.1\r\nHost: liar.test\r\nConnection: close\r\n\r\n")
        .await;
    assert!(answer.body.starts_with("GET /x?y HTTP/1.1\r\n"), "{answer:?}");
    assert!(answer.body.to_lowercase().contains("\r\nhost: shop.test:99\r\n"), "{answer:?}");
    assert!(!answer.body.contains("liar"), "{answer:?}");
}

#[tokio::test]
async fn pages_say_what_happened() {
    let stage = Stage::new(Settings {
        hold_timeout: Duration::from_millis(50),
        https_port: 8443,
        ..Settings::default()
    })
    .await;
    let safe = Route { doors: Doors::HTTPS, ..route("safe.test", &[]) };
    stage.gateway.follow(table(vec![route("empty.test", &[]), safe]));
    let get = |host: &str| format!("GET /a?b HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    let unknown = stage.ask(&get("nobody.test")).await;
    assert_eq!((unknown.status, &*unknown.body), (404, "Terrace: no application answers at nobody.test\n"));
    let empty = stage.ask(&get("empty.test")).await;
    assert_eq!(empty.status, 503, "{empty:?}");
    assert!(empty.body.contains("demo/empty") && empty.head.contains("retry-after: 5"), "{empty:?}");
    let safe = stage.ask(&get("safe.test:8080")).await;
    assert_eq!(safe.status, 308, "{safe:?}");
    assert!(safe.head.contains("location: https://safe.test:8443/a?b"), "{safe:?}");
}

#[tokio::test]
async fn connections_to_a_backend_are_kept_and_dropped_when_it_leaves() {
    let backend = Backend::named("shop").await;
    let stage = Stage::shop(&[backend.address]).await;
    for _ in 0..10 {
        assert_eq!(stage.get("/").await.body, "shop");
    }
    assert_eq!(backend.connections.load(Ordering::SeqCst), 1);
    assert_eq!(backend.open.load(Ordering::SeqCst), 1);
    stage.follow(&[]);
    until("the idle connection is closed", || backend.open.load(Ordering::SeqCst) == 0).await;
}

#[tokio::test]
async fn backends_take_turns() {
    let backends = [Backend::named("a").await, Backend::named("b").await, Backend::named("c").await];
    let stage = Stage::shop(&backends.each_ref().map(|backend| backend.address)).await;
    for _ in 0..9 {
        assert_eq!(stage.get("/").await.status, 200);
    }
    assert_eq!(backends.each_ref().map(Backend::requests), [3, 3, 3]);
}

#[tokio::test]
async fn the_platform_is_asked_about_what_is_nobodys() {
    let platform = |request: http::Request<hyper::body::Incoming>| {
        async move {
            if request.uri().path() == "/healthz" {
                return PlatformAnswer::Mine(http::Response::new(Body::full("ok")));
            }
            PlatformAnswer::NotMine(request)
        }
        .boxed()
    };
    let stage = Stage::new(Settings { platform: Some(Arc::new(platform)), ..Settings::default() }).await;
    let (shop, any) = (Backend::named("shop").await, Backend::named("any").await);
    let anybody = Route { path_prefix: "/any".to_owned(), ..route("", &[any.address]) };
    stage.gateway.follow(table(vec![route("shop.test", &[shop.address]), anybody]));
    let rows = [
        ("127.0.0.1", "/healthz", "ok"),
        ("localhost", "/healthz", "ok"),
        ("[::1]:80", "/healthz", "ok"),
        ("nobody.test", "/healthz", "ok"),
        ("shop.test", "/healthz", "shop"),
        ("127.0.0.1", "/any/healthz", "any"),
        ("127.0.0.1", "/", "Terrace: no application answers at 127.0.0.1\n"),
    ];
    for (host, path, want) in rows {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        assert_eq!(Answer::from(exchange(stage.address, &request).await).body, want, "{host}{path}");
    }
}

#[tokio::test]
async fn numbers_are_counted() {
    let backend = Backend::named("shop").await;
    let stage = Stage::shop(&[backend.address]).await;
    stage.get("/").await;
    exchange(stage.address, "GET / HTTP/1.1\r\nHost: nobody.test\r\nConnection: close\r\n\r\n").await;
    let metrics = stage.gateway.metrics();
    for line in [
        "terrace_gateway_requests_total{code=\"2xx\"} 1",
        "terrace_gateway_requests_total{code=\"4xx\"} 1",
        "terrace_gateway_answer_seconds_count 2",
        "terrace_gateway_in_flight 0",
    ] {
        assert!(metrics.lines().any(|there| there == line), "{line} is missing in {metrics}");
    }
}
