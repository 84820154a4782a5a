//! Every rule of the kind.

mod server;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use api::conditions::{READY, Reason, SYNCED, Standing};
use api::foreign::cloud_database::{CloudDatabaseClaim, CloudDatabaseClaimStatus};
use api::foreign::cnpg::Cluster;
use api::foreign::find;
use api::secret::Sealed;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kit::{Address, Child, Do, Next, Plan, Refusal};
use kube::ResourceExt;

use crate::services::Config;

use server::Policy;

/// How often a claim is looked at that is not ready yet. What it waits for wakes it; this is for what nobody told.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// The type of the Secrets that Crossplane writes (`apis/common/v1/resource.go` there, like the reasons below).
const SECRET_TYPE: &str = "connection.crossplane.io/v1alpha1";
const IN_SYNC: &str = "ReconcileSuccess";
pub(super) const OUT_OF_SYNC: &str = "ReconcileError";
const AVAILABLE: &str = "Available";
const CREATING: &str = "Creating";
const UNAVAILABLE: &str = "Unavailable";

/// What is known when a plan is made.
#[derive(Clone, Debug)]
pub struct World {
    /// The Cluster of the claim's name, whoever made it.
    pub(super) cluster: Option<Arc<Cluster>>,
    /// The login of that Cluster's superuser, if it has one.
    pub(super) login: Option<Login>,
    /// What lies under the name of the claim's Secret.
    pub(super) secret: Held,
}

/// What lies under the name of the claim's Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    Nothing,
    /// One that somebody else made.
    Foreign,
    Ours,
}

/// The login of a superuser.
#[derive(Clone, Debug)]
pub(super) struct Login {
    pub(super) username: String,
    pub(super) password: Sealed<String>,
    pub(super) endpoint: String,
    pub(super) port: String,
}

/// How far a claim is.
#[derive(Clone, Debug, PartialEq)]
enum Verdict {
    /// Its server takes connections, and its Secret says how.
    Available,
    /// Something is still to come, or has to come back.
    Waits(String),
    /// Something stands in the way that others have to remove.
    Blocked(String),
}

/// The plan for one pass over one claim.
pub(super) fn plan(
    claim: &CloudDatabaseClaim,
    world: &World,
    config: &Config,
) -> Result<Plan<Infallible, CloudDatabaseClaimStatus>, Refusal> {
    let status = claim.status.clone().unwrap_or_default();
    let there = world.cluster.as_deref();
    if claim.metadata.deletion_timestamp.is_some() {
        return Ok(farewell(claim, there, status));
    }
    let policy = server::policy(claim)?;
    if let Some(verdict) = there.and_then(|there| held(claim, there)) {
        return Ok(Plan::part(Vec::new(), told(status, verdict), Next::After(LOOK_AGAIN)));
    }
    let wanted = server::cluster(claim, there, config)?;
    let mut steps: Vec<Do<Infallible>> = server::belongs(claim, there, policy).into_iter().collect();
    let child = Child::of(&wanted);
    steps.push(Do::Apply(Box::new(if policy == Policy::Orphan { child.unowned() } else { child })));
    let secret = secret(claim, world);
    let whole = secret.is_some() || claim.spec.write_connection_secret_to_ref.is_none();
    steps.extend(secret);
    let verdict = verdict(claim, world);
    let next = if verdict == Verdict::Available { Next::OnChange } else { Next::After(LOOK_AGAIN) };
    // A Secret that cannot be written at the moment is still used: it goes only when it is wanted no more.
    let make = if whole { Plan::whole } else { Plan::part };
    Ok(make(steps, told(status, verdict), next))
}

/// Why the Cluster of the claim's name cannot be its server, if so.
fn held(claim: &CloudDatabaseClaim, there: &Cluster) -> Option<Verdict> {
    let name = there.name_any();
    if !server::ours(claim, there) {
        let why = format!(
            "Cluster {name} exists and was not made for this claim; delete it, or choose another name"
        );
        return Some(Verdict::Blocked(why));
    }
    let goes = there.metadata.deletion_timestamp.is_some();
    goes.then(|| {
        Verdict::Waits(format!("Cluster {name} is being deleted, and is made anew as soon as it is gone"))
    })
}

