//! On which server a claim's database is, and on what terms.

use std::collections::BTreeSet;

use api::claims::{
    ConnectionInfo, DatabaseClaim, DatabaseClaimSpec, DatabaseStatus, DatabaseType, DbState, SourceDatabase,
    Tag,
};
use api::conditions::Reason;
use api::connection::SslMode;
use api::names::{ObjectName, SecretKey};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kit::{Name, Refusal};
use sha2::{Digest, Sha256};

use super::config::{AuthSource, Config, DeletePolicy, Fragment, ReclaimPolicy};

/// Names of servers stay below what CloudNativePG takes.
const SERVER_NAME_MAX: usize = 50;

/// On which server a claim's database is, and on what terms.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Target {
    /// The fragment key that the label matched, or the label itself where any goes.
    pub(super) label: Option<String>,
    /// The server.
    pub(super) place: Place,
    /// On what terms.
    pub(super) terms: Terms,
}

/// A server.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Place {
    /// One that is there.
    Known(Known),
    /// One that is made.
    Made(Made),
    /// The source of the claim's data, which is itself the database.
    Source(SourceDatabase),
}

/// A server that is there.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Known {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) username: String,
    pub(super) password_secret: ObjectName,
    pub(super) password_key: SecretKey,
    pub(super) ssl_mode: SslMode,
    pub(super) ca_secret: Option<ObjectName>,
}

/// A server that is made.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Made {
    /// The name of its object, in the platform's namespace.
    pub(super) name: String,
    pub(super) type_: DatabaseType,
    pub(super) shape: Option<String>,
    pub(super) version: Option<String>,
    pub(super) storage_gb: Option<u32>,
    pub(super) ssl_mode: SslMode,
    pub(super) restore_from: Option<String>,
    pub(super) tags: Vec<Tag>,
}

/// What the platform's operators allow and want.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Terms {
    pub(super) extensions: BTreeSet<String>,
    pub(super) super_user: bool,
    pub(super) replication: bool,
    /// Whether what exists and carries no mark may be used.
    pub(super) adopt: bool,
    /// Whether a server that was made goes with its last claim.
    pub(super) reclaim: bool,
    /// Whether what is behind the object of a server stays when that goes.
    pub(super) orphan: bool,
}

/// The server that a claim asks for.
pub(super) fn wanted(claim: &DatabaseClaim, identity: &Name, config: &Config) -> Result<Target, Refusal> {
    let spec = &claim.spec;
    if spec.use_existing_source {
        return source(spec, config);
    }
    if spec.source_data_from.is_some() {
        return Err(invalid(
            "sourceDataFrom copies data between servers, which this version does not do yet; set useExistingSource: true to use the source itself, or take sourceDataFrom out",
        ));
    }
    let label = spec.instance_label.as_deref().filter(|label| !label.is_empty());
    let fragment = match label {
        Some(label) if !config.anything_goes => {
            let found = config.match_label(label);
            Some(found.map_err(|error| Refusal::new(Reason::LabelNotMatched, error.to_string()))?)
        }
        _ => None,
    };
    let host = spec.host.as_deref().filter(|host| !host.is_empty());
    let host = allowed(host, fragment)?.or_else(|| fragment.and_then(|fragment| fragment.host.as_deref()));
    let matched = fragment.map(|fragment| fragment.key.clone()).or_else(|| label.map(str::to_owned));
    let terms = terms(spec, fragment, config);
    let place = match (host, fragment) {
        (Some(host), Some(fragment)) => Place::Known(known(host, spec, fragment, config)?),
        _ => Place::Made(made(spec, matched.as_deref(), fragment, identity, config)),
    };
    Ok(Target { label: matched, place, terms })
}

/// The server that a claim's database is on, or the one that it asks for if it has none yet.
pub(super) fn current(claim: &DatabaseClaim, identity: &Name, config: &Config) -> Result<Target, Refusal> {
    match claim.status.as_ref().and_then(|status| status.active_db.as_ref()) {
        Some(active) => settled(claim, active, identity, config),
        None if Name::of(claim) != *identity => settled(claim, &kept(&claim.spec), identity, config),
        None => wanted(claim, identity, config),
    }
}

/// The database of a claim that is gone, as the record that keeps it tells: it names the host of a server that is known.
fn kept(spec: &DatabaseClaimSpec) -> DatabaseStatus {
    let host = spec.host.clone().filter(|host| !host.is_empty());
    let port = spec.port.as_ref().map(|port| match port {
        IntOrString::Int(port) => port.to_string(),
        IntOrString::String(port) => port.clone(),
    });
    DatabaseStatus {
        db_state: Some(if host.is_some() { DbState::UsingSharedHost } else { DbState::Ready }),
        match_label: spec.instance_label.clone().filter(|label| !label.is_empty()),
        shape: spec.shape.clone(),
        db_version: spec.db_version.clone(),
        type_: Some(spec.type_),
        connection_info: Some(ConnectionInfo { host_name: host, port, ..ConnectionInfo::default() }),
        ..DatabaseStatus::default()
    }
}

