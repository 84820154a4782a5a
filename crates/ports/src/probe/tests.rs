//! What probes find, with a clock that the test moves.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::{Check, Fake, Finding, Live, Probe, Prober, Purpose, Rounds};

const SECOND: Duration = Duration::from_secs(1);

fn probe(purpose: Purpose) -> Probe {
    let check = Check::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 1)));
    Probe {
        purpose,
        check,
        delay: Duration::ZERO,
        period: 10 * SECOND,
        timeout: SECOND,
        successes: 1,
        failures: 3,
    }
}

/// Moves the clock, which stands still otherwise, past all that happens on the way.
async fn let_pass(by: Duration) {
    let never = tokio::time::timeout(by, std::future::pending::<()>()).await;
    assert!(never.is_err());
}

fn passes(rounds: &Rounds<Fake>, purpose: Purpose) -> Option<bool> {
    rounds.found("run").and_then(|found| found[&purpose].passes)
}

#[tokio::test(start_paused = true)]
async fn a_program_is_ready_soon_after_it_answers_and_not_after_a_single_bad_answer() {
    let answers = Fake::default();
    answers.answer(Err("nothing listens on port 1"));
    let rounds = Rounds::new(answers.clone());
    let mut changes = rounds.changes();
    rounds.begin("run", vec![probe(Purpose::Readiness)]);
    let_pass(SECOND / 2).await;
    assert_eq!(rounds.found("run").expect("it goes its rounds")[&Purpose::Readiness], Finding::default());
    answers.answer(Ok(()));
    let_pass(SECOND).await;
    assert_eq!(passes(&rounds, Purpose::Readiness), Some(true));
    assert_eq!(changes.try_recv().as_deref(), Ok("run"));
    answers.answer(Err("no answer"));
    let_pass(15 * SECOND).await;
    assert_eq!(passes(&rounds, Purpose::Readiness), Some(true));
    let_pass(20 * SECOND).await;
    let found = rounds.found("run").expect("it goes its rounds");
    let want = Finding { passes: Some(false), trouble: Some("no answer".into()) };
    assert_eq!(found[&Purpose::Readiness], want);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_asked_before_a_program_has_started_and_eager_questions_are_no_failures() {
    let answers = Fake::default();
    answers.answer(Err("not yet"));
    let rounds = Rounds::new(answers.clone());
    rounds.begin("run", vec![probe(Purpose::Startup), probe(Purpose::Liveness)]);
    let_pass(15 * SECOND).await;
    assert_eq!(passes(&rounds, Purpose::Startup), None);
    answers.answer(Ok(()));
    let_pass(11 * SECOND).await;
    assert_eq!(passes(&rounds, Purpose::Startup), Some(true));
    assert_eq!(passes(&rounds, Purpose::Liveness), Some(true));
    answers.answer(Err("dead"));
    let_pass(35 * SECOND).await;
    assert_eq!(passes(&rounds, Purpose::Liveness), Some(false));
    rounds.end("run");
    assert_eq!(rounds.found("run"), None);
    assert!(rounds.list().is_empty());
}

#[tokio::test]
async fn real_questions_have_real_answers() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port is free");
    let address = listener.local_addr().expect("it has an address");
    let served = tokio::spawn(async move {
        loop {
            let Ok((mut stream, _)) = listener.accept().await else { return };
            let mut question = [0; 512];
            let read = stream.read(&mut question).await.unwrap_or(0);
            let bad = String::from_utf8_lossy(&question[..read]).starts_with("GET /bad ");
            let answer: &[u8] = if bad { b"HTTP/1.1 503 No\r\n\r\n" } else { b"HTTP/1.1 204 Yes\r\n\r\n" };
            let _ = stream.write_all(answer).await;
        }
    });
    let http = |path: &str| Check::Http { address, path: path.into(), headers: vec![] };
    let exec = |command: &[&str]| Check::Exec {
        command: command.iter().map(|&word| word.to_owned()).collect(),
        directory: "/".into(),
        env: [("PATH".to_owned(), "/usr/bin:/bin".to_owned().into())].into(),
        user: None,
    };
    let gone = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    let silent = gone.local_addr().expect("it has an address");
    drop(gone);
    let table = [
        (Check::Tcp(address), "fine".to_owned()),
        (http("/"), "fine".to_owned()),
        (http("/bad"), format!("/bad on port {} answered 503", address.port())),
        (Check::Tcp(silent), format!("nothing listens on port {}", silent.port())),
        (exec(&["true"]), "fine".to_owned()),
        (exec(&["false"]), "`false` ended with code 1".to_owned()),
        (exec(&["sleep", "60"]), "no answer within 2 s".to_owned()),
    ];
    for (check, want) in table {
        let answer = Live.ask(&check, 2 * SECOND).await;
        assert_eq!(answer.err().unwrap_or_else(|| "fine".into()), want);
    }
    served.abort();
}
