//! Rules of EC2 that the server does not keep: it stands on the line, and refuses what AWS refuses.
//!
//! Who asks for a machine with a token that is known gets the same machine. Some settings can be changed only while a machine
//! is stopped. And, where a test asks for it, a machine that was just made cannot be seen yet.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use parking_lot::Mutex;

/// Settings that only a stopped machine lets go of.
const STOPPED_ONLY: [&str; 3] = ["InstanceType.Value", "UserData.Value", "EbsOptimized.Value"];

/// What is remembered of the machines that were asked for. Clones are the same.
#[derive(Clone, Default)]
pub struct Rules(Arc<Mutex<Book>>);

#[derive(Default)]
struct Book {
    /// The first answer to each token.
    answers: HashMap<String, Vec<u8>>,
    /// Tokens, in the order in which they were sent.
    asked: Vec<String>,
    /// Whether a machine is seen only when it has been asked for twice.
    shy: bool,
    hidden: bool,
}

impl Rules {
    /// A machine that was just made is seen by nobody until it is asked for once more, as happens in AWS.
    pub fn shy() -> Self {
        let rules = Self::default();
        rules.0.lock().shy = true;
        rules
    }

    /// The tokens that machines were asked for with.
    pub fn asked(&self) -> Vec<String> {
        self.0.lock().asked.clone()
    }

    /// Stands in front of the server.
    pub fn over(&self, inner: SharedHttpConnector) -> SharedHttpConnector {
        SharedHttpConnector::new(Guard { rules: self.clone(), inner })
    }
}

struct Guard {
    rules: Rules,
    inner: SharedHttpConnector,
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the rules of EC2")
    }
}

impl HttpConnector for Guard {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (rules, inner) = (self.rules.clone(), self.inner.clone());
        HttpConnectorFuture::new(async move { answer(&rules, &inner, request).await })
    }
}

async fn answer(
    rules: &Rules,
    inner: &SharedHttpConnector,
    request: HttpRequest,
) -> Result<HttpResponse, ConnectorError> {
    let form = fields(&request);
    let field = |name: &str| form.get(name).cloned().unwrap_or_default();
    match field("Action").as_str() {
        "RunInstances" => launched(rules, inner, request, field("ClientToken")).await,
        "DescribeInstances" if rules.0.lock().hidden => {
            Ok(said(200, "<DescribeInstancesResponse><reservationSet/></DescribeInstancesResponse>"))
        }
        // The server knows neither; it lets any attribute be set.
        action @ ("MonitorInstances" | "UnmonitorInstances") => {
            let value = if action == "MonitorInstances" { "enabled" } else { "disabled" };
            let body = format!(
                "Action=ModifyInstanceAttribute&Version=2016-11-15&InstanceId={}&Attribute=monitoringState&Value={value}",
                field("InstanceId.1")
            );
            inner.call(asking(&request, body)).await
        }
        "ModifyInstanceAttribute" if STOPPED_ONLY.iter().any(|name| form.contains_key(*name)) => {
            match state(inner, &request, &field("InstanceId")).await?.as_str() {
                "stopped" => inner.call(twice_encoded(request, &field("UserData.Value"))).await,
                other => Ok(refused("IncorrectInstanceState", &format!("it is {other}"))),
            }
        }
        _ => inner.call(request).await,
    }
}

async fn launched(
    rules: &Rules,
    inner: &SharedHttpConnector,
    request: HttpRequest,
    token: String,
) -> Result<HttpResponse, ConnectorError> {
    assert!(!token.is_empty(), "every machine is asked for with a token");
    let known = {
        let mut book = rules.0.lock();
        book.asked.push(token.clone());
        book.answers.get(&token).cloned()
    };
    if let Some(known) = known {
        let text = String::from_utf8_lossy(&known).into_owned();
        if state(inner, &request, between(&text, "<instanceId>", "</")).await? == "terminated" {
            return Ok(refused("IdempotentInstanceTerminated", "it is gone"));
        }
        rules.0.lock().hidden = false;
        return Ok(said(200, &text));
    }
    // Runs can be compared only if the server draws the same ids and addresses in each.
    let count = rules.0.lock().answers.len();
    let mut seed = asking(&request, String::new());
    seed.set_uri(format!("{}moto-api/seed?a={count}", request.uri())).expect("an address");
    assert!(inner.call(seed).await?.status().is_success(), "the server can be seeded");
    let mut made = inner.call(request).await?;
    let body = std::mem::replace(made.body_mut(), SdkBody::empty());
    let bytes = read(body).await;
    if made.status().is_success() {
        let mut book = rules.0.lock();
        book.hidden = book.shy;
        book.answers.insert(token, bytes.clone());
    }
    Ok(said(made.status().as_u16(), &String::from_utf8_lossy(&bytes)))
}

/// The server takes a script here only if it is encoded twice; AWS takes what is encoded once.
fn twice_encoded(request: HttpRequest, script: &str) -> HttpRequest {
    if script.is_empty() {
        return request;
    }
    let plain = [("%2B", "+"), ("%2F", "/"), ("%3D", "=")];
    let once = plain.iter().fold(script.to_owned(), |text, (code, letter)| text.replace(code, letter));
    let twice = aws_smithy_types::base64::encode(once);
    let twice = plain.iter().fold(twice, |text, (code, letter)| text.replace(letter, code));
    let body = request.body().bytes().map(String::from_utf8_lossy).unwrap_or_default();
    let body = body.replace(&format!("UserData.Value={script}"), &format!("UserData.Value={twice}"));
    asking(&request, body)
}

/// How a machine stands, as the server sees it.
async fn state(inner: &SharedHttpConnector, like: &HttpRequest, id: &str) -> Result<String, ConnectorError> {
    let body = format!("Action=DescribeInstances&Version=2016-11-15&InstanceId.1={id}");
    let answer = inner.call(asking(like, body)).await?;
    let text = String::from_utf8(read(answer.into_body()).await).expect("it is text");
    let state = between(&text, "<instanceState>", "</instanceState>");
    Ok(between(state, "<name>", "</name>").to_owned())
}

/// The same request with another form in it. The server does not look at signatures.
fn asking(like: &HttpRequest, body: String) -> HttpRequest {
    let mut request = HttpRequest::new(SdkBody::from(body));
    request.set_method(like.method()).expect("a method");
    request.set_uri(like.uri().to_owned()).expect("an address");
    for (name, value) in like.headers().iter().filter(|(name, _)| *name != "content-length") {
        request.headers_mut().append(name.to_owned(), value.to_owned());
    }
    request
}

fn fields(request: &HttpRequest) -> HashMap<String, String> {
    let body = request.body().bytes().map(String::from_utf8_lossy).unwrap_or_default().into_owned();
    let pairs = body.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

async fn read(body: SdkBody) -> Vec<u8> {
    let whole = aws_smithy_types::byte_stream::ByteStream::new(body).collect().await;
    whole.expect("the server answers in full").into_bytes().to_vec()
}

fn said(status: u16, body: &str) -> HttpResponse {
    let status = status.try_into().expect("a status");
    HttpResponse::new(status, SdkBody::from(body.to_owned()))
}

fn refused(code: &str, message: &str) -> HttpResponse {
    said(
        400,
        &format!(
            "<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors></Response>"
        ),
    )
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let rest = text.split_once(from).map_or("", |(_, rest)| rest);
    rest.split_once(to).map_or("", |(inner, _)| inner)
}