/// The server that a claim is on. What the claim asks for now may be another: that would be a migration.
pub(super) fn settled(
    claim: &DatabaseClaim,
    active: &DatabaseStatus,
    identity: &Name,
    config: &Config,
) -> Result<Target, Refusal> {
    let (spec, label) = (&claim.spec, &active.match_label);
    // The key itself: any other is for another server, and so is its login.
    let fragment = label.as_ref().and_then(|key| config.fragments.get(key));
    match (active.db_state, fragment) {
        (Some(DbState::UsingExistingDb), _) => source(spec, config),
        (Some(DbState::UsingSharedHost), None) => {
            let host = active.connection_info.as_ref().and_then(|info| info.host_name.as_deref());
            let (key, host) = (label.as_deref().unwrap_or("none"), host.unwrap_or("a server"));
            let message = format!(
                "the database is on {host}, and the fragment key {key} with the login of that server is not in the configuration any more; put it back"
            );
            Err(Refusal::new(Reason::LabelNotMatched, message))
        }
        (Some(DbState::UsingSharedHost), Some(fragment)) => {
            let info = active.connection_info.clone().unwrap_or_default();
            let host = info.host_name.or_else(|| fragment.host.clone()).unwrap_or_default();
            let mut known = known(&host, spec, fragment, config)?;
            known.port = info.port.and_then(|port| port.parse().ok()).unwrap_or(known.port);
            let terms = terms(spec, Some(fragment), config);
            Ok(Target { label: label.clone(), place: Place::Known(known), terms })
        }
        (Some(DbState::Ready | DbState::InProgress | DbState::PostMigrationInProgress) | None, fragment) => {
            let mut then = spec.clone();
            then.shape.clone_from(&active.shape);
            then.db_version.clone_from(&active.db_version);
            then.type_ = active.type_.unwrap_or_default();
            let made = made(&then, label.as_deref(), fragment, identity, config);
            let mut terms = terms(spec, fragment, config);
            // Nobody says any more what is to become of it.
            terms.reclaim &= fragment.is_some() || label.is_none() || config.anything_goes;
            Ok(Target { label: label.clone(), place: Place::Made(made), terms })
        }
    }
}

/// What of a claim would move its data to another server, in words.
pub(super) fn moved(
    spec: &DatabaseClaimSpec,
    active: &DatabaseStatus,
    now: &Target,
    then: &Target,
) -> Option<String> {
    let word = |word: &Option<String>| word.clone().unwrap_or_else(|| "none".to_owned());
    // What a claim does not ask for is left as it was made.
    let other = |asked: &Option<String>, is: &Option<String>| {
        asked.as_ref().is_some_and(|asked| !asked.is_empty()) && asked != is
    };
    let alike = std::mem::discriminant(&then.place) == std::mem::discriminant(&now.place);
    let what = match (&then.place, &now.place) {
        _ if alike && then.label != now.label => {
            format!("the instance label from {} to {}", word(&then.label), word(&now.label))
        }
        (Place::Known(then), Place::Known(now)) if (&then.host, then.port) != (&now.host, now.port) => {
            format!("the server from {}:{} to {}:{}", then.host, then.port, now.host, now.port)
        }
        (Place::Made(_), Place::Made(_)) if other(&spec.shape, &active.shape) => {
            format!("the shape from {} to {}", word(&active.shape), word(&spec.shape))
        }
        (Place::Made(_), Place::Made(_)) if other(&spec.db_version, &active.db_version) => {
            format!("the version from {} to {}", word(&active.db_version), word(&spec.db_version))
        }
        (Place::Made(then), Place::Made(now)) if then.type_ != now.type_ => "the type".to_owned(),
        (Place::Known(_), Place::Known(_))
        | (Place::Made(_), Place::Made(_))
        | (Place::Source(_), Place::Source(_)) => return None,
        _ => "the kind of server".to_owned(),
    };
    Some(format!(
        "to change {what} would move the data to another server, which this version does not do yet; nothing was changed, and the database is served where it is: change it back, or make a new claim"
    ))
}

/// Whether two places are one server.
pub(super) fn same(one: &Place, other: &Place) -> bool {
    match (one, other) {
        (Place::Known(one), Place::Known(other)) => (&one.host, one.port) == (&other.host, other.port),
        (Place::Made(one), Place::Made(other)) => one.name == other.name,
        (Place::Source(one), Place::Source(other)) => one == other,
        _ => false,
    }
}

/// The host that a claim names, if it may. The administrator's password goes there.
fn allowed<'a>(host: Option<&'a str>, fragment: Option<&Fragment>) -> Result<Option<&'a str>, Refusal> {
    let Some(host) = host else { return Ok(None) };
    match fragment.map(|fragment| (&fragment.key, &fragment.host)) {
        None => {
            Err(invalid("host names a server, and instanceLabel has to name the fragment key with its login"))
        }
        Some((key, Some(other))) if other != host => Err(invalid(format!(
            "host is {host}, and the fragment key {key} is for {other}: the login of one server is not sent to another; take host out, or ask for a fragment key of that server"
        ))),
        Some(_) => Ok(Some(host)),
    }
}

