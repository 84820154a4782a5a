//! Reviews: questions in the form of a create, answered and never stored.

use super::{Answer, Call, Content, body};
use crate::gates::rbac::{Attributes, User};
use crate::gates::reviews;
use crate::kinds::Kind;
use crate::server::Server;
use crate::status::Status;

pub(super) fn is_review(kind: &Kind) -> bool {
    kind.builtin && matches!(kind.group.as_str(), "authentication.k8s.io" | "authorization.k8s.io")
}

pub(super) fn run(server: &Server, call: &Call) -> Result<Answer, Status> {
    call.query.check_write("CreateOptions", false)?;
    let mut request = body::object(call)?.value;
    // The path says where a review without a namespace is asked.
    if call.entry.kind.namespaced && request["metadata"]["namespace"].is_null() {
        request["metadata"]["namespace"] = call.path.namespace.clone().into();
    }
    let policy = server.policy();
    let judge = |user: &User, asked: &Attributes<'_>| policy.allows(user, asked);
    let answer = match call.entry.kind.kind.as_str() {
        "SelfSubjectAccessReview" => reviews::self_subject_access(&request, &call.user, &judge),
        "SubjectAccessReview" => reviews::subject_access(&request, &judge),
        "LocalSubjectAccessReview" => reviews::local_subject_access(&request, &call.path.namespace, &judge),
        "SelfSubjectRulesReview" => reviews::self_subject_rules(&request, &call.user, &policy),
        "SelfSubjectReview" => Ok(reviews::self_subject(&call.user, call.now)),
        "TokenReview" => {
            reviews::token_review(&request, &|token, audiences| server.authenticate(token, audiences))
        }
        other => Err(Status::bad_request(format!("{other} is not a review"))),
    };
    Ok(Answer::created(Content::Other(answer?)))
}
