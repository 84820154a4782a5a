//! What a client does not notice, and what it is told when that cannot be helped.

use std::time::Duration;

use gateway::Settings;

use crate::stage::{Backend, Stage, Then, listener, route, table, text, until};

const POST: &str = "POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi";

fn silent() -> (String, Then) {
    (String::new(), Then::Close)
}

#[tokio::test]
async fn a_request_waits_for_a_backend_to_appear() {
    let stage = Stage::shop(&[]).await;
    let backend = Backend::named("late").await;
    let (gateway, address) = (stage.gateway.clone(), backend.address);
    let appear = async {
        until("the request is held", || gateway.metrics().contains("terrace_gateway_held 1\n")).await;
        gateway.follow(table(vec![route("shop.test", &[address])]));
    };
    let (answer, ()) = tokio::join!(stage.get("/"), appear);
    assert_eq!((answer.status, &*answer.body), (200, "late"));
}

#[tokio::test]
async fn only_so_many_requests_are_held() {
    let stage = Stage::new(Settings { held_max: 1, ..Settings::default() }).await;
    stage.follow(&[]);
    let backend = Backend::named("late").await;
    let second = async {
        until("the first is held", || stage.gateway.metrics().contains("terrace_gateway_held 1\n")).await;
        let answer = stage.get("/").await;
        stage.follow(&[backend.address]);
        answer
    };
    let (first, second) = tokio::join!(stage.get("/"), second);
    assert_eq!((first.status, second.status), (200, 503));
}

#[tokio::test]
async fn a_refused_connection_goes_to_another_backend() {
    let (gone, refused) = listener().await;
    drop(gone);
    let backend = Backend::named("alive").await;
    let stage = Stage::shop(&[refused, backend.address]).await;
    for _ in 0..6 {
        assert_eq!(stage.get("/").await.body, "alive");
        assert_eq!(stage.ask(POST).await.body, "alive");
    }
}

#[tokio::test]
async fn while_all_refuse_the_table_is_watched() {
    let (gone, refused) = listener().await;
    drop(gone);
    let stage = Stage::shop(&[refused]).await;
    let backend = Backend::named("next").await;
    let change = async {
        until("a try failed", || !stage.gateway.metrics().contains("terrace_gateway_retries_total 0\n"))
            .await;
        stage.follow(&[backend.address]);
    };
    let (answer, ()) = tokio::join!(stage.ask(POST), change);
    assert_eq!((answer.status, &*answer.body), (200, "next"));
}

#[tokio::test]
async fn when_all_go_on_refusing_the_client_is_told() {
    let (gone, refused) = listener().await;
    drop(gone);
    let stage =
        Stage::new(Settings { retry_window: Duration::from_millis(100), ..Settings::default() }).await;
    stage.follow(&[refused]);
    let answer = stage.get("/").await;
    assert_eq!(answer.status, 502, "{answer:?}");
    assert!(answer.body.contains("demo/shop accepts connections"), "{answer:?}");
}

#[tokio::test]
async fn a_get_that_killed_its_backend_is_asked_elsewhere_and_a_post_is_not() {
    let dying = Backend::new(|_, _| silent()).await;
    let alive = Backend::named("alive").await;
    let stage = Stage::shop(&[dying.address, alive.address]).await;
    for _ in 0..4 {
        assert_eq!(stage.get("/").await.body, "alive");
    }
    let before = dying.requests();
    let answers = [stage.ask(POST).await.status, stage.ask(POST).await.status];
    assert_eq!(dying.requests() - before, 1, "each backend had its turn, and nothing came twice");
    assert!(answers.contains(&200) && answers.contains(&502), "{answers:?}");
}

#[tokio::test]
async fn a_connection_that_was_closed_while_idle_costs_nothing() {
    for then in [Then::Close, Then::Reset] {
        let backend = Backend::new(move |_, _| (text("once"), then)).await;
        let stage = Stage::shop(&[backend.address]).await;
        for round in 0..20 {
            assert_eq!(stage.get("/").await.body, "once", "{then:?} {round}");
            assert_eq!(stage.ask(POST).await.body, "once", "{then:?} {round}");
        }
        assert_eq!(backend.requests(), 40, "nothing came twice");
    }
}

#[tokio::test]
async fn a_reused_connection_that_dies_is_tried_afresh() {
    // Reads the second request of a connection and goes: a backend that closed in the very moment looks like this.
    let backend =
        Backend::new(|_, number| if number == 1 { silent() } else { (text("well"), Then::Stay) }).await;
    let stage = Stage::shop(&[backend.address]).await;
    let empty_post = "POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    for _ in 0..4 {
        assert_eq!(stage.get("/").await.body, "well");
        assert_eq!(stage.ask(empty_post).await.body, "well");
    }
    assert!(!stage.gateway.metrics().contains("terrace_gateway_retries_total 0\n"), "a retry is counted");
}

#[tokio::test]
async fn what_is_no_http_and_what_comes_too_late_is_said() {
    let noise = Backend::new(|_, _| ("220 mail ready\r\n\r\n".to_owned(), Then::Close)).await;
    let stage =
        Stage::new(Settings { answer_timeout: Duration::from_millis(50), ..Settings::default() }).await;
    stage.follow(&[noise.address]);
    let answer = stage.ask(POST).await;
    assert_eq!(answer.status, 502, "{answer:?}");
    assert!(answer.body.contains("is no HTTP"), "{answer:?}");
    let mute = Backend::new(|_, _| (String::new(), Then::Stay)).await;
    stage.follow(&[mute.address]);
    let answer = stage.get("/").await;
    assert_eq!(answer.status, 504, "{answer:?}");
    assert!(answer.body.contains("did not begin its answer"), "{answer:?}");
}
