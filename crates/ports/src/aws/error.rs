//! What AWS can answer instead.

use std::error::Error as StdError;
use std::time::Duration;

use api::conditions::Reason;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use kit::{Fault, Retry};

use super::word::Word;

/// The longest pause after an error (aws.md).
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Longest part of a message that is passed on; some of AWS's repeat the whole request.
const MESSAGE_MAX: usize = 400;

/// What AWS can answer instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It said no.
    #[error("{operation} was refused with {code}: {message}")]
    Refused {
        /// What was asked.
        operation: &'static str,
        /// AWS's own word.
        code: String,
        /// AWS's own sentence.
        message: String,
    },
    /// It did not answer, or too late.
    #[error("{operation}: no answer from AWS: {story}")]
    Silent {
        /// What was asked.
        operation: &'static str,
        /// What happened instead.
        story: String,
    },
    /// Its answer cannot be read.
    #[error("{operation}: the answer of AWS cannot be read: {story}")]
    Garbled {
        /// What was asked.
        operation: &'static str,
        /// What is wrong with it.
        story: String,
    },
    /// The pod has no token to prove itself with.
    #[error(
        "the token in {file} cannot be read: {story}; does the pod's ServiceAccount carry the annotation eks.amazonaws.com/role-arn?"
    )]
    NoToken {
        /// Where it should be.
        file: String,
        /// Why not.
        story: String,
    },
}

impl Error {
    pub(super) fn garbled(operation: &'static str, story: impl Into<String>) -> Self {
        Self::Garbled { operation, story: story.into() }
    }

    /// AWS's own word, or ours where it said nothing.
    pub fn code(&self) -> &str {
        match self {
            Self::Refused { code, .. } => code,
            Self::Silent { .. } => "EndpointUnreachable",
            Self::Garbled { .. } => "UnreadableAnswer",
            Self::NoToken { .. } => "WebIdentityTokenMissing",
        }
    }

    /// Whether AWS gave one of these words.
    pub fn is(&self, codes: &[&str]) -> bool {
        matches!(self, Self::Refused { code, .. } if codes.contains(&code.as_str()))
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let reason = Reason::Code(error.code().to_owned());
        Self::Outside { system: "AWS", retry: Retry::Within(LONGEST_PAUSE), reason, source: Box::new(error) }
    }
}

/// What the SDK says, in our words.
pub(super) fn told<E>(operation: &'static str, error: SdkError<E, HttpResponse>) -> Error
where
    E: ProvideErrorMetadata + StdError + Send + Sync + 'static,
{
    // Credentials are fetched on the way: what went wrong there is what matters.
    if let Some(inner) = found::<Error>(&error) {
        return inner.clone();
    }
    // It ended while it waited to ask again.
    if let Some(Word { code, message }) = found::<Word>(&error) {
        let message = message.chars().take(MESSAGE_MAX).collect();
        return Error::Refused { operation, code: code.clone(), message };
    }
    match &error {
        SdkError::ServiceError(answer) => {
            let status = answer.raw().status().as_u16();
            if answer.raw().status().is_success() && answer.err().code().is_none() {
                return Error::garbled(operation, story(&error));
            }
            // Whoever stands in front of a service may speak another language than the service.
            let body = answer.raw().body().bytes().map(String::from_utf8_lossy).unwrap_or_default();
            let code = answer.err().code().or_else(|| element(&body, "Code"));
            let code = code.map_or_else(|| of_status(status), str::to_owned);
            let message =
                answer.err().message().or_else(|| element(&body, "Message")).unwrap_or("no message");
            Error::Refused { operation, code, message: message.chars().take(MESSAGE_MAX).collect() }
        }
        SdkError::ResponseError(answer) => match answer.raw().status().is_success() {
            // Cut short is what nobody answered, and the SDK has tried again already.
            true => Error::garbled(operation, story(&error)),
            false => {
                let code = of_status(answer.raw().status().as_u16());
                Error::Refused { operation, code, message: "the answer has no error in it".into() }
            }
        },
        _ => Error::Silent { operation, story: story(&error) },
    }
}

/// An error of ours that the SDK wrapped.
fn found<'a, T: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a T> {
    std::iter::successors(Some(error), |&error| error.source()).find_map(|error| error.downcast_ref())
}

/// What stands in the first element of a name.
pub(super) fn element<'a>(body: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = body.split_once(&format!("<{name}>"))?;
    let (text, _) = rest.split_once("</")?;
    Some(text.trim()).filter(|text| !text.is_empty())
}

/// A word for an answer that has none: those to HEAD have no body.
pub(super) fn of_status(status: u16) -> String {
    match status {
        301 | 307 => "PermanentRedirect".into(),
        400 => "BadRequest".into(),
        403 => "AccessDenied".into(),
        404 => "NotFound".into(),
        429 => "TooManyRequests".into(),
        500 => "InternalError".into(),
        503 => "ServiceUnavailable".into(),
        other => format!("Http{other}"),
    }
}

/// What happened, from the outside in.
fn story(error: &(dyn StdError + 'static)) -> String {
    let mut told: Vec<String> = Vec::new();
    let mut cause = Some(error);
    while let Some(error) = cause {
        let text = error.to_string();
        if told.last().is_none_or(|last| !last.contains(&text)) {
            told.push(text);
        }
        cause = error.source();
    }
    told.join(": ").chars().take(MESSAGE_MAX).collect()
}
