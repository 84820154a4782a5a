//! AWS's own word in an answer that is a refusal, kept for a call that ends before AWS is asked again.

use std::fmt;
use std::time::Duration;

use aws_runtime::retries::classifiers::THROTTLING_ERRORS;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_types::config_bag::{Storable, StoreReplace};
use tokio::time::Instant;

use super::error::{element, of_status};

/// How old a word may be that is taken for the reason why something else took too long.
const FRESH: Duration = Duration::from_secs(60);
/// What names an error before the body does. The first is of services that spoke XML before they spoke JSON.
const HEADERS: [&str; 2] = ["x-amzn-query-error", "x-amzn-errortype"];

/// What AWS said: its code, and its sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) code: String,
    pub(super) message: String,
}

impl Word {
    /// The word in an answer; none in one that is no refusal.
    pub(super) fn of(answer: &HttpResponse) -> Option<Self> {
        let status = answer.status();
        if !status.is_client_error() && !status.is_server_error() {
            return None;
        }
        let body = answer.body().bytes().map(String::from_utf8_lossy).unwrap_or_default();
        let json: serde_json::Value = serde_json::from_str(&body).unwrap_or_default();
        let field = |names: [&str; 2]| names.iter().find_map(|name| json.get(name)?.as_str());
        let header = HEADERS.iter().find_map(|name| answer.headers().get(*name));
        let code = header.or_else(|| field(["__type", "code"])).map(bare);
        let code = code.or_else(|| element(&body, "Code")).filter(|code| !code.is_empty());
        let message = field(["message", "Message"]).or_else(|| element(&body, "Message"));
        Some(Self {
            code: code.map_or_else(|| of_status(status.as_u16()), str::to_owned),
            message: message.unwrap_or("no message").to_owned(),
        })
    }

    /// Whether it asks us to slow down: for these codes the SDK does.
    pub(super) fn slows_down(&self) -> bool {
        THROTTLING_ERRORS.contains(&self.code.as_str())
    }
}

/// A code without what stands around it: `com.amazonaws.sqs#Throttling:http://…` and `Throttling;Sender`.
fn bare(code: &str) -> &str {
    let code = code.rsplit_once('#').map_or(code, |(_, code)| code);
    code.split([':', ';']).next().unwrap_or(code).trim()
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for Word {}

/// A word, and when it was heard.
#[derive(Clone, Debug)]
pub(super) struct Heard {
    word: Word,
    at: Instant,
}

impl Heard {
    pub(super) fn now(word: Word) -> Self {
        Self { word, at: Instant::now() }
    }

    pub(super) fn word(&self) -> Word {
        self.word.clone()
    }

    /// The word, unless it is too old to be the reason for what happens now.
    pub(super) fn fresh(&self) -> Option<Word> {
        (self.at.elapsed() <= FRESH).then(|| self.word())
    }
}

/// How far a call is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    /// It was not begun: the time for it was over before.
    Late,
    /// It waits until the SDK lets it go: only a service that asked us to slow down is waited for.
    #[default]
    Waiting,
    /// It needs credentials first.
    Entering,
    /// It is on its way.
    Sent,
    /// It ended with a word that was heard before.
    Told,
}

/// A call on its way, kept with it.
#[derive(Clone, Debug, Default)]
pub(super) struct Course {
    pub(super) stage: Stage,
    /// What the last try was told.
    pub(super) word: Option<Word>,
}

impl Storable for Course {
    type Storer = StoreReplace<Self>;
}

#[cfg(test)]
mod tests {
    use aws_smithy_types::body::SdkBody;

    use super::{HttpResponse, Word};

    #[test]
    fn a_refusal_in_any_language_has_its_word() {
        let json = r#"{"__type":"com.amazonaws.sqs#ThrottlingException","message":"slow"}"#;
        let xml = "<E><Error><Code>SlowDown</Code><Message>less</Message></Error></E>";
        let none = ("", "");
        let table = [
            (400, none, json, "ThrottlingException: slow"),
            (400, ("x-amzn-query-error", "RequestThrottled;Sender"), json, "RequestThrottled: slow"),
            (400, ("x-amzn-errortype", "Throttling:http://a/"), "", "Throttling: no message"),
            (400, none, r#"{"code":"Throttled","Message":"m"}"#, "Throttled: m"),
            (503, none, xml, "SlowDown: less"),
            (503, none, "", "ServiceUnavailable: no message"),
            (429, none, "<html>", "TooManyRequests: no message"),
            (500, none, r#"{"__type":7}"#, "InternalError: no message"),
            (502, none, "\u{0}", "Http502: no message"),
        ];
        for (status, (name, value), body, want) in table {
            let told = Word::of(&answer(status, (name, value), body)).expect("a word");
            assert_eq!(told.to_string(), want, "{status} {name} {body}");
        }
        assert_eq!(Word::of(&answer(200, none, json)), None, "an answer is no refusal");
        assert_eq!(Word::of(&answer(304, none, "")), None);
    }

    #[test]
    fn only_some_words_ask_to_slow_down() {
        let table = [("SlowDown", true), ("RequestLimitExceeded", true), ("AccessDenied", false)];
        for (code, want) in table {
            let word = Word { code: code.into(), message: String::new() };
            assert_eq!(word.slows_down(), want, "{code}");
        }
    }

    fn answer(status: u16, (name, value): (&'static str, &'static str), body: &str) -> HttpResponse {
        let mut answer = HttpResponse::new(status.try_into().expect("a status"), SdkBody::from(body));
        if !name.is_empty() {
            answer.headers_mut().insert(name, value);
        }
        answer
    }
}
