use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use api::annotations::ADOPT;
use api::conditions::{Reason, Standing};
use api::foreign::certmanager::{Certificate, CertificateSpec, CertificateStatus};
use api::names::Span;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kit::{Address, Do, Name, Next, Plan, Refusal};
use ports::authority::{Facts, Order};

use super::ISSUING;

/// What cert-manager takes if nobody says otherwise: ninety days.
const LIFETIME: Duration = Duration::from_secs(2160 * 3600);
/// The shortest lifetime that cert-manager takes.
const LIFETIME_MIN: Duration = Duration::from_secs(3600);
/// The shortest time before its end at which cert-manager renews.
const RENEW_BEFORE_MIN: Duration = Duration::from_secs(300);
/// How cert-manager says that all is well.
const UP_TO_DATE: &str = "Ready";
/// How cert-manager says that nobody signs.
const NO_ISSUER: &str = "IssuerNotFound";
/// The only kind of issuer there is on one machine.
const ISSUER_KIND: &str = "ClusterIssuer";
/// cert-manager's own group.
const GROUP: &str = "cert-manager.io";

/// What is known of a certificate.
#[derive(Clone, Debug)]
pub struct World {
    pub(super) time: Timestamp,
    pub(super) secret: Held,
    /// Secrets of this certificate under names that it had before.
    pub(super) strays: Vec<Name>,
}

/// What lies under the name of the Secret.
#[derive(Clone, Debug)]
pub(super) enum Held {
    Nothing,
    /// A Secret that somebody else made.
    Foreign,
    Ours(Seen),
}

/// What our Secret holds.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// What its certificate says, if it holds one.
    pub(super) facts: Option<Facts>,
    /// Whether `ca.crt` is the authority's own certificate of today.
    pub(super) root_there: bool,
    /// How often it was issued.
    pub(super) revision: Option<i64>,
}

/// What is done about it.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// The authority signs, and the Secret receives it.
    Issue {
        /// What the certificate is to say.
        order: Order,
        /// How often it was issued then.
        revision: i64,
    },
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Issue { order, .. } = self;
        let names: Vec<&str> = order.names.iter().map(String::as_str).collect();
        write!(f, "issue a certificate for {} until {}", names.join(", "), order.not_after)
    }
}

/// The plan for one pass over one certificate.
pub(super) fn plan(
    issuer: &str,
    certificate: &Certificate,
    world: &World,
) -> Result<Plan<Step, CertificateStatus>, Refusal> {
    let spec = &certificate.spec;
    served(issuer, spec)?;
    let names = names(spec)?;
    let (lifetime, renew_before) = spans(spec)?;
    let mut status = certificate.status.clone().unwrap_or_default();
    status.conditions.retain(|condition| condition.type_ != ISSUING);
    let seen = match &world.secret {
        Held::Nothing => None,
        Held::Ours(seen) => Some(seen),
        Held::Foreign => {
            status.not_ready(Reason::NotOurs, foreign(&spec.secret_name));
            return Ok(Plan::part(Vec::new(), status, Next::OnChange));
        }
    };
    let issued = seen.and_then(|seen| seen.revision).or(status.revision);
    let good = seen.filter(|seen| seen.root_there).and_then(|seen| seen.facts.as_ref()).filter(|facts| {
        let ours = facts.signed_here && facts.key_fits && facts.names == names;
        ours && facts.not_before <= world.time
            && world.time < renewal(facts.not_before, facts.not_after, renew_before)
    });
    let mut steps = Vec::new();
    let (not_before, not_after) = match good {
        Some(facts) => (facts.not_before, facts.not_after),
        None => {
            let not_before = whole_seconds(world.time);
            let not_after = later(not_before, lifetime);
            let order = Order { names, not_before, not_after };
            steps.push(Do::Outside(Step::Issue { order, revision: issued.unwrap_or(0) + 1 }));
            (not_before, not_after)
        }
    };
    let strays = world.strays.iter();
    steps.extend(strays.map(|stray| Do::Delete(Address::new::<Secret>(&stray.namespace, &stray.name), None)));
    let renewal = renewal(not_before, not_after, renew_before);
    status.revision = Some(if good.is_some() { issued.unwrap_or(1) } else { issued.unwrap_or(0) + 1 });
    status.not_before = Some(Time(not_before));
    status.not_after = Some(Time(not_after));
    status.renewal_time = Some(Time(renewal));
    let message = "the certificate is up to date and is renewed before it ends";
    status.ready(Reason::Code(UP_TO_DATE.into()), message);
    let delay = Duration::try_from(renewal.duration_since(world.time)).unwrap_or_default();
    Ok(Plan::part(steps, status, Next::After(delay)))
}

