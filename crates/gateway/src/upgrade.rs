//! Requests that leave HTTP: WebSocket, and whatever else client and backend agree on.

use std::sync::atomic::Ordering;

use http::header::{HeaderValue, UPGRADE};
use http::{Request, Response, StatusCode};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::copy_bidirectional;

use crate::backend::Ticket;
use crate::body::Body;
use crate::connection::{self, Busy};
use crate::headers;
use crate::line::dial;
use crate::proxy::{Attempt, Journey, in_time};
use crate::retry::Failure;

/// Sends a request that asks for `protocol` over a connection of its own, and joins both sides if the backend agrees.
pub(crate) async fn carry(
    mut journey: Journey<'_>,
    protocol: HeaderValue,
    client_side: OnUpgrade,
) -> Response<Body> {
    if let Some(head) = &mut journey.head {
        headers::ask_upgrade(&mut head.headers, protocol);
    }
    loop {
        let ticket = match journey.next_backend().await {
            Ok(ticket) => ticket,
            Err(response) => return *response,
        };
        let (attempt, ticket) = match ask(&journey, ticket).await {
            Ok((response, ticket)) if response.status() == StatusCode::SWITCHING_PROTOCOLS => {
                return switched(&journey, response, client_side, ticket);
            }
            Ok((response, ticket)) => return journey.answered(response, None, ticket),
            Err(failed) => failed,
        };
        let attempt = journey.failed(&ticket, attempt);
        if let Some(response) = journey.consider(attempt) {
            return response;
        }
    }
}

type Asked = Result<(Response<hyper::body::Incoming>, Ticket), (Attempt, Ticket)>;

async fn ask(journey: &Journey<'_>, ticket: Ticket) -> Asked {
    let settings = &journey.gateway.0.settings;
    let Some(head) = journey.head.clone() else { return Err((Attempt::new(Failure::Client), ticket)) };
    let Ok((mut send, wire, heard)) = dial(ticket.0.address, settings.connect_timeout).await else {
        return Err((Attempt::new(Failure::Unreachable), ticket));
    };
    // Here a task drives the connection: it outlives the request.
    tokio::spawn(wire.with_upgrades());
    let request = Request::from_parts(head, journey.upload.clone());
    match in_time(send.send_request(request), &journey.upload, settings.answer_timeout).await {
        Some(Ok(response)) => Ok((response, ticket)),
        Some(Err(error)) => {
            let failure = journey.diagnose(&error, false, false, heard.load(Ordering::Relaxed));
            Err((Attempt::new(failure), ticket))
        }
        None => Err((Attempt::new(Failure::Late), ticket)),
    }
}

/// Copies in both directions, in a task, until one side ends or the gateway stops.
fn switched(
    journey: &Journey<'_>,
    mut response: Response<hyper::body::Incoming>,
    client_side: OnUpgrade,
    ticket: Ticket,
) -> Response<Body> {
    let backend_side = hyper::upgrade::on(&mut response);
    let seat = journey.client.seat.clone();
    let busy = Busy::new(&seat);
    tokio::spawn(async move {
        let (Ok(client), Ok(backend)) = tokio::join!(client_side, backend_side) else { return };
        seat.pulse.upgraded();
        let (mut client, mut backend) = (TokioIo::new(client), TokioIo::new(backend));
        let copying = copy_bidirectional(&mut client, &mut backend);
        if let Some(Err(error)) = connection::run(&seat.pulse, copying, |_| ()).await {
            tracing::debug!(%error, "an upgraded connection broke off");
        }
        drop((busy, ticket));
    });
    let (mut head, _) = response.into_parts();
    let protocol = head.headers.get(UPGRADE).cloned();
    headers::drop_hop_by_hop(&mut head.headers);
    if let Some(protocol) = protocol {
        headers::ask_upgrade(&mut head.headers, protocol);
    }
    head.extensions.clear();
    Response::from_parts(head, Body::empty())
}
