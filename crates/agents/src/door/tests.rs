//! Clients that mean no good, or are only slow, over real sockets.

use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::stage::{Heard, SOON, Setting, Stage, hear};
use super::{Patience, REQUEST_MAX};
use crate::audit::Outcome;
use crate::identity::Presented;
use crate::server::Asked;
use crate::tool::{Progress, Stop};

/// Short enough for tests, and long enough for a busy machine to send a whole request in.
const SHORT: Duration = Duration::from_millis(400);

async fn impatient() -> Stage {
    let patience = Patience { head: SHORT, idle: SHORT, body: SHORT, ..Patience::default() };
    Stage::start(Setting { patience, ..Setting::default() }).await
}

/// Sends a byte now and then until the server has had enough, and tells what it said.
async fn drip(mut stream: TcpStream, first: &[u8], byte: u8) -> Heard {
    stream.write_all(first).await.expect("the first bytes are taken");
    let (mut reader, mut writer) = stream.into_split();
    let dripping = async move {
        let mut ticks = tokio::time::interval(Duration::from_millis(20));
        while writer.write_all(&[byte]).await.is_ok() {
            ticks.tick().await;
        }
        std::future::pending::<()>().await;
    };
    let mut bytes = Vec::new();
    tokio::select! {
        _ = reader.read_to_end(&mut bytes) => {}
        () = dripping => {}
        () = tokio::time::sleep_until(tokio::time::Instant::now() + SOON) => panic!("it was never ended"),
    }
    let head = String::from_utf8_lossy(&bytes).into_owned();
    let code = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_default();
    Heard { code, head, body: String::new() }
}

