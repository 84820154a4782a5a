//! What a server's refusals mean.

use std::error::Error as _;
use std::time::Duration;

use tokio_postgres::error::DbError;

use super::super::{Error, Server};

/// What an error of the driver means. The driver's own words are used where the server said nothing.
pub(super) fn judged(error: &tokio_postgres::Error, server: &Server, limit: Duration) -> Error {
    match error.as_db_error() {
        Some(answer) => answered(answer, server, limit),
        None => broken(error, server),
    }
}

fn answered(answer: &DbError, server: &Server, limit: Duration) -> Error {
    let (place, story) = (server.place(), answer.message().to_owned());
    match answer.code().code() {
        "28P01" | "28000" => Error::Denied { server: place, user: server.user.clone(), story },
        "53300" => Error::TooManyConnections { server: place, story },
        "25006" => Error::ReadOnly { server: place, story },
        "42501" => Error::Privilege { server: place, story },
        "57014" => Error::Timeout { server: place, what: "a statement", limit },
        "55006" | "55P03" => Error::Busy { server: place, story },
        "3D000" => Error::Missing { server: place, what: "database", name: server.database.clone() },
        code if code.starts_with("08") || code.starts_with("57P") => {
            Error::Unreachable { server: place, story }
        }
        code => Error::Statement { server: place, sqlstate: code.to_owned(), message: story },
    }
}

/// An error that is no answer: the line, TLS, or the end of the protocol.
fn broken(error: &tokio_postgres::Error, server: &Server) -> Error {
    let place = server.place();
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        words = inner.to_string();
        if let Some(tls) = tls(inner) {
            return match tls {
                rustls::Error::InvalidCertificate(_) => {
                    Error::Certificate { server: place, story: tls.to_string() }
                }
                _ => Error::Unreachable { server: place, story: tls.to_string() },
            };
        }
        cause = inner.source();
    }
    // https://docs.rs/tokio-postgres: the kinds of its errors can be told by their words only.
    let kind = error.to_string();
    if kind.starts_with("error performing TLS handshake") && words.contains("does not support TLS") {
        return Error::TlsRefused { server: place };
    }
    if kind.starts_with("authentication error") || kind.starts_with("invalid configuration") {
        return Error::Denied { server: place, user: server.user.clone(), story: words };
    }
    Error::Unreachable { server: place, story: words }
}

fn tls<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a rustls::Error> {
    let within = || error.downcast_ref::<std::io::Error>()?.get_ref()?.downcast_ref::<rustls::Error>();
    error.downcast_ref::<rustls::Error>().or_else(within)
}
