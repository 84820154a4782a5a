//! HTTP sessions of the protocol's earlier era: an id that one token was given is of no use to any other, and a token
//! that forgets to end its sessions loses the oldest.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::HeaderMap;
use parking_lot::Mutex;
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};

/// The header that names a session.
const HEADER: &str = "mcp-session-id";
/// How long a session lasts without a message.
const IDLE: Duration = Duration::from_secs(15 * 60);
/// Sessions that one token may have at a time.
const MOST: usize = 32;

/// Who was given which session.
pub(crate) struct Visits {
    sessions: Arc<LocalSessionManager>,
    given: Mutex<HashMap<String, Visit>>,
}

struct Visit {
    fingerprint: String,
    since: Instant,
}

impl Visits {
    /// No sessions yet.
    pub(crate) fn new() -> Self {
        let mut config = SessionConfig::default();
        config.keep_alive = Some(IDLE);
        let mut sessions = LocalSessionManager::default();
        sessions.session_config = config;
        Self { sessions: Arc::new(sessions), given: Mutex::default() }
    }

    /// The sessions themselves.
    pub(crate) fn sessions(&self) -> Arc<LocalSessionManager> {
        self.sessions.clone()
    }

    /// Whether a request names no session of somebody else.
    pub(crate) fn admit(&self, headers: &HeaderMap, fingerprint: &str) -> bool {
        let named = headers.get(HEADER).and_then(|id| id.to_str().ok());
        let given = self.given.lock();
        named.and_then(|id| given.get(id)).is_none_or(|visit| visit.fingerprint == fingerprint)
    }

    /// Notes the session that an answer gives, forgets those that have ended, and ends what is too many.
    pub(crate) async fn note(&self, headers: &HeaderMap, fingerprint: &str) {
        let Some(id) = headers.get(HEADER).and_then(|id| id.to_str().ok()) else { return };
        {
            let visit = Visit { fingerprint: fingerprint.to_owned(), since: Instant::now() };
            self.given.lock().entry(id.to_owned()).or_insert(visit);
        }
        let there = self.sessions.sessions.read().await;
        let over: Vec<String> = {
            let mut given = self.given.lock();
            given.retain(|id, _| there.contains_key(id.as_str()));
            let mut own: Vec<(Instant, String)> = given
                .iter()
                .filter(|(_, visit)| visit.fingerprint == fingerprint)
                .map(|(id, visit)| (visit.since, id.clone()))
                .collect();
            own.sort();
            let over = own.len().saturating_sub(MOST);
            own.into_iter().take(over).map(|(_, id)| id).collect()
        };
        drop(there);
        for id in over {
            let _ = self.sessions.close_session(&id.into()).await;
        }
    }
}
