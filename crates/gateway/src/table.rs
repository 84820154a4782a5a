//! The routing table as it is told, and as it is looked up.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::backend::{Backend, Ticket, choose};
use crate::host;

/// Who answers which requests, and with which certificates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// In any order: `priority` decides, then how exact the host is, then the longer path.
    pub routes: Vec<Route>,
    /// By host; `*.example.com` covers one label; the empty host is shown to clients that name none, or an unknown one.
    pub certificates: BTreeMap<String, Certificate>,
}

/// Requests for one host below one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// `shop.localhost`, or `*.example.com` for one label more, or empty for any host.
    pub host: String,
    /// Whole segments: `/api` covers `/api` and `/api/x`, not `/apix`. Empty or `/` covers all.
    pub path_prefix: String,
    /// Only the path itself, to the letter, and nothing below it.
    pub exact: bool,
    /// The greater wins.
    pub priority: i64,
    /// Where it is answered.
    pub doors: Doors,
    /// Who answers. None for now: requests wait a while.
    pub backends: Vec<SocketAddr>,
    /// The application, as `namespace/name`, for messages.
    pub name: String,
}

/// Where a route is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doors {
    /// Over plain http.
    pub http: bool,
    /// Over https.
    pub https: bool,
}

impl Doors {
    /// Both doors.
    pub const BOTH: Self = Self { http: true, https: true };
    /// Only https; plain http is sent there.
    pub const HTTPS: Self = Self { http: false, https: true };
    /// Only plain http.
    pub const HTTP: Self = Self { http: true, https: false };
}

/// A certificate chain and its key, in PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct Certificate {
    /// The server's certificate first.
    pub chain_pem: String,
    /// PKCS #8, PKCS #1 or SEC 1.
    pub key_pem: String,
}

/// Never the key.
impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate").field("chain_pem", &self.chain_pem).field("key_pem", &"…").finish()
    }
}

/// A route with its living backends.
#[derive(Debug)]
pub(crate) struct Lane {
    path_prefix: String,
    exact: bool,
    priority: i64,
    doors: Doors,
    pub(crate) name: String,
    backends: Vec<Arc<Backend>>,
    turn: AtomicUsize,
}

impl Lane {
    pub(crate) fn is_empty(&self) -> bool {
        self.backends.is_empty()
    }

    /// The right to ask one of the backends that were not tried.
    pub(crate) fn ticket(&self, tried: &[SocketAddr]) -> Option<Ticket> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        choose(&self.backends, turn, tried).and_then(Ticket::take)
    }

    fn is_open(&self, secure: bool) -> bool {
        if secure { self.doors.https } else { self.doors.http }
    }

    fn covers(&self, path: &str) -> bool {
        if self.exact {
            return path == self.path_prefix;
        }
        let rest = path.strip_prefix(&*self.path_prefix);
        self.path_prefix.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// What the table says about a request.
#[derive(Debug)]
pub(crate) enum Found {
    /// This route answers.
    Lane(Arc<Lane>),
    /// A route answers, but only over https.
    HttpsOnly,
    /// No route.
    Nobody,
}

/// Routes by host, each list with its winner first.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    exact: HashMap<String, Vec<Arc<Lane>>>,
    /// By what stands after `*.`.
    wildcard: HashMap<String, Vec<Arc<Lane>>>,
    any: Vec<Arc<Lane>>,
}

impl Routes {
    /// Arranges routes; `backend` finds the living backend of an address.
    pub(crate) fn new(routes: Vec<Route>, mut backend: impl FnMut(SocketAddr) -> Arc<Backend>) -> Self {
        let mut arranged = Self::default();
        for route in routes {
            let Route { host, path_prefix, exact, priority, doors, backends, name } = route;
            let kept = if exact { path_prefix.as_str() } else { path_prefix.trim_end_matches('/') };
            let host = host.trim_end_matches('.').to_ascii_lowercase();
            let lane = Arc::new(Lane {
                path_prefix: kept.to_owned(),
                exact,
                priority,
                doors,
                name,
                backends: backends.into_iter().map(&mut backend).collect(),
                turn: AtomicUsize::new(0),
            });
            match host.strip_prefix("*.") {
                _ if host.is_empty() => arranged.any.push(lane),
                Some(parent) => arranged.wildcard.entry(parent.to_owned()).or_default().push(lane),
                None => arranged.exact.entry(host).or_default().push(lane),
            }
        }
        let lists = arranged.exact.values_mut().chain(arranged.wildcard.values_mut());
        for list in lists.chain([&mut arranged.any]) {
            list.sort_by_cached_key(|lane| {
                (Reverse(lane.priority), Reverse(lane.path_prefix.len()), lane.name.clone())
            });
        }
        arranged
    }

