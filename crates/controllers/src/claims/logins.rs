//! The two logins of a claim: which of them is published, when the other takes over, and what differs on the server.
//!
//! One login is published, the other is idle. A rotation gives the idle one a fresh password, logs in with it, and only
//! then publishes it. Nothing that is connected is cut, and the password before keeps working until the next rotation.

use std::sync::Arc;
use std::time::Duration;

use api::drift::{Drift, Severity};
use api::names::{RoleName, Side};
use api::secret::Sealed;
use jiff::Timestamp;
use ports::admin::{Act, Login, Powers, Role, Seen, Server, Title};

use super::secret::{Held, Issued};
use super::step::Step;

/// How far the clocks of two machines may be apart.
const SKEW: Duration = Duration::from_secs(5 * 60);

/// The two logins, and whom they stand for.
#[derive(Clone, Debug)]
pub(super) struct Pair<'a> {
    pub(super) server: &'a Arc<Server>,
    pub(super) database: &'a str,
    /// What both names begin with.
    pub(super) stem: &'a RoleName,
    /// Who they are from their login on.
    pub(super) owner: &'a str,
    pub(super) powers: Powers,
    pub(super) title: &'a Title,
}

/// What is known of time and of the Secret.
#[derive(Clone, Debug)]
pub(super) struct Hour<'a> {
    pub(super) now: Timestamp,
    pub(super) period: Duration,
    pub(super) held: &'a Held,
    /// Whether the published login gets in; `None` if nobody tried.
    pub(super) gets_in: Option<bool>,
    /// The rotation that the claim asks for.
    pub(super) asked: Option<&'a String>,
    /// The login that the claim's status tells of.
    pub(super) told: Option<&'a str>,
    /// A password that nobody has seen.
    pub(super) fresh: &'a Sealed<String>,
}

/// What is to be published.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Published {
    pub(super) username: String,
    pub(super) password: Sealed<String>,
    pub(super) at: Timestamp,
    pub(super) asked: Option<String>,
}

/// Why a password changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// There is none yet.
    First,
    /// Its time has come.
    Due,
    /// Somebody asked.
    Asked,
    /// What is published does not get in.
    Refused,
    /// The Secret is gone, or holds no login of ours.
    Lost,
}

impl Hour<'_> {
    /// Whether a password has to change, and why.
    pub(super) fn why(&self, stem: &RoleName) -> Option<Why> {
        let Some(issued) = self.held.ours().filter(|issued| side(stem, &issued.username).is_some()) else {
            return Some(if self.told.is_some() { Why::Lost } else { Why::First });
        };
        if self.gets_in == Some(false) || issued.password.open().is_empty() {
            return Some(Why::Refused);
        }
        if self.asked.is_some() && self.asked != issued.asked.as_ref() {
            return Some(Why::Asked);
        }
        (self.left() == Some(Duration::ZERO)).then_some(Why::Due)
    }

    /// How long the published password is still good; `None` if there is none.
    pub(super) fn left(&self) -> Option<Duration> {
        let issued = self.held.ours()?;
        // A time that is still to come was written by somebody else, and would put the rotation off for as long.
        let late = self.now.saturating_add(SKEW).unwrap_or(Timestamp::MAX);
        let Some(at) = issued.at.filter(|at| *at <= late) else { return Some(Duration::ZERO) };
        let age = Duration::try_from(self.now.duration_since(at)).unwrap_or_default();
        Some(self.period.saturating_sub(age))
    }
}