#[tokio::test]
async fn a_head_that_never_ends_is_not_waited_for() {
    let stage = impatient().await;
    let settings = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    // A frame of headers that promises 100 bytes.
    let headers = [settings.as_slice(), b"\0\0\x64\x01\x04\0\0\0\x01"].concat();
    let table: [(&str, &[u8]); 5] = [
        ("nothing", b""),
        ("a word of HTTP/1", b"GET"),
        ("a header of HTTP/1", b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: "),
        ("the beginning of HTTP/2", b"PRI * HT"),
        ("a frame of HTTP/2", &headers),
    ];
    for (what, first) in table {
        let began = Instant::now();
        let quiet = async {
            let mut stream = stage.connect().await;
            stream.write_all(first).await.expect("is taken");
            hear(stream).await
        };
        let (heard, _) = tokio::join!(drip(stage.connect().await, first, b'x'), quiet);
        assert!(heard.code == 0 || heard.code == 400, "{what}: {heard:?}");
        assert!(began.elapsed() < SHORT * 10, "{what}: {:?}", began.elapsed());
    }
}

#[tokio::test]
async fn a_body_that_never_ends_is_not_waited_for() {
    let stage = impatient().await;
    for path in ["/mcp", "/api/v1/applications?session=a"] {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: 100000\r\n\r\n{{",
            stage.token
        );
        let heard = drip(stage.connect().await, head.as_bytes(), b' ').await;
        assert_eq!(heard.code, 408, "{path}: {heard:?}");
    }
}

#[tokio::test]
async fn a_connection_that_is_quiet_for_long_is_ended_and_a_busy_one_is_kept() {
    let stage = impatient().await;
    let mut stream = stage.connect().await;
    let request = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let mut buffer = [0; 4096];
    for _ in 0..3 {
        stream.write_all(request).await.expect("is taken");
        let size = stream.read(&mut buffer).await.expect("an answer");
        assert!(buffer[..size].starts_with(b"HTTP/1.1 200"));
    }
    let ended = tokio::time::timeout(SOON, stream.read(&mut buffer)).await.expect("it is ended");
    assert_eq!(ended.unwrap_or(0), 0);
}

#[tokio::test]
async fn two_thousand_idle_connections_keep_nobody_from_an_answer() {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).expect("a limit");
    setrlimit(Resource::RLIMIT_NOFILE, hard.min(16_384), hard)
        .expect("both ends of all connections are ours");
    let stage = Stage::start(Setting::default()).await;
    let mut idle = Vec::new();
    for _ in 0..2_000 {
        idle.push(stage.connect().await);
    }
    let mut slowest = Duration::ZERO;
    for _ in 0..20 {
        let began = Instant::now();
        assert_eq!(stage.get("/health").await.code, 200);
        slowest = slowest.max(began.elapsed());
    }
    println!("slowest answer beside 2,000 idle connections: {slowest:?}");
    assert!(slowest < Duration::from_secs(2), "{slowest:?}");
    // The oldest had to leave: there are 1,024 seats.
    for stream in &mut idle[..900] {
        let read = tokio::time::timeout(SOON, stream.read(&mut [0])).await.expect("it was ended");
        assert_eq!(read.unwrap_or(0), 0);
    }
}

#[tokio::test]
async fn what_is_too_large_or_meant_for_others_is_refused() {
    let stage = Stage::start(Setting::default()).await;
    let token = &stage.token;
    let large = "x".repeat(64 * 1024);
    let over = REQUEST_MAX + 1;
    let own = stage.address;
    let table = [
        ("GET /health HTTP/1.1\r\nHost: localhost\r\n".to_owned(), 200),
        (format!("GET /health HTTP/1.1\r\nHost: {own}\r\nOrigin: http://{own}\r\n"), 200),
        (format!("GET /health HTTP/1.1\r\nHost: localhost\r\nX: {large}\r\n"), 431),
        ("GET /health HTTP/1.1\r\nHost: evil.example\r\n".to_owned(), 421),
        ("GET /health HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n".to_owned(), 403),
        ("GET /health HTTP/1.1\r\n".to_owned(), 400),
        ("GET /nowhere HTTP/1.1\r\nHost: localhost\r\n".to_owned(), 404),
        ("GET /mcp HTTP/1.1\r\nHost: localhost\r\n".to_owned(), 401),
        ("GET /api/v1/applications HTTP/1.1\r\nHost: localhost\r\n".to_owned(), 401),
        ("GET /api/v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n".to_owned(), 200),
        ("GET /mcp HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer x\r\n".to_owned(), 421),
        (
            format!(
                "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Length: {over}\r\n"
            ),
            413,
        ),
    ];
    for (row, (head, want)) in table.into_iter().enumerate() {
        let heard = stage.say(format!("{head}Connection: close\r\n\r\n").as_bytes()).await;
        assert_eq!(heard.code, want, "row {row}: {heard:?}");
        // The server's own words about a head that it could not read have no others.
        if want != 431 {
            assert_eq!(heard.header("x-content-type-options"), Some("nosniff"), "row {row}: {heard:?}");
        }
    }
}

#[tokio::test]
async fn a_body_without_a_length_is_read_no_further_than_it_may_be() {
    let stage = Stage::start(Setting::default()).await;
    let head = format!(
        "POST /api/v1/applications?session=a HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        stage.token
    );
    let (mut reader, mut writer) = stage.connect().await.into_split();
    let chunk = format!("100000\r\n{}\r\n", " ".repeat(0x10_0000)).into_bytes();
    let sending = async move {
        writer.write_all(head.as_bytes()).await?;
        for _ in 0..=REQUEST_MAX / 0x10_0000 {
            writer.write_all(&chunk).await?;
        }
        std::future::pending::<std::io::Result<()>>().await
    };
    let mut first = [0; 12];
    let answered = async {
        tokio::select! { read = reader.read_exact(&mut first) => read.map(drop), sent = sending => sent }
    };
    tokio::time::timeout(SOON, answered).await.expect("in time").expect("an answer");
    assert_eq!(&first, b"HTTP/1.1 413");
}

#[tokio::test]
async fn who_asks_too_often_is_told_when_to_come_back_and_leaves_few_records() {
    let stage = Stage::start(Setting { burst: 3, ..Setting::default() }).await;
    let codes = async |count: usize, ask: &dyn Fn() -> Vec<u8>| {
        let mut codes = Vec::new();
        for _ in 0..count {
            let heard = stage.say(&ask()).await;
            if heard.code == 429 {
                let seconds: u64 =
                    heard.header("retry-after").and_then(|after| after.parse().ok()).expect("seconds");
                assert!((1..=2).contains(&seconds), "{heard:?}");
            }
            codes.push(heard.code);
        }
        codes
    };
    let head = "GET /api/v1/applications HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    let unknown = || format!("{head}Authorization: Bearer {:?}\r\n\r\n", Instant::now()).into_bytes();
    assert_eq!(codes(30, &unknown).await[..3], [401; 3]);
    let known = || format!("{head}Authorization: Bearer {}\r\n\r\n", stage.token).into_bytes();
    let heard = codes(30, &known).await;
    assert_eq!((heard[0], heard.last()), (400, Some(&429)), "{heard:?}");
    // Tools share what the token has.
    let caller = stage.agents.caller(&Presented::new(&stage.token)).expect("known");
    let asked = Asked { tool: "register".into(), ..Asked::default() };
    let stopped = stage.agents.run(&caller, asked, Progress::default()).await.expect_err("too often");
    assert!(matches!(&stopped, Stop::Wrong(error) if error.word() == "TooOften"), "{stopped:?}");
    let trail = stage.trail();
    assert!(trail.iter().all(|link| link.record.outcome != Outcome::Done));
    let counted = |link: &&crate::audit::Link| {
        link.record.reason.as_deref().is_some_and(|reason| reason.starts_with("TooOften"))
    };
    let floods = trail.iter().filter(counted).count();
    assert!((2..20).contains(&floods), "{floods} records of {} are about floods", trail.len());
}
