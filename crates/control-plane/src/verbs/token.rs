//! `serviceaccounts/token`: a signed token for a service account.

use serde_json::json;

use super::{Answer, Call, Content, body, create};
use crate::identity::tokens::TokenClaims;
use crate::server::Server;
use crate::status::{Cause, Status};

/// Shortest life of a token, as Kubernetes bounds it.
const SHORTEST: i64 = 600;
/// Longest life of a token: a day, so that a leaked one ends by itself.
const LONGEST: i64 = 86_400;
/// Life of a token whose request names none.
const USUAL: i64 = 3600;

pub(super) fn run(server: &Server, call: &Call) -> Result<Answer, Status> {
    call.query.check_write("CreateOptions", false)?;
    let account = server.store.get(&call.key()).ok_or_else(|| call.not_found())?;
    let mut request = if call.body.is_empty() { json!({}) } else { body::document(call)?.value };
    let asked = request["spec"]["expirationSeconds"].as_i64().unwrap_or(USUAL);
    if asked < SHORTEST {
        let why = "may not specify a duration less than 10 minutes";
        let cause = Cause::invalid("spec.expirationSeconds", &json!(asked), why);
        return Err(Status::invalid("authentication.k8s.io", "TokenRequest", "", vec![cause]));
    }
    let life = asked.min(LONGEST);
    let audiences: Vec<String> = match request["spec"]["audiences"].as_array() {
        Some(list) if !list.is_empty() => list.iter().filter_map(|a| a.as_str().map(str::to_owned)).collect(),
        _ => vec![server.identity.tokens.issuer().to_owned()],
    };
    let bound = bound_object(server, call, &request)?;
    let claims = TokenClaims {
        namespace: call.path.namespace.clone(),
        name: call.path.name.clone(),
        uid: account.facts().uid.to_string(),
        audiences: audiences.clone(),
        seconds: life,
        bound,
    };
    let token = server.identity.tokens.issue(&claims, call.now);
    let ends = call.now + jiff::SignedDuration::from_secs(life);
    let spec = &mut request["spec"];
    spec["audiences"] = json!(audiences);
    spec["expirationSeconds"] = json!(life);
    if spec["boundObjectRef"].is_null() {
        spec["boundObjectRef"] = serde_json::Value::Null;
    }
    let answer = json!({
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {
            "name": call.path.name, "namespace": call.path.namespace, "uid": account.facts().uid,
            "creationTimestamp": create::seconds(call.now),
        },
        "spec": spec,
        "status": { "token": token, "expirationTimestamp": create::seconds(ends) },
    });
    Ok(Answer::created(Content::Other(answer)))
}

/// A token may be bound to a pod, a Secret or a node: it ends when that does.
fn bound_object(
    server: &Server,
    call: &Call,
    request: &serde_json::Value,
) -> Result<Option<(String, String, String)>, Status> {
    let reference = &request["spec"]["boundObjectRef"];
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
    let found = server
        .store
        .get(&crate::server::key(storage, &call.path.namespace, &name))
        .ok_or_else(|| Status::not_found("", storage, &name))?;
    let own = found.facts().uid.to_string();
    if !uid.is_empty() && uid != own {
        let why = format!("the UID in the bound object reference ({uid}) does not match the UID in record ({own})");
        return Err(Status::conflict("", storage, &name, &why));
    }
    Ok(Some((kind, name, own)))
}
