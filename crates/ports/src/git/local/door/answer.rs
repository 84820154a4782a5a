//! Answers in words.

use gateway::Body;
use http::{HeaderValue, Response, StatusCode, header};

use super::super::super::{Git as _, Place, PullRequestState};
use super::super::{Local, house, papers};
use super::path::Asked;

/// Nobody knows who asks.
pub(super) fn unknown() -> Response<Body> {
    let mut response = refused(StatusCode::UNAUTHORIZED, "show a deploy key's password or a token");
    let want = HeaderValue::from_static("Basic realm=\"terrace\", charset=\"UTF-8\"");
    response.headers_mut().insert(header::WWW_AUTHENTICATE, want);
    response
}

/// An answer of a few words. Git shows them to who pushes.
pub(super) fn refused(status: StatusCode, words: &str) -> Response<Body> {
    text(status, format!("{words}\n"))
}

fn text(status: StatusCode, words: String) -> Response<Body> {
    let mut response = Response::new(Body::full(words));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// What a person has to know of a pull request.
pub(super) async fn page(local: &Local, asked: &Asked, number: i64) -> Response<Body> {
    let host = super::super::super::Host {
        provider: api::projects::GitProvider::Local,
        domain: None,
        insecure: false,
        username: None,
        token: None,
    };
    let (owner, name) = (asked.owner.clone(), asked.name.clone());
    let place = Place { host, owner, organization: true, name };
    // It is judged first, so that the page tells how it stands now.
    let told = local.pull_request(&place, number).await;
    let directory = house::directory(&local.inner.root, &asked.owner, &asked.name);
    let paper: Result<papers::Pulls, _> = papers::read(&directory);
    let (Ok(Some(told)), Ok(paper)) = (told, paper) else {
        return refused(StatusCode::NOT_FOUND, "there is no such pull request");
    };
    let Some(pull) = paper.pulls.into_iter().find(|pull| pull.number == number) else {
        return refused(StatusCode::NOT_FOUND, "there is no such pull request");
    };
    let state = match told.state {
        PullRequestState::Open => "open",
        PullRequestState::Merged => "merged",
        PullRequestState::Closed => "closed",
    };
    let papers::Pull { branch, onto, title, body, .. } = pull;
    let help = match told.state {
        PullRequestState::Open => format!(
            "\nTo take it:\n    git fetch origin && git checkout {onto} && git merge origin/{branch} && git push\n"
        ),
        PullRequestState::Merged | PullRequestState::Closed => String::new(),
    };
    let page = format!("#{number} {title}\n{state}: {branch} to {onto} at {}\n\n{body}\n{help}", told.commit);
    text(StatusCode::OK, page)
}
