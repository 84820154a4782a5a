//! The `Status` object: every answer that is not an object, and the causes behind a refusal.

use http::StatusCode;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Why a request was refused, in the words clients switch on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub enum Reason {
    /// No reason is given; the code alone speaks.
    #[serde(rename = "")]
    Unknown,
    BadRequest,
    Unauthorized,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    NotAcceptable,
    AlreadyExists,
    Conflict,
    Gone,
    Expired,
    RequestEntityTooLarge,
    UnsupportedMediaType,
    Invalid,
    TooManyRequests,
    InternalError,
    ServerTimeout,
    ServiceUnavailable,
    Timeout,
}

/// One thing wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// `FieldValueInvalid`, `FieldValueRequired`, `FieldManagerConflict`, …
    pub reason: String,
    /// The sentence shown to the person, without the field's name.
    pub message: String,
    /// Path of the field: `spec.items[0].name`.
    pub field: String,
}

impl Cause {
    /// A value that breaks a rule: `Invalid value: <value>: <why>`.
    pub fn invalid(field: impl Into<String>, value: &Value, why: &str) -> Self {
        Self::of("FieldValueInvalid", field, format!("Invalid value: {value}: {why}"))
    }
    /// A value that is missing. `why` may be empty.
    pub fn required(field: impl Into<String>, why: &str) -> Self {
        let message = if why.is_empty() { "Required value".into() } else { format!("Required value: {why}") };
        Self::of("FieldValueRequired", field, message)
    }
    /// A value that may not be given here.
    pub fn forbidden(field: impl Into<String>, why: &str) -> Self {
        Self::of("FieldValueForbidden", field, format!("Forbidden: {why}"))
    }
    /// A value that stands twice where it may stand once.
    pub fn duplicate(field: impl Into<String>, value: &Value) -> Self {
        Self::of("FieldValueDuplicate", field, format!("Duplicate value: {value}"))
    }
    /// A value outside a closed list; `supported` is printed in the order given.
    pub fn not_supported(field: impl Into<String>, value: &Value, supported: &[&str]) -> Self {
        let list = supported.iter().map(|s| format!("{s:?}")).collect::<Vec<_>>().join(", ");
        Self::of(
            "FieldValueNotSupported",
            field,
            format!("Unsupported value: {value}: supported values: {list}"),
        )
    }
    /// A value longer than it may be.
    pub fn too_long(field: impl Into<String>, max: usize) -> Self {
        let message = format!("Too long: may not be more than {max} bytes");
        Self::of("FieldValueTooLong", field, message)
    }
    /// Any other cause.
    pub fn of(reason: &str, field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { reason: reason.into(), message: message.into(), field: field.into() }
    }
}

/// A refusal: what the client gets instead of an object.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Status {
    /// The HTTP code.
    pub code: StatusCode,
    /// The machine-readable reason.
    pub reason: Reason,
    /// The sentence for the person.
    pub message: String,
    /// `details`: name, group, kind, uid, causes, retryAfterSeconds; absent when `None`.
    pub details: Option<Map<String, Value>>,
    /// What the client is told beside the refusal, in `Warning` headers.
    pub warnings: Box<[String]>,
}

impl Status {
    /// A refusal without details.
    pub fn new(code: StatusCode, reason: Reason, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None, warnings: Box::default() }
    }
    /// The same refusal, with warnings beside it.
    pub fn warned(mut self, warnings: &[String]) -> Self {
        self.warnings = [&self.warnings, warnings].concat().into();
        self
    }
    /// 400: the request itself makes no sense.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, Reason::BadRequest, message)
    }
    /// 401: nobody we know.
    pub fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, Reason::Unauthorized, "Unauthorized")
    }
    /// 500: something broke on our side; `message` never holds a secret.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, Reason::InternalError, message)
    }
    /// 500 without a reason, as the original answers for errors it does not classify.
    pub fn unclassified(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, Reason::Unknown, message)
    }
    /// 404: `configmaps "x" not found`. `resource` is `plural` or `plural.group`.
    pub fn not_found(group: &str, plural: &str, name: &str) -> Self {
        let message = format!("{} {name:?} not found", qualified(plural, group));
        Self::new(StatusCode::NOT_FOUND, Reason::NotFound, message).about(group, plural, name)
    }
    /// 409: the name is taken.
    pub fn already_exists(group: &str, plural: &str, name: &str) -> Self {
        let message = format!("{} {name:?} already exists", qualified(plural, group));
        Self::new(StatusCode::CONFLICT, Reason::AlreadyExists, message).about(group, plural, name)
    }
    /// 409: somebody was faster, or a precondition does not hold.
    pub fn conflict(group: &str, plural: &str, name: &str, why: &str) -> Self {
        let message =
            format!("Operation cannot be fulfilled on {} {name:?}: {why}", qualified(plural, group));
        Self::new(StatusCode::CONFLICT, Reason::Conflict, message).about(group, plural, name)
    }
    /// 403: `configmaps "x" is forbidden: <why>`.
    pub fn forbidden(group: &str, plural: &str, name: &str, why: &str) -> Self {
        let what = qualified(plural, group);
        let message = match name {
            "" => format!("{what} is forbidden: {why}"),
            _ => format!("{what} {name:?} is forbidden: {why}"),
        };
        Self::new(StatusCode::FORBIDDEN, Reason::Forbidden, message).about(group, plural, name)
    }
    /// 422: the object breaks rules; one cause prints bare, several in brackets.
    pub fn invalid(group: &str, kind: &str, name: &str, causes: Vec<Cause>) -> Self {
        let sentence = |c: &Cause| format!("{}: {}", c.field, c.message);
        let list = match causes.as_slice() {
            [one] => sentence(one),
            many => format!("[{}]", many.iter().map(sentence).collect::<Vec<_>>().join(", ")),
        };
        let message = format!("{} {name:?} is invalid: {list}", qualified(kind, group));
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, Reason::Invalid, message)
            .about(group, kind, name)
            .because(causes)
    }
    /// 410: the version asked for has been compacted away.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, Reason::Expired, message)
    }
    /// Names the object in `details`, in the order the original writes.
    #[must_use]
    pub fn about(mut self, group: &str, kind: &str, name: &str) -> Self {
        let details = self.details.get_or_insert_default();
        for (key, value) in [("name", name), ("group", group), ("kind", kind)] {
            if !value.is_empty() {
                details.insert(key.into(), value.into());
            }
        }
        self
    }
    /// Adds the causes to `details`.
    #[must_use]
    pub fn because(mut self, causes: Vec<Cause>) -> Self {
        self.details.get_or_insert_default().insert("causes".into(), json!(causes));
        self
    }
    /// Asks the client to come back after so many seconds.
    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.details.get_or_insert_default().insert("retryAfterSeconds".into(), json!(seconds));
        self
    }
    /// The object as it goes over the wire.
    pub fn to_json(&self) -> Value {
        let mut body = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": self.message,
        });
        if self.reason != Reason::Unknown {
            body["reason"] = json!(self.reason);
        }
        if let Some(details) = &self.details {
            body["details"] = Value::Object(details.clone());
        }
        body["code"] = json!(self.code.as_u16());
        body
    }
}

/// `plural` in the core group, `plural.group` elsewhere.
pub fn qualified(name: &str, group: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{name}.{group}") }
}
