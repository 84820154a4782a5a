//! Many agents, large pushes, long logs and slow clients: the platform goes on answering.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::agent::{Agent, address, token};
use crate::platform::{Platform, SOON, wait};

/// How long a good client may wait at worst while others do their worst, on a small machine.
const QUICK: Duration = Duration::from_secs(3);

/// Asks what costs little, and says how long it took.
fn asked(agent: &Agent, session: &str) -> Duration {
    let begun = Instant::now();
    agent.done("list_apps", json!({ "session_id": session }));
    begun.elapsed()
}

#[test]
fn a_token_that_calls_too_often_waits_and_others_do_not() {
    let mut platform = Platform::start(&["--agents-rate", "1"]);
    let hasty = Agent::new(&platform, Some(&token(&platform, "hasty", &["--session"])));
    let calm = Agent::new(&platform, Some(&token(&platform, "calm", &["--session"])));
    let session = hasty.register();
    let answers: Vec<Result<Value, String>> =
        (0..40).map(|_| hasty.call("list_apps", json!({ "session_id": session })).tool()).collect();
    let told = answers.iter().filter_map(|answer| answer.as_ref().err()).next().expect("it is too often");
    assert!(told.contains("too many calls") && told.contains("try again in"), "{told}");
    assert!(answers.iter().filter(|answer| answer.is_ok()).count() >= 9, "some are answered");
    calm.register();
    wait("the hasty one to be heard again", SOON, || {
        hasty.call("list_apps", json!({ "session_id": session })).tool().is_ok().then_some(())
    });
    platform.stop("-TERM");
}

#[test]
fn large_pushes_are_refused_with_their_bounds() {
    let mut platform = Platform::start(&[]);
    let agent = Agent::new(&platform, Some(&token(&platform, "one", &["--session"])));
    let session = agent.register();
    let push = |files: Value| {
        agent.call("push_code", json!({ "session_id": session, "name": "big", "files": files }))
    };
    let line = "0123456789abcdef".repeat(64);
    let large = json!([{ "path": "big.txt", "content": line.repeat(10 * 1024 + 1) }]);
    let words = push(large).tool().expect_err("it is larger than 10 MiB");
    assert!(words.contains("10 MiB"), "{words}");
    let many: Vec<Value> = (0..10_001).map(|n| json!({ "path": format!("f{n}"), "content": "" })).collect();
    let words = push(many.into()).tool().expect_err("they are too many");
    assert!(words.contains("2000") || words.contains("2,000"), "{words}");
    // Larger than any request: ended before it is read.
    let huge = push(json!([{ "path": "x", "content": line.repeat(24 * 1024) }]));
    assert!(huge.code == 413 || huge.code == 0, "{}", huge.code);
    // The largest that is allowed is taken.
    let full: Vec<Value> = (0..10)
        .map(|n| json!({ "path": format!("part-{n}.txt"), "content": line.repeat(1023) }))
        .chain([json!({ "path": "index.html", "content": "hello" })])
        .collect();
    push(full.into()).tool().expect("it is within its bounds");
    assert!(asked(&agent, &session) < QUICK);
    platform.stop("-TERM");
}

#[test]
fn a_long_log_slow_clients_and_two_hundred_agents_leave_the_platform_responsive() {
    let mut platform = Platform::start(&["--agents-rate", "1000"]);
    let agent = Agent::new(&platform, Some(&token(&platform, "one", &["--session"])));
    let session = agent.register();
    let program = "import os, sys\nfrom http.server import HTTPServer, BaseHTTPRequestHandler\n\
        line = 'x' * 1023 + '\\n'\nfor _ in range(200 * 1024): sys.stdout.write(line)\n\
        print('the last line', flush=True)\n\
        HTTPServer(('127.0.0.1', int(os.environ['PORT'])), BaseHTTPRequestHandler).serve_forever()\n";
    let files = json!([{ "path": "app.py", "content": program }, { "path": "requirements.txt", "content": "" },
                       { "path": "Procfile", "content": "web: python3 app.py\n" }]);
    agent.done("push_code", json!({ "session_id": session, "name": "wordy", "files": files }));

    // Clients that never finish a request.
    let slow: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut socket = TcpStream::connect(address(&platform)).expect("the door is open");
            socket.write_all(b"POST /mcp HTTP/1.1\r\nHost: x\r\nX-Slow: ").expect("it listens");
            socket
        })
        .collect();
    let text = wait("the end of a long log", SOON, || {
        let logs = agent.call("app_logs", json!({ "session_id": session, "name": "wordy", "lines": 1000 }));
        let text = logs.tool().ok()?["text"].as_str()?.to_owned();
        text.contains("the last line").then_some(text)
    });
    assert!(text.len() < 40 * 1024, "{} bytes", text.len());

    let mut slowest = Duration::ZERO;
    std::thread::scope(|scope| {
        let others: Vec<_> = (0..200)
            .map(|_| {
                let (agent, session) = (&agent, &session);
                scope.spawn(move || {
                    for _ in 0..3 {
                        agent.done("app_status", json!({ "session_id": session, "name": "wordy" }));
                    }
                })
            })
            .collect();
        while others.iter().any(|other| !other.is_finished()) {
            slowest = slowest.max(asked(&agent, &session));
        }
    });
    assert!(slowest < QUICK, "a good client waited {slowest:?}");
    // The slow ones are sent away.
    for mut socket in slow {
        socket.set_read_timeout(Some(SOON)).expect("it can be set");
        let mut rest = Vec::new();
        socket.read_to_end(&mut rest).expect("it is ended by the platform");
    }
    assert!(resident(platform.pid()) < 600, "{} MiB", resident(platform.pid()));
    platform.stop("-TERM");
}

/// The memory of a process, in MiB.
fn resident(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it is told");
    line.trim().split(' ').next().and_then(|kib| kib.parse::<u64>().ok()).expect("a number") / 1024
}
