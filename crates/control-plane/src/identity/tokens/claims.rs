//! What a token says.

use serde_json::{Value, json};

use super::Refusal;
use crate::gates::rbac::{User, service_account_name};

/// What a token is ordered with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenClaims {
    /// Namespace of the ServiceAccount.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid: a new account of the same name is somebody else.
    pub uid: String,
    /// Who may accept the token; empty for the issuer alone.
    pub audiences: Vec<String>,
    /// How long it lives.
    pub seconds: i64,
    /// The object whose end is the token's end.
    pub bound: Option<Bound>,
}

/// An object a token is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// `Pod`, `Secret` or `Node`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

/// What an accepted token says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    /// Namespace of the ServiceAccount.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// The audiences both asked for and named by the token.
    pub audiences: Vec<String>,
    /// The token's own name.
    pub id: String,
    /// When it ends, in seconds since 1970.
    pub expires: i64,
    /// The object whose end is the token's end.
    pub bound: Option<Bound>,
}

impl Claims {
    /// The user the token stands for.
    pub fn user(&self) -> User {
        let mut user = User::service_account(&self.namespace, &self.name, &self.uid);
        let mut tell = |key: &str, value: String| {
            user.extra.insert(format!("authentication.kubernetes.io/{key}"), vec![value]);
        };
        tell("credential-id", format!("JTI={}", self.id));
        if let Some(bound) = self.bound.as_ref().filter(|bound| bound.kind != "Secret") {
            let kind = bound.kind.to_lowercase();
            tell(&format!("{kind}-name"), bound.name.clone());
            tell(&format!("{kind}-uid"), bound.uid.clone());
        }
        user
    }
}

/// Kinds a token may be bound to, and the words for them in its claims.
const BOUND: [(&str, &str); 3] = [("Node", "node"), ("Pod", "pod"), ("Secret", "secret")];

/// The payload, members in alphabetical order; `None` if it would end after the end of time.
pub(super) fn write(wanted: &TokenClaims, issuer: &str, id: &str, now: i64) -> Option<Value> {
    let own = [issuer.to_owned()];
    let audiences = if wanted.audiences.is_empty() { &own[..] } else { &wanted.audiences };
    let mut private = json!({"namespace": wanted.namespace});
    if let Some(bound) = &wanted.bound {
        let word = BOUND.iter().find(|(kind, _)| *kind == bound.kind).map(|(_, word)| *word)?;
        private[word] = json!({"name": bound.name, "uid": bound.uid});
    }
    private["serviceaccount"] = json!({"name": wanted.name, "uid": wanted.uid});
    Some(json!({
        "aud": audiences,
        "exp": now.checked_add(wanted.seconds)?,
        "iat": now,
        "iss": issuer,
        "jti": id,
        "kubernetes.io": private,
        "nbf": now,
        "sub": service_account_name(&wanted.namespace, &wanted.name),
    }))
}

/// Reads the payload of a token whose signature holds.
pub(super) fn read(payload: &Value, issuer: &str, wanted: &[String], now: i64) -> Result<Claims, Refusal> {
    if payload["iss"] != issuer {
        return Err(Refusal::Issuer);
    }
    let (Some(expires), Some(begins)) = (payload["exp"].as_i64(), payload["nbf"].as_i64()) else {
        return Err(Refusal::Claims);
    };
    if now >= expires {
        return Err(Refusal::Expired);
    }
    if now < begins {
        return Err(Refusal::Early);
    }
    let meant = payload["aud"].as_array().ok_or(Refusal::Claims)?;
    let audiences: Vec<String> =
        wanted.iter().filter(|audience| meant.iter().any(|one| one == *audience)).cloned().collect();
    if audiences.is_empty() {
        return Err(Refusal::Audience);
    }
    let private = &payload["kubernetes.io"];
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let told = |object: &Value| Some((text(&object["name"])?, text(&object["uid"])?));
    let (name, uid) = told(&private["serviceaccount"]).ok_or(Refusal::Claims)?;
    let namespace = text(&private["namespace"]).ok_or(Refusal::Claims)?;
    if payload["sub"] != service_account_name(&namespace, &name) {
        return Err(Refusal::Claims);
    }
    let bound = BOUND.iter().find_map(|(kind, word)| {
        let (name, uid) = told(&private[*word])?;
        Some(Bound { kind: (*kind).to_owned(), name, uid })
    });
    let id = text(&payload["jti"]).unwrap_or_default();
    Ok(Claims { namespace, name, uid, audiences, id, expires, bound })
}
