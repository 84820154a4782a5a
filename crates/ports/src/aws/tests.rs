//! What becomes of calls that AWS asks to slow down, on every client.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_smithy_async::time::{SharedTimeSource, TimeSource};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::body::SdkBody;
use futures::future::join_all;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{Account, Aws, Ending, Error, Login, Role, Search, Settings, in_time};

/// A clock that stands still when that of the test does.
pub(super) fn paused() -> SharedTimeSource {
    SharedTimeSource::new(Paused { begun: Instant::now(), then: SystemTime::now() })
}

#[derive(Debug)]
struct Paused {
    begun: Instant,
    then: SystemTime,
}

impl TimeSource for Paused {
    fn now(&self) -> SystemTime {
        self.then + self.begun.elapsed()
    }
}

/// What is done to a request: it is answered, or it is not.
type Fate = Option<(u16, String)>;
type Rule = Box<dyn Fn(&HttpRequest) -> Fate + Send + Sync>;

/// Whoever answers in the place of AWS, and how often.
#[derive(Clone)]
struct Line {
    rule: Arc<Mutex<Rule>>,
    hosts: Arc<Mutex<Vec<String>>>,
}

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a line")
    }
}

impl HttpConnector for Line {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        self.hosts.lock().push(host(&request));
        match (self.rule.lock())(&request) {
            None => HttpConnectorFuture::new(std::future::pending()),
            Some((status, body)) => {
                let status = status.try_into().expect("a status");
                HttpConnectorFuture::ready(Ok(HttpResponse::new(status, SdkBody::from(body))))
            }
        }
    }
}

fn host(request: &HttpRequest) -> String {
    request.uri().trim_start_matches("https://").split('.').next().unwrap_or_default().to_owned()
}

fn line(rule: impl Fn(&HttpRequest) -> Fate + Send + Sync + 'static) -> (Aws, Line) {
    let line = Line { rule: Arc::new(Mutex::new(Box::new(rule))), hosts: Arc::default() };
    let shared = SharedHttpConnector::new(line.clone());
    let http = http_client_fn(move |_, _| shared.clone());
    (Aws::new(Settings { time: paused(), http: Some(http), ..Settings::default() }), line)
}

/// How often a provider may ask is remembered, so each test has its own.
fn account(provider: &str) -> Account {
    let login =
        Login::Keys { id: "AKIAEXAMPLE".to_owned().into(), secret: "k".to_owned().into(), token: None };
    let (provider, region) = (provider.into(), "eu-central-1".into());
    Account { provider, region, endpoint: None, login, role: None }
}

fn xml(code: &str) -> String {
    format!(
        "<ErrorResponse><Error><Code>{code}</Code><Message>slow</Message></Error><Errors><Error><Code>{code}</Code></Error></Errors></ErrorResponse>"
    )
}

async fn ask(aws: &Aws, account: &Account, service: &str) -> Result<(), Error> {
    match service {
        "EC2" => aws.machines(account, Search::All).await.map(drop),
        "SQS" => aws.queue(account, "q").await.map(drop),
        "S3" => aws.buckets(account).await.map(drop),
        "RDS" => aws.database(account, "d").await.map(drop),
        "STS" => aws.identity(account).await.map(drop),
        other => panic!("{other} is not asked"),
    }
}