fn served(issuer: &str, spec: &CertificateSpec) -> Result<(), Refusal> {
    let asked = &spec.issuer_ref;
    let kind = asked.kind.as_deref().unwrap_or(ISSUER_KIND);
    let group = asked.group.as_deref().filter(|group| !group.is_empty()).unwrap_or(GROUP);
    if asked.name == issuer && kind == ISSUER_KIND && group == GROUP {
        return Ok(());
    }
    let message =
        format!("{kind} {:?} does not exist; the only issuer here is {ISSUER_KIND} {issuer:?}", asked.name);
    Err(Refusal::new(Reason::Code(NO_ISSUER.into()), message))
}

/// The hosts and addresses, in the one form in which they are compared.
fn names(spec: &CertificateSpec) -> Result<BTreeSet<String>, Refusal> {
    let mut names = BTreeSet::new();
    for written in &spec.dns_names {
        let Some(name) = name(written) else {
            return Err(invalid(format!("{written:?} in dnsNames is not a host")));
        };
        names.insert(name);
    }
    // Clients look at the hosts alone, so a common name that is one is among them.
    names.extend(spec.common_name.as_deref().and_then(name));
    if names.is_empty() {
        return Err(invalid("the certificate names no host; add one to dnsNames"));
    }
    Ok(names)
}

fn name(written: &str) -> Option<String> {
    if let Ok(address) = written.parse::<IpAddr>() {
        return Some(address.to_string());
    }
    let bare = written.strip_prefix("*.").unwrap_or(written);
    let lawful = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let label = |label: &str| (1..=63).contains(&label.len()) && label.bytes().all(lawful);
    (written.len() <= 253 && bare.split('.').all(label)).then(|| written.to_ascii_lowercase())
}

/// How long it lives, and how long before its end it is renewed, if that is said.
fn spans(spec: &CertificateSpec) -> Result<(Duration, Option<Duration>), Refusal> {
    let span = |field: &str, written: &Option<String>| match written {
        None => Ok(None),
        Some(text) => match text.parse::<Span>() {
            Ok(span) => Ok(Some(span.duration())),
            Err(_) => Err(invalid(format!("{field} {text:?} is not a time such as 2160h"))),
        },
    };
    let lifetime = span("duration", &spec.duration)?.unwrap_or(LIFETIME);
    let renew_before = span("renewBefore", &spec.renew_before)?;
    if lifetime < LIFETIME_MIN {
        return Err(invalid("duration is shorter than 1h"));
    }
    match renew_before {
        Some(before) if before < RENEW_BEFORE_MIN => Err(invalid("renewBefore is shorter than 5m")),
        Some(before) if before >= lifetime => Err(invalid("renewBefore is not shorter than duration")),
        _ => Ok((lifetime, renew_before)),
    }
}

/// When it is renewed: when a third of its lifetime is left, unless something else is said that fits into it.
fn renewal(not_before: Timestamp, not_after: Timestamp, renew_before: Option<Duration>) -> Timestamp {
    let lifetime = not_after.duration_since(not_before);
    let said = renew_before.and_then(|before| SignedDuration::try_from(before).ok());
    let before = said.filter(|before| *before < lifetime).unwrap_or(lifetime / 3);
    whole_seconds(not_after.saturating_sub(before).unwrap_or(not_before))
}

fn later(time: Timestamp, by: Duration) -> Timestamp {
    time.saturating_add(by).map_or(time, whole_seconds)
}

/// Certificates know no smaller unit.
fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

fn foreign(secret: &str) -> String {
    format!(
        "Secret {secret:?} exists and was not made for this certificate; choose another secretName, or let Terrace have it with the annotation {ADOPT}: \"true\""
    )
}

fn invalid(message: impl Into<String>) -> Refusal {
    Refusal::new(Reason::InvalidSpec, message)
}