fn known(
    host: &str,
    spec: &DatabaseClaimSpec,
    fragment: &Fragment,
    config: &Config,
) -> Result<Known, Refusal> {
    let key = &fragment.key;
    let broken = |message: String| Refusal::new(Reason::InvalidConfiguration, message);
    if config.auth_source == AuthSource::Aws {
        return Err(broken("authSource is aws, which this version does not support yet; set it to secret and give each fragment key a passwordSecretRef".to_owned()));
    }
    let secret = fragment.password_secret.clone();
    let secret = secret.ok_or_else(|| {
        broken(format!("fragment key {key} has no passwordSecretRef, so nobody can log in to {host}"))
    })?;
    let port = match &spec.port {
        Some(IntOrString::Int(port)) => u16::try_from(*port).ok(),
        Some(IntOrString::String(port)) => port.parse().ok(),
        None => None,
    };
    Ok(Known {
        host: host.to_owned(),
        // The port belongs to the host: only who names one may name the other.
        port: port.filter(|_| fragment.host.is_none()).unwrap_or(fragment.port),
        username: fragment.username.clone(),
        password_secret: secret,
        password_key: fragment.password_key.clone(),
        ssl_mode: fragment.ssl_mode,
        ca_secret: fragment.ca_secret.clone(),
    })
}

fn made(
    spec: &DatabaseClaimSpec,
    label: Option<&str>,
    fragment: Option<&Fragment>,
    identity: &Name,
    config: &Config,
) -> Made {
    let defaults = &config.defaults;
    let own = |word: &Option<String>| word.clone().filter(|word| !word.is_empty());
    let storage = spec.min_storage_gb.and_then(|size| u32::try_from(size).ok()).filter(|size| *size > 0);
    Made {
        name: match label {
            Some(label) => server_name(label, &format!("label {label}")),
            None => server_name(
                &format!("{}-{}", identity.namespace, identity.name),
                &format!("claim {identity}"),
            ),
        },
        type_: spec.type_,
        shape: own(&spec.shape)
            .or_else(|| fragment.and_then(|fragment| fragment.shape.clone()))
            .or_else(|| defaults.shape.clone()),
        version: own(&spec.db_version)
            .or_else(|| fragment.and_then(|fragment| fragment.engine_version.clone()))
            .or_else(|| defaults.engine_version.clone()),
        storage_gb: storage
            .or_else(|| fragment.and_then(|fragment| fragment.storage_gb_min))
            .or(defaults.storage_gb_min),
        ssl_mode: fragment.map_or(defaults.ssl_mode, |fragment| fragment.ssl_mode),
        restore_from: own(&spec.restore_from),
        tags: spec.tags.clone(),
    }
}

fn source(spec: &DatabaseClaimSpec, config: &Config) -> Result<Target, Refusal> {
    let database = spec.source_data_from.as_ref().and_then(|source| source.database.clone());
    let database = database.ok_or_else(|| {
        invalid("useExistingSource needs sourceDataFrom.database, which says how the database is reached")
    })?;
    let terms =
        Terms { reclaim: false, adopt: true, extensions: BTreeSet::new(), ..terms(spec, None, config) };
    Ok(Target { label: None, place: Place::Source(database), terms })
}

fn terms(spec: &DatabaseClaimSpec, fragment: Option<&Fragment>, config: &Config) -> Terms {
    let defaults = &config.defaults;
    let reclaim = fragment.map_or(defaults.reclaim_policy, |fragment| fragment.reclaim_policy);
    let delete = fragment.map_or(defaults.delete_policy, |fragment| fragment.delete_policy);
    let keeps = spec.deletion_policy.map(api::claims::DeletionPolicy::keeps);
    Terms {
        extensions: fragment.map_or(&defaults.extensions, |fragment| &fragment.extensions).clone(),
        super_user: fragment.map_or(defaults.allow_super_user, |fragment| fragment.allow_super_user),
        replication: fragment.map_or(defaults.allow_replication, |fragment| fragment.allow_replication),
        adopt: fragment.is_some_and(|fragment| fragment.adopt_existing),
        // Where nobody configured anything, nobody else can have meant to keep it.
        reclaim: config.anything_goes || reclaim == ReclaimPolicy::Delete,
        orphan: keeps.unwrap_or(delete == DeletePolicy::Orphan),
    }
}

/// A name for a server: readable, and different for whatever is different.
fn server_name(readable: &str, exact: &str) -> String {
    let digest = Sha256::digest(exact);
    let digits: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let mut plain = String::new();
    // RDS takes no two hyphens in a row.
    for c in readable.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }) {
        if c != '-' || !plain.ends_with('-') {
            plain.push(c);
        }
    }
    plain.truncate(SERVER_NAME_MAX - "db--".len() - digits.len());
    match plain.trim_matches('-') {
        "" => format!("db-{digits}"),
        plain => format!("db-{plain}-{digits}"),
    }
}

fn invalid(message: impl Into<String>) -> Refusal {
    Refusal::new(Reason::InvalidSpec, message)
}
