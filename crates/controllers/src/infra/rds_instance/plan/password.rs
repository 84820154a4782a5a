//! The administrator's password: which one is to be set, and whether it was.

use api::conditions::{Reason, Standing};
use api::infra::{RDSInstance, RDSInstanceStatus};
use api::secret::Sealed;
use kit::{Do, Next, Plan, Refusal};
use ports::aws::{Database, DatabaseChange};

use super::{Call, Password, Planned, SOON, World, generated_secret, objects, what};
use crate::infra::course::field;
use crate::infra::desk::{Open, RETRY};
use crate::infra::report::Report;
use crate::infra::step::Step;

/// Fewest and most characters of a password, where the engine is not known to allow more.
const LENGTH: std::ops::RangeInclusive<usize> = 8..=41;
/// Most characters for PostgreSQL.
const LENGTH_POSTGRES: usize = 128;
/// Printable characters that RDS does not take in a password.
const TABOO: [char; 4] = ['/', '"', '@', ' '];

/// What is said of a server whose password nobody knows.
pub(super) const UNKNOWN: &str = "its password is not known, so no connection is published; put the password into a Secret and name that in masterUserPasswordSecretRef";
/// What is said of a server whose password stands in its spec.
pub(super) const PLAIN: &str = "masterUserPassword can be read by everybody who may read this object; put it into a Secret and name that in masterUserPasswordSecretRef";

/// What becomes of the password of a server that is there.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Word<'a> {
    /// The server has this one.
    Same(&'a Sealed<String>),
    /// The server is to have this one.
    New(&'a Sealed<String>),
    /// AWS is about to set one.
    Pending,
    /// The Secret that this one was drawn into is gone.
    Lost(&'a Sealed<String>),
    /// It is not where the spec says.
    Missing(&'a str),
    /// Nobody knows it.
    Unknown,
}

/// What becomes of the password; `published` is whether the connection was, before.
pub(super) fn word<'a>(world: &'a World, live: &Database, published: bool) -> Word<'a> {
    match (&world.password, &world.applied) {
        (Password::Known(wanted), Some(applied)) if wanted == applied => Word::Same(wanted),
        (Password::Known(_), _) if live.password_pending => Word::Pending,
        (Password::Known(wanted), Some(_)) => Word::New(wanted),
        // Somebody deleted the Secret, and nobody knows what was set last: it is set again.
        (Password::Known(wanted), None) if published => Word::New(wanted),
        // Whoever brings a server brings its password.
        (Password::Known(wanted), None) => Word::Same(wanted),
        (Password::Missing(message), _) => Word::Missing(message),
        (Password::Undrawn, Some(applied)) => Word::Lost(applied),
        (Password::Undrawn, None) => Word::Unknown,
    }
}

/// Adds the password to the change that is asked for anyway, or asks for it alone: a server that is being changed takes
/// no second change.
pub(super) fn set(plan: &mut Planned, open: &Open<Database>, live: &Database, password: &Sealed<String>) {
    let told = field("masterUserPassword", "the one in its Secret", "another");
    let modify = plan.steps.iter_mut().find_map(|step| match step {
        Do::Outside(step) => match &mut step.call {
            Call::Modify { change, .. } => Some((change, &mut step.fields)),
            Call::Create(_) | Call::Tag { .. } | Call::Untag { .. } | Call::Delete { .. } => None,
        },
        Do::Apply(_) | Do::Create(_) | Do::Patch(..) | Do::Delete(..) => None,
    });
    match modify {
        Some((change, fields)) => {
            change.password = Some(password.clone());
            fields.push(told);
        }
        None => {
            let change = DatabaseChange { password: Some(password.clone()), ..DatabaseChange::default() };
            let call = Call::Modify { id: live.id.clone(), change };
            plan.steps.push(Do::Outside(Step { account: open.account.clone(), call, fields: vec![told] }));
        }
    }
}

/// What has to happen before a server can be made with its password; nothing, if it is known.
pub(super) fn awaited(instance: &RDSInstance, world: &World, status: &RDSInstanceStatus) -> Option<Planned> {
    let mut status = status.clone();
    match &world.password {
        Password::Known(_) => None,
        Password::Missing(message) => {
            status.out_of_sync(Reason::CredentialsMissing, message.clone());
            Some(Plan::part(Vec::new(), status, Next::After(RETRY)))
        }
        Password::Undrawn => {
            // Whoever drew one before, and lost the Secret, goes on with it.
            let password = world.applied.as_ref().unwrap_or(&world.spare);
            let secret = generated_secret(instance);
            let message = format!("a password for {} is drawn into Secret {secret}", what(instance));
            status.ready = false;
            status.not_ready(Reason::Provisioning, message);
            Some(Plan::part(vec![objects::generated(instance, password)], status, Next::After(SOON)))
        }
    }
}

/// Whether the password stands in the spec.
pub(super) fn plain(instance: &RDSInstance) -> bool {
    instance.spec.master_user_password.as_ref().is_some_and(|plain| !plain.is_empty())
}

/// Refuses a password that RDS would not take.
/// <https://docs.aws.amazon.com/AmazonRDS/latest/APIReference/API_CreateDBInstance.html>
pub(super) fn check(instance: &RDSInstance, world: &World) -> Result<(), Refusal> {
    let Password::Known(password) = &world.password else { return Ok(()) };
    let most = if instance.spec.engine.contains("postgres") { LENGTH_POSTGRES } else { *LENGTH.end() };
    let length = password.open().chars().count();
    let why = if length < *LENGTH.start() || length > most {
        format!("has {length} characters, and RDS takes {} to {most}", LENGTH.start())
    } else if password.open().contains(TABOO) {
        "has a /, a \", an @ or a space, which RDS does not take".to_owned()
    } else if password.open().chars().any(|c| !c.is_ascii_graphic()) {
        "has characters beside the printable ones of ASCII, which RDS does not take".to_owned()
    } else {
        return Ok(());
    };
    Err(Refusal::new(Reason::InvalidSpec, format!("the administrator's password {why}")))
}
