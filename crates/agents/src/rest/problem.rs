//! What went wrong, for programs: <https://www.rfc-editor.org/rfc/rfc9457>.

use http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use serde_json::{Value, json};

use crate::Error;
use crate::audit::{Outcome, Record};
use crate::door::{Body, Unread};
use crate::identity::Caller;
use crate::server::{Asked, record};
use crate::tool::Stop;

/// The content type of a problem.
pub(super) const KIND: &str = "application/problem+json";

/// What went wrong.
#[derive(Debug)]
pub(super) struct Problem {
    code: StatusCode,
    /// What it is, in one word, for programs.
    reason: &'static str,
    detail: String,
    /// Whether the caller may not, rather than cannot.
    refused: bool,
    /// What a person can type instead.
    command: Option<String>,
    header: Option<(HeaderName, HeaderValue)>,
}

impl Problem {
    fn new(code: StatusCode, reason: &'static str, detail: impl Into<String>) -> Self {
        Self { code, reason, detail: detail.into(), refused: false, command: None, header: None }
    }

    /// There is no such page.
    pub(super) fn nowhere() -> Self {
        let detail = format!("there is no such page; {} lists all", super::DOCUMENT);
        Self::new(StatusCode::NOT_FOUND, "NoPage", detail)
    }

    /// The page has other methods.
    pub(super) fn method(methods: &[&str]) -> Self {
        let methods = methods.join(", ");
        let header = HeaderValue::from_str(&methods).ok().map(|methods| (ALLOW, methods));
        let problem =
            Self::new(StatusCode::METHOD_NOT_ALLOWED, "Method", format!("this page takes {methods}"));
        Self { header, ..problem }
    }

    /// The body is of a kind that is not taken.
    pub(super) fn kind(source: bool) -> Self {
        let detail = match source {
            true => "send application/json with files, or a tar.gz as application/gzip",
            false => "send application/json",
        };
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "ContentType", detail)
    }

    /// There is more than may be.
    pub(super) fn too_large(detail: String) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "TooLarge", detail)
    }

    /// The body did not come.
    pub(super) fn unread(unread: &Unread) -> Self {
        let detail = unread.to_string();
        match unread {
            Unread::Late => Self::new(StatusCode::REQUEST_TIMEOUT, "Late", detail),
            Unread::TooLarge => Self::too_large(detail),
            Unread::Broken(_) => Self::new(StatusCode::BAD_REQUEST, "Broken", detail),
        }
    }

    /// What the door has refused.
    pub(super) fn at_the_door(code: StatusCode) -> Self {
        let (reason, detail) = match code {
            StatusCode::TOO_MANY_REQUESTS => {
                ("TooOften", "too many requests without a good token; try again later")
            }
            _ => (
                "Unauthorized",
                "a token is needed: `terrace token create NAME --session` makes one; send it as `Authorization: Bearer TOKEN`",
            ),
        };
        Self { refused: true, ..Self::new(code, reason, detail) }
    }

    /// A tool has no answer.
    pub(super) fn stopped(stop: Stop) -> Self {
        // Scripts have nobody to ask; the command that does it asks by itself.
        let error = match stop {
            Stop::Wrong(error) => error,
            Stop::Ask(question) => Error::NeedsPerson { what: question.what, command: question.command },
            Stop::Enter(entry) => Error::NeedsPerson { what: entry.what, command: entry.command },
        };
        error.into()
    }

    /// What is written down of it.
    pub(super) fn record(&self, caller: &Caller, agent: &str, asked: &Asked) -> Record {
        let outcome = if self.refused { Outcome::Refused } else { Outcome::Failed };
        Record { outcome, reason: Some(self.reason.to_owned()), ..record(caller, agent, asked, &Ok(())) }
    }

    /// The answer. Headers that were there are kept.
    pub(super) fn response(self, headers: HeaderMap) -> Response<Body> {
        let mut body = json!({
            "type": "about:blank",
            "title": self.code.canonical_reason().unwrap_or_default(),
            "status": self.code.as_u16(),
            "detail": self.detail,
            "reason": self.reason,
        });
        if let Some(command) = self.command {
            body["command"] = Value::from(command);
        }
        let mut response = super::json_response(self.code, KIND, &body);
        let late = self.code == StatusCode::REQUEST_TIMEOUT;
        let own = headers.into_iter().filter_map(|(name, value)| Some((name?, value)));
        let close = late.then(|| (http::header::CONNECTION, HeaderValue::from_static("close")));
        for (name, value) in own.filter(|(name, _)| *name != CONTENT_TYPE).chain(self.header).chain(close) {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let mut problem = Self::new(code(&error), error.word(), error.to_string());
        problem.refused = error.is_refusal();
        match error {
            Error::TooOften { seconds } => problem.header = Some((RETRY_AFTER, HeaderValue::from(seconds))),
            Error::NeedsPerson { what, command } => {
                problem.detail = format!("{what} A person has to agree to this. Let them run: {command}");
                problem.command = Some(command);
            }
            _ => {}
        }
        problem
    }
}

fn code(error: &Error) -> StatusCode {
    match error {
        Error::Invalid { .. } | Error::Refused(_) => StatusCode::BAD_REQUEST,
        Error::Denied { .. } => StatusCode::FORBIDDEN,
        Error::NoSession { .. } | Error::NotFound { .. } => StatusCode::NOT_FOUND,
        Error::Exists { .. }
        | Error::StillBound { .. }
        | Error::EnvClash { .. }
        | Error::NotReady { .. }
        | Error::NoBackup { .. }
        | Error::Busy { .. }
        | Error::NeedsPerson { .. }
        | Error::Plan(_)
        | Error::NotAgreed
        | Error::BadConfirmation { .. } => StatusCode::CONFLICT,
        Error::TooOften { .. } => StatusCode::TOO_MANY_REQUESTS,
        Error::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        Error::NotAvailable | Error::Unreachable(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}
