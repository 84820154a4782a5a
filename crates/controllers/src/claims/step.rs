//! What the rooms do on servers.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use api::secret::Sealed;
use kit::{Fault, Receipt, Retry};
use ports::admin::{Act, Admin, Login, Server, Title};

use super::metrics::Metrics;

/// Something that is done on a server. Its words hold no secret.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Where.
    pub server: Arc<Server>,
    /// What.
    pub what: What,
}

/// What is done on a server.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// One change.
    Act(Act),
    /// Gives a login a password, and logs in with it. Only what got in is ever published.
    Issue {
        /// The login and its password.
        login: Login,
        /// By what title.
        title: Title,
        /// Whether it is the first that is published, not a rotation.
        first: bool,
    },
}

impl Step {
    /// One change on a server.
    pub(super) fn act(server: &Arc<Server>, act: Act) -> Self {
        Self { server: server.clone(), what: What::Act(act) }
    }

    /// A password for a login.
    pub(super) fn issue(server: &Arc<Server>, login: Login, title: Title, first: bool) -> Self {
        Self { server: server.clone(), what: What::Issue { login, title, first } }
    }

    /// Does it.
    pub(super) async fn run<A: Admin>(&self, admin: &A, metrics: &Metrics) -> Result<Receipt, Fault> {
        match &self.what {
            What::Act(act) => admin.act(&self.server, act).await?,
            What::Issue { login, title, first } => {
                let begun = Instant::now();
                let issued = issue(admin, &self.server, login, title).await;
                metrics.issued(*first, issued.is_ok(), begun.elapsed());
                issued?;
            }
        }
        Ok(Receipt::Done)
    }
}

async fn issue<A: Admin>(admin: &A, server: &Server, login: &Login, title: &Title) -> Result<(), Fault> {
    let (role, password): (String, Sealed<String>) = (login.role.clone(), login.password.clone());
    admin.act(server, &Act::SetPassword { role, password, title: title.clone() }).await?;
    let proof = admin.prove(server, login).await?;
    if proof.session_user == login.role {
        return Ok(());
    }
    let story = format!(
        "{} takes `{}` for `{}`; something between it and us changes logins",
        server.place(),
        login.role,
        proof.session_user
    );
    Err(Fault::outside("PostgreSQL", Retry::Backoff, story))
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.server.place();
        match &self.what {
            What::Act(act) => write!(f, "on {place}, {}", words(act)),
            What::Issue { login, .. } => write!(f, "on {place}, give login `{}` a new password", login.role),
        }
    }
}

fn words(act: &Act) -> String {
    let list = |names: &std::collections::BTreeSet<String>| {
        names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
    };
    match act {
        Act::EnsureOwner { role, .. } => format!("make role `{role}`"),
        Act::EnsureLogin { role, owner, .. } => format!("make login `{role}` for `{owner}`"),
        Act::SetPassword { role, .. } => format!("give login `{role}` a new password"),
        Act::Lock { role, .. } => format!("let `{role}` log in no more"),
        Act::EnsureDatabase { database, owner, .. } => format!("make database `{database}` of `{owner}`"),
        Act::EnsureSchema { database, schema, .. } => format!("make schema `{schema}` in `{database}`"),
        Act::EnsureExtensions { database, extensions } => {
            format!("install {} in `{database}`", list(extensions))
        }
        Act::Grant { database, role, .. } => format!("set the rights of `{role}` in `{database}`"),
        Act::Reassign { database, from, to, .. } => {
            format!("give what {} own in `{database}` to `{to}`", list(from))
        }
        Act::Close { database, .. } => format!("end the sessions of database `{database}`"),
        Act::Hold { database, held, .. } => format!("put database `{database}` aside as `{held}`"),
        Act::Release { held, database, .. } => format!("take database `{held}` back as `{database}`"),
        Act::RenameRole { from, to, .. } => format!("rename role `{from}` to `{to}`"),
        Act::DropDatabase { database, .. } => format!("drop database `{database}`"),
        Act::DropRole { role, .. } => format!("drop role `{role}`"),
    }
}
