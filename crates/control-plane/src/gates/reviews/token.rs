//! `TokenReview` and `TokenRequest`.

use serde_json::{Value, json};

use super::{answered, text, texts, user_info};
use crate::gates::rbac::User;
use crate::status::{Cause, Status};

const GROUP: &str = "authentication.k8s.io";
const API_VERSION: &str = "authentication.k8s.io/v1";
/// How long a token lives when nobody says: an hour, as in the original.
const LIFETIME_DEFAULT: i64 = 3600;
/// Shorter lives would be all renewal.
const LIFETIME_MIN: i64 = 600;
const LIFETIME_MAX: i64 = 1 << 32;

/// The token authenticator as reviews see it: the user and the audiences the token is good for, of those given.
/// No audiences mean the server's own.
pub type Authenticate<'a> = dyn Fn(&str, &[String]) -> Result<(User, Vec<String>), String> + 'a;

/// Whose token is this?
pub fn token_review(request: &Value, authenticate: &Authenticate<'_>) -> Result<Value, Status> {
    let token = text(&request["spec"], "token");
    if token.is_empty() {
        return Err(Status::bad_request("token is required for TokenReview in authentication"));
    }
    let status = match authenticate(token, &texts(&request["spec"]["audiences"])) {
        Ok((user, audiences)) => {
            json!({"authenticated": true, "user": user_info(&user), "audiences": audiences})
        }
        Err(why) => json!({"user": {}, "error": why}),
    };
    Ok(answered(request, "TokenReview", API_VERSION, status))
}

/// What a `TokenRequest` asks for, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenOrder {
    /// Who the token is for; empty for the server itself.
    pub audiences: Vec<String>,
    /// How long it shall live.
    pub seconds: i64,
    /// `kind`, `apiVersion`, `name`, `uid` of the object whose end is the token's end; `null` for none.
    pub bound: Value,
}

/// Reads the body of a `TokenRequest`; an empty body orders a plain token.
pub fn token_request(request: &Value) -> Result<TokenOrder, Status> {
    let spec = &request["spec"];
    let seconds = spec["expirationSeconds"].as_i64().unwrap_or(LIFETIME_DEFAULT);
    let why = match seconds {
        ..LIFETIME_MIN => "may not specify a duration less than 10 minutes",
        LIFETIME_MIN..=LIFETIME_MAX => "",
        _ => "may not specify a duration larger than 2^32 seconds",
    };
    if !why.is_empty() {
        let cause = Cause::invalid("spec.expirationSeconds", &json!(seconds), why);
        return Err(Status::invalid(GROUP, "TokenRequest", "", vec![cause]));
    }
    Ok(TokenOrder { audiences: texts(&spec["audiences"]), seconds, bound: spec["boundObjectRef"].clone() })
}
