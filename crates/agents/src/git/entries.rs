//! Pages where a secret is waited for. Each has a name that nobody can guess, is for one credential of one session, and
//! takes one secret.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::store::Wish;
use crate::audit::hex;

/// How long a person has.
const PATIENCE: Duration = Duration::from_secs(10 * 60);
/// How many pages may wait for one token; the oldest makes room.
const EACH: usize = 20;
/// How many may wait at all.
const ALL: usize = 1000;

/// A page that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pending {
    /// The session's namespace.
    pub(crate) namespace: String,
    /// The session.
    pub(crate) session: String,
    /// What is to be stored.
    pub(crate) wish: Wish,
    /// The name of the token that asked.
    pub(crate) asker: String,
    /// Its fingerprint.
    pub(crate) fingerprint: String,
}

/// All pages that wait. A restart of the server makes all of them void.
#[derive(Default)]
pub(crate) struct Entries(Mutex<HashMap<String, (Instant, Pending)>>);

impl Entries {
    /// The name of the page for a credential: the one that there is, else a new one.
    pub(crate) fn open(&self, pending: Pending, now: Instant) -> String {
        let mut all = self.0.lock();
        all.retain(|_, (until, _)| *until > now);
        if let Some((id, _)) = all.iter().find(|(_, (_, known))| *known == pending) {
            return id.clone();
        }
        let own = |known: &Pending| known.fingerprint == pending.fingerprint;
        let count = all.values().filter(|(_, known)| own(known)).count();
        let oldest = |of: &dyn Fn(&Pending) -> bool| {
            let those = all.iter().filter(|(_, (_, known))| of(known));
            those.min_by_key(|(_, (until, _))| *until).map(|(id, _)| id.clone())
        };
        let victim = match (count >= EACH, all.len() >= ALL) {
            (true, _) => oldest(&own),
            (false, true) => oldest(&|_| true),
            (false, false) => None,
        };
        if let Some(victim) = victim {
            all.remove(&victim);
        }
        let drawn: [u8; 16] = rand::random();
        let id = hex(&drawn);
        all.insert(id.clone(), (now + PATIENCE, pending));
        id
    }

    /// What a page waits for.
    pub(crate) fn look(&self, id: &str, now: Instant) -> Option<Pending> {
        self.0.lock().get(id).filter(|(until, _)| *until > now).map(|(_, pending)| pending.clone())
    }

    /// Takes a page out, so that nobody else can use it; with what it gives, it can be put back.
    pub(crate) fn take(&self, id: &str, now: Instant) -> Option<(Instant, Pending)> {
        self.0.lock().remove(id).filter(|(until, _)| *until > now)
    }

    /// Puts a page back whose use came to nothing.
    pub(crate) fn put_back(&self, id: &str, taken: (Instant, Pending)) {
        self.0.lock().insert(id.to_owned(), taken);
    }
}

#[cfg(test)]
mod tests {
    use super::super::host::{Host, Kind};
    use super::*;

    fn pending(fingerprint: &str, name: &str) -> Pending {
        let host = Host::read("https://github.com", Kind::Token, &[]).expect("a host");
        let wish = Wish { name: name.into(), host, kind: Kind::Token, username: None };
        let (namespace, session) = ("iaf-1".into(), "1".into());
        Pending { namespace, session, wish, asker: "a".into(), fingerprint: fingerprint.into() }
    }

    #[test]
    fn a_page_is_the_same_until_it_is_used_or_its_time_is_over() {
        let (entries, now) = (Entries::default(), Instant::now());
        let id = entries.open(pending("a", "x"), now);
        assert_eq!(id.len(), 32);
        assert_eq!(entries.open(pending("a", "x"), now), id);
        assert_ne!(entries.open(pending("b", "x"), now), id, "another caller has a page of its own");
        let late = now + PATIENCE;
        assert!(entries.look(&id, now).is_some() && entries.look(&id, late).is_none());
        let taken = entries.take(&id, now).expect("it waits");
        assert!(entries.take(&id, now).is_none(), "it is used once");
        entries.put_back(&id, taken);
        assert!(entries.take(&id, late).is_none(), "putting it back gives it no more time");
    }

    #[test]
    fn one_caller_cannot_push_out_the_pages_of_others() {
        let (entries, now) = (Entries::default(), Instant::now());
        let other = entries.open(pending("other", "x"), now);
        let first = entries.open(pending("a", "first"), now);
        let later = now + Duration::from_secs(1);
        for number in 0..EACH {
            entries.open(pending("a", &number.to_string()), later);
        }
        assert!(entries.look(&first, later).is_none(), "the oldest of the same caller makes room");
        assert!(entries.look(&other, later).is_some());
        assert_eq!(entries.0.lock().len(), EACH + 1);
    }
}
