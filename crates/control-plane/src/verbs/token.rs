//! `serviceaccounts/token`: a signed token for a service account.

use serde_json::{Value, json};

use super::{Answer, Call, Content, body, create};
use crate::gates::reviews;
use crate::identity::tokens::{Bound, TokenClaims};
use crate::server::{Server, key};
use crate::status::Status;

/// Longest life of a token, in seconds: a day, so that a leaked one ends by itself.
const LONGEST: i64 = 86_400;

pub(super) fn run(server: &Server, call: &Call) -> Result<Answer, Status> {
    call.query.check_write("CreateOptions", false)?;
    let account = server.store.get(&call.key()).ok_or_else(|| call.not_found())?;
    let request = if call.body.is_empty() { json!({}) } else { body::document(call)?.value };
    let order = reviews::token_request(&request)?;
    let seconds = order.seconds.min(LONGEST);
    let audiences = match order.audiences.is_empty() {
        true => vec![crate::plane::ISSUER.to_owned()],
        false => order.audiences,
    };
    let uid = account.facts().uid.to_string();
    let claims = TokenClaims {
        namespace: call.path.namespace.clone(),
        name: call.path.name.clone(),
        uid: uid.clone(),
        audiences: audiences.clone(),
        seconds,
        bound: bound(server, call, &order.bound)?,
    };
    let token = server.tokens.issue(&claims, call.now).map_err(|why| Status::internal(why.to_string()))?;
    let ends = call.now + jiff::SignedDuration::from_secs(seconds);
    let answer = json!({
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {
            "name": call.path.name, "namespace": call.path.namespace, "uid": uid,
            "creationTimestamp": create::seconds(call.now),
        },
        "spec": { "audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": order.bound },
        "status": { "token": token, "expirationTimestamp": create::seconds(ends) },
    });
    Ok(Answer::created(Content::Other(answer)))
}

/// A token may be bound to a pod or a Secret of its namespace: it ends when that does.
fn bound(server: &Server, call: &Call, reference: &Value) -> Result<Option<Bound>, Status> {
    if reference.is_null() {
        return Ok(None);
    }
    let text = |field: &str| reference[field].as_str().unwrap_or_default().to_owned();
    let (kind, name, uid) = (text("kind"), text("name"), text("uid"));
    let storage = match kind.as_str() {
        "Pod" => "pods",
        "Secret" => "secrets",
        other => return Err(Status::bad_request(format!("cannot bind token to object of type {other:?}"))),
    };
    let found = server.store.get(&key(storage, &call.path.namespace, &name));
    let found = found.ok_or_else(|| Status::not_found("", storage, &name))?;
    let own = found.facts().uid.to_string();
    if !uid.is_empty() && uid != own {
        let why =
            format!("the UID in the bound object reference ({uid}) does not match the UID in record ({own})");
        return Err(Status::conflict("", storage, &name, &why));
    }
    Ok(Some(Bound { kind, name, uid: own }))
}