impl Pair<'_> {
    /// What is published from now on, and the steps that lead there.
    pub(super) fn turn(&self, hour: &Hour<'_>) -> (Vec<Step>, Published) {
        let current = hour.held.ours();
        let Some(why) = hour.why(self.stem) else {
            // Nothing has to change: `why` has seen that there is a login.
            let issued = current.cloned().unwrap_or_default();
            let at = issued.at.unwrap_or(hour.now);
            let Issued { username, password, asked, .. } = issued;
            return (Vec::new(), Published { username, password, at, asked });
        };
        let published = current.and_then(|issued| side(self.stem, &issued.username));
        let told = hour.told.and_then(|told| side(self.stem, told));
        // What does not get in may have been written by somebody else: programs use what the status tells of.
        let before = if why == Why::Refused { told.or(published) } else { published.or(told) };
        let next = before.map_or(Side::A, Side::other);
        let username = self.stem.login(next).to_string();
        let login = Login {
            database: self.database.to_owned(),
            role: username.clone(),
            password: hour.fresh.clone(),
        };
        let step = Step::issue(self.server, login, self.title.clone(), why == Why::First);
        let asked = hour.asked.cloned();
        (vec![step], Published { username, password: hour.fresh.clone(), at: hour.now, asked })
    }

    /// What differs of the two logins, and the steps that mend it.
    pub(super) fn mend(&self, seen: &Seen) -> (Vec<Step>, Vec<Drift>) {
        let (mut steps, mut drift) = (Vec::new(), Vec::new());
        for side in [Side::A, Side::B] {
            let role = self.stem.login(side).to_string();
            let found = differs(seen.roles.get(&role), self.powers, Some(self.owner));
            if found.is_empty() {
                continue;
            }
            let (owner, title) = (self.owner.to_owned(), self.title.clone());
            let act = Act::EnsureLogin { role: role.clone(), owner, powers: self.powers, title };
            steps.push(Step::act(self.server, act));
            drift.extend(found.into_iter().map(|difference| difference.drift(&format!("role {role}"))));
        }
        (steps, drift)
    }
}

/// Which of a stem's two logins a name is.
pub(super) fn side(stem: &RoleName, login: &str) -> Option<Side> {
    [Side::A, Side::B].into_iter().find(|side| stem.login(*side).as_str() == login)
}

/// One thing about a role that is not as it should be.
pub(super) struct Difference {
    what: &'static str,
    expected: String,
    actual: String,
    severity: Severity,
}

impl Difference {
    /// The same, as the status tells it.
    pub(super) fn drift(self, of: &str) -> Drift {
        let Self { what, expected, actual, severity } = self;
        Drift { field: format!("{of}: {what}"), expected, actual, severity: Some(severity) }
    }
}

/// What differs of a role. `owner` is whom a login stands for; without one the role is to be nobody's login.
pub(super) fn differs(found: Option<&Role>, powers: Powers, owner: Option<&str>) -> Vec<Difference> {
    let Some(found) = found else {
        let words = ("there".to_owned(), "missing".to_owned());
        let (expected, actual) = words;
        return vec![Difference { what: "existence", expected, actual, severity: Severity::High }];
    };
    let Powers { superuser, replication } = powers;
    let mut all = Vec::new();
    let mut compare = |what, expected: String, actual: String| {
        if expected != actual {
            all.push(Difference { what, expected, actual, severity: Severity::High });
        }
    };
    let word = |on: bool| on.to_string();
    compare("SUPERUSER", word(superuser), word(found.superuser));
    compare("REPLICATION", word(replication), word(found.replication));
    compare("CREATEDB", word(false), word(found.create_db));
    compare("CREATEROLE", word(false), word(found.create_role));
    compare("BYPASSRLS", word(false), word(found.bypass_rls));
    match owner {
        None => compare("LOGIN", word(false), word(found.login)),
        Some(owner) => {
            let list = found.member_of.keys().cloned().collect::<Vec<_>>().join(", ");
            compare("member of", owner.to_owned(), list);
            let stands = found.member_of.get(owner).is_none_or(|member| member.inherit && member.set);
            compare("may be its owner", word(true), word(stands && found.inherit));
            compare("SET role", owner.to_owned(), found.settings.get("role").cloned().unwrap_or_default());
        }
    }
    all
}
