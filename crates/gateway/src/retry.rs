//! When a request that failed may be sent again. Pure: what happened goes in, what to do comes out.

use http::Method;

/// How often a request that reached a backend is sent again; refused connections are bounded by time instead.
const MAX_RESENDS: u32 = 3;

/// What went wrong between the gateway and a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// No connection could be made.
    Unreachable,
    /// The connection was found dead before a byte of the request was written.
    Unsent,
    /// The backend went away without one byte of an answer.
    Silent {
        /// The connection had served another request before.
        reused: bool,
    },
    /// What came back was broken off within its head, or is no HTTP.
    Garbled,
    /// The backend took too long to begin its answer.
    Late,
    /// The client's own body broke off.
    Client,
}

/// How much of a request's body is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// There is no body.
    Empty,
    /// There is one, and nobody has taken a byte of it.
    Untouched,
    /// Bytes were given to a backend and cannot be had again.
    Consumed,
}

/// What to do about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Ask another backend, if there is one.
    Another,
    /// Ask any backend, over a new connection.
    Fresh,
    /// Tell the client.
    GiveUp,
}

/// Whether a request that ran twice does no more than one that ran once.
pub(crate) fn idempotent(method: &Method) -> bool {
    matches!(
        *method,
        Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE | Method::PUT | Method::DELETE
    )
}

/// Decides. `resends` counts the times the request was sent again after it may have reached a backend.
pub(crate) fn judge(failure: Failure, idempotent: bool, sent: Sent, resends: u32) -> Verdict {
    let replayable = sent != Sent::Consumed && resends < MAX_RESENDS;
    match failure {
        Failure::Unreachable => Verdict::Another,
        Failure::Unsent => Verdict::Fresh,
        // A backend may close an idle connection in the moment it is used again: nobody read the request.
        // Once, because a request that is not idempotent must not chase a backend that dies of it.
        Failure::Silent { reused: true } if replayable && (idempotent || resends == 0) => Verdict::Fresh,
        Failure::Silent { reused: false } if replayable && idempotent => Verdict::Another,
        Failure::Garbled if replayable && idempotent => Verdict::Another,
        Failure::Silent { .. } | Failure::Garbled | Failure::Late | Failure::Client => Verdict::GiveUp,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_has_its_verdict() {
        use Failure::*;
        use Sent::*;
        use Verdict::*;
        let (get, post) = (true, false);
        let table = [
            (Unreachable, post, Consumed, 9, Another),
            (Unreachable, get, Empty, 0, Another),
            (Unsent, post, Untouched, 0, Fresh),
            (Silent { reused: true }, get, Empty, 0, Fresh),
            (Silent { reused: true }, get, Empty, 2, Fresh),
            (Silent { reused: true }, get, Empty, 3, GiveUp),
            (Silent { reused: true }, post, Empty, 0, Fresh),
            (Silent { reused: true }, post, Untouched, 0, Fresh),
            (Silent { reused: true }, post, Empty, 1, GiveUp),
            (Silent { reused: true }, post, Consumed, 0, GiveUp),
            (Silent { reused: true }, get, Consumed, 0, GiveUp),
            (Silent { reused: false }, get, Empty, 0, Another),
            (Silent { reused: false }, get, Untouched, 0, Another),
            (Silent { reused: false }, get, Consumed, 0, GiveUp),
            (Silent { reused: false }, get, Empty, 3, GiveUp),
            (Silent { reused: false }, post, Empty, 0, GiveUp),
            (Garbled, get, Empty, 0, Another),
            (Garbled, post, Empty, 0, GiveUp),
            (Late, get, Empty, 0, GiveUp),
            (Client, get, Untouched, 0, GiveUp),
        ];
        for (failure, idempotent, sent, resends, want) in table {
            let got = judge(failure, idempotent, sent, resends);
            assert_eq!(got, want, "{failure:?} idempotent={idempotent} {sent:?} resends={resends}");
        }
    }

    #[test]
    fn methods_that_may_run_twice() {
        for method in ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"] {
            assert!(idempotent(&Method::from_bytes(method.as_bytes()).expect("a method")), "{method}");
        }
        for method in ["POST", "PATCH", "LOCK"] {
            assert!(!idempotent(&Method::from_bytes(method.as_bytes()).expect("a method")), "{method}");
        }
    }
}