fn code(answer: Result<(), Error>) -> String {
    answer.map_or_else(|error| error.code().to_owned(), |()| "done".into())
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_because_aws_is_busy_says_what_aws_said() {
    const CALLS: usize = 24;
    let json = r#"{"__type":"com.amazonaws.sqs#ThrottlingException","message":"slow"}"#.to_owned();
    let table = [
        ("EC2", 503, xml("RequestLimitExceeded"), "RequestLimitExceeded"),
        ("SQS", 400, json, "ThrottlingException"),
        ("S3", 503, "<Error><Code>SlowDown</Code><Message>slow</Message></Error>".into(), "SlowDown"),
        ("RDS", 400, xml("Throttling"), "Throttling"),
        ("STS", 400, xml("Throttling"), "Throttling"),
    ];
    for (service, status, body, want) in table {
        let (aws, line) = line(move |_| Some((status, body.clone())));
        let account = account(&format!("busy/{service}"));
        let begun = Instant::now();
        let told = join_all((0..CALLS).map(|_| ask(&aws, &account, service))).await;
        let took = begun.elapsed();
        let told: Vec<String> = told.into_iter().map(code).collect();
        assert!(told.iter().all(|code| code == want), "{service}: {told:?}");
        assert!(took < Duration::from_secs(13), "{service}: {took:?}");
        let sent = line.hosts.lock().len();
        assert!((2..CALLS).contains(&sent), "{service}: {sent} requests of {CALLS} calls");
        let endings = aws.witness().endings();
        let endings: Vec<_> = endings.iter().map(|((_, ending), count)| (*ending, *count)).collect();
        match status {
            // Some were told so at once.
            503 => assert!(endings.iter().all(|(it, _)| *it != Ending::Silent && *it != Ending::Done)),
            _ => assert_eq!(endings, [(Ending::Refused, CALLS as u64)], "{service}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_is_slowed_down_delays_no_other_and_recovers() {
    let (aws, line) = line(|_| Some((503, xml("RequestLimitExceeded"))));
    let (slow, quick) = (account("recovery/slow"), account("recovery/quick"));
    let _ = join_all((0..24).map(|_| ask(&aws, &slow, "EC2"))).await;
    let none = "<DescribeInstancesResponse><reservationSet/></DescribeInstancesResponse>";
    *line.rule.lock() = Box::new(move |_| Some((200, none.into())));
    let begun = Instant::now();
    for _ in 0..100 {
        assert_eq!(code(ask(&aws, &quick, "EC2").await), "done");
    }
    assert_eq!(begun.elapsed(), Duration::ZERO, "nobody asked this one to slow down");
    for _ in 0..100 {
        assert_eq!(code(ask(&aws, &slow, "EC2").await), "done");
    }
    let took = begun.elapsed();
    assert!(took > Duration::ZERO && took < Duration::from_secs(60), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn silence_after_a_word_is_silence() {
    let (aws, line) = line(|_| None);
    let first = Mutex::new(Some((503, xml("RequestLimitExceeded"))));
    *line.rule.lock() = Box::new(move |_| first.lock().take());
    assert_eq!(code(ask(&aws, &account("silence/dev"), "EC2").await), "EndpointUnreachable");
    assert!(line.hosts.lock().len() > 1, "it was asked again");
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_for_credentials_says_what_sts_said() {
    let (aws, line) = line(|_| Some((400, xml("Throttling"))));
    let role = Role { arn: "arn:aws:iam::123456789012:role/r".into(), external_id: None };
    let account = Account { role: Some(role), ..account("credentials/dev") };
    let told = join_all((0..8).map(|_| ask(&aws, &account, "EC2"))).await;
    let told: Vec<String> = told.into_iter().map(code).collect();
    assert!(told.iter().all(|code| code == "Throttling"), "{told:?}");
    assert!(line.hosts.lock().iter().all(|host| host == "sts"), "without credentials nobody is asked");
}

#[tokio::test(start_paused = true)]
async fn calls_that_somebody_waits_for_end_before_that() {
    let table: [(&str, Fate, &str); 2] = [
        ("silent", None, "EndpointUnreachable"),
        ("busy", Some((503, xml("RequestLimitExceeded"))), "RequestLimitExceeded"),
    ];
    for (how, fate, want) in table {
        let (aws, _) = line(move |_| fate.clone());
        let (account, begun) = (account(&format!("together/{how}")), Instant::now());
        let told = in_time(async {
            let mut told = Vec::new();
            // Even those that ended early are together more than there is time for.
            for _ in 0..40 {
                told.push(code(ask(&aws, &account, "EC2").await));
            }
            told
        });
        let told = told.await;
        assert!(told.iter().all(|code| code == want), "{how}: {told:?}");
        assert_eq!(begun.elapsed().as_secs(), 27, "{how}");
    }
}
