//! A line to AWS that is bad in every way a line can be, beside one that is good.

use std::sync::Arc;
use std::time::{Duration, Instant};

use api::infra::SQSQueue;
use kit::Name;
use ports::aws::Settings;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::ground::Ground;
use crate::home::Home;
use crate::proxy::{Fate, Heard, Proxy};

/// The SDK tries again as it does by itself; only its patience is shorter.
fn settings() -> Settings {
    Settings {
        connect_timeout: Duration::from_secs(1),
        attempt_timeout: Duration::from_secs(2),
        call_timeout: Duration::from_secs(5),
        ..Settings::default()
    }
}

/// One way in which a line is bad.
struct Bad {
    /// The provider and its queue are called so.
    name: &'static str,
    /// What is done to every request to SQS; `None` is a line on which nobody listens.
    fate: Option<Fate>,
    /// What the condition says then: one of these.
    reasons: &'static [&'static str],
}

pub fn json_answer(status: u16, code: &str) -> Fate {
    Fate::Answer {
        status,
        headers: "Content-Type: application/x-amz-json-1.0\r\n".into(),
        body: json!({ "__type": format!("com.amazonaws.sqs#{code}"), "message": "said so" }).to_string(),
    }
}

fn bare(status: u16, body: &str) -> Fate {
    Fate::Answer { status, headers: "Content-Type: text/html\r\n".into(), body: body.into() }
}

fn every_way() -> Vec<Bad> {
    let silent: &[&str] = &["EndpointUnreachable"];
    let bad = |name, fate, reasons| Bad { name, fate: Some(fate), reasons };
    vec![
        bad("throttled", json_answer(400, "ThrottlingException"), &["ThrottlingException"]),
        bad("toomany", bare(429, ""), &["TooManyRequests"]),
        bad("slowdown", json_answer(503, "SlowDown"), &["SlowDown"]),
        bad("broken", bare(500, "<html>oops</html>"), &["InternalError"]),
        bad("overloaded", bare(503, ""), &["ServiceUnavailable"]),
        bad("expired", json_answer(403, "ExpiredTokenException"), &["ExpiredTokenException"]),
        bad("denied", bare(403, "<Error><Code>AccessDenied</Code></Error>"), &["AccessDenied"]),
        // A service that speaks JSON, behind somebody who speaks XML.
        bad("strange", bare(403, "<E><Code>AuthFailure</Code><Message>no</Message></E>"), &["AuthFailure"]),
        bad("late", json_answer(400, "RequestExpired"), &["RequestExpired"]),
        bad("skewed", json_answer(403, "RequestTimeTooSkewed"), &["RequestTimeTooSkewed"]),
        bad("unsigned", json_answer(403, "SignatureDoesNotMatch"), &["SignatureDoesNotMatch"]),
        bad("silent", Fate::Silence, silent),
        bad("half", Fate::Half, &["EndpointUnreachable", "UnreadableAnswer"]),
        bad("garbage", bare(200, "{]"), &["UnreadableAnswer"]),
        Bad { name: "dead", fate: None, reasons: silent },
    ]
}

pub fn to_sqs(heard: &Heard) -> bool {
    heard.action.contains("Queue")
}

/// The most requests that a queue may make within a time: each pass gives up at its first call, which the SDK tries three
/// times.
fn most_calls(within: Duration) -> usize {
    const ATTEMPTS: usize = 3;
    most_passes(within) * ATTEMPTS
}

/// The most passes over a queue that fail within a time: they are further and further apart.
pub fn most_passes(within: Duration) -> usize {
    // Half of the first pause of 250 ms, which doubles.
    let (mut passes, mut pause, mut sum) = (1, Duration::from_millis(125), Duration::ZERO);
    while sum < within {
        sum += pause;
        pause = (pause * 2).min(Duration::from_secs(30));
        passes += 1;
    }
    // One more for the change of the spec, which makes a pass at once.
    passes + 1
}

