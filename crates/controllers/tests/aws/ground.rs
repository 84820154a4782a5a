//! What stands for AWS: a server that answers as it does, AWS's own client in Python, and the line between our client and
//! the server, on which every request is counted and can be broken.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use aws_smithy_http_client::Builder;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, SharedHttpClient, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::result::ConnectorError;
use controllers::infra::Desk;
use kit::testing::{Broken, Gate};
use parking_lot::Mutex;
use ports::aws::{Aws, Call, Settings};
use serde_json::{Value, json};

use crate::moto::Moto;
pub use crate::moto::REGION;

/// How long passes are waited for: less than the five minutes after which a resource is compared again.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The server and the client beside it, and what was asked of them.
pub struct Ground {
    moto: Moto,
    heard: Heard,
}

/// Everybody who has called since somebody asked.
static CALLERS: Mutex<Vec<Arc<Aws>>> = Mutex::new(Vec::new());

/// A desk that calls as it is told.
pub fn desk(settings: Settings) -> Desk {
    let aws = Arc::new(Aws::new(settings));
    CALLERS.lock().push(aws.clone());
    Desk::new(aws)
}

/// Everything that was called at any desk since the last time.
pub fn calls() -> Vec<Call> {
    let callers = std::mem::take(&mut *CALLERS.lock());
    callers.iter().flat_map(|aws| aws.witness().calls().into_keys()).collect()
}

/// The passwords that were sent: nobody can ask for them afterwards.
type Heard = Arc<Mutex<Vec<String>>>;

impl Deref for Ground {
    type Target = Moto;

    fn deref(&self) -> &Moto {
        &self.moto
    }
}

impl Ground {
    /// Starts both.
    pub fn new() -> Self {
        // It must not find credentials or another server in our environment.
        let strict = ("MOTO_ALLOW_NONEXISTENT_REGION", "false");
        // It would show everybody the buckets of all accounts.
        let separate = ("MOTO_S3_ALLOW_CROSSACCOUNT_ACCESS", "false");
        // It would load hundreds of images each time it is reset, and start machines from any other.
        let images = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/aws/images.json");
        let machines = [
            ("MOTO_AMIS_PATH", images),
            ("MOTO_ENABLE_AMI_VALIDATION", "true"),
            ("MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION", "true"),
        ];
        let moto = Moto::start(&[[strict, separate].as_slice(), &machines].concat());
        Self { moto, heard: Heard::default() }
    }

    /// Forgets everything that anybody made, and takes any signature again.
    pub fn reset(&self) {
        self.command("reset", "");
        self.check_signatures(false);
    }

    /// Whether signatures and rights are checked, as AWS does.
    pub fn check_signatures(&self, checked: bool) {
        self.command("reset-auth", if checked { "0" } else { "inf" });
    }

    /// A desk whose requests go through a gate, each tried once.
    pub fn desk(&self, gate: &Gate) -> Desk {
        self.desk_over(gate, |inner| inner)
    }

    /// The same, where somebody stands between the gate and the server.
    pub fn desk_over(
        &self,
        gate: &Gate,
        over: impl Fn(SharedHttpConnector) -> SharedHttpConnector + Send + Sync + 'static,
    ) -> Desk {
        let http = gated(gate, &self.heard, over);
        desk(Settings { attempts: 1, http: Some(http), ..Settings::default() })
    }

    /// The password that was sent last.
    pub fn last_password(&self) -> Option<String> {
        self.heard.lock().last().cloned()
    }

    /// A Secret and a provider in `default` that is ready.
    pub fn provider(&self) -> [Value; 2] {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "aws", "namespace": "default" },
            "stringData": { "accessKeyID": "AKIAEXAMPLE", "secretAccessKey": "not-a-secret" },
        });
        let provider = json!({
            "apiVersion": "aws-infra-operator.runner.codes/v1alpha1", "kind": "AWSProvider",
            "metadata": { "name": "dev", "namespace": "default" },
            "spec": {
                "region": REGION, "endpoint": self.endpoint, "credentialsSecret": { "name": "aws" },
                "defaultTags": { "team": "shop" },
            },
            "status": { "ready": true, "accountID": "123456789012" },
        });
        [secret, provider]
    }
}

/// An HTTP client whose requests go through a gate.
fn gated(
    gate: &Gate,
    heard: &Heard,
    over: impl Fn(SharedHttpConnector) -> SharedHttpConnector + Send + Sync + 'static,
) -> SharedHttpClient {
    let (gate, heard, inner) = (gate.clone(), heard.clone(), Builder::new().build_http());
    http_client_fn(move |settings, components| {
        let inner = over(inner.http_connector(settings, components));
        SharedHttpConnector::new(Line { gate: gate.clone(), heard: heard.clone(), inner })
    })
}

struct Line {
    gate: Gate,
    heard: Heard,
    inner: SharedHttpConnector,
}

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a line with a gate")
    }
}

impl HttpConnector for Line {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (what, writes) = told(&request);
        self.heard.lock().extend(password(&request));
        let (gate, asked) = (self.gate.clone(), self.inner.call(request));
        HttpConnectorFuture::new(async move {
            let answer = match writes {
                true => gate.write(what, asked).await,
                false => gate.read(what, asked).await,
            };
            match answer {
                Ok(answer) => answer,
                Err(Broken::Failed) => Err(ConnectorError::io(Broken::Failed.into())),
                Err(Broken::TimedOut) => Err(ConnectorError::timeout(Broken::TimedOut.into())),
            }
        })
    }
}

/// The administrator's password in a request.
fn password(request: &HttpRequest) -> Option<String> {
    let body = request.body().bytes().map(String::from_utf8_lossy)?;
    body.split('&').find_map(|pair| pair.strip_prefix("MasterUserPassword=")).map(str::to_owned)
}

/// What a request asks for, and whether it changes anything.
fn told(request: &HttpRequest) -> (String, bool) {
    let reads =
        |action: &str| ["Get", "List", "Describe", "AssumeRole"].iter().any(|word| action.starts_with(word));
    if let Some(target) = request.headers().get("x-amz-target") {
        let action = target.rsplit('.').next().unwrap_or_default();
        return (action.to_owned(), !reads(action));
    }
    let body = request.body().bytes().map(String::from_utf8_lossy).unwrap_or_default();
    if let Some(action) = body.split('&').find_map(|pair| pair.strip_prefix("Action=")) {
        return (action.to_owned(), !reads(action));
    }
    let uri = request.uri().trim_start_matches("http://");
    let path = uri.split_once('/').map_or("", |(_, path)| path);
    (format!("{} /{path}", request.method()), !["GET", "HEAD"].contains(&request.method()))
}