/// Whether the server takes connections.
fn takes_connections(world: &World) -> bool {
    let status = world.cluster.as_deref().and_then(|there| there.status.as_ref());
    let ready = status.and_then(|status| find(&status.conditions, READY));
    ready.is_some_and(|ready| ready.status == "True")
}

/// The claim's Secret: from the moment that the server takes connections, for as long as its login is known.
fn secret(claim: &CloudDatabaseClaim, world: &World) -> Option<Do<Infallible>> {
    let named = claim.spec.write_connection_secret_to_ref.as_ref()?;
    let due = match world.secret {
        Held::Nothing => takes_connections(world),
        Held::Ours => true,
        Held::Foreign => false,
    };
    let Login { username, password, endpoint, port } = world.login.as_ref().filter(|_| due)?;
    let bytes = |(key, text): (&str, &String)| (key.to_owned(), ByteString(text.clone().into_bytes()));
    let data =
        [("username", username), ("password", password.open()), ("endpoint", endpoint), ("port", port)];
    let secret = Secret {
        metadata: ObjectMeta {
            name: Some(named.name.clone()),
            namespace: claim.namespace(),
            ..ObjectMeta::default()
        },
        type_: Some(SECRET_TYPE.into()),
        data: Some(data.map(bytes).into_iter().collect::<BTreeMap<_, _>>()),
        ..Secret::default()
    };
    Some(Do::Apply(Box::new(Child::of(&secret))))
}

fn verdict(claim: &CloudDatabaseClaim, world: &World) -> Verdict {
    if let (Some(named), Held::Foreign) = (&claim.spec.write_connection_secret_to_ref, world.secret) {
        let why = format!(
            "Secret {} exists and was not made for this claim; delete it, or name another in spec.writeConnectionSecretToRef",
            named.name
        );
        return Verdict::Blocked(why);
    }
    let Some(there) = world.cluster.as_deref() else {
        return Verdict::Waits("the database cluster is being created".into());
    };
    if !takes_connections(world) {
        return Verdict::Waits(there.status.clone().unwrap_or_default().words());
    }
    if world.login.is_none() {
        let secret = format!("{}{}", there.name_any(), super::SUPERUSER_SUFFIX);
        return Verdict::Waits(format!(
            "the database runs; waiting for Secret {secret} with the login of its superuser"
        ));
    }
    Verdict::Available
}

/// The reason of one that is not ready: whether it never was, or is no more.
pub(super) fn not_ready(status: &CloudDatabaseClaimStatus) -> Reason {
    let before = find(&status.conditions, READY).and_then(|ready| ready.reason.as_deref());
    let ran = before.is_some_and(|before| [AVAILABLE, UNAVAILABLE].contains(&before));
    Reason::Code(if ran { UNAVAILABLE } else { CREATING }.into())
}

/// The status with what is to be said, in Crossplane's words.
fn told(mut status: CloudDatabaseClaimStatus, verdict: Verdict) -> CloudDatabaseClaimStatus {
    let lacks = not_ready(&status);
    let code = |code: &str| Reason::Code(code.to_owned());
    match verdict {
        Verdict::Available => {
            status.say(SYNCED, Some(true), code(IN_SYNC), "");
            status.ready(code(AVAILABLE), "");
        }
        Verdict::Waits(why) => {
            status.say(SYNCED, Some(true), code(IN_SYNC), "");
            status.not_ready(lacks, why);
        }
        Verdict::Blocked(why) => {
            status.say(SYNCED, Some(false), code(OUT_OF_SYNC), why.clone());
            status.not_ready(lacks, why);
        }
    }
    status
}

/// The end. What belongs to the claim goes with it; a server that is to stay is let go of first.
fn farewell(
    claim: &CloudDatabaseClaim,
    there: Option<&Cluster>,
    status: CloudDatabaseClaimStatus,
) -> Plan<Infallible, CloudDatabaseClaimStatus> {
    // Nobody can be asked any more what else was meant, and data that stays can still be deleted.
    let policy = server::policy(claim).unwrap_or(Policy::Orphan);
    let there = there.filter(|there| server::ours(claim, there));
    let steps = match (policy, there) {
        (_, None) => Vec::new(),
        (Policy::Orphan, Some(_)) => server::belongs(claim, there, policy).into_iter().collect(),
        (Policy::Delete, Some(there)) => vec![Do::Delete(Address::of(there), None)],
    };
    Plan::release(steps, status)
}
