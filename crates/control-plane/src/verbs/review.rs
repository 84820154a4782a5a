//! Reviews: questions in the form of a create, answered and never stored.

use super::{Answer, Call, Content, body};
use crate::gates::reviews;
use crate::kinds::Kind;
use crate::server::Server;
use crate::status::Status;

pub(super) fn is_review(kind: &Kind) -> bool {
    kind.builtin && matches!(kind.group.as_str(), "authentication.k8s.io" | "authorization.k8s.io")
}

pub(super) fn run(server: &Server, call: &Call) -> Result<Answer, Status> {
    call.query.check_write("CreateOptions", false)?;
    let request = body::object(call)?.value;
    let policy = server.policy();
    let answer = match call.entry.kind.kind.as_str() {
        "SelfSubjectAccessReview" => reviews::self_access(&request, &call.user, &policy),
        "SubjectAccessReview" => reviews::access(&request, &policy),
        "LocalSubjectAccessReview" => reviews::local_access(&request, &call.path.namespace, &policy),
        "SelfSubjectRulesReview" => reviews::rules(&request, &call.user, &policy),
        "SelfSubjectReview" => reviews::self_review(&request, &call.user, call.now),
        "TokenReview" => {
            let known = |token: &str, audiences: &[String]| server.identity.user_of_token(server, token, audiences, call.now);
            reviews::token(&request, &known)
        }
        other => Err(Status::bad_request(format!("{other} is not a review"))),
    };
    Ok(Answer::created(Content::Other(answer?)))
}