    /// The route of a request, by its host as [`host::normal`] writes it.
    pub(crate) fn find(&self, host: &str, path: &str, secure: bool) -> Found {
        let wildcard = host::parent(host).and_then(|parent| self.wildcard.get(parent));
        let lists = [
            self.exact.get(host).map_or(&[][..], Vec::as_slice),
            wildcard.map_or(&[][..], Vec::as_slice),
            &self.any,
        ];
        let firsts = lists.into_iter().filter_map(|list| first(list, path, secure));
        // Of equals the first, which is more exact.
        match firsts.reduce(|best, lane| if lane.priority > best.priority { lane } else { best }) {
            Some(lane) if lane.is_open(secure) => Found::Lane(Arc::clone(lane)),
            Some(_) => Found::HttpsOnly,
            None => Found::Nobody,
        }
    }

    /// Whether a route names this very host.
    pub(crate) fn names(&self, host: &str) -> bool {
        self.exact.contains_key(host)
    }
}

/// The lane of one host's list that answers here, or else the one that a client of plain http is sent to.
fn first<'a>(list: &'a [Arc<Lane>], path: &str, secure: bool) -> Option<&'a Arc<Lane>> {
    let open = |secure: bool| list.iter().find(|lane| lane.is_open(secure) && lane.covers(path));
    open(secure).or_else(|| if secure { None } else { open(true) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(host: &str, path_prefix: &str, priority: i64, doors: Doors, name: &str) -> Route {
        let (host, path_prefix, name) = (host.to_owned(), path_prefix.to_owned(), name.to_owned());
        Route { host, path_prefix, exact: false, priority, doors, backends: Vec::new(), name }
    }

    fn told(routes: &Routes, host: &str, path: &str, secure: bool) -> String {
        match routes.find(host, path, secure) {
            Found::Lane(lane) => lane.name.clone(),
            Found::HttpsOnly => "https only".to_owned(),
            Found::Nobody => "nobody".to_owned(),
        }
    }

    #[test]
    fn every_request_has_its_route() {
        let routes = vec![
            route("shop.localhost", "", 0, Doors::BOTH, "shop"),
            route("shop.localhost", "/api", 0, Doors::BOTH, "shop-api"),
            route("shop.localhost", "/api/old/", 0, Doors::BOTH, "shop-old"),
            route("*.example.com", "/", 0, Doors::BOTH, "wild"),
            route("www.Example.com.", "/", 0, Doors::HTTPS, "secure"),
            route("vip.example.com", "/only", 0, Doors::BOTH, "vip"),
            route("*.top.com", "/", 9, Doors::BOTH, "louder"),
            route("a.top.com", "/", 0, Doors::BOTH, "quieter"),
            route("plain.test", "", 0, Doors::HTTP, "plain"),
            Route { exact: true, ..route("shop.localhost", "/exactly", 1, Doors::BOTH, "shop-exact") },
        ];
        let routes = Routes::new(routes, |address| Arc::new(Backend::new(address)));
        let table = [
            ("shop.localhost", "/", false, "shop"),
            ("shop.localhost", "*", false, "shop"),
            ("shop.localhost", "/api", false, "shop-api"),
            ("shop.localhost", "/api/x", true, "shop-api"),
            ("shop.localhost", "/apix", false, "shop"),
            ("shop.localhost", "/api/old", false, "shop-old"),
            ("shop.localhost", "/api/older", false, "shop-api"),
            ("shop.localhost", "/exactly", false, "shop-exact"),
            ("shop.localhost", "/exactly/", false, "shop"),
            ("shop.localhost", "/exactly/x", false, "shop"),
            ("x.shop.localhost", "/", false, "nobody"),
            ("a.example.com", "/", false, "wild"),
            ("a.b.example.com", "/", false, "nobody"),
            ("example.com", "/", false, "nobody"),
            // The wildcard is open over plain http, but this host is not the wildcard's.
            ("www.example.com", "/", false, "https only"),
            ("www.example.com", "/", true, "secure"),
            ("vip.example.com", "/only/x", false, "vip"),
            ("vip.example.com", "/else", false, "wild"),
            ("a.top.com", "/", false, "louder"),
            ("plain.test", "/", false, "plain"),
            ("plain.test", "/", true, "nobody"),
            ("", "/", false, "nobody"),
        ];
        for (host, path, secure, want) in table {
            assert_eq!(told(&routes, host, path, secure), want, "{host}{path} secure={secure}");
        }
    }

    #[test]
    fn plain_http_is_sent_to_https_when_only_that_is_open() {
        let routes =
            vec![route("safe.test", "", 0, Doors::HTTPS, "safe"), route("", "/pub", 0, Doors::BOTH, "any")];
        let routes = Routes::new(routes, |address| Arc::new(Backend::new(address)));
        assert_eq!(told(&routes, "safe.test", "/", false), "https only");
        assert_eq!(told(&routes, "safe.test", "/", true), "safe");
        assert_eq!(told(&routes, "anyone.test", "/pub", false), "any");
        assert_eq!(told(&routes, "anyone.test", "/", false), "nobody");
    }

    #[test]
    fn a_certificate_never_shows_its_key() {
        let certificate = Certificate { chain_pem: "chain".to_owned(), key_pem: "very secret".to_owned() };
        let shown = format!("{certificate:?}");
        assert!(shown.contains("chain") && !shown.contains("very secret"), "{shown}");
    }
}