pub async fn bad_lines_delay_nobody_else_and_are_got_over(ground: &Arc<Ground>) {
    ground.reset();
    let home = Home::open(settings()).await;
    let mut lines = Vec::new();
    for bad in every_way() {
        let proxy = Proxy::new(&ground.endpoint).await;
        home.provider(bad.name, &proxy.endpoint).await;
        home.queue(bad.name, bad.name, json!({ "delaySeconds": 1 })).await;
        lines.push((bad, proxy));
    }
    home.provider("good", &ground.endpoint).await;
    for (bad, _) in &lines {
        home.until_met(bad.name).await;
    }
    let begun = Instant::now();
    for (bad, proxy) in &lines {
        proxy.take();
        match bad.fate.clone() {
            Some(fate) => proxy.rule(move |heard| to_sqs(heard).then(|| fate.clone())),
            None => proxy.close(),
        }
        let patch = json!({ "spec": { "delaySeconds": 2 } });
        home.bench.patch::<SQSQueue>(&Name::new("default", bad.name), patch).await;
    }
    // While all of them are bad, the good one works.
    home.queue("good", "good", json!({ "delaySeconds": 3 })).await;
    home.until_met("good").await;
    println!(
        "       a good line serves within {:.1} s beside {} bad ones",
        begun.elapsed().as_secs_f64(),
        lines.len()
    );
    for (bad, _) in &lines {
        let told = async || {
            let (ready, synced) = home.queue_says(bad.name).await;
            assert!(
                ready.starts_with("True/Available"),
                "{}: what was ready is so as far as anybody knows: {ready}",
                bad.name
            );
            bad.reasons.iter().any(|reason| synced.starts_with(&format!("False/{reason}: ")))
        };
        home.until(&format!("{} says {:?}", bad.name, bad.reasons), told).await;
    }
    let within = begun.elapsed();
    for (bad, proxy) in &lines {
        let calls = proxy.heard().iter().filter(|heard| to_sqs(heard)).count();
        assert!(calls > 0 || bad.fate.is_none(), "{}: nobody called", bad.name);
        let most = most_calls(within);
        assert!(calls <= most, "{}: {calls} calls in {within:?}, more than {most}", bad.name);
        match bad.fate {
            Some(_) => proxy.relent(),
            None => proxy.open().await,
        }
    }
    for (bad, _) in &lines {
        home.until_met(bad.name).await;
        let asked = json!({ "QueueUrl": format!("{}/123456789012/{}", ground.endpoint, bad.name), "AttributeNames": ["DelaySeconds"] });
        let seen = ground.ask("sqs", "get_queue_attributes", asked);
        assert_eq!(seen["Attributes"]["DelaySeconds"], "2", "{}", bad.name);
    }
    let metrics = home.metrics.encode();
    for line in [
        r#"terrace_aws_calls_total{service="SQS",operation="GetQueueUrl",outcome="ok"}"#,
        r#"terrace_aws_calls_total{service="SQS",operation="GetQueueUrl",outcome="refused"}"#,
        r#"terrace_aws_calls_total{service="SQS",operation="GetQueueUrl",outcome="broken"}"#,
        r#"terrace_aws_calls_total{service="SQS",operation="GetQueueUrl",outcome="silent"}"#,
        r#"terrace_aws_calls_total{service="STS",operation="GetCallerIdentity",outcome="ok"}"#,
    ] {
        assert!(metrics.contains(line), "{line} is missing in\n{metrics}");
    }
}

pub async fn a_clock_that_is_wrong_is_corrected(ground: &Arc<Ground>) {
    const AHEAD: jiff::SignedDuration = jiff::SignedDuration::from_hours(1);
    ground.reset();
    let (home, proxy) = (Home::open(settings()).await, Proxy::new(&ground.endpoint).await);
    // AWS's clock is an hour ahead of ours, and it takes only what is signed within five minutes.
    proxy.rule(|heard| {
        let theirs = jiff::Timestamp::now() + AHEAD;
        let date = heard.text.lines().find_map(|line| line.strip_prefix("x-amz-date: "))?;
        let signed = jiff::civil::DateTime::strptime("%Y%m%dT%H%M%SZ", date.trim()).ok()?;
        let signed = signed.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp();
        let (kind, body) = match to_sqs(heard) {
            true => (
                "application/x-amz-json-1.0",
                r#"{"__type":"InvalidSignatureException","message":"not now"}"#,
            ),
            false => (
                "text/xml",
                "<ErrorResponse><Error><Code>SignatureDoesNotMatch</Code></Error></ErrorResponse>",
            ),
        };
        let date = theirs.strftime("%a, %d %b %Y %H:%M:%S GMT");
        (theirs.duration_since(signed).abs() > jiff::SignedDuration::from_mins(5)).then(|| Fate::Answer {
            status: 403,
            headers: format!("Content-Type: {kind}\r\nDate: {date}\r\n"),
            body: body.into(),
        })
    });
    home.provider("behind", &proxy.endpoint).await;
    home.queue("behind", "behind", json!({})).await;
    home.until_met("behind").await;
    let heard = proxy.heard();
    let tries = heard.iter().filter(|heard| heard.action == "GetCallerIdentity").count();
    assert!(tries >= 2, "the first try was refused, and the next one was signed an hour later: {tries}");
}

pub async fn so_many_calls_of_one_provider_run_at_once_and_another_goes_on(ground: &Arc<Ground>) {
    /// Passes that one provider and kind may keep busy.
    const PASSES: usize = 8;
    /// Queues of the provider that is slow.
    const QUEUES: usize = 20;
    ground.reset();
    let patient = Duration::from_secs(25);
    let settings = Settings { attempt_timeout: patient, call_timeout: patient, ..Settings::default() };
    let (home, slow) = (Home::open(settings).await, Proxy::new(&ground.endpoint).await);
    home.provider("slow", &slow.endpoint).await;
    home.provider("quick", &ground.endpoint).await;
    let permits = Arc::new(Semaphore::new(0));
    let held = permits.clone();
    slow.rule(move |heard| to_sqs(heard).then(|| Fate::Held(held.clone())));
    for number in 0..QUEUES {
        home.queue(&format!("slow-{number}"), "slow", json!({})).await;
    }
    home.until("as many as may", async || slow.busy() == PASSES).await;
    for number in 0..3 {
        home.queue(&format!("quick-{number}"), "quick", json!({})).await;
    }
    for number in 0..3 {
        home.until_met(&format!("quick-{number}")).await;
    }
    assert_eq!(slow.busy(), PASSES, "all of the slow one still wait");
    permits.add_permits(10_000);
    for number in 0..QUEUES {
        home.until_met(&format!("slow-{number}")).await;
    }
    assert_eq!(slow.most(), PASSES, "never more");
}
