//! Outages that last, in real time, beside a provider that goes on. They run beside all other rows, on a server of their own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use api::infra::SQSQueue;
use controllers::infra::Desk;
use kit::Name;
use ports::aws::{Aws, Ending, Settings};
use serde_json::json;

use crate::faults::{json_answer, most_passes, to_sqs};
use crate::ground::Ground;
use crate::home::Home;
use crate::proxy::Proxy;

/// The longest pause after an error is a minute; then a pass has to be made.
const RECOVERY: Duration = Duration::from_secs(75);
/// How long a change may take where nothing is wrong. A call that waits for the bad line would take 12 s.
const PROMPT: Duration = Duration::from_secs(10);

pub async fn an_endpoint_that_is_dead_for_a_minute_is_got_over(ground: &Arc<Ground>) {
    const OUTAGE: Duration = Duration::from_secs(60);
    let names = ["dead-0", "dead-1", "dead-2"];
    let (home, aws, proxy) = open(ground, "dead", &names).await;
    let begun = Instant::now();
    proxy.close();
    change(&home, &names).await;
    beside(&home, ground, "dead", begun + OUTAGE).await;
    for name in names {
        until_says(&home, name, "False/EndpointUnreachable: ").await;
    }
    let silent: u64 =
        aws.witness().endings().iter().filter(|((_, it), _)| *it == Ending::Silent).map(|it| it.1).sum();
    let most = names.len() * most_passes(begun.elapsed());
    assert!((1..=most as u64).contains(&silent), "{silent} calls, of {most} at most");
    proxy.take();
    proxy.open().await;
    let took = recovered(&home, ground, &names).await;
    println!(
        "       a line that was dead for a minute: {silent} calls, good again after {:.1} s",
        took.as_secs_f64()
    );
}

pub async fn a_service_that_throttles_for_half_a_minute_is_asked_rarely(ground: &Arc<Ground>) {
    const OUTAGE: Duration = Duration::from_secs(30);
    const QUEUES: usize = 12;
    let names: Vec<String> = (0..QUEUES).map(|number| format!("busy-{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (home, _, proxy) = open(ground, "busy", &names).await;
    let throttled = json_answer(400, "ThrottlingException");
    let begun = Instant::now();
    proxy.rule(move |heard| to_sqs(heard).then(|| throttled.clone()));
    proxy.take();
    change(&home, &names).await;
    beside(&home, ground, "busy", begun + OUTAGE).await;
    for name in &names {
        until_says(&home, name, "False/ThrottlingException: ").await;
    }
    let (within, calls) = (begun.elapsed(), proxy.take().iter().filter(|heard| to_sqs(heard)).count());
    // Each queue alone would make as many as three a pass.
    let most = most_passes(within) * QUEUES;
    assert!((1..most).contains(&calls), "{calls} calls in {within:?}, of {most} at most");
    proxy.relent();
    let took = recovered(&home, ground, &names).await;
    println!(
        "       a service that throttled for {:.1} s: {calls} calls for {QUEUES} queues, good again after {:.1} s",
        within.as_secs_f64(),
        took.as_secs_f64()
    );
}

/// A provider behind a line that is good so far, with its queues, and one beside it with one queue.
async fn open(ground: &Arc<Ground>, name: &str, queues: &[&str]) -> (Home, Arc<Aws>, Proxy) {
    let aws = Arc::new(Aws::new(Settings::default()));
    // Not a desk of the other rows: which rights they need is learned from their calls.
    let (home, proxy) = (Home::over(Desk::new(aws.clone())).await, Proxy::new(&ground.endpoint).await);
    home.provider(name, &proxy.endpoint).await;
    let well = well(name);
    home.provider(&well, &ground.endpoint).await;
    home.queue(&well, &well, json!({ "delaySeconds": 1 })).await;
    for queue in queues {
        home.queue(queue, name, json!({ "delaySeconds": 1 })).await;
    }
    for queue in queues.iter().copied().chain([well.as_str()]) {
        home.until_met(queue).await;
    }
    (home, aws, proxy)
}

/// The provider beside another one, and its queue.
fn well(name: &str) -> String {
    format!("beside-{name}")
}

async fn change(home: &Home, queues: &[&str]) {
    for queue in queues {
        let patch = json!({ "spec": { "delaySeconds": 2 } });
        home.bench.patch::<SQSQueue>(&Name::new("default", *queue), patch).await;
    }
}

/// Until then, changes of the queue of the other provider are made as if nothing were wrong.
async fn beside(home: &Home, ground: &Ground, name: &str, end: Instant) {
    let well = well(name);
    let mut ticks = tokio::time::interval(Duration::from_secs(3));
    for delay in 2_u32.. {
        ticks.tick().await;
        if Instant::now() >= end {
            break;
        }
        let (patch, begun) = (json!({ "spec": { "delaySeconds": delay } }), Instant::now());
        home.bench.patch::<SQSQueue>(&Name::new("default", well.as_str()), patch).await;
        home.until("a change beside", async || delay_of(ground, &well) == delay.to_string()).await;
        assert!(begun.elapsed() < PROMPT, "a change beside took {:?}", begun.elapsed());
    }
}

async fn until_says(home: &Home, queue: &str, want: &str) {
    let told = async || {
        let (ready, synced) = home.queue_says(queue).await;
        assert!(ready.starts_with("True/Available"), "{queue}: as far as anybody knows: {ready}");
        synced.starts_with(want)
    };
    home.until(&format!("{queue} says {want}"), told).await;
}

/// Waits until all queues are as asked, and says how long it took.
async fn recovered(home: &Home, ground: &Ground, queues: &[&str]) -> Duration {
    let begun = Instant::now();
    for queue in queues {
        let left = RECOVERY.saturating_sub(begun.elapsed());
        let met = async || home.queue_says(queue).await.1.starts_with("True");
        home.until_within(left, &format!("{queue} is as asked"), met).await;
        assert_eq!(delay_of(ground, queue), "2", "{queue}");
    }
    begun.elapsed()
}

fn delay_of(ground: &Ground, queue: &str) -> String {
    let url = format!("{}/123456789012/{queue}", ground.endpoint);
    let asked = json!({ "QueueUrl": url, "AttributeNames": ["DelaySeconds"] });
    let seen = ground.ask("sqs", "get_queue_attributes", asked);
    seen["Attributes"]["DelaySeconds"].as_str().unwrap_or_default().to_owned()
}
